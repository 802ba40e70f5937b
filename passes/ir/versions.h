// versions.h -- what differs between the LLVM releases that one source serves
// (14, 19, 22), so that no other file asks for the release.
#ifndef NPUTEIR_VERSIONS_H
#define NPUTEIR_VERSIONS_H

#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#if LLVM_VERSION_MAJOR >= 17
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#endif

namespace nputeir {

// A pointer to anything: before release 15 pointers had types.
inline llvm::PointerType *bytePointer(llvm::LLVMContext &X) {
#if LLVM_VERSION_MAJOR >= 15
  return llvm::PointerType::getUnqual(X);
#else
  return llvm::Type::getInt8PtrTy(X);
#endif
}

inline llvm::PointerType *pointerTo(llvm::Type *T) {
#if LLVM_VERSION_MAJOR >= 15
  return bytePointer(T->getContext());
#else
  return T->getPointerTo();
#endif
}

class Expander : public llvm::SCEVExpander {
  llvm::ScalarEvolution &SE;

public:
  explicit Expander(llvm::ScalarEvolution &SE, const llvm::Module &M)
#if LLVM_VERSION_MAJOR >= 22
      : SCEVExpander(SE, "nputeir"), SE(SE) {
    (void)M;
  }
#else
      : SCEVExpander(SE, M.getDataLayout(), "nputeir"), SE(SE) {
  }
#endif

  bool isSafe(const llvm::SCEV *S) {
#if LLVM_VERSION_MAJOR >= 15
    (void)SE;
    return isSafeToExpand(S);
#else
    return llvm::isSafeToExpand(S, SE);
#endif
  }

  llvm::Value *expand(const llvm::SCEV *S, llvm::Type *T,
                      llvm::Instruction *At) {
#if LLVM_VERSION_MAJOR >= 16
    return expandCodeFor(S, T, At->getIterator());
#else
    return expandCodeFor(S, T, At);
#endif
  }
};

// How many of the lowest bits of a number are known to be 0.
inline uint32_t trailingZeros(const llvm::SCEV *S, llvm::ScalarEvolution &SE) {
#if LLVM_VERSION_MAJOR >= 17
  return SE.getMinTrailingZeros(S);
#else
  return SE.GetMinTrailingZeros(S);
#endif
}

// Whether the zero extension is known to equal a sign extension.
inline bool isNonNegative(const llvm::ZExtInst &Z) {
#if LLVM_VERSION_MAJOR >= 18
  return Z.hasNonNeg();
#else
  (void)Z;
  return false;
#endif
}

inline void moveBefore(llvm::Instruction &I, llvm::Instruction *At) {
#if LLVM_VERSION_MAJOR >= 20
  I.moveBefore(At->getIterator());
#else
  I.moveBefore(At);
#endif
}

// Whether memory may be read where `At` stands, though the program does not.
inline bool mayReadEarly(const llvm::LoadInst &L, const llvm::Instruction *At,
                         const llvm::DominatorTree &DT) {
  return llvm::isDereferenceableAndAlignedPointer(
      L.getPointerOperand(), L.getType(), L.getAlign(),
      L.getModule()->getDataLayout(), At,
#if LLVM_VERSION_MAJOR >= 15
      /*AC=*/nullptr,
#endif
      &DT);
}

// All blocks of From follow those of To.
inline void moveBlocks(llvm::Function &From, llvm::Function &To) {
#if LLVM_VERSION_MAJOR >= 16
  To.splice(To.end(), &From);
#else
  To.getBasicBlockList().splice(To.end(), From.getBasicBlockList());
#endif
}

inline llvm::SROAPass keepBranchesSROA() {
#if LLVM_VERSION_MAJOR >= 16
  return llvm::SROAPass(llvm::SROAOptions::PreserveCFG);
#else
  return llvm::SROAPass();
#endif
}

// Takes back what was inferred about a function that held no call into a
// library: how it and its arguments touch memory.
inline void dropMemoryPromises(llvm::Function &F) {
  using llvm::Attribute;
  for (Attribute::AttrKind K : {Attribute::NoSync, Attribute::NoFree,
                                Attribute::NoRecurse, Attribute::NoCallback,
#if LLVM_VERSION_MAJOR >= 16
                                Attribute::Memory})
#else
                                Attribute::ReadNone, Attribute::ReadOnly,
                                Attribute::WriteOnly, Attribute::ArgMemOnly,
                                Attribute::InaccessibleMemOnly,
                                Attribute::InaccessibleMemOrArgMemOnly})
#endif
    F.removeFnAttr(K);
  for (llvm::Argument &Arg : F.args())
    if (Arg.getType()->isPointerTy())
      for (Attribute::AttrKind K : {Attribute::ReadOnly, Attribute::ReadNone,
                                    Attribute::WriteOnly, Attribute::NoFree,
#if LLVM_VERSION_MAJOR >= 21
                                    Attribute::Captures})
#else
                                    Attribute::NoCapture})
#endif
        Arg.removeAttr(K);
}

} // namespace nputeir

#endif
