// ir_code.h -- a builder of functions with structured control: loops, choices
// and memory by byte addresses.  What it emits is in SSA form as it stands.
#ifndef NPUTEIR_IR_CODE_H
#define NPUTEIR_IR_CODE_H

#include "versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

class Code : public llvm::IRBuilder<> {
  llvm::Function &F;
  bool IsX86;

public:
  using Values = llvm::SmallVector<llvm::Value *, 16>;

  // Appends to F, which has no code yet.
  explicit Code(llvm::Function &F);
  // Goes on at the end of a block, which has no terminator.
  explicit Code(llvm::BasicBlock &End);

  llvm::Module &module() { return *F.getParent(); }
  llvm::Argument *argument(unsigned I) { return F.getArg(I); }

  // Numbers of 64 bits.
  llvm::Value *number(int64_t N) { return getInt64((uint64_t)N); }
  llvm::Value *plus(llvm::Value *X, llvm::Value *Y);
  llvm::Value *plus(llvm::Value *X, int64_t Y) { return plus(X, number(Y)); }
  llvm::Value *times(llvm::Value *X, llvm::Value *Y);
  llvm::Value *times(llvm::Value *X, int64_t Y) { return times(X, number(Y)); }
  llvm::Value *least(llvm::Value *X, llvm::Value *Y);
  llvm::Value *roundUp(llvm::Value *X, int64_t Unit);
  llvm::Value *divide(llvm::Value *X, llvm::Value *Y); // not below zero
  llvm::Value *divideUp(llvm::Value *X, llvm::Value *Y);

  // Memory.  Elements are aligned to their size, vectors to their elements'.
  llvm::Value *at(llvm::Value *Place, llvm::Value *Bytes);
  llvm::Value *at(llvm::Value *Place, int64_t Bytes);
  // Masked-off elements are zero and not touched; no mask: null.
  llvm::Value *get(llvm::Type *T, llvm::Value *Place,
                   llvm::Value *Mask = nullptr);
  void put(llvm::Value *V, llvm::Value *Place, llvm::Value *Mask = nullptr);
  // A mask of the first Count lanes, for elements of so many bytes.
  llvm::Value *firstLanes(unsigned Lanes, int Bytes, llvm::Value *Count);
  llvm::Value *getNumber(llvm::Value *Array, llvm::Value *Index);
  llvm::Value *getNumber(llvm::Value *Array, int64_t Index);
  void putNumber(llvm::Value *V, llvm::Value *Array, llvm::Value *Index);
  llvm::Value *getPointer(llvm::Value *Array, int64_t Index);
  llvm::Value *frame(llvm::Type *T, uint64_t Count, unsigned Alignment);

  // for (i = From; i < To; i += Step)
  void loop(llvm::Value *From, llvm::Value *To, llvm::Value *Step,
            llvm::function_ref<void(llvm::Value *)> Body);
  // The same, in which values are carried from iteration to iteration; gives
  // them as they are behind the loop.
  Values
  carry(llvm::Value *From, llvm::Value *To, llvm::Value *Step,
        llvm::ArrayRef<llvm::Value *> First,
        llvm::function_ref<Values(llvm::Value *, llvm::ArrayRef<llvm::Value *>)>
            Body);
  // The same where To is known to be more than From.
  Values repeat(
      llvm::Value *From, llvm::Value *To, llvm::Value *Step,
      llvm::ArrayRef<llvm::Value *> First,
      llvm::function_ref<Values(llvm::Value *, llvm::ArrayRef<llvm::Value *>)>
          Body);
  // The same; Body gives the step.
  void walk(llvm::Value *From, llvm::Value *To,
            llvm::function_ref<llvm::Value *(llvm::Value *)> Body);
  // First, then Next of it, and so on until that gives the same again.
  llvm::Value *settle(llvm::Value *First,
                      llvm::function_ref<llvm::Value *(llvm::Value *)> Next);
  // What Then gives, if the condition holds.
  Values choose(llvm::Value *Condition, const Values &Otherwise,
                llvm::function_ref<Values()> Then);
  void when(llvm::Value *Condition, llvm::function_ref<void()> Then,
            llvm::function_ref<void()> Else = nullptr);

private:
  llvm::BasicBlock *block(const char *Name);
  Values iterate(
      llvm::BasicBlock *Before, llvm::BasicBlock *Loop, llvm::BasicBlock *After,
      llvm::Value *From, llvm::Value *To, llvm::Value *Step,
      llvm::ArrayRef<llvm::Value *> First,
      llvm::function_ref<Values(llvm::Value *, llvm::ArrayRef<llvm::Value *>)>
          Body);
  llvm::Value *moved(llvm::Value *V);
};

// A number or an address, in the frame where it lives through loops: every use
// is a load of its own there.  It would be spilled anyway, and to find where
// takes much of the time in which the code of a driver is generated.
class Kept {
  Code *C = nullptr;
  llvm::Value *Is = nullptr;
  llvm::Type *T = nullptr; // in the frame

public:
  Kept() = default;
  Kept(Code &C, llvm::Value *V)
      : C(&C), Is(C.frame(V->getType(), 1, 8)), T(V->getType()) {
    C.put(V, Is);
  }
  operator llvm::Value *() const { return C->get(T, Is); }
};

// From malloc: null where there is none.
llvm::CallInst *emitMalloc(llvm::IRBuilder<> &B, llvm::Value *Bytes);
void emitFree(llvm::IRBuilder<> &B, llvm::Value *Memory);

} // namespace nputeir

#endif
