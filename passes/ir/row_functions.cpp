// row_functions.cpp -- functions of the program that copy rows.
#include "row_functions.h"
#include "ir_code.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

const char *const Names[] = {"copy", "refill", "put_back", "range"};

class Writer {
  enum { BytesPerSorted = 7 }; // that may be copied; a power of two
  Function &F;
  Code C;

  // Of rows that lie at an address.
  class Rows {
    Code &C;
    Value *At;

  public:
    Rows(Code &C, Value *At) : C(C), At(At) {}
    Value *get(RowField Which) { return C.getNumber(At, (int64_t)Which); }
    void put(RowField Which, Value *V) { C.putNumber(V, At, C.number(Which)); }
    Value *element(Value *Array, Value *I, Value *Stride) {
      Value *P = C.CreateIntToPtr(Array, bytePointer(C.getContext()));
      return C.getNumber(C.at(P, C.times(I, Stride)), (int64_t)0);
    }
    // The first byte that is used, as a number.
    Value *first(Value *I) {
      Code::Values Within = C.carry(
          C.number(0), get(ROW_AROUND), C.number(1), {get(ROW_ARRAY), I},
          [&](Value *Level, ArrayRef<Value *> X) -> Code::Values {
            Value *Of = C.at(At, C.times(Level, 8 * ROW_AROUND_FIELDS));
            auto Get = [&](RowAround Which) {
              return C.getNumber(Of, (int64_t)ROW_FIELDS + Which);
            };
            Value *Size = Get(ROW_SIZE), *J = C.CreateUDiv(X[1], Size);
            Value *Array = element(X[0], J, Get(ROW_STRIDE_AROUND));
            return {C.plus(Array, Get(ROW_OFFSET)),
                    C.CreateSub(X[1], C.times(J, Size))};
          });
      return C.plus(element(Within[0], Within[1], get(ROW_STRIDE)),
                    get(ROW_FIRST));
    }
  };

public:
  explicit Writer(Function &F) : F(F), C(F) {}

  void write(RowFunction Which) {
    if (Which == RowFunction::Copy)
      return copyAll();
    if (Which == RowFunction::Range)
      return findRange();
    move(F.getArg(0), Which == RowFunction::PutBack);
    C.CreateRetVoid();
  }

private:
  Rows rows(Value *All, Value *I) {
    return Rows(C, C.at(All, C.times(I, ROW_WORDS * 8)));
  }

  void each(Value *Count, function_ref<void(Value *)> Body) {
    C.loop(C.number(0), Count, C.number(1), Body);
  }

  void giveUpIf(Value *Condition) {
    C.when(Condition, [&] {
      C.CreateRet(ConstantPointerNull::get(bytePointer(C.getContext())));
    });
  }

  void move(Value *At, bool Back) {
    Rows R(C, At);
    Value *Copies = R.get(ROW_COPIES), *Step = R.get(ROW_STEP);
    each(R.get(ROW_COUNT), [&](Value *I) {
      Type *P = bytePointer(C.getContext());
      Value *Row = C.CreateIntToPtr(R.first(I), P);
      Value *Copy = C.CreateIntToPtr(C.plus(Copies, C.times(I, Step)), P);
      C.CreateMemCpy(Back ? Row : Copy, Align(1), Back ? Copy : Row, Align(1),
                     R.get(ROW_BYTES));
    });
  }

  // No row of Of lies between those of From; of the same, between those before
  // it.
  Value *areBeside(Value *All, Value *I, Value *J) {
    Rows Of = rows(All, I), From = rows(All, J);
    Value *Bytes = Of.get(ROW_BYTES), *Others = From.get(ROW_BYTES);
    Value *IsSame = C.CreateICmpEQ(I, J);
    auto Widen = [&](ArrayRef<Value *> X, Value *Row) -> Code::Values {
      Value *End = C.plus(Row, Others);
      return {C.CreateSelect(C.CreateICmpULT(Row, X[0]), Row, X[0]),
              C.CreateSelect(C.CreateICmpUGT(End, X[1]), End, X[1])};
    };
    Value *Count = C.CreateSelect(IsSame, C.number(0), From.get(ROW_COUNT));
    Code::Values Whole = C.carry(
        C.number(0), Count, C.number(1), {C.number(-1), C.number(0)},
        [&](Value *K, ArrayRef<Value *> X) { return Widen(X, From.first(K)); });
    Whole.push_back(C.getTrue());
    return C.carry(C.number(0), Of.get(ROW_COUNT), C.number(1), Whole,
                   [&](Value *K, ArrayRef<Value *> X) -> Code::Values {
                     Value *Row = Of.first(K), *End = C.plus(Row, Bytes);
                     Value *IsBetween = C.CreateAnd(C.CreateICmpULT(Row, X[1]),
                                                    C.CreateICmpULT(X[0], End));
                     Code::Values Next = Widen(X, Row);
                     return {C.CreateSelect(IsSame, Next[0], X[0]),
                             C.CreateSelect(IsSame, Next[1], X[1]),
                             C.CreateAnd(X[2], C.CreateNot(IsBetween))};
                   })[2];
  }

  // For each of rows: whether it is written; gives what Body carries.
  Code::Values eachRows(
      Value *All, Value *Count, const Code::Values &First,
      function_ref<Code::Values(Value *, Value *, ArrayRef<Value *>)> Body) {
    return C.carry(C.number(0), Count, C.number(1), First,
                   [&](Value *I, ArrayRef<Value *> X) {
                     Value *IsWritten = C.CreateICmpNE(
                         rows(All, I).get(ROW_WRITTEN), C.number(0));
                     return Body(I, IsWritten, X);
                   });
  }

  Value *areAllBeside(Value *All, Value *Count) {
    return eachRows(All, Count, {C.getTrue()},
                    [&](Value *I, Value *IsWritten, ArrayRef<Value *> X) {
                      return C.choose(IsWritten, {X[0]}, [&] {
                        return C.carry(
                            C.number(0), Count, C.number(1), {X[0]},
                            [&](Value *J, ArrayRef<Value *> Y) -> Code::Values {
                              return {C.CreateAnd(Y[0], areBeside(All, I, J))};
                            });
                      });
                    })[0];
  }

  // ---- rows that lie between others, by their order in memory ----

  // Where one begins; twice where it ends, plus one if it is written.
  enum { SORT_START, SORT_END, SORT_WORDS };
  Value *word(Value *Sorted, Value *I, int Which) {
    return C.getNumber(C.at(Sorted, C.times(I, SORT_WORDS * 8)),
                       (int64_t)Which);
  }
  void putWords(Value *Sorted, Value *I, Value *Start, Value *End) {
    Value *At = C.at(Sorted, C.times(I, SORT_WORDS * 8));
    C.putNumber(Start, At, C.number(SORT_START));
    C.putNumber(End, At, C.number(SORT_END));
  }

  // Sorts in two arrays, by the other one in turn; gives the one that is.
  Value *sorted(Value *X, Value *Y, Value *Count) {
    Value *Slots = C.frame(X->getType(), 2, 8);
    auto Slot = [&](int I) { return C.at(Slots, (int64_t)I * 8); };
    C.put(X, Slot(0));
    C.put(Y, Slot(1));
    C.walk(C.number(1), Count, [&](Value *Width) {
      Value *From = C.getPointer(Slots, 0), *To = C.getPointer(Slots, 1);
      C.loop(C.number(0), Count, C.plus(Width, Width), [&](Value *Low) {
        Value *Middle = C.least(C.plus(Low, Width), Count);
        Value *High = C.least(C.plus(Middle, Width), Count);
        C.carry(Low, High, C.number(1), {Low, Middle},
                [&](Value *K, ArrayRef<Value *> At) -> Code::Values {
                  Value *IsLess =
                      C.CreateICmpULE(word(From, At[0], SORT_START),
                                      word(From, At[1], SORT_START));
                  Value *IsLeft = C.CreateAnd(
                      C.CreateICmpSLT(At[0], Middle),
                      C.CreateOr(C.CreateICmpSGE(At[1], High), IsLess));
                  Value *I = C.CreateSelect(IsLeft, At[0], At[1]);
                  putWords(To, K, word(From, I, SORT_START),
                           word(From, I, SORT_END));
                  Value *Left = C.CreateZExt(IsLeft, C.getInt64Ty());
                  return {C.plus(At[0], Left),
                          C.plus(At[1], C.CreateSub(C.number(1), Left))};
                });
      });
      C.put(To, Slot(0));
      C.put(From, Slot(1));
      return Width;
    });
    return C.getPointer(Slots, 0);
  }

  Value *areApart(Value *Sorted, Value *Count) {
    return C.carry(C.number(0), Count, C.number(1),
                   {C.number(0), C.number(0), C.getTrue()},
                   [&](Value *I, ArrayRef<Value *> X) -> Code::Values {
                     Value *Start = word(Sorted, I, SORT_START),
                           *End = word(Sorted, I, SORT_END);
                     Value *IsWritten = C.CreateTrunc(End, C.getInt1Ty());
                     End = C.CreateLShr(End, 1);
                     Value *Before = C.CreateSelect(IsWritten, X[0], X[1]);
                     auto Later = [&](Value *Of) {
                       return C.CreateSelect(C.CreateICmpUGT(End, Of), End, Of);
                     };
                     return {Later(X[0]),
                             C.CreateSelect(IsWritten, Later(X[1]), X[1]),
                             C.CreateAnd(X[2], C.CreateICmpUGE(Start, Before))};
                   })[2];
  }

  // Unless that is much work: sorting a row takes as long as many products.
  void requireApart(Value *All, Value *Count, Value *Most) {
    Value *N =
        eachRows(All, Count, {C.number(0)},
                 [&](Value *I, Value *, ArrayRef<Value *> X) -> Code::Values {
                   return {C.plus(X[0], rows(All, I).get(ROW_COUNT))};
                 })[0];
    giveUpIf(C.CreateICmpUGT(N, C.CreateLShr(Most, BytesPerSorted)));
    Value *Bytes = C.times(C.plus(N, 1), SORT_WORDS * 8); // one is read behind
    Value *Memory = emitMalloc(C, C.times(Bytes, 2));
    giveUpIf(C.CreateIsNull(Memory));
    eachRows(
        All, Count, {C.number(0)},
        [&](Value *I, Value *IsWritten, ArrayRef<Value *> X) -> Code::Values {
          Rows R = rows(All, I);
          Value *Flag = C.CreateZExt(IsWritten, C.getInt64Ty()),
                *Size = R.get(ROW_BYTES);
          each(R.get(ROW_COUNT), [&](Value *K) {
            Value *Start = R.first(K);
            putWords(Memory, C.plus(X[0], K), Start,
                     C.plus(C.times(C.plus(Start, Size), 2), Flag));
          });
          return {C.plus(X[0], R.get(ROW_COUNT))};
        });
    Value *Good = areApart(sorted(Memory, C.at(Memory, Bytes), N), N);
    emitFree(C, Memory);
    giveUpIf(C.CreateNot(Good));
  }

  void findRange() {
    Code::Values Both = C.carry(
        C.number(0), F.getArg(2), C.number(1), {C.number(-1), C.number(0)},
        [&](Value *I, ArrayRef<Value *> X) -> Code::Values {
          Value *Row = C.getNumber(C.at(F.getArg(0), C.times(I, F.getArg(1))),
                                   (int64_t)0);
          return {C.CreateSelect(C.CreateICmpULT(Row, X[0]), Row, X[0]),
                  C.CreateSelect(C.CreateICmpUGT(Row, X[1]), Row, X[1])};
        });
    C.CreateAggregateRet(Both.data(), 2);
  }

  void copyAll() {
    Value *All = F.getArg(0), *Copied = F.getArg(1), *Count = F.getArg(2);
    Value *Total = C.carry(
        C.number(0), Copied, C.number(1), {C.number(0)},
        [&](Value *I, ArrayRef<Value *> Sum) -> Code::Values {
          Rows R = rows(All, I);
          giveUpIf(C.CreateICmpUGT(R.get(ROW_BYTES), R.get(ROW_MOST)));
          Value *Step = C.roundUp(R.get(ROW_BYTES), RowAlignment);
          R.put(ROW_STEP, Step);
          Value *Size = C.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow,
                                                Step, R.get(ROW_COUNT));
          giveUpIf(C.CreateExtractValue(Size, 1));
          return {C.CreateBinaryIntrinsic(Intrinsic::uadd_sat, Sum[0],
                                          C.CreateExtractValue(Size, 0))};
        })[0];
    giveUpIf(C.CreateICmpUGT(Total, F.getArg(3)));
    C.when(C.CreateNot(areAllBeside(All, Count)),
           [&] { requireApart(All, Count, F.getArg(3)); });
    Value *Memory = emitMalloc(C, Total);
    giveUpIf(C.CreateIsNull(Memory));
    Value *First = C.CreatePtrToInt(Memory, C.getInt64Ty());
    C.carry(C.number(0), Copied, C.number(1), {First},
            [&](Value *I, ArrayRef<Value *> Place) -> Code::Values {
              Rows R = rows(All, I);
              R.put(ROW_COPIES, Place[0]);
              move(C.at(All, C.times(I, ROW_WORDS * 8)), false);
              return {
                  C.plus(Place[0], C.times(R.get(ROW_STEP), R.get(ROW_COUNT)))};
            });
    C.CreateRet(Memory);
  }
};

} // namespace

Value *callRows(IRBuilder<> &B, RowFunction Which,
                ArrayRef<Value *> Arguments) {
  Module &M = *B.GetInsertBlock()->getModule();
  Type *I64 = B.getInt64Ty();
  Type *Result = Which == RowFunction::Copy    ? bytePointer(B.getContext())
                 : Which == RowFunction::Range ? StructType::get(I64, I64)
                                               : B.getVoidTy();
  SmallVector<Type *, 4> Types;
  for (Value *X : Arguments)
    Types.push_back(X->getType());
  FunctionCallee Callee = M.getOrInsertFunction(
      (RowFunctionPrefix + Twine(Names[(size_t)Which])).str(),
      FunctionType::get(Result, Types, false));
  cast<Function>(Callee.getCallee())->setDoesNotThrow();
  return B.CreateCall(Callee, Arguments);
}

void writeRowFunction(Function &F, StringRef Name) {
  StringRef Which = Name.substr(strlen(RowFunctionPrefix));
  Which = Which.substr(0, Which.find('.'));
  const auto *Found = find(Names, Which);
  assert(Found != std::end(Names));
  Writer(F).write((RowFunction)(Found - Names));
}

} // namespace nputeir
