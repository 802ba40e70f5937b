// calls.cpp -- library calls that are matrix products -> struct nest.
//
// A call of BLAS says what a nest only shows.  It is described as the nest that
// it stands for, so that one recogniser, one set of conditions and one way to
// rewrite serve both; the call itself is the other side of the branch:
//
//     for i < m, j < n:  s = 0;  for l < k: s += A[i,l] * B[l,j]
//                        C[i,j] = alpha * s + beta * C[i,j]
//
// BLAS leaves the order of the sum to the library.  It does not read C where
// beta is zero, nor A and B where alpha is zero; the former becomes a choice
// in the nest, the latter a condition of the call.
//
// Not taken: a layout or transposition that is chosen at run time, offsets of
// integer products other than zero, functions that the module defines itself
// or declares with other parameters.
#include "calls.h"
#include "ir_marks.h"
#include "nest_builder.h"
#include "versions.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

namespace {

enum Role {
  LAYOUT,
  TRANS_A,
  TRANS_B,
  OFFSETS_OF_C,
  SIZE_M,
  SIZE_N,
  SIZE_K,
  ALPHA,
  MATRIX_A,
  LD_A,
  OFFSET_A,
  MATRIX_B,
  LD_B,
  OFFSET_B,
  BETA,
  MATRIX_C,
  LD_C,
  OFFSET_C,
  ROLES
};

constexpr Role CBLAS[] = {LAYOUT, TRANS_A, TRANS_B,  SIZE_M, SIZE_N,
                          SIZE_K, ALPHA,   MATRIX_A, LD_A,   MATRIX_B,
                          LD_B,   BETA,    MATRIX_C, LD_C};
constexpr Role OFFSETS[] = {LAYOUT,   TRANS_A,  TRANS_B, OFFSETS_OF_C, SIZE_M,
                            SIZE_N,   SIZE_K,   ALPHA,   MATRIX_A,     LD_A,
                            OFFSET_A, MATRIX_B, LD_B,    OFFSET_B,     BETA,
                            MATRIX_C, LD_C,     OFFSET_C};
// Column-major, and every argument by pointer.
constexpr Role FORTRAN[] = {TRANS_A, TRANS_B,  SIZE_M, SIZE_N,   SIZE_K,
                            ALPHA,   MATRIX_A, LD_A,   MATRIX_B, LD_B,
                            BETA,    MATRIX_C, LD_C};

struct Gemm {
  const char *Name;
  ArrayRef<Role> Order;
  dtype A, B, C, Scalar;
  bool byPointer() const { return Order.front() != LAYOUT; }
};

const Gemm Known[] = {
#define GEMM(name, order, a, b, c, scalar)                                     \
  {#name, order, DTYPE_##a, DTYPE_##b, DTYPE_##c, DTYPE_##scalar},
#include "gemm.def"
};

// The same functions with 64-bit integers: sgemm_64_ and cblas_sgemm64_ are
// OpenBLAS's, cblas_sgemm_64 is MKL's.
bool isWide(StringRef &Name) {
  return Name.consume_back("64_") || Name.consume_back("_64");
}

const Gemm *gemmOf(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || !F->isDeclaration() || F->isIntrinsic())
    return nullptr;
  StringRef Name = F->getName();
  isWide(Name);
  for (const Gemm &G : Known)
    if (Name == G.Name)
      return &G;
  return nullptr;
}

// U hands a product something that it reads: it writes its result only, and
// keeps no address.
bool isReadByProduct(const Use &U) {
  const auto *Call = dyn_cast<CallBase>(U.getUser());
  const Gemm *G = Call ? gemmOf(*Call) : nullptr;
  if (!G || !G->byPointer() || !Call->isArgOperand(&U))
    return false;
  unsigned I = Call->getArgOperandNo(&U);
  return I < G->Order.size() && G->Order[I] != MATRIX_C;
}

// The constant that is all that a variable of the function ever holds; null:
// there is none.
Constant *everHeldBy(const AllocaInst &Variable, const Type *T) {
  Constant *Held = nullptr;
  for (const Use &U : Variable.uses()) {
    auto *S = dyn_cast<StoreInst>(U.getUser());
    if (S && S->getPointerOperand() == &Variable && !Held && S->isSimple() &&
        S->getValueOperand()->getType() == T)
      Held = dyn_cast<Constant>(S->getValueOperand());
    const auto *I = dyn_cast<IntrinsicInst>(U.getUser());
    if (!isa<LoadInst>(U.getUser()) && !isReadByProduct(U) &&
        !(I && I->isLifetimeStartOrEnd()) &&
        (!S || S->getValueOperand() != Held))
      return nullptr;
  }
  return Held;
}

// What memory at Place is known to hold when Before runs; null: not known.
Value *heldAt(Value *Place, Type *T, Instruction &Before, AAResults &AA) {
  Place = Place->stripPointerCasts();
  const DataLayout &DL = Before.getModule()->getDataLayout();
  if (auto *C = dyn_cast<Constant>(Place))
    if (Constant *Held = ConstantFoldLoadFromConstPtr(C, T, DL))
      return Held;
  if (const auto *Variable = dyn_cast<AllocaInst>(Place))
    if (Constant *Held = everHeldBy(*Variable, T))
      return Held;
  MemoryLocation Where(Place, LocationSize::precise(DL.getTypeStoreSize(T)));
  for (Instruction *I = Before.getPrevNode(); I; I = I->getPrevNode()) {
    auto *S = dyn_cast<StoreInst>(I);
    if (S && S->getPointerOperand()->stripPointerCasts() == Place)
      return S->isSimple() && S->getValueOperand()->getType() == T
                 ? S->getValueOperand()
                 : nullptr;
    if (I->mayWriteToMemory() && isModSet(AA.getModRefInfo(I, Where)))
      return nullptr;
  }
  return nullptr;
}

class CallReader : NestBuilder {
  CallBase &Call;
  const Gemm &G;
  ScalarEvolution &SE;
  AAResults &AA;
  verdict &V;
  loc At;
  Value *Arg[ROLES] = {};
  bool ColumnMajor = true, TransA = false, TransB = false, Wide;
  enum { M, N, K }; // loops

public:
  CallReader(CallBase &Call, const Gemm &G, ScalarEvolution &SE, AAResults &AA,
             arena *A, IRNest &R, verdict &V)
      : NestBuilder(A, R), Call(Call), G(G), SE(SE), AA(AA), V(V),
        At(locOf(Call.getDebugLoc(), A)) {
    StringRef Name = Call.getCalledFunction()->getName();
    Wide = isWide(Name);
  }

  bool read() {
    if (!bindArguments() || !readLayout() || !readOffsets() || !readScalars())
      return false;
    for (Role Size : {SIZE_M, SIZE_N, SIZE_K})
      addLoop(loopCount() - 1, integer(Size), At);
    describe();
    finish(At);
    return true;
  }

private:
  bool decline(const char *Why) {
    return verdict_decline(&V, RULE_CALL_ARGUMENTS, At, "%s %s",
                           Call.getCalledFunction()->getName().str().c_str(),
                           Why);
  }

  // ---- arguments ----

  Type *scalarType() {
    LLVMContext &X = Call.getContext();
    return G.Scalar == DTYPE_F64 ? Type::getDoubleTy(X) : Type::getFloatTy(X);
  }

  unsigned offsetBits() { return 8 * (unsigned)dtype_bytes(G.A); }

  bool fits(Role Which, const Type *T) {
    if (G.byPointer())
      return T->isPointerTy();
    switch (Which) {
    case MATRIX_A:
    case MATRIX_B:
    case MATRIX_C:
    case OFFSET_C:
      return T->isPointerTy();
    case ALPHA:
    case BETA:
      return T == scalarType();
    case OFFSET_A:
    case OFFSET_B:
      return T->isIntegerTy(offsetBits());
    case SIZE_M:
    case SIZE_N:
    case SIZE_K:
    case LD_A:
    case LD_B:
    case LD_C:
      return T->isIntegerTy(64) || (!Wide && T->isIntegerTy(32));
    case LAYOUT:
    case TRANS_A:
    case TRANS_B:
    case OFFSETS_OF_C:
    case ROLES:
      break;
    }
    return T->isIntegerTy(32);
  }

  // Fortran passes the lengths of character arguments at the end.
  bool isLength(size_t I) {
    return G.byPointer() && I < G.Order.size() + 2 &&
           Call.getArgOperand(I)->getType()->isIntegerTy();
  }

  bool bindArguments() {
    bool Fits = Call.arg_size() >= G.Order.size() &&
                (Call.getType()->isVoidTy() || Call.use_empty());
    for (size_t I = 0; Fits && I < Call.arg_size(); I++) {
      if (I >= G.Order.size()) {
        Fits = isLength(I);
        continue;
      }
      Arg[G.Order[I]] = Call.getArgOperand(I);
      Fits = fits(G.Order[I], Call.getArgOperand(I)->getType());
    }
    return Fits || decline("has other parameters than BLAS gives it");
  }

  // The argument's value, through the pointer if there is one; null: not known
  // before run time.
  Value *known(Role Which, Type *T) {
    assert(Arg[Which]); // the function has it
    return Arg[Which]->getType()->isPointerTy()
               ? heldAt(Arg[Which], T, Call, AA)
               : Arg[Which];
  }

  Value *number(Role Which, Type *T) {
    if (Value *Known = known(Which, T))
      return Known;
    IRBuilder<> B(&Call);
    return B.CreateLoad(T, B.CreatePointerCast(Arg[Which], pointerTo(T)));
  }

  // A library whose plain names take 64 bits cannot be told from others: of its
  // INTEGER the lower half is read, which is all of it below 2^31.
  const SCEV *integer(Role Which) {
    LLVMContext &X = Call.getContext();
    Type *I64 = Type::getInt64Ty(X), *I32 = Type::getInt32Ty(X);
    Value *N = number(Which, !G.byPointer() ? Arg[Which]->getType()
                             : Wide         ? I64
                                            : I32);
    assert(N->getType()->isIntegerTy(32) || N->getType()->isIntegerTy(64));
    const SCEV *S = isa<ConstantInt>(N) ? SE.getSCEV(N) : SE.getUnknown(N);
    return SE.getNoopOrSignExtend(S, I64);
  }

  // -1: not known.
  int64_t word(Role Which, Type *T) {
    const auto *C = dyn_cast_or_null<ConstantInt>(known(Which, T));
    return C ? C->getSExtValue() : -1;
  }

  bool readTransposition(Role Which, bool &Transposed) {
    Type *T = G.byPointer() ? Type::getInt8Ty(Call.getContext())
                            : Arg[Which]->getType();
    switch (word(Which, T)) {
    case 111: // CblasNoTrans
    case 'N':
    case 'n':
      Transposed = false;
      return true;
    case 112: // CblasTrans
    case 113: // CblasConjTrans
    case 'T':
    case 't':
    case 'C':
    case 'c':
      Transposed = true;
      return true;
    default:
      return decline("is told at run time which operands are transposed");
    }
  }

  bool readLayout() {
    if (Arg[LAYOUT]) {
      int64_t Word = word(LAYOUT, Arg[LAYOUT]->getType());
      ColumnMajor = Word == 102; // CblasColMajor
      if (!ColumnMajor && Word != 101)
        return decline("is told at run time which layout its matrices have");
    }
    return readTransposition(TRANS_A, TransA) &&
           readTransposition(TRANS_B, TransB);
  }

  bool readOffsets() {
    if (!Arg[OFFSET_C])
      return true;
    LLVMContext &X = Call.getContext();
    bool None = word(OFFSETS_OF_C, Type::getInt32Ty(X)) == 173 && // one for all
                word(OFFSET_C, Type::getInt32Ty(X)) == 0;
    for (Role Which : {OFFSET_A, OFFSET_B})
      None &= word(Which, Type::getIntNTy(X, offsetBits())) == 0;
    return None || decline("adds offsets that are not known to be zero");
  }

  bool readScalars() {
    for (Role Which : {ALPHA, BETA}) {
      Arg[Which] = number(Which, scalarType());
      if (dtype_kind(G.C) != DTYPE_FLOAT && !is(Which, 1) &&
          (Which == ALPHA || !is(Which, 0)))
        return decline("scales integers with floats");
    }
    if (is(ALPHA, 0))
      return decline("multiplies by zero");
    if (!isa<Constant>(Arg[ALPHA]))
      R.NonZero.push_back(Arg[ALPHA]);
    return true;
  }

  bool is(Role Which, double Number) {
    const auto *C = dyn_cast<ConstantFP>(Arg[Which]);
    return C && C->isExactlyValue(Number);
  }

  // ---- the nest ----

  // Along Row the matrix's rows, along Column its columns, as the product has
  // them; swapped by a transposition or by the other layout.
  nest_access matrix(Role Which, dtype Type, Role Leading, int Row, int Column,
                     bool Transposed) {
    assert(Row != Column && loopCount() == 3);
    nest_access X = access(Type, SE.getUnknown(Arg[Which]));
    int Dense = ColumnMajor != Transposed ? Row : Column;
    int Strided = Row + Column - Dense;
    const SCEV *Bytes = SE.getConstant(APInt(64, (uint64_t)dtype_bytes(Type)));
    bool Again = X.tensor != (Which == MATRIX_A   ? 0
                              : Which == MATRIX_B ? 1
                                                  : 2);
    value Element = X.stride_bytes[Dense] = {dtype_bytes(Type), -1};
    value Stride = X.stride_bytes[Strided] =
        valueOf(SE.getMulExpr(integer(Leading), Bytes),
                Twine(tensorName(X.tensor)) + (Again ? ".ld_too" : ".ld"));
    // BLAS refuses a line that is longer than the distance to the next.
    R.Guards.push_back({Stride, Element, extent(Dense), {}, false});
    return X;
  }

  nest_expr *load(const nest_access &X, int Loop, int Order) {
    nest_expr *E = make(NEST_LOAD, X.type, At);
    E->access = X;
    E->loop = Loop;
    E->order = Order;
    return E;
  }

  nest_expr *two(nest_op Op, dtype T, const nest_expr *X, const nest_expr *Y) {
    nest_expr *E = make(Op, T, At, X, Y);
    E->reassoc = true;
    return E;
  }

  nest_expr *numberOf(Value *Number) {
    if (const auto *C = dyn_cast<Constant>(Number))
      return readConstant(C, G.Scalar);
    nest_expr *E = make(NEST_OUTSIDE, G.Scalar, At);
    E->outside = outsideOf(Number);
    return E;
  }

  nest_expr *zero(dtype T) { return make(NEST_NUMBER, T, At); }

  const nest_expr *result(const nest_expr *Sum, const nest_expr *Old) {
    if (!is(ALPHA, 1))
      Sum = two(NEST_MUL, G.C, numberOf(Arg[ALPHA]), Sum);
    if (is(BETA, 0))
      return Sum;
    if (is(BETA, 1))
      return two(NEST_ADD, G.C, Old, Sum);
    const nest_expr *Beta = numberOf(Arg[BETA]);
    nest_expr *Both = two(NEST_ADD, G.C, Sum, two(NEST_MUL, G.C, Beta, Old));
    if (isa<Constant>(Arg[BETA]))
      return Both;
    const nest_expr *IsZero = make(NEST_EQ, DTYPE_U8, At, Beta, zero(G.Scalar));
    return make(NEST_SELECT, G.C, At, IsZero, Sum, Both);
  }

  void describe() {
    // MKL gives A's type to B, and B's to A, where rows lie together.
    bool Swap = Arg[OFFSET_C] && !ColumnMajor;
    nest_access OfA = matrix(MATRIX_A, Swap ? G.B : G.A, LD_A, M, K, TransA);
    nest_access OfB = matrix(MATRIX_B, Swap ? G.A : G.B, LD_B, K, N, TransB);
    nest_access OfC = matrix(MATRIX_C, G.C, LD_C, M, N, false);
    int S = addScalar();
    nest_expr *Sum = make(NEST_SCALAR, G.C, At);
    Sum->scalar = S;
    assign(S, N, 1, zero(G.C), At);
    assign(S, K, 4,
           two(NEST_ADD, G.C, Sum,
               two(NEST_MUL, G.C, as(load(OfA, K, 2), G.C),
                   as(load(OfB, K, 3), G.C))),
           At);
    store(OfC, N, 6, result(Sum, load(OfC, N, 5)), At);
  }
};

} // namespace

bool isProductCall(const Instruction &I) {
  return callsProduct(I) && !isKept(I);
}

bool callsProduct(const Instruction &I) {
  const auto *Call = dyn_cast<CallInst>(&I);
  return Call && gemmOf(*Call) && !Call->isNoBuiltin() &&
         !Call->isMustTailCall() && !Call->hasOperandBundles() &&
         !Call->getFunction()->hasFnAttribute("no-builtins") &&
         !Call->getFunction()->hasFnAttribute(Attribute::StrictFP);
}

bool takesNumbers(const CallInst &Call) { return !gemmOf(Call)->byPointer(); }

bool readCall(CallInst &Call, ScalarEvolution &SE, AAResults &AA, arena *A,
              IRNest &Result, verdict &V) {
  assert(callsProduct(Call));
  return CallReader(Call, *gemmOf(Call), SE, AA, A, Result, V).read();
}

} // namespace nputeir
