// rewrite.cpp -- a recognised nest -> a guarded call, the old loop kept as the
// other side of the branch:
//
//     entry:  sizes and addresses are computed; may the call be made at all?
//     offer:  nputeir_call_1(...) == 0 ? after the nest : kept
//     kept:   the nest as it was
//
// The call is made only when the runtime is linked (the reference is weak),
// every loop has work, conditions that do not change in the nest take the side
// that was described, no two iterations write one place of the result, and what
// is read behind a store to the result is not the result.
#include "passes.h"
#include "versions.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

// int (const char *teir, const char *options, const char *where,
//      const int64_t *value, uint64_t value_count,
//      void *const *tensor, uint64_t tensor_count)
static FunctionCallee declareCall(Module &M) {
  LLVMContext &X = M.getContext();
  Type *P = bytePointer(X), *I64 = Type::getInt64Ty(X);
  FunctionCallee Call = M.getOrInsertFunction(
      CallName,
      FunctionType::get(Type::getInt32Ty(X), {P, P, P, P, I64, P, I64}, false));
  auto *F = cast<Function>(Call.getCallee());
  F->setLinkage(GlobalValue::ExternalWeakLinkage);
  F->setDoesNotThrow();
  return Call;
}

static Constant *text(Module &M, StringRef Text, const Twine &Name) {
  Constant *Data = ConstantDataArray::getString(M.getContext(), Text);
  auto *G = new GlobalVariable(M, Data->getType(), true,
                               GlobalValue::PrivateLinkage, Data, Name);
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  G->setAlignment(Align(1));
  return ConstantExpr::getPointerCast(G, bytePointer(M.getContext()));
}

static std::string whereText(const Region &Old) {
  const Function &F = *Old.First->getParent();
  std::string Where = F.getParent()->getSourceFileName();
  if (DebugLoc DL = Old.At)
    Where = cast<DIScope>(DL.getScope())->getFilename().str() + ":" +
            std::to_string(DL.getLine()) + ":" + std::to_string(DL.getCol());
  return Where + " " + F.getName().str();
}

namespace {

class Rewriter {
  const Region &Old;
  const IRNest &Nest;
  const contraction &C;
  Function &F;
  Module &M;
  Expander Code;
  SmallVector<Value *, 8> Symbol; // i64, frozen
  SmallVector<Value *, 8> Tensor; // of the call; null: a number's slot

public:
  Rewriter(const Region &Old, ScalarEvolution &SE, const IRNest &Nest,
           const contraction &C)
      : Old(Old), Nest(Nest), C(C), F(*Old.First->getParent()),
        M(*F.getParent()), Code(SE, M) {}

  void run(const options &O, const std::string &TEIR) {
    Instruction *End = Old.Entry->getTerminator();
    DebugLoc DL = Old.At ? Old.At : End->getDebugLoc();
    expandAll(End);

    LLVMContext &X = F.getContext();
    auto *Offer = BasicBlock::Create(X, "nputeir.offer", &F, Old.First);
    auto *Kept = BasicBlock::Create(X, "nputeir.kept", &F, Old.First);
    FunctionCallee Call = declareCall(M);
    IRBuilder<> B(End);
    B.SetCurrentDebugLocation(DL);
    B.CreateCondBr(mayCall(B, Call.getCallee()), Offer, Kept);
    End->eraseFromParent();

    B.SetInsertPoint(Offer);
    Value *Status = B.CreateCall(Call, arguments(B, O, TEIR), "nputeir.status");
    Value *Done = B.CreateICmpEQ(Status, B.getInt32(0), "nputeir.done");
    B.CreateCondBr(Done, Old.After, Kept);
    B.SetInsertPoint(Kept);
    B.CreateBr(Old.First);

    Old.First->replacePhiUsesWith(Old.Entry, Kept);
    for (PHINode &P : Old.After->phis()) // of loop-invariant values only
      P.addIncoming(P.getIncomingValue(0), Offer);
    dropMemoryPromises(F);
  }

private:
  PointerType *pointer() { return bytePointer(F.getContext()); }

  Value *frozen(IRBuilder<> &B, const SCEV *S, Type *T, Instruction *At) {
    Value *V = Code.expand(S, T, At);
    B.SetInsertPoint(At);
    return isa<Constant>(V) ? V : B.CreateFreeze(V);
  }

  // The source would not compute an inner size before the loops around it have
  // work: freezing keeps that from becoming undefined.
  void expandAll(Instruction *At) {
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Old.At);
    for (const SCEV *S : Nest.Symbol)
      Symbol.push_back(frozen(B, S, B.getInt64Ty(), At));
    for (int T = 0; T < TENSORS; T++)
      Tensor.push_back(
          address(B, C.tensor[T], C.offset_bytes[T], C.rows[T], At));
    if (!C.tail)
      return;
    Tensor.push_back(nullptr); // the sum
    for (int I = 0; I < C.extra_count; I++) {
      const contraction_extra &X = C.extra[I];
      Tensor.push_back(X.tensor < 0
                           ? nullptr
                           : address(B, X.tensor, X.offset_bytes, X.rows, At));
    }
  }

  Value *address(IRBuilder<> &B, int T, int64_t Offset, int64_t Rows,
                 Instruction *At) {
    Value *Place = frozen(B, Nest.Tensor[T], pointer(), At);
    if (Rows)
      Place = B.CreateGEP(
          B.getInt8Ty(), Place,
          B.CreateMul(Symbol[Nest.N->pitch[T]], B.getInt64((uint64_t)Rows)));
    return Offset ? B.CreateConstGEP1_64(B.getInt8Ty(), Place, (uint64_t)Offset)
                  : Place;
  }

  Value *number(IRBuilder<> &B, value V) {
    return V.symbol >= 0 ? Symbol[V.symbol] : B.getInt64(V.constant);
  }

  // Steps have at most 32 bits, and extents must have, so that only the sum can
  // overflow.
  Value *staysSmall(IRBuilder<> &B, const NoWrap &Sum) {
    Instruction *At = &*B.GetInsertPoint();
    Type *I64 = B.getInt64Ty();
    Value *Smallest = frozen(B, Sum.Start, I64, At), *Largest = Smallest;
    Value *Few = B.getTrue();
    for (auto [Step, Extent] : Sum.Terms) {
      Value *Last = B.CreateSub(frozen(B, Extent, I64, At), B.getInt64(1));
      Few = B.CreateAnd(Few, B.CreateICmpULE(Last, B.getInt64(UINT32_MAX)));
      Value *Way = B.CreateMul(frozen(B, Step, I64, At), Last);
      auto Add = [&](Value *To, Intrinsic::ID Side) {
        return B.CreateBinaryIntrinsic(
            Intrinsic::sadd_sat, To,
            B.CreateBinaryIntrinsic(Side, Way, B.getInt64(0)));
      };
      Smallest = Sum.Signed ? Add(Smallest, Intrinsic::smin) : Smallest;
      Largest = Sum.Signed ? Add(Largest, Intrinsic::smax)
                           : B.CreateBinaryIntrinsic(Intrinsic::uadd_sat,
                                                     Largest, Way);
    }
    int64_t Limit = (int64_t)1 << (Sum.Bits - 1);
    Value *Fits =
        Sum.Signed ? B.CreateAnd(B.CreateICmpSGE(Smallest, B.getInt64(-Limit)),
                                 B.CreateICmpSLT(Largest, B.getInt64(Limit)))
                   : B.CreateICmpULT(Largest, B.getInt64(2 * Limit));
    return B.CreateAnd(Few, Fits);
  }

  Value *holds(IRBuilder<> &B, const contraction_guard &G) {
    Value *Product = B.CreateBinaryIntrinsic(
        Intrinsic::smul_with_overflow, number(B, G.small), number(B, G.count));
    Value *Fits = B.CreateNot(B.CreateExtractValue(Product, 1));
    return B.CreateAnd(Fits, B.CreateICmpSGE(number(B, G.large),
                                             B.CreateExtractValue(Product, 0)));
  }

  Value *equal(IRBuilder<> &B, const SCEV *X, const SCEV *Y) {
    Instruction *At = &*B.GetInsertPoint();
    Value *Left = frozen(B, X, B.getInt64Ty(), At);
    return B.CreateICmpEQ(Left, frozen(B, Y, B.getInt64Ty(), At));
  }

  Value *mayCall(IRBuilder<> &B, Value *Callee) {
    Value *May = B.CreateIsNotNull(Callee, "nputeir.linked");
    for (int I = 0; I < C.axis_count; I++) {
      value Extent = C.axis[I].extent;
      if (Extent.symbol >= 0 || Extent.constant <= 0)
        May =
            B.CreateAnd(May, B.CreateICmpSGT(number(B, Extent), B.getInt64(0)));
    }
    for (auto [X, Y] : Nest.Equal)
      May = B.CreateAnd(May, equal(B, X, Y));
    for (const NoWrap &Sum : Nest.Bounded)
      May = B.CreateAnd(May, staysSmall(B, Sum));
    for (Value *V : Nest.NonZero)
      May = B.CreateAnd(May, B.CreateFCmpUNE(B.CreateFreeze(V),
                                             ConstantFP::get(V->getType(), 0)));
    for (auto [Condition, Side] : Nest.Assumed) {
      Value *Holds = B.CreateFreeze(Condition);
      May = B.CreateAnd(May, Side ? Holds : B.CreateNot(Holds));
    }
    for (int I = 0; I < C.guard_count; I++)
      May = B.CreateAnd(May, holds(B, C.guard[I]));
    for (int I = 0; C.tail && I < C.extra_count; I++)
      if (C.extra[I].not_out)
        May = B.CreateAnd(May,
                          B.CreateICmpNE(Tensor[TENSORS + 1 + I], Tensor[OUT]));
    for (const contraction_guard &G : Nest.Guards)
      May = B.CreateAnd(May, holds(B, G));
    return May;
  }

  Value *frame(Type *T, const Twine &Name) {
    BasicBlock &Entry = F.getEntryBlock();
    return IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
        .CreateAlloca(T, nullptr, Name);
  }

  // The call reads and writes numbers through slots in the frame.
  void fillSlots(IRBuilder<> &B) {
    if (!C.tail)
      return;
    Tensor[TENSORS] =
        B.CreatePointerCast(frame(B.getInt64Ty(), "nputeir.sum"), pointer());
    for (int I = 0; I < C.extra_count; I++) {
      if (C.extra[I].tensor >= 0)
        continue;
      Value *Number = B.CreateFreeze(Nest.Outside[C.extra[I].outside]);
      if (Number->getType()->isIntegerTy(1))
        Number = B.CreateZExt(Number, B.getInt8Ty());
      Value *Slot = frame(Number->getType(), "nputeir.number");
      B.CreateStore(Number, Slot);
      Tensor[TENSORS + 1 + I] = B.CreatePointerCast(Slot, pointer());
    }
  }

  // An array of values in the frame, filled here.
  Value *array(IRBuilder<> &B, Type *T, ArrayRef<Value *> Values,
               const Twine &Name) {
    if (Values.empty())
      return ConstantPointerNull::get(pointer());
    auto *Array = ArrayType::get(T, Values.size());
    Value *Place = frame(Array, Name);
    for (size_t I = 0; I < Values.size(); I++)
      B.CreateStore(Values[I],
                    B.CreateConstInBoundsGEP2_64(Array, Place, 0, I));
    return B.CreatePointerCast(Place, pointer());
  }

  SmallVector<Value *, 7> arguments(IRBuilder<> &B, const options &O,
                                    const std::string &TEIR) {
    struct text Words = {};
    options_print(&O, &Words);
    Value *Options = text(M, text_string(&Words), "nputeir.options");
    text_free(&Words);
    fillSlots(B);
    Value *Values = array(B, B.getInt64Ty(), Symbol, "nputeir.values");
    Value *Tensors = array(B, pointer(), Tensor, "nputeir.tensors");
    return {text(M, TEIR, "nputeir.teir"),
            Options,
            text(M, whereText(Old), "nputeir.where"),
            Values,
            B.getInt64(Symbol.size()),
            Tensors,
            B.getInt64(Tensor.size())};
  }
};

} // namespace

void rewriteNest(const Region &Old, ScalarEvolution &SE, const IRNest &I,
                 const contraction &C, const options &O,
                 const std::string &TEIR) {
  Rewriter(Old, SE, I, C).run(O, TEIR);
}

} // namespace nputeir
