// ir_loops.cpp -- loops that are put into a function.
#include "ir_loops.h"

using namespace llvm;

namespace nputeir {

void emitLoop(IRBuilder<> &B, Value *From, Value *To,
              function_ref<void(Value *)> Body) {
  BasicBlock *Front = B.GetInsertBlock();
  assert(B.GetInsertPoint() == Front->end() &&
         From->getType() == To->getType());
  Function &F = *Front->getParent();
  BasicBlock *Behind = Front->getNextNode();
  auto Create = [&](const char *Name) {
    return BasicBlock::Create(F.getContext(), Name, &F, Behind);
  };
  BasicBlock *Header = Create("nputeir.header"), *In = Create("nputeir.body"),
             *Out = Create("nputeir.out");
  B.CreateBr(Header);
  B.SetInsertPoint(Header);
  PHINode *I = B.CreatePHI(From->getType(), 2);
  I->addIncoming(From, Front);
  B.CreateCondBr(B.CreateICmpULT(I, To), In, Out);
  B.SetInsertPoint(In);
  Body(I);
  Value *One = ConstantInt::get(I->getType(), 1);
  I->addIncoming(B.CreateAdd(I, One, "", true, true), B.GetInsertBlock());
  B.CreateBr(Header);
  B.SetInsertPoint(Out);
}

} // namespace nputeir
