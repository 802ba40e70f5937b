// reads_first.h -- loads that are made before the rest of a nest, which stays.
#ifndef NPUTEIR_READS_FIRST_H
#define NPUTEIR_READS_FIRST_H

#include "joins.h"

namespace nputeir {

class ReadsFirst {
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
  Joins &Places;
  llvm::ArrayRef<llvm::Loop *> Described;
  std::vector<Apart> &Asked;
  enum { AskedMax = 64 };

public:
  // Described: the loops of Places, by their numbers.  Asked: is added to.
  ReadsFirst(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
             llvm::AAResults &AA, Joins &Places,
             llvm::ArrayRef<llvm::Loop *> Described, std::vector<Apart> &Asked)
      : Outer(Outer), LI(LI), SE(SE), AA(AA), Places(Places),
        Described(Described), Asked(Asked) {}
  // What W, which stays, writes leaves what L reads as it is, or it is asked
  // whether it does.
  bool mayBeFirst(llvm::Instruction &W, const llvm::LoadInst &L);

private:
  bool reach(const llvm::Instruction &I, Apart::Reach &X);
  bool reach(const llvm::SCEV *Pointer, Sum &All);
};

} // namespace nputeir

#endif
