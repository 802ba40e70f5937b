// call_effects.cpp -- what calls may write.
//
// Of a function that returns random numbers, prints, or takes the time, LLVM
// knows little: it may write all memory that has ever been passed on.  Here is
// told which memory it is.  That holds for the question alone and is written on
// no call: errno and what is in streams are memory that the program may read
// behind the nest, and all calls stay in their order.
#include "call_effects.h"
#include "ir_tags.h"
#include "local_arrays.h"

#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

// ---- C's library ----

struct LibraryFunction {
  StringRef Name, Types; // as in library.def
};

const LibraryFunction Functions[] = {
#define LIBRARY(name, types) {#name, types},
#include "library.def"
};

// Of what a format may say, %n writes; what is not C's
// (register_printf_function) may.
bool mayStore(const Value *Format) {
  StringRef S;
  if (!getConstantStringInfo(Format, S))
    return true;
  for (size_t I = S.find('%'); I < S.size(); I = S.find('%', I)) {
    I = S.find_first_not_of("0123456789+-# .*'$hlLqjzt", I + 1);
    if (I >= S.size() || !StringRef("diouxXeEfFgGaAcsp%").contains(S[I]))
      return true;
    I++;
  }
  return false;
}

bool isOfKind(const Type &T, char Kind) {
  return Kind == 'i'   ? T.isIntegerTy()
         : Kind == 'd' ? T.isFloatingPointTy()
         : Kind == 'v' ? T.isVoidTy()
                       : T.isPointerTy();
}

// Declared as C has it; of another one that has this name nothing is known.
bool isDeclared(const FunctionType &T, StringRef Types) {
  bool More = Types.consume_back(".");
  if (T.isVarArg() != More || T.getNumParams() + 1 != Types.size() ||
      !isOfKind(*T.getReturnType(), Types[0]))
    return false;
  for (unsigned I = 0; I < T.getNumParams(); I++)
    if (!isOfKind(*T.getParamType(I), Types[I + 1]))
      return false;
  return true;
}

// A stream may lead to memory of the program's.
bool makesStreams(const Module &M) {
  static const char *const Names[] = {"fmemopen", "open_memstream",
                                      "fopencookie"};
  return any_of(Names, [&](const char *Name) { return M.getFunction(Name); });
}

// Null: it is none, or may do more.
const LibraryFunction *libraryFunction(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || Call.isNoBuiltin() || !F->isDeclaration())
    return nullptr;
  const auto *Known = find_if(Functions, [&](const LibraryFunction &X) {
    return X.Name == F->getName();
  });
  if (Known == std::end(Functions) ||
      !isDeclared(*F->getFunctionType(), Known->Types))
    return nullptr;
  for (unsigned I = 0; I + 1 < Known->Types.size(); I++) {
    char Kind = Known->Types[I + 1];
    if ((Kind == 'f' && mayStore(Call.getArgOperand(I))) ||
        (Kind == 'F' && makesStreams(*F->getParent())))
      return nullptr;
  }
  return Known;
}

// A function that is passed numbers alone, as those of mathematics are.
bool isOfNumbers(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || Call.isNoBuiltin() || !F->isDeclaration() ||
      any_of(Call.args(),
             [](const Use &U) { return U->getType()->isPointerTy(); }))
    return false;
  TargetLibraryInfoImpl Known(Triple(F->getParent()->getTargetTriple()));
  LibFunc Which;
  return TargetLibraryInfo(Known).getLibFunc(*F, Which);
}

// ---- what is written ----

// An object that code around a call knows of, or a part of it.
struct WrittenObject {
  const Value *Object;
  AAMDNodes Tags;
};

class CallEffects {
  enum {
    InstructionsMax = 400, // of functions that are looked through for a call
    CallsMax = 4,          // one in the other
  };
  int Left = InstructionsMax;

public:
  // What Call writes; false: it may be anything.
  bool find(const CallBase &Call, SmallVectorImpl<WrittenObject> &Found,
            int Depth = 0) {
    if (Call.onlyReadsMemory() || Call.onlyAccessesInaccessibleMemory() ||
        isOfNumbers(Call))
      return true;
    if (const LibraryFunction *Known = libraryFunction(Call)) {
      for (unsigned I = 0; I + 1 < Known->Types.size(); I++)
        if (Known->Types[I + 1] == 'w')
          Found.push_back({Call.getArgOperand(I), AAMDNodes()});
      return true;
    }
    const Function *F = Call.getCalledFunction();
    if (!F || !isKnown(*F) || Depth == CallsMax)
      return false;
    return all_of(instructions(*F), [&](const Instruction &I) {
      SmallVector<WrittenObject, 4> Here;
      return Left-- > 0 && findIn(I, Here, Depth) &&
             all_of(Here, [&](const WrittenObject &W) {
               return pass(W, Call, Found);
             });
    });
  }

  // A function's loops come to an end.
  bool comesBack(const CallBase &Call, int Depth = 0) {
    const Function *F = Call.getCalledFunction();
    if (libraryFunction(Call))
      return true;
    return F && isKnown(*F) && !F->doesNotReturn() && Depth < CallsMax &&
           all_of(
               instructions(*F),
               [&](const Instruction &I) {
                 const auto *Inner = dyn_cast<CallBase>(&I);
                 return Left-- > 0 &&
                        (isGuaranteedToTransferExecutionToSuccessor(&I) ||
                         isa<ReturnInst>(I) ||
                         (Inner && comesBack(*Inner, Depth + 1)));
               });
  }

private:
  // Its code is here.  Another definition of an inline function does the same,
  // as C++ has it, be it compiled in another way.
  static bool isKnown(const Function &F) {
    return !F.isDeclaration() && !F.isInterposable();
  }

  bool findIn(const Instruction &I, SmallVectorImpl<WrittenObject> &Found,
              int Depth) {
    if (!I.mayWriteToMemory() || marksFrame(I))
      return true;
    const auto *S = dyn_cast<StoreInst>(&I);
    const auto *Mem = dyn_cast<MemIntrinsic>(&I);
    const auto *Call = dyn_cast<CallBase>(&I);
    if (S && S->isSimple())
      Found.push_back({S->getPointerOperand(), typeTags(I)});
    else if (Mem && !Mem->isVolatile())
      Found.push_back({Mem->getRawDest(), typeTags(I)});
    else if (!Call || !find(*Call, Found, Depth + 1))
      return false;
    return true;
  }

  // W, as the code that Call is in knows it; what is in the callee's own frame
  // it does not.
  static bool pass(const WrittenObject &W, const CallBase &Call,
                   SmallVectorImpl<WrittenObject> &Found) {
    const Value *Object = getUnderlyingObject(W.Object, /*MaxLookup=*/0);
    const auto *A = dyn_cast<Argument>(Object);
    if (isa<AllocaInst>(Object) || (A && A->hasPassPointeeByValueCopyAttr()))
      return true;
    if (A)
      Found.push_back({Call.getArgOperand(A->getArgNo()), W.Tags});
    else if (isa<GlobalVariable>(Object) || isa<ConstantPointerNull>(Object))
      Found.push_back({Object, W.Tags});
    else
      return false;
    return true;
  }
};

// A variable whose address is kept or passed on nowhere: no other pointer leads
// there.
bool isKnownHere(const GlobalVariable &G) {
  enum { UsersMax = 400 };
  if (!G.hasLocalLinkage())
    return false;
  SmallVector<const Value *, 16> Open = {&G};
  for (int Left = UsersMax; !Open.empty();)
    for (const Use &U : Open.pop_back_val()->uses()) {
      const User *X = U.getUser();
      const auto *S = dyn_cast<StoreInst>(X);
      if (Left-- == 0)
        return false;
      if (const auto *E = dyn_cast<ConstantExpr>(X);
          isa<GetElementPtrInst>(X) || isa<BitCastInst>(X) ||
          (E && (E->getOpcode() == Instruction::GetElementPtr ||
                 E->getOpcode() == Instruction::BitCast)))
        Open.push_back(X);
      else if (!isa<LoadInst>(X) && !(S && S->getValueOperand() != U.get()))
        return false;
    }
  return true;
}

bool mayBe(const WrittenObject &W, const MemoryLocation &Read, AAResults &AA) {
  const auto *G = dyn_cast<GlobalVariable>(W.Object);
  if (isa<ConstantPointerNull>(W.Object) ||
      (G && getUnderlyingObject(Read.Ptr, 0) != G && isKnownHere(*G)))
    return false;
  return !AA.isNoAlias(
      MemoryLocation(W.Object, LocationSize::beforeOrAfterPointer(), W.Tags),
      Read);
}

} // namespace

bool comesBack(const CallBase &Call) {
  return isGuaranteedToTransferExecutionToSuccessor(&Call) ||
         CallEffects().comesBack(Call);
}

bool comesToEnd(const BasicBlock &B) {
  return all_of(B, [](const Instruction &I) {
    const auto *Call = dyn_cast<CallBase>(&I);
    return isGuaranteedToTransferExecutionToSuccessor(&I) ||
           (Call && CallEffects().comesBack(*Call));
  });
}

bool mayWrite(const Instruction &I, const MemoryLocation &Read, AAResults &AA) {
  if (!I.mayWriteToMemory() || !isModSet(AA.getModRefInfo(&I, Read)))
    return false;
  const auto *Call = dyn_cast<CallBase>(&I);
  SmallVector<WrittenObject, 8> Found;
  return !Call || !CallEffects().find(*Call, Found) ||
         any_of(Found,
                [&](const WrittenObject &W) { return mayBe(W, Read, AA); });
}

bool mayWriteInAny(const CallBase &Call, const MemoryLocation &Read,
                   const Loop &Around, AAResults &AA) {
  SmallVector<WrittenObject, 8> Found;
  return !CallEffects().find(Call, Found) ||
         any_of(Found, [&](const WrittenObject &W) {
           return !Around.isLoopInvariant(W.Object) || mayBe(W, Read, AA);
         });
}

} // namespace nputeir
