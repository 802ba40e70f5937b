// remark.h -- what was found, as it is told: remarks, and the report.
#ifndef NPUTEIR_REMARK_H
#define NPUTEIR_REMARK_H

extern "C" {
#include "recognizer.h"
}

#include "llvm/IR/Function.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace nputeir {

struct Finding {
  llvm::DebugLoc At;
  unsigned EndLine = 0; // of loops, where it is known
  verdict V = {};
  std::string What = "nest"; // what is replaced or kept
  std::string By = "a call"; // what by
  verdict OnCpu = {};        // why there is no code for the processor
  verdict Around = {};       // why the next loop around is no part of the nest
  std::string Einsum, Sizes, Contraction, TEIR, Nest; // empty unless known
  std::string Options; // that the runtime is told
  int Loop = -1;       // its number
  bool IsUntold = false;
  bool IsBeside = false; // left of a nest that was split: is looked at already
  unsigned Depth = 0;
  int64_t MinMacs = -1; // what was asked for; -1: nothing
};
void remark(llvm::Function &F, const Finding &);
// What is no product at all, or too small a part of one.
bool isWeak(rule R);
// Every nest that may be a contraction must be taken, and there must be one.
void demand(llvm::Function &F, llvm::ArrayRef<Finding> Found);
// NPUTEIR_REPORT: a line per finding and, at the end of the compilation, one
// with the number of nests seen, taken, and declined by rule.  In a folder the
// lines of a whole build come together.
class Report {
  std::string File;
  unsigned Seen = 0, Taken = 0;
  unsigned Declined[RULE_COUNT] = {};
  bool Unwritten = false; // a line was lost, and that was said

public:
  Report() = default;
  Report(const Report &) = delete;
  ~Report();
  void add(const llvm::Function &F, const Finding &);
};
void print(const llvm::Function &F, const Finding &, llvm::raw_ostream &);

} // namespace nputeir

#endif
