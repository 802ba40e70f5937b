// lower_cpu_store.cpp -- sums that stand in a buffer go to their places in the
// result, by way of the epilogue: a vector at a time where the columns are
// adjacent, with masks or one by one where fewer are, element by element
// elsewhere.
#include "arena_scope.h"
#include "lower_cpu.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace nputeir {

namespace {

class Storer {
  const CpuWork &W;
  const calc *Scale; // null: there are no further steps' sums
  Code C;
  unsigned Lanes;
  bool Masks, Vectors = true;
  Value *Sums, *Stride, *Rows, *Columns, *Tensors, *RowOffsets, *RowCapacity,
      *ColumnOffsets, *ColumnCapacity, *Runs, *Accumulate, *IsAdjacent;
  SmallVector<Value *, 8> RowPlace; // of out and the extras, in this row

public:
  Storer(CpuUnit &U, const CpuWork &W, const calc *Scale, Function &F)
      : W(W), Scale(Scale), C(F),
        Lanes((unsigned)teir_cpu_blocks(&U.Cpu, W.Sum).lanes),
        Masks(teir_cpu_has_masks(&U.Cpu, W.Out)), Sums(C.argument(0)),
        Stride(C.argument(1)), Rows(C.argument(2)), Columns(C.argument(3)),
        Tensors(C.argument(4)), RowOffsets(C.argument(5)),
        RowCapacity(C.argument(6)), ColumnOffsets(C.argument(7)),
        ColumnCapacity(C.argument(8)), Runs(C.argument(9)),
        Accumulate(C.CreateICmpNE(C.argument(10), C.number(0))),
        IsAdjacent(C.CreateICmpNE(C.argument(11), C.number(0))) {
    for (const CpuWork::Extra &X : W.Extras) {
      Vectors &= X.Moves != CpuExtra::Other;
      if (X.Moves == CpuExtra::Vector)
        Masks &= teir_cpu_has_masks(&U.Cpu, X.Type);
    }
  }

  void emit() {
    C.loop(C.number(0), Rows, C.number(1), [&](Value *I) {
      Value *Row = C.at(Sums, C.times(I, Stride));
      RowPlace.clear();
      for (unsigned T = OUT; T < W.tensors(); T++)
        RowPlace.push_back(
            C.at(C.getPointer(Tensors, (int64_t)T),
                 C.getNumber(C.at(RowOffsets, C.times(RowCapacity, T)), I)));
      auto One = [&](Value *J) { element(Row, J, 1, nullptr); };
      if (!Vectors) {
        C.loop(C.number(0), Columns, C.number(1), One);
        return;
      }
      C.when(
          IsAdjacent, [&] { adjacent(Row); },
          [&] { C.loop(C.number(0), Columns, C.number(1), One); });
    });
    C.CreateRetVoid();
  }

private:
  void adjacent(Value *Row) {
    C.walk(C.number(0), Columns, [&](Value *J) {
      Value *Run = C.least(C.getNumber(Runs, J), C.CreateSub(Columns, J));
      Value *Whole = C.CreateICmpSGE(Run, C.number(Lanes));
      C.when(
          Whole, [&] { element(Row, J, Lanes, nullptr); },
          [&] { part(Row, J, Run); });
      return C.CreateSelect(Whole, C.number(Lanes), Run);
    });
  }

  void part(Value *Row, Value *J, Value *Run) {
    if (!Masks) {
      C.loop(J, C.plus(J, Run), C.number(1),
             [&](Value *K) { element(Row, K, 1, nullptr); });
      return;
    }
    element(Row, J, Lanes, C.firstLanes(Lanes, dtype_bytes(W.Out), Run));
  }

  Type *shape(Type *T, unsigned Count) {
    return Count == 1 ? T : FixedVectorType::get(T, Count);
  }

  Value *place(unsigned T, Value *J) {
    Value *Table = C.at(ColumnOffsets, C.times(ColumnCapacity, T));
    return C.at(RowPlace[T - OUT], C.getNumber(Table, J));
  }

  Value *load(dtype T, Value *Place, unsigned Count, Value *Mask) {
    Type *Stored = shape(storedType(C.getContext(), T), Count);
    return fromStored(C, T, C.get(Stored, Place, Mask));
  }

  Value *extra(unsigned I, Value *J, unsigned Count, Value *Mask) {
    const CpuWork::Extra &X = W.Extras[I];
    Value *Place = place(TENSORS + I, J);
    if (Count == 1 || X.Moves == CpuExtra::Vector)
      return load(X.Type, Place, Count, Mask);
    return C.CreateVectorSplat(Count, load(X.Type, Place, 1, nullptr));
  }

  // `Count` elements of the row from column J on.
  void element(Value *Row, Value *J, unsigned Count, Value *Mask) {
    Type *Stored = shape(storedType(C.getContext(), W.Sum), Count);
    Value *Sum = C.get(Stored, C.at(Row, C.times(J, dtype_bytes(W.Sum))));
    Value *Place = place(OUT, J);
    Value *V;
    if (!W.Tail) {
      assert(W.Out == W.Sum);
      Value *Old = load(W.Out, Place, Count, Mask);
      bool Float = Sum->getType()->isFPOrFPVectorTy();
      Value *Added = Float ? C.CreateFAdd(Old, Sum) : C.CreateAdd(Old, Sum);
      V = C.CreateSelect(Accumulate, Added, Sum);
    } else {
      SmallVector<Value *, 8> Input = {Sum, nullptr};
      Input[TAIL_OUT] = calc_uses(W.Tail, TAIL_OUT)
                            ? load(W.Out, Place, Count, Mask)
                            : nullptr;
      for (unsigned I = 0; I < W.Extras.size(); I++)
        Input.push_back(extra(I, J, Count, Mask));
      V = compute(C, W.Tail, Input);
      if (Scale) {
        Value *Old = load(W.Out, Place, Count, Mask);
        Value *More = C.CreateFMul(compute(C, Scale, Input), Sum);
        V = C.CreateSelect(Accumulate, C.CreateFAdd(Old, More), V);
      }
    }
    C.put(toStored(C, W.Out, V), Place, Mask);
  }
};

} // namespace

Value *callPart(Code &C, Value *Parts, int Part, FunctionType *T,
                ArrayRef<Value *> Arguments) {
  Value *F = C.getPointer(Parts, Part);
  return C.CreateCall(T, C.CreatePointerCast(F, pointerTo(T)), Arguments);
}

static const char *const StoreArguments = "piiippipipii";

FunctionType *storeType(CpuUnit &U) {
  return U.type(Type::getVoidTy(U.context()), StoreArguments);
}

Function *storeFunction(CpuUnit &U, const CpuWork &W) {
  bool IsNew, Scales = isScaledPacked(U, W);
  Function *F =
      U.function(Twine("store.") + W.epilogue() + (Scales ? ".scaled" : ""),
                 Type::getVoidTy(U.context()), StoreArguments, IsNew);
  // Without an epilogue it stores edges only, which are much of a product of
  // bytes.
  if (IsNew && !W.Tail && dtype_kind(W.Out) == DTYPE_FLOAT)
    CpuUnit::compileFast(*F);
  ArenaScope Scope;
  if (IsNew)
    Storer(U, W, Scales ? scaleOf(W, Scope.A) : nullptr, *F).emit();
  return F;
}

} // namespace nputeir
