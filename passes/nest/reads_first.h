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
  // What the nest writes leaves what is read as it is, or it is asked whether
  // it does.  False and a verdict when it may not.
  bool areFirst(llvm::ArrayRef<const llvm::LoadInst *> Loads, arena *A,
                verdict &V);

private:
  bool mayBeFirst(llvm::Instruction &W, const llvm::LoadInst &L);
  bool reach(const llvm::Instruction &I, Apart::Reach &X);
  bool reach(const llvm::SCEV *Pointer, Sum &All);
};

// Lays out the array of what comes first, in the order of the loops around it,
// without gaps.  A loop in which that cannot be done; null:
// there is none.
const llvm::Loop *layOut(SumLoop &First, const llvm::Loop &Outer,
                         const llvm::DenseMap<const llvm::Loop *, int> &Index,
                         Joins &Places, llvm::ScalarEvolution &SE);

} // namespace nputeir

#endif
