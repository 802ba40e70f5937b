// offload.h -- the pass: every nest of a function, outermost first.
#ifndef NPUTEIR_OFFLOAD_H
#define NPUTEIR_OFFLOAD_H

#include "canonical.h"
#include "options.h"
#include "plan_nest.h"
#include "remark.h"

#include <memory>
#include <vector>

namespace nputeir {

class Copy;

// The pass: every nest of a function, outermost first.
class OffloadPass : public llvm::PassInfoMixin<OffloadPass> {
  std::shared_ptr<OptionSources> D;
  std::shared_ptr<Canonical> Own; // made for the first function that needs it
  std::shared_ptr<Report> Log = std::make_shared<Report>();

  void tell(llvm::Function &F, llvm::ArrayRef<Finding> Found);
  // LeavesCpu becomes true when there is code for the processor alone for a
  // nest that was not asked for, or for a part of one that was split in vain.
  bool replaceNests(Copy &C, const options &O, TakenBy By, llvm::StringRef Name,
                    std::vector<Finding> &Found, arena *A, bool &LeavesCpu);
  bool cutAndReplace(Copy &C, const options &O, TakenBy By,
                     llvm::StringRef Name, std::vector<Finding> &Found,
                     arena *A, bool &LeavesCpu);
  bool splitAndReplace(Copy &C, const options &O, TakenBy By,
                       llvm::StringRef Name, std::vector<Finding> &Found,
                       arena *A, bool &LeavesCpu);
  bool takeProducts(Copy &C, const options &O, TakenBy By, llvm::StringRef Name,
                    std::vector<Finding> &Found, arena *A, bool &LeavesCpu);
  bool replaceCopied(Copy &C, llvm::ArrayRef<const llvm::Function *> Same,
                     const options &O, std::vector<Finding> &Found, arena *A);
  bool replaceCopied(Copy &C, const llvm::Function &F, const options &O,
                     std::vector<Finding> &Found, arena *A);

public:
  explicit OffloadPass(std::shared_ptr<OptionSources> D) : D(std::move(D)) {}
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &);
};

} // namespace nputeir

#endif
