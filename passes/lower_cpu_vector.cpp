// lower_cpu_vector.cpp -- products of a matrix and a vector, at the speed of
// memory: in0 is the vector, in1 the matrix, which is read once as it lies.
//
//   in1 adjacent along K   some of its rows times the vector, in vectors of
//                          sums that are added up at the end; a few vectors
//                          are multiplied together, which reads the rows once
//   along the columns      some steps of K at once are added to all columns,
//                          which stay in the first cache
//
// Sums go to the result, or through a buffer and the epilogue.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

// Columns of which the epilogue gets offsets at once, those of all tensors: so
// many that the table's room in the frame does not grow with these.
static int64_t storedColumns(unsigned Tensors) {
  enum { Most = 256, Offsets = 1280, Whole = 16 };
  return std::clamp<int64_t>(Offsets / Tensors / Whole * Whole, Whole, Most);
}
constexpr int Together = TEIR_CPU_TOGETHER, Few = TEIR_CPU_FEW_TOGETHER;

// What both kernels need: vectors of elements, of the sums' type.
class VectorKernel {
protected:
  CpuUnit &U;
  const CpuWork &W;
  Code C;
  int Lanes;
  bool Masks;

public:
  VectorKernel(CpuUnit &U, const CpuWork &W, bool Masks, Function &F)
      : U(U), W(W), C(F), Lanes(teir_cpu_blocks(&U.Cpu, W.Sum).lanes),
        Masks(Masks) {}

protected:
  Type *shape(Type *T, int Count) {
    return Count == 1 ? T : FixedVectorType::get(T, (unsigned)Count);
  }

  Value *load(dtype T, Value *Place, int Count, Value *Mask, dtype As) {
    Type *Stored = shape(storedType(C.getContext(), T), Count);
    return convert(C, T, As, fromStored(C, T, C.get(Stored, Place, Mask)));
  }

  Value *splat(Value *V, int Count) {
    return Count == 1 ? V : C.CreateVectorSplat((unsigned)Count, V);
  }

  // Body(first, elements, mask) for vectors of Width from 0 to N, then the
  // remainder.
  Code::Values
  sweep(Value *N, int Width, const Code::Values &First,
        function_ref<Code::Values(Value *, int, Value *, ArrayRef<Value *>)>
            Body) {
    Value *Whole = C.CreateAnd(N, C.number(-Width));
    Code::Values Sums = C.carry(C.number(0), Whole, C.number(Width), First,
                                [&](Value *I, ArrayRef<Value *> Now) {
                                  return Body(I, Width, nullptr, Now);
                                });
    if (!Masks)
      return Sums;
    return C.choose(C.CreateICmpSLT(Whole, N), Sums, [&] {
      Value *Mask = C.firstLanes((unsigned)Width, dtype_bytes(W.Sum),
                                 C.CreateSub(N, Whole));
      return Body(Whole, Width, Mask, Sums);
    });
  }
};

// void (k, x, a, a_row, rows, y, y_row, add[, x_row, vectors]): y[i][j] = (or
// +=) row i of a times row j of x, both adjacent, and y along j.  There is one
// vector, or at most as many as the kernel has; what is missing to them and to
// its rows repeats the last one.
class DotKernel : VectorKernel {
  teir_cpu_dot Dot;  // of elements as 16-bit integers, if they fit
  int Width;         // elements of K in a vector of sums
  int Vectors, Rows; // at once
  Type *Element;

public:
  DotKernel(CpuUnit &U, const CpuWork &W, bool Masks, int Vectors, Function &F)
      : VectorKernel(U, W, Masks, F), Dot(teir_cpu_no_dot(W.Sum)),
        Vectors(Vectors), Rows(Vectors == 1 ? Together : U.Cpu.registers / 8),
        Element(computedType(C.getContext(), W.Sum)) {
    auto IsShort = [](dtype T) {
      return T == DTYPE_I8 || T == DTYPE_U8 || T == DTYPE_I16;
    };
    if (IsShort(W.In[IN0]) && IsShort(W.In[IN1]))
      Dot = teir_cpu_choose_dot(&U.Cpu, DTYPE_I16, DTYPE_I16, W.Sum);
    if (teir_cpu_is_outer(Dot.op))
      Dot = teir_cpu_no_dot(W.Sum);
    Width = Lanes * Dot.group;
  }

  void emit() {
    Code::Values X = {C.argument(1)};
    if (Vectors > 1)
      X = places(X[0], C.argument(8), C.argument(9), Vectors);
    if (Vectors == 1)
      block(X, C.argument(2), C.argument(4), C.argument(5));
    else
      C.repeat(C.number(0), C.argument(4), C.number(Rows), {},
               [&](Value *I, ArrayRef<Value *>) -> Code::Values {
                 block(X, C.at(C.argument(2), C.times(I, C.argument(3))),
                       C.CreateSub(C.argument(4), I),
                       C.at(C.argument(5), C.times(I, C.argument(6))));
                 return {};
               });
    C.CreateRetVoid();
  }

private:
  // Of rows from A on, of which there are Count.
  void block(ArrayRef<Value *> X, Value *A, Value *Count, Value *Y) {
    Code::Values Sums = totals(steps(X, places(A, C.argument(3), Count, Rows)));
    if (Masks && Vectors == Few)
      storeTogether(Sums, places(Y, C.argument(6), Count, Rows));
    else
      storeEach(Sums, A, Y, C.least(Count, C.number(Rows)));
  }

  // Of Most rows, of which there are Count.
  Code::Values places(Value *First, Value *Apart, Value *Count, int Most) {
    Code::Values At = {First};
    for (int I = 1; I < Most; I++)
      At.push_back(
          C.at(First, C.times(C.least(C.number(I), C.plus(Count, -1)), Apart)));
    return At;
  }

  // The sums of each row of A with each of X, over all of K, or all whole
  // vectors without masks.  For a few vectors the last step has no code of its
  // own.
  Code::Values steps(ArrayRef<Value *> X, ArrayRef<Value *> A) {
    Value *K = C.argument(0);
    Code::Values First((size_t)(Rows * Vectors),
                       Constant::getNullValue(shape(Element, Lanes)));
    if (!Masks || Vectors == 1)
      return sweep(
          K, Width, First,
          [&](Value *P, int Count, Value *Mask, ArrayRef<Value *> Now) {
            return step(X, A, P, Count, Mask, Now);
          });
    return C.repeat(
        C.number(0), K, C.number(Width), First,
        [&](Value *P, ArrayRef<Value *> Now) {
          Value *Left = C.least(C.CreateSub(K, P), C.number(Width));
          return step(X, A, P, Width,
                      C.firstLanes((unsigned)Width, dtype_bytes(W.Sum), Left),
                      Now);
        });
  }

  // Of Count elements from P on.
  Code::Values step(ArrayRef<Value *> X, ArrayRef<Value *> A, Value *P,
                    int Count, Value *Mask, ArrayRef<Value *> Now) {
    bool Groups = Dot.op != CPU_OP_NONE && Count > 1;
    dtype As = Groups ? Dot.packed[0] : W.Sum;
    auto Load = [&](int T, Value *Place) {
      return load(W.In[T], C.at(Place, C.times(P, dtype_bytes(W.In[T]))), Count,
                  Mask, As);
    };
    Code::Values Of, Next;
    for (Value *Place : X)
      Of.push_back(Load(IN0, Place));
    for (Value *Place : A) {
      Value *Y = Load(IN1, Place);
      for (Value *V : Of) {
        Value *Sum = Now[Next.size()];
        Next.push_back(Groups ? dotAdd(C, U.Cpu, Dot, V, Y, Sum)
                              : multiplyAdd(C, U.Cpu, Y, V, Sum));
      }
    }
    return Next;
  }

  Value *sum(Value *X, Value *Y) {
    return X->getType()->isIntOrIntVectorTy() ? C.CreateAdd(X, Y)
                                              : C.CreateFAdd(X, Y);
  }

  // What the lanes of each vector add up to, in vectors of 16 bytes: first in
  // each 16 bytes of two vectors beside each other, then over these.
  Code::Values totals(Code::Values V) {
    int Block = 16 / dtype_bytes(W.Sum);
    assert(Lanes % Block == 0);
    for (int N = Block; N > 1; N /= 2) {
      Code::Values Halved;
      for (size_t I = 0; I < V.size(); I += 2)
        Halved.push_back(neighboursAdded(V[I], V[I + 1], Block));
      V = Halved;
    }
    for (Value *&X : V)
      for (int N = Lanes / 2; N >= Block; N /= 2)
        X = sum(part(X, 0, N), part(X, N, N));
    return V;
  }

  // In every block of the result, those in X's come before those in Y's.
  Value *neighboursAdded(Value *X, Value *Y, int Block) {
    SmallVector<int, 16> At[2];
    for (int I = 0; I < Lanes; I += Block)
      for (int From : {I, I + Lanes})
        for (int J = 0; J < Block; J++)
          At[J % 2].push_back(From + J);
    return sum(C.CreateShuffleVector(X, Y, At[0]),
               C.CreateShuffleVector(X, Y, At[1]));
  }

  Value *part(Value *V, int First, int Count) {
    SmallVector<int, 8> At;
    for (int I = 0; I < Count; I++)
      At.push_back(First + I);
    return C.CreateShuffleVector(V, At);
  }

  // The sums of each row with all vectors; a row that is there several times
  // has the same each time.
  void storeTogether(Code::Values Sums, const Code::Values &Rows) {
    if (Sums.size() > Rows.size()) { // of doubles: two are a row's
      for (size_t I = 0; I < Rows.size(); I++)
        Sums[I] = C.CreateShuffleVector(Sums[2 * I], Sums[2 * I + 1],
                                        ArrayRef<int>{0, 1, 2, 3});
      Sums.resize(Rows.size());
    }
    Value *Mask =
        C.firstLanes((unsigned)Vectors, dtype_bytes(W.Sum), C.argument(9));
    Code::Values Now = added(Sums, Rows, Mask);
    for (size_t I = 0; I < Rows.size(); I++)
      C.put(Now[I], Rows[I], Mask);
  }

  Code::Values added(const Code::Values &Sums, const Code::Values &Places,
                     Value *Mask) {
    return C.choose(C.CreateICmpNE(C.argument(7), C.number(0)), Sums, [&] {
      Code::Values Now;
      for (size_t I = 0; I < Sums.size(); I++)
        Now.push_back(sum(C.get(Sums[I]->getType(), Places[I], Mask), Sums[I]));
      return Now;
    });
  }

  // One by one, with what is left of K where it could not be masked.
  void storeEach(const Code::Values &Sums, Value *A, Value *Y, Value *Count) {
    int64_t Bytes = dtype_bytes(W.Sum);
    Value *Frame = C.frame(Element, (uint64_t)(Rows * Vectors), 32);
    for (size_t I = 0; I < Sums.size(); I++)
      C.put(Sums[I], C.at(Frame, (int64_t)I * Rows * Vectors /
                                     (int64_t)Sums.size() * Bytes));
    C.loop(C.number(0), Count, C.number(1), [&](Value *I) {
      auto Store = [&](Value *J) {
        Value *At = C.plus(C.times(I, Vectors), J);
        Value *Sum = C.get(Element, C.at(Frame, C.times(At, Bytes)));
        if (!Masks)
          Sum = further(I, J, A, Sum);
        Value *Place =
            C.at(C.at(Y, C.times(I, C.argument(6))), C.times(J, Bytes));
        C.put(added({Sum}, {Place}, nullptr)[0], Place);
      };
      if (Vectors == 1)
        Store(C.number(0));
      else
        C.loop(C.number(0), C.argument(9), C.number(1), Store);
    });
  }

  Value *further(Value *I, Value *J, Value *A, Value *Sum) {
    Value *K = C.argument(0);
    Value *X = C.argument(1);
    if (Vectors > 1)
      X = C.at(X, C.times(J, C.argument(8)));
    Value *Row = C.at(A, C.times(I, C.argument(3)));
    return C.carry(C.CreateAnd(K, C.number(-Width)), K, C.number(1), {Sum},
                   [&](Value *P, ArrayRef<Value *> Now) {
                     return step({X}, {Row}, P, 1, nullptr, Now);
                   })[0];
  }
};

// void (n, x, x_step, a, a_step, y): y[j] += the sum over Steps of x[p]
// a[p][j]; a and y are adjacent.
class AddKernel : VectorKernel {
  int Steps;

public:
  AddKernel(CpuUnit &U, const CpuWork &W, bool Masks, int Steps, Function &F)
      : VectorKernel(U, W, Masks, F), Steps(Steps) {}

  void emit() {
    Value *N = C.argument(0);
    SmallVector<Value *, 8> X, Row;
    for (int P = 0; P < Steps; P++) {
      X.push_back(load(W.In[IN0],
                       C.at(C.argument(1), C.times(C.argument(2), P)), 1,
                       nullptr, W.Sum));
      Row.push_back(C.at(C.argument(3), C.times(C.argument(4), P)));
    }
    sweep(N, Lanes, {},
          [&](Value *J, int Count, Value *Mask, ArrayRef<Value *>) {
            add(X, Row, J, Count, Mask);
            return Code::Values();
          });
    if (!Masks)
      C.loop(C.CreateAnd(N, C.number(-Lanes)), N, C.number(1),
             [&](Value *J) { add(X, Row, J, 1, nullptr); });
    C.CreateRetVoid();
  }

private:
  void add(ArrayRef<Value *> X, ArrayRef<Value *> Row, Value *J, int Count,
           Value *Mask) {
    Type *T = shape(computedType(C.getContext(), W.Sum), Count);
    Value *Place = C.at(C.argument(5), C.times(J, dtype_bytes(W.Sum)));
    Value *Sum = C.get(T, Place, Mask);
    Value *At = C.times(J, dtype_bytes(W.In[IN1]));
    for (size_t P = 0; P < Row.size(); P++)
      Sum = multiplyAdd(C, U.Cpu, splat(X[P], Count),
                        load(W.In[IN1], C.at(Row[P], At), Count, Mask, W.Sum),
                        Sum);
    C.put(Sum, Place, Mask);
  }
};

// May there be a few vectors, which are multiplied together?
bool mayBeFew(const CpuWork &W) {
  return W.Vector == CPU_VECTOR_DOT && !W.Tail &&
         (W.Row != CPU_VECTOR_NO || W.Column != CPU_VECTOR_NO);
}

const char *kernelArguments(const CpuWork &W, bool IsOther) {
  return W.Vector != CPU_VECTOR_DOT ? "ipipip"
         : IsOther                  ? "ippiipiiii"
                                    : "ippiipii";
}

class VectorDriver {
  CpuUnit &U;
  const CpuWork &W;
  Code C;
  unsigned Tensors;
  int64_t Stored;
  Kept Extent[AXIS_ROLES], Axis[AXIS_ROLES], Adds;
  Value *Bases, *Buffer = nullptr;
  Value *Vectors = nullptr; // elements of a few, each of VectorBytes
  enum { VectorBytes = 4096 };
  Value *Table, *Runs, *Row, *RowRun; // offsets for the epilogue

public:
  VectorDriver(CpuUnit &U, const CpuWork &W, Function &F)
      : U(U), W(W), C(F), Tensors(W.moved()), Stored(storedColumns(Tensors)) {}

  void emit() {
    int64_t Record = 1 + (int64_t)Tensors;
    Adds = keep(C.getNumber(C.argument(0), (int64_t)Tensors));
    for (int R = 0; R < AXIS_ROLES; R++) {
      int64_t Slot = cpuAxesSlot(Tensors) + R * Record;
      Axis[R] = keep(C.at(C.argument(0), 8 * Slot));
      Extent[R] = keep(C.getNumber(Axis[R], (int64_t)0));
    }
    Bases = C.frame(C.getInt64Ty(), Tensors, 8);
    if (W.Vector == CPU_VECTOR_DOT)
      Vectors = C.frame(C.getInt8Ty(), TEIR_CPU_FEW_COLUMNS * VectorBytes, 64);
    if (W.Tail) {
      Buffer =
          C.frame(C.getInt8Ty(),
                  (uint64_t)(TEIR_CPU_BUFFER_COLUMNS * dtype_bytes(W.Sum)), 64);
      Table = C.frame(C.getInt64Ty(), (uint64_t)Stored * Tensors, 8);
      Runs = C.frame(C.getInt64Ty(), (uint64_t)Stored, 8);
      Row = C.frame(C.getInt64Ty(), Tensors, 8);
      RowRun = C.frame(C.getInt64Ty(), 1, 8);
      C.CreateCall(offsetsFunction(U, W),
                   {Axis[AXIS_M], C.number(1), C.number(0), C.number(1),
                    C.number(1), Row, RowRun});
    }
    if (W.Vector == CPU_VECTOR_DOT && !W.Tail) {
      Value *N = Extent[AXIS_N], *Some = rowsAtOnce();
      C.loop(C.number(0), N, Some,
             [&](Value *J) { batches(J, C.least(C.CreateSub(N, J), Some)); });
    } else {
      batches(C.number(0), Extent[AXIS_N]);
    }
    C.CreateRet(C.number(0));
  }

private:
  Kept keep(Value *V) { return Kept(C, V); }

  Value *stride(axis_role R, unsigned T) {
    return C.getNumber(Axis[R], 1 + (int64_t)T);
  }

  // Of in1, in all batches: few where a row goes on in the next batch, as it
  // does where sums are of groups of a row's elements, so that it is read as it
  // lies.
  Value *rowsAtOnce() {
    auto Way = [&](axis_role R) {
      Value *S = stride(R, IN1);
      return C.CreateBinaryIntrinsic(Intrinsic::umin, S, C.CreateNeg(S));
    };
    Value *GoesOn = C.CreateAnd(C.CreateICmpSGT(Extent[AXIS_C], C.number(1)),
                                C.CreateICmpULT(Way(AXIS_C), Way(AXIS_N)));
    return C.CreateSelect(GoesOn, C.number(Together), Extent[AXIS_N]);
  }

  void batches(Value *First, Value *Count) {
    C.loop(C.number(0), Extent[AXIS_C], C.number(1), [&](Value *Z) {
      for (unsigned T = 0; T < Tensors; T++)
        C.put(C.at(C.getPointer(C.argument(0), (int64_t)T),
                   C.plus(C.times(Z, stride(AXIS_C, T)),
                          C.times(First, stride(AXIS_N, T)))),
              C.at(Bases, 8 * (int64_t)T));
      columns(Count);
    });
  }

  void columns(Value *N) {
    int64_t Bytes = dtype_bytes(W.Sum);
    int64_t Whole = TEIR_CPU_RESULT_BYTES / Bytes;
    Value *Most = C.number(W.Tail ? (int64_t)TEIR_CPU_BUFFER_COLUMNS : Whole);
    C.loop(C.number(0), N, Most, [&](Value *J) {
      Value *Count = C.least(C.CreateSub(N, J), Most);
      Value *To = W.Tail ? Buffer
                         : C.at(C.getPointer(Bases, OUT),
                                C.times(J, stride(AXIS_N, OUT)));
      Value *Step = W.Tail ? C.number(Bytes) : stride(AXIS_N, OUT);
      Value *A =
          C.at(C.getPointer(Bases, IN1), C.times(J, stride(AXIS_N, IN1)));
      Value *Add = W.Tail ? C.number(0) : Adds;
      if (W.Vector == CPU_VECTOR_DOT)
        dot(A, Count, To, Step, Add);
      else
        add(A, Count, To, Add);
      if (W.Tail)
        store(J, Count);
    });
  }

  // Each of some rows of in1 times each vector, which is one unless it is known
  // that sums go to the result.  Vectors whose elements are not adjacent are
  // gathered, some steps at a time.
  void dot(Value *A, Value *Count, Value *To, Value *Step, Value *Add) {
    int64_t Bytes = dtype_bytes(W.In[IN0]);
    Value *K = Extent[AXIS_K], *By = stride(AXIS_K, IN0);
    Value *LiesApart = C.CreateICmpNE(By, C.number(Bytes));
    Value *Steps = C.CreateSelect(LiesApart, C.number(VectorBytes / Bytes), K);
    Value *Next =
        C.CreateSelect(LiesApart, C.number(VectorBytes), stride(AXIS_M, IN0));
    C.loop(C.number(0), K, Steps, [&](Value *P) {
      Value *Some = C.least(C.CreateSub(K, P), Steps);
      Value *X = C.at(C.getPointer(Bases, IN0), C.times(P, By));
      C.when(LiesApart, [&] { gatherVectors(X, Some); });
      X = C.CreateSelect(LiesApart, Vectors, X);
      Value *Further =
          C.CreateZExt(C.CreateICmpSGT(P, C.number(0)), C.getInt64Ty());
      Value *Adding = C.CreateOr(Add, Further);
      Value *From = C.at(A, C.times(P, dtype_bytes(W.In[IN1])));
      DotBlock B = {keep(Some), keep(X),    keep(Next),  keep(From),
                    keep(To),   keep(Step), keep(Adding)};
      if (!mayBeFew(W)) {
        one(B, C.number(0), Count);
        return;
      }
      Value *M = Extent[AXIS_M];
      if (W.Column == CPU_VECTOR_NO) {
        C.when(
            C.CreateICmpSGT(M, C.number(Few / 2)), [&] { fewRows(B, Count); },
            [&] { one(B, C.number(0), Count); });
        return;
      }
      // One or two that are left are multiplied one by one.
      Value *Whole = C.CreateAnd(C.plus(M, Few / 2 - 1), C.number(-Few));
      C.when(C.CreateICmpSGT(Whole, C.number(0)),
             [&] { fewColumns(B, Whole, Count); });
      one(B, Whole, Count);
    });
  }

  // Steps of vectors (x, so far apart) and of rows of in1, and where sums go.
  struct DotBlock {
    Kept Steps, X, Next, From, To, Step, Add;
  };

  Value *least(Value *Count, Value *I, int Most) {
    return C.least(C.CreateSub(Count, I), C.number(Most));
  }

  // Some rows at a time, by one vector after the other from First on.
  void one(const DotBlock &B, Value *First, Value *Count) {
    Value *Row = stride(AXIS_N, IN1);
    C.loop(C.number(0), Count, C.number(Together), [&](Value *I) {
      C.loop(First, Extent[AXIS_M], C.number(1), [&](Value *V) {
        Value *Y = C.at(C.at(B.To, C.times(I, B.Step)),
                        C.times(V, stride(AXIS_M, OUT)));
        callKernel(false, {B.Steps, C.at(B.X, C.times(V, B.Next)),
                           C.at(B.From, C.times(I, Row)), Row,
                           least(Count, I, Together), Y, B.Step, B.Add});
      });
    });
  }

  // The kernel writes what is adjacent in the result together.  That is a
  // vector's sums here: its vectors are rows of in1.
  void fewRows(const DotBlock &B, Value *Count) {
    Value *Row = stride(AXIS_N, IN1);
    C.loop(C.number(0), Count, C.number(Few), [&](Value *I) {
      callKernel(true, {B.Steps, C.at(B.From, C.times(I, Row)), B.X, B.Next,
                        Extent[AXIS_M], C.at(B.To, C.times(I, B.Step)),
                        stride(AXIS_M, OUT), B.Add, Row, least(Count, I, Few)});
    });
  }

  // Here it is a row's sums with all vectors.
  void fewColumns(const DotBlock &B, Value *Whole, Value *Count) {
    Value *M = Extent[AXIS_M], *Row = stride(AXIS_N, IN1);
    C.loop(C.number(0), Count, C.number(Together), [&](Value *I) {
      C.loop(C.number(0), Whole, C.number(Few), [&](Value *V) {
        Value *Y = C.at(C.at(B.To, C.times(I, B.Step)),
                        C.times(V, stride(AXIS_M, OUT)));
        callKernel(true, {B.Steps, C.at(B.X, C.times(V, B.Next)),
                          C.at(B.From, C.times(I, Row)), Row,
                          least(Count, I, Together), Y, B.Step, B.Add, B.Next,
                          least(M, V, Few)});
      });
    });
  }

  // Some steps of each vector, from X on.
  void gatherVectors(Value *X, Value *Some) {
    int64_t Bytes = dtype_bytes(W.In[IN0]);
    bool IsNew;
    Function *Gather =
        U.function("gather." + Twine(Bytes), C.getVoidTy(), "ppii", IsNew);
    if (IsNew) {
      Code G(*Gather);
      Type *T = G.getIntNTy((unsigned)(8 * Bytes));
      G.loop(G.number(0), G.argument(3), G.number(1), [&](Value *I) {
        Value *From = G.at(G.argument(1), G.times(I, G.argument(2)));
        G.put(G.get(T, From), G.at(G.argument(0), G.times(I, Bytes)));
      });
      G.CreateRetVoid();
    }
    C.loop(C.number(0), Extent[AXIS_M], C.number(1), [&](Value *V) {
      C.CreateCall(Gather, {C.at(Vectors, C.times(V, VectorBytes)),
                            C.at(X, C.times(V, stride(AXIS_M, IN0))),
                            stride(AXIS_K, IN0), Some});
    });
  }

  // Some steps at a time.
  void add(Value *A, Value *Count, Value *To, Value *Add) {
    C.when(C.CreateICmpEQ(Add, C.number(0)), [&] {
      C.CreateMemSet(To, C.getInt8(0), C.times(Count, dtype_bytes(W.Sum)),
                     Align((uint64_t)dtype_bytes(W.Sum)));
    });
    Value *K = Extent[AXIS_K];
    Value *Whole = C.CreateAnd(K, C.number(-Together));
    auto Steps = [&](Value *From, Value *Until, int Some) {
      C.loop(From, Until, C.number(Some), [&](Value *P) {
        Value *X =
            C.at(C.getPointer(Bases, IN0), C.times(P, stride(AXIS_K, IN0)));
        callKernel(Some == 1, {Count, X, stride(AXIS_K, IN0),
                               C.at(A, C.times(P, stride(AXIS_K, IN1))),
                               stride(AXIS_K, IN1), To});
      });
    };
    Steps(C.number(0), Whole, Together);
    Steps(Whole, K, 1);
  }

  // One of the table: products that turn out to be of a vector have it there
  // for each of their two forms.
  void callKernel(bool IsOther, ArrayRef<Value *> Arguments) {
    callPart(C, C.getPointer(C.argument(0), cpuPartsSlot(Tensors)),
             (W.Column != CPU_VECTOR_NO ? CpuColumn : CpuVector) + IsOther,
             U.type(C.getVoidTy(), kernelArguments(W, IsOther)), Arguments);
  }

  void store(Value *J, Value *Count) {
    Value *IsAdjacent = C.CreateZExt(
        C.CreateICmpEQ(stride(AXIS_N, OUT), C.number(dtype_bytes(W.Out))),
        C.getInt64Ty());
    C.loop(C.number(0), Count, C.number(Stored), [&](Value *I) {
      Value *Some = C.least(C.CreateSub(Count, I), C.number(Stored));
      C.CreateCall(
          offsetsFunction(U, W),
          {Axis[AXIS_N], C.number(1), C.plus(J, I), Some, Some, Table, Runs});
      callPart(C, C.getPointer(C.argument(0), cpuPartsSlot(Tensors)), CpuStore,
               storeType(U),
               {C.at(Buffer, C.times(I, dtype_bytes(W.Sum))), C.number(0),
                C.number(1), Some, Bases, Row, C.number(8), Table,
                C.times(Some, 8), Runs, Adds, IsAdjacent});
    });
  }
};

} // namespace

Function *vectorKernel(CpuUnit &U, const CpuWork &Of, bool IsOther) {
  bool IsDot = Of.Vector == CPU_VECTOR_DOT, IsNew;
  if (Of.Vector == CPU_VECTOR_NO || (IsDot && IsOther && !mayBeFew(Of)))
    return nullptr;
  CpuWork W = Of;
  if (IsDot && IsOther && W.Column == CPU_VECTOR_NO)
    std::swap(W.In[IN0], W.In[IN1]); // a few rows are what it has rows for
  int Steps = IsDot ? 0 : IsOther ? 1 : Together;
  const char *Kind = !IsDot ? "add" : IsOther ? "dots" : "dot";
  Function *F = U.function(
      Twine("vector.") + Kind + Twine(Steps) + "." + dtype_name(W.In[0]) + "." +
          dtype_name(W.In[1]) + "." + dtype_name(W.Sum),
      Type::getVoidTy(U.context()), kernelArguments(W, IsOther), IsNew);
  bool Masks = teir_cpu_has_masks(&U.Cpu, W.Sum) &&
               teir_cpu_has_masks(&U.Cpu, W.In[IN0]) &&
               teir_cpu_has_masks(&U.Cpu, W.In[IN1]);
  if (IsNew && IsDot)
    DotKernel(U, W, Masks, IsOther ? Few : 1, *F).emit();
  else if (IsNew)
    AddKernel(U, W, Masks, Steps, *F).emit();
  return F;
}

CpuCode vectorCode(CpuUnit &U, const CpuWork &W) {
  bool IsNew;
  std::string Kind = W.Vector == CPU_VECTOR_DOT ? "vector.dot." : "vector.add.";
  if (W.Column != CPU_VECTOR_NO)
    Kind += "column.";
  Function *F = U.Common->function(Kind + W.kind(),
                                   Type::getInt64Ty(U.context()), "pp", IsNew);
  if (IsNew) {
    CpuUnit::compileFast(*F);
    VectorDriver(*U.Common, W, *F).emit();
  }
  return {F, false};
}

} // namespace nputeir
