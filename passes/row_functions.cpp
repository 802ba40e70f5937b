// row_functions.cpp -- functions of the program that copy rows.
#include "row_functions.h"
#include "ir_code.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

const char *const Names[] = {"copy", "refill", "put_back"};

class Writer {
  enum { PairsShift = 4 }; // 16 bytes that may be copied: a comparison
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
    // The first byte that is used, as a number.
    Value *first(Value *I) {
      Value *Array =
          C.CreateIntToPtr(get(ROW_ARRAY), bytePointer(C.getContext()));
      Value *Row = C.at(Array, C.times(I, get(ROW_STRIDE)));
      return C.plus(C.getNumber(Row, (int64_t)0), get(ROW_FIRST));
    }
  };

public:
  explicit Writer(Function &F) : F(F), C(F) {}

  void write(RowFunction Which) {
    if (Which == RowFunction::Copy)
      return copyAll();
    move(F.getArg(0), Which == RowFunction::PutBack);
    C.CreateRetVoid();
  }

private:
  Rows rows(Value *All, Value *I) {
    return Rows(C, C.at(All, C.times(I, ROW_FIELDS * 8)));
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

  // A row that lies between all of the others is compared with each, unless
  // that is too much work: comparisons are as long as many products.
  void requireApart(Value *All, Value *I, Value *J) {
    Rows Of = rows(All, I), From = rows(All, J);
    Value *Bytes = Of.get(ROW_BYTES), *Others = From.get(ROW_BYTES);
    Value *IsSame = C.CreateICmpEQ(I, J);
    Value *Low = C.number(-1), *High = C.number(0);
    auto Widen = [&](ArrayRef<Value *> X, Value *Row) -> Code::Values {
      Value *End = C.plus(Row, Others);
      return {C.CreateSelect(C.CreateICmpULT(Row, X[0]), Row, X[0]),
              C.CreateSelect(C.CreateICmpUGT(End, X[1]), End, X[1])};
    };
    Value *Count = C.CreateSelect(IsSame, C.number(0), From.get(ROW_COUNT));
    Code::Values Whole = C.carry(
        C.number(0), Count, C.number(1), {Low, High},
        [&](Value *K, ArrayRef<Value *> X) { return Widen(X, From.first(K)); });
    Whole.push_back(C.CreateLShr(F.getArg(3), PairsShift));
    C.carry(C.number(0), Of.get(ROW_COUNT), C.number(1), Whole,
            [&](Value *K, ArrayRef<Value *> X) -> Code::Values {
              Value *Row = Of.first(K), *End = C.plus(Row, Bytes);
              Value *IsBetween = C.CreateAnd(C.CreateICmpULT(Row, X[1]),
                                             C.CreateICmpULT(X[0], End));
              Value *Left = C.choose(IsBetween, {X[2]}, [&]() -> Code::Values {
                Value *Before = C.CreateSelect(IsSame, K, From.get(ROW_COUNT));
                giveUpIf(C.CreateICmpULT(X[2], Before));
                each(Before, [&](Value *L) {
                  Value *Other = From.first(L);
                  giveUpIf(
                      C.CreateAnd(C.CreateICmpULT(Row, C.plus(Other, Others)),
                                  C.CreateICmpULT(Other, End)));
                });
                return {C.CreateSub(X[2], Before)};
              })[0];
              Code::Values Next = Widen(X, Row);
              return {C.CreateSelect(IsSame, Next[0], X[0]),
                      C.CreateSelect(IsSame, Next[1], X[1]), Left};
            });
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
    each(Count, [&](Value *I) {
      C.when(C.CreateICmpNE(rows(All, I).get(ROW_WRITTEN), C.number(0)),
             [&] { each(Count, [&](Value *J) { requireApart(All, I, J); }); });
    });
    Value *Memory = emitMalloc(C, Total);
    giveUpIf(C.CreateIsNull(Memory));
    Value *First = C.CreatePtrToInt(Memory, C.getInt64Ty());
    C.carry(C.number(0), Copied, C.number(1), {First},
            [&](Value *I, ArrayRef<Value *> Place) -> Code::Values {
              Rows R = rows(All, I);
              R.put(ROW_COPIES, Place[0]);
              move(C.at(All, C.times(I, ROW_FIELDS * 8)), false);
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
  Type *P = bytePointer(B.getContext());
  SmallVector<Type *, 4> Types;
  for (Value *X : Arguments)
    Types.push_back(X->getType());
  FunctionCallee Callee = M.getOrInsertFunction(
      (RowFunctionPrefix + Twine(Names[(size_t)Which])).str(),
      FunctionType::get(Which == RowFunction::Copy ? P : B.getVoidTy(), Types,
                        false));
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
