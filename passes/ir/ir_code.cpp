// ir_code.cpp -- a builder of functions with structured control.
#include "ir_code.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

static bool isX86(const Function &F) {
  return Triple(F.getParent()->getTargetTriple()).isX86();
}

Code::Code(Function &F) : IRBuilder<>(F.getContext()), F(F), IsX86(isX86(F)) {
  assert(F.empty());
  SetInsertPoint(block("entry"));
}

Code::Code(BasicBlock &End)
    : IRBuilder<>(&End), F(*End.getParent()), IsX86(isX86(F)) {
  assert(!End.getTerminator());
}

BasicBlock *Code::block(const char *Name) {
  return BasicBlock::Create(F.getContext(), Name, &F);
}

static bool is(Value *X, uint64_t N) {
  auto *Known = dyn_cast<ConstantInt>(X);
  return Known && Known->getValue() == N;
}

// Functions that are compiled fast have what is written here.
Value *Code::plus(Value *X, Value *Y) {
  return is(X, 0) ? Y : is(Y, 0) ? X : CreateAdd(X, Y);
}

Value *Code::times(Value *X, Value *Y) {
  if (is(X, 1) || is(Y, 0))
    return Y;
  return is(Y, 1) || is(X, 0) ? X : CreateMul(X, Y);
}

Value *Code::least(Value *X, Value *Y) {
  return CreateSelect(CreateICmpSLT(X, Y), X, Y);
}

// Fast instruction selection would divide by a power of two, too.
Value *Code::divide(Value *X, Value *Y) {
  auto *Known = dyn_cast<ConstantInt>(Y);
  return Known && Known->getValue().isPowerOf2()
             ? CreateLShr(X, (uint64_t)Known->getValue().logBase2())
             : CreateUDiv(X, Y);
}

Value *Code::divideUp(Value *X, Value *Y) {
  return is(Y, 1) ? X : divide(plus(X, CreateSub(Y, number(1))), Y);
}

Value *Code::roundUp(Value *X, int64_t Unit) {
  assert(Unit > 0);
  if (Unit & (Unit - 1))
    return times(divideUp(X, number(Unit)), Unit);
  return CreateAnd(plus(X, Unit - 1), number(-Unit));
}

Value *Code::at(Value *Place, Value *Bytes) {
  Value *From = CreatePointerCast(Place, bytePointer(getContext()));
  return is(Bytes, 0) ? From : CreateGEP(getInt8Ty(), From, Bytes);
}

Value *Code::at(Value *Place, int64_t Bytes) {
  return Bytes ? at(Place, number(Bytes)) : Place;
}

static Align alignOf(Type *T) {
  Type *Element = T->getScalarType();
  return Align(Element->isPointerTy() ? 8 : Element->getScalarSizeInBits() / 8);
}

Value *Code::get(Type *T, Value *Place, Value *Mask) {
  Value *At = CreatePointerCast(Place, pointerTo(T));
  if (Mask)
    return CreateMaskedLoad(T, At, alignOf(T), Mask, Constant::getNullValue(T));
  return CreateAlignedLoad(T, At, alignOf(T));
}

void Code::put(Value *V, Value *Place, Value *Mask) {
  Value *At = CreatePointerCast(Place, pointerTo(V->getType()));
  if (Mask)
    CreateMaskedStore(V, At, alignOf(V->getType()), Mask);
  else
    CreateAlignedStore(V, At, alignOf(V->getType()));
}

Value *Code::firstLanes(unsigned Lanes, int Bytes, Value *Count) {
  Type *Index = Bytes == 8 ? getInt64Ty() : getInt32Ty();
  SmallVector<Constant *, 16> Numbers;
  for (unsigned L = 0; L < Lanes; L++)
    Numbers.push_back(ConstantInt::get(Index, L));
  Value *Wanted = CreateVectorSplat(Lanes, CreateIntCast(Count, Index, true));
  return CreateICmpSGT(Wanted, ConstantVector::get(Numbers));
}

Value *Code::getNumber(Value *Array, Value *Index) {
  return get(getInt64Ty(), at(Array, times(Index, 8)));
}

Value *Code::getNumber(Value *Array, int64_t Index) {
  return get(getInt64Ty(), at(Array, 8 * Index));
}

void Code::putNumber(Value *V, Value *Array, Value *Index) {
  put(V, at(Array, times(Index, 8)));
}

Value *Code::getPointer(Value *Array, int64_t Index) {
  return get(bytePointer(getContext()), at(Array, 8 * Index));
}

Value *Code::frame(Type *T, uint64_t Count, unsigned Alignment) {
  BasicBlock &Entry = F.getEntryBlock();
  IRBuilder<> B(&Entry, Entry.getFirstInsertionPt());
  AllocaInst *A = B.CreateAlloca(ArrayType::get(T, Count));
  A->setAlignment(Align(Alignment));
  return B.CreatePointerCast(A, bytePointer(getContext()));
}

// A counter or an address of the next iteration.  Nothing shall look for
// induction variables: loops are emitted as they shall be, x86-64's addressing
// modes need no others, and loop strength reduction took a seventh of the time
// that a product's code did.
Value *Code::moved(Value *V) {
  Type *T = V->getType();
  return IsX86 && (T->isIntegerTy() || T->isPointerTy()) ? CreateFreeze(V) : V;
}

// A loop of one iteration, as is known.
static bool isOne(Value *From, Value *To, Value *Step) {
  auto *F = dyn_cast<ConstantInt>(From), *T = dyn_cast<ConstantInt>(To);
  auto *S = dyn_cast<ConstantInt>(Step);
  return F && T && S && F->getSExtValue() < T->getSExtValue() &&
         T->getSExtValue() - F->getSExtValue() <= S->getSExtValue();
}

Code::Values
Code::carry(Value *From, Value *To, Value *Step, ArrayRef<Value *> First,
            function_ref<Values(Value *, ArrayRef<Value *>)> Body) {
  Value *IsEntered = CreateICmpSLT(From, To);
  if (IsEntered == getTrue())
    return repeat(From, To, Step, First, Body);
  BasicBlock *Before = GetInsertBlock();
  BasicBlock *Loop = block("loop"), *After = block("after");
  CreateCondBr(IsEntered, Loop, After);
  Values Next = iterate(Before, Loop, After, From, To, Step, First, Body);
  BasicBlock *Latch = GetInsertBlock();
  SetInsertPoint(After);
  Values Result;
  for (size_t I = 0; I < First.size(); I++) {
    PHINode *Last = CreatePHI(First[I]->getType(), 2);
    Last->addIncoming(First[I], Before);
    Last->addIncoming(Next[I], Latch);
    Result.push_back(Last);
  }
  return Result;
}

Code::Values
Code::repeat(Value *From, Value *To, Value *Step, ArrayRef<Value *> First,
             function_ref<Values(Value *, ArrayRef<Value *>)> Body) {
  if (isOne(From, To, Step))
    return Body(From, First);
  BasicBlock *Before = GetInsertBlock();
  BasicBlock *Loop = block("loop"), *After = block("after");
  CreateBr(Loop);
  Values Last = iterate(Before, Loop, After, From, To, Step, First, Body);
  SetInsertPoint(After);
  return Last;
}

// The loop itself, entered from Before; gives what its last iteration does, in
// the latch, where the builder is then.
Code::Values
Code::iterate(BasicBlock *Before, BasicBlock *Loop, BasicBlock *After,
              Value *From, Value *To, Value *Step, ArrayRef<Value *> First,
              function_ref<Values(Value *, ArrayRef<Value *>)> Body) {
  SetInsertPoint(Loop);
  PHINode *Index = CreatePHI(getInt64Ty(), 2);
  Index->addIncoming(From, Before);
  SmallVector<PHINode *, 16> Carried;
  for (Value *V : First) {
    Carried.push_back(CreatePHI(V->getType(), 2));
    Carried.back()->addIncoming(V, Before);
  }
  Values Inside(Carried.begin(), Carried.end());
  Values Next = Body(Index, Inside);
  assert(Next.size() == First.size());
  for (Value *&V : Next)
    V = moved(V);
  Value *Further = moved(plus(Index, Step));
  BasicBlock *Latch = GetInsertBlock();
  CreateCondBr(CreateICmpSLT(Further, To), Loop, After);
  Index->addIncoming(Further, Latch);
  for (size_t I = 0; I < First.size(); I++)
    Carried[I]->addIncoming(Next[I], Latch);
  return Next;
}

void Code::loop(Value *From, Value *To, Value *Step,
                function_ref<void(Value *)> Body) {
  carry(From, To, Step, {}, [&](Value *I, ArrayRef<Value *>) {
    Body(I);
    return Values();
  });
}

void Code::walk(Value *From, Value *To, function_ref<Value *(Value *)> Body) {
  BasicBlock *Before = GetInsertBlock();
  BasicBlock *Loop = block("walk"), *After = block("after");
  CreateBr(Loop);
  SetInsertPoint(Loop);
  PHINode *Index = CreatePHI(getInt64Ty(), 2);
  Index->addIncoming(From, Before);
  Value *Further = moved(plus(Index, Body(Index)));
  Index->addIncoming(Further, GetInsertBlock());
  CreateCondBr(CreateICmpSLT(Further, To), Loop, After);
  SetInsertPoint(After);
}

Value *Code::settle(Value *First, function_ref<Value *(Value *)> Next) {
  BasicBlock *Before = GetInsertBlock();
  BasicBlock *Loop = block("settle"), *After = block("after");
  CreateBr(Loop);
  SetInsertPoint(Loop);
  PHINode *X = CreatePHI(First->getType(), 2);
  X->addIncoming(First, Before);
  Value *Further = moved(Next(X));
  X->addIncoming(Further, GetInsertBlock());
  CreateCondBr(CreateICmpNE(Further, X), Loop, After);
  SetInsertPoint(After);
  return X;
}

Code::Values Code::choose(Value *Condition, const Values &Otherwise,
                          function_ref<Values()> Then) {
  if (auto *Known = dyn_cast<ConstantInt>(Condition))
    return Known->isOne() ? Then() : Otherwise;
  BasicBlock *Before = GetInsertBlock();
  BasicBlock *Yes = block("then"), *After = block("after");
  CreateCondBr(Condition, Yes, After);
  SetInsertPoint(Yes);
  Values Found = Then();
  assert(Found.size() == Otherwise.size());
  BasicBlock *End = GetInsertBlock();
  CreateBr(After);
  SetInsertPoint(After);
  Values Result;
  for (size_t I = 0; I < Found.size(); I++) {
    PHINode *Phi = CreatePHI(Found[I]->getType(), 2);
    Phi->addIncoming(Otherwise[I], Before);
    Phi->addIncoming(Found[I], End);
    Result.push_back(Phi);
  }
  return Result;
}

void Code::when(Value *Condition, function_ref<void()> Then,
                function_ref<void()> Else) {
  if (Condition == getTrue()) {
    Then();
    if (GetInsertBlock()->getTerminator()) // what follows never runs
      SetInsertPoint(block("after"));
    return;
  }
  BasicBlock *Yes = block("then"), *No = Else ? block("else") : nullptr;
  BasicBlock *After = block("after");
  CreateCondBr(Condition, Yes, No ? No : After);
  SetInsertPoint(Yes);
  Then();
  if (!GetInsertBlock()->getTerminator()) // it may return
    CreateBr(After);
  if (No) {
    SetInsertPoint(No);
    Else();
    CreateBr(After);
  }
  SetInsertPoint(After);
}

CallInst *emitMalloc(IRBuilder<> &B, Value *Bytes) {
  Module &M = *B.GetInsertBlock()->getModule();
  return B.CreateCall(M.getOrInsertFunction("malloc",
                                            bytePointer(B.getContext()),
                                            B.getInt64Ty()),
                      {Bytes});
}

void emitFree(IRBuilder<> &B, Value *Memory) {
  Module &M = *B.GetInsertBlock()->getModule();
  B.CreateCall(
      M.getOrInsertFunction("free", B.getVoidTy(), bytePointer(B.getContext())),
      {Memory});
}

} // namespace nputeir
