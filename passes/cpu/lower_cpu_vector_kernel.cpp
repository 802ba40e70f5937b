// lower_cpu_vector_kernel.cpp -- the kernels of products of a matrix and a
// vector: in0 is the vector, in1 the matrix.
#include "lower_cpu_vector.h"

#include "llvm/Analysis/VectorUtils.h"

using namespace llvm;

namespace nputeir {

namespace {

// What all kernels need: vectors of elements, of the sums' type.
class VectorKernel {
protected:
  CpuUnit &U;
  const CpuWork &W;
  Code C;
  int Lanes;
  bool Masks;
  int Factors = 0; // the argument behind all others, if it scales

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

  // What goes to Place, where it is added to what lies there if `Adds`.
  Value *stored(Value *Sum, Value *Place, Value *Mask, Value *Adds) {
    Type *T = Sum->getType();
    auto Factor = [&](CpuFactor F) {
      Value *At = C.at(C.argument((unsigned)Factors), F * dtype_bytes(W.Sum));
      auto *Of = dyn_cast<FixedVectorType>(T);
      return splat(C.get(T->getScalarType(), At),
                   Of ? (int)Of->getNumElements() : 1);
    };
    if (Factors)
      Sum = T->isIntOrIntVectorTy() ? C.CreateMul(Sum, Factor(CpuAlpha))
                                    : C.CreateFMul(Sum, Factor(CpuAlpha));
    return C.choose(C.CreateICmpNE(Adds, C.number(0)), {Sum}, [&] {
      Value *Old = C.get(T, Place, Mask);
      return Code::Values{Factors
                              ? multiplyAdd(C, U.Cpu, Old, Factor(CpuBeta), Sum)
                              : sum(Old, Sum)};
    })[0];
  }

  Value *sum(Value *X, Value *Y) {
    return X->getType()->isIntOrIntVectorTy() ? C.CreateAdd(X, Y)
                                              : C.CreateFAdd(X, Y);
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

// void (k, x, a, a_row, rows, y, y_row, add[, x_row, vectors | factors]):
// y[i][j] = (or
// +=) row i of a times row j of x, both adjacent, and y along j.  There is one
// vector, or at most as many as the kernel has; what is missing to them and to
// the last block of rows repeats the last one.
class DotKernel : VectorKernel {
  teir_cpu_dot Dot;  // of elements as 16-bit integers, if they fit
  int Width;         // elements of K in a vector of sums
  int Vectors, Rows; // at once
  Type *Element;

public:
  DotKernel(CpuUnit &U, const CpuWork &W, bool Masks, int Vectors, bool Scales,
            Function &F)
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
    Factors = Scales ? 8 : 0;
  }

  void emit() {
    Code::Values X = {C.argument(1)};
    if (Vectors > 1)
      X = places(X[0], C.argument(8), C.argument(9), Vectors);
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
    Value *Some = C.least(Count, C.number(Rows));
    if (Masks && Vectors == Few)
      storeTogether(Sums, places(Y, C.argument(6), Count, Rows));
    else if (Masks)
      C.when(
          C.CreateICmpEQ(C.argument(6), C.number(dtype_bytes(W.Sum))),
          [&] { storeAdjacent(Sums, Y, Some); },
          [&] { storeEach(Sums, A, Y, Some); });
    else
      storeEach(Sums, A, Y, Some);
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

  // Of one vector, whose sums are adjacent: all rows' at once.
  void storeAdjacent(Code::Values Sums, Value *Y, Value *Count) {
    while (Sums.size() > 1) {
      Code::Values Joined;
      for (size_t I = 0; I < Sums.size(); I += 2)
        Joined.push_back(concatenateVectors(C, {Sums[I], Sums[I + 1]}));
      Sums = Joined;
    }
    Value *Mask = C.firstLanes((unsigned)Rows, dtype_bytes(W.Sum), Count);
    C.put(stored(Sums[0], Y, Mask, C.argument(7)), Y, Mask);
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
        C.put(stored(Sum, Place, nullptr, C.argument(7)), Place);
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

// void (n, x, x_step, a, a_step, y, k, add): y[j] = (or +=) the sum over k
// steps of x[p] a[p][j]; a and y are adjacent.  Sums of a few vectors of
// columns stay in registers, and of each there are several, for different
// steps: each waits for the one before it.
class SumKernel : VectorKernel {
  enum { Vectors = 2, Apart = 4 };

public:
  SumKernel(CpuUnit &U, const CpuWork &W, bool Masks, Function &F)
      : VectorKernel(U, W, Masks, F) {
    Factors = W.Tail ? 8 : 0;
  }

  void emit() {
    Value *N = C.argument(0), *Two = C.number(Vectors * Lanes);
    Value *Whole = C.CreateAnd(N, C.number(-Vectors * Lanes));
    C.loop(C.number(0), Whole, Two,
           [&](Value *J) { columns(J, Vectors, Lanes, nullptr); });
    Value *Left = C.CreateSub(N, Whole);
    auto Mask = [&](int From) {
      return C.firstLanes((unsigned)Lanes, dtype_bytes(W.Sum),
                          C.plus(Left, -From));
    };
    if (Masks) {
      C.when(
          C.CreateICmpSGT(Left, C.number(Lanes)),
          [&] { columns(Whole, Vectors, Lanes, Mask(Lanes)); },
          [&] {
            C.when(C.CreateICmpSGT(Left, C.number(0)),
                   [&] { columns(Whole, 1, Lanes, Mask(0)); });
          });
    } else {
      Value *One = C.CreateAnd(N, C.number(-Lanes));
      C.when(C.CreateICmpSGE(Left, C.number(Lanes)),
             [&] { columns(Whole, 1, Lanes, nullptr); });
      C.loop(One, N, C.number(1), [&](Value *J) { columns(J, 1, 1, nullptr); });
    }
    C.CreateRetVoid();
  }

private:
  // Columns from J on, in Some vectors, of which the last one has a mask.
  void columns(Value *J, int Some, int Count, Value *Mask) {
    Type *T = shape(computedType(C.getContext(), W.Sum), Count);
    Code::Values Now((size_t)(Apart * Some), Constant::getNullValue(T));
    Now.push_back(C.argument(1));
    Now.push_back(C.at(C.argument(3), C.times(J, dtype_bytes(W.In[IN1]))));
    Value *K = C.argument(6), *Whole = C.CreateAnd(K, C.number(-Apart));
    auto Steps = [&](Value *From, Value *To, int At) {
      Now = C.carry(From, To, C.number(At), Now,
                    [&](Value *, ArrayRef<Value *> Given) {
                      Code::Values Next(Given.begin(), Given.end());
                      for (int I = 0; I < At; I++)
                        step(Next, I * Some, Some, Count, Mask);
                      return Next;
                    });
    };
    Steps(C.number(0), Whole, Apart);
    Steps(Whole, K, 1);
    for (int V = 0; V < Some; V++) {
      auto Of = [&](int I) { return Now[(size_t)(I * Some + V)]; };
      Value *Sum = sum(sum(Of(0), Of(1)), sum(Of(2), Of(3)));
      Value *Place = C.at(C.argument(5),
                          C.times(C.plus(J, V * Lanes), dtype_bytes(W.Sum)));
      Value *By = V == Some - 1 ? Mask : nullptr;
      C.put(stored(Sum, Place, By, C.argument(7)), Place, By);
    }
  }

  // Sums from First on get a step; behind all sums, where it lies.
  void step(Code::Values &Now, int First, int Some, int Count, Value *Mask) {
    Value *&X = Now[Now.size() - 2], *&A = Now[Now.size() - 1];
    Value *Factor = splat(load(W.In[IN0], X, 1, nullptr, W.Sum), Count);
    for (int V = 0; V < Some; V++) {
      Value *&Sum = Now[(size_t)(First + V)];
      Value *Of = C.at(A, (int64_t)V * Lanes * dtype_bytes(W.In[IN1]));
      Value *By = V == Some - 1 ? Mask : nullptr;
      Sum = multiplyAdd(C, U.Cpu, Factor, load(W.In[IN1], Of, Count, By, W.Sum),
                        Sum);
    }
    X = C.at(X, C.argument(2));
    A = C.at(A, C.argument(4));
  }
};

} // namespace

bool mayBeFew(const CpuWork &W) {
  return W.Vector == CPU_VECTOR_DOT && !W.Tail &&
         (W.Row != CPU_VECTOR_NO || W.Column != CPU_VECTOR_NO);
}

const char *vectorArguments(const CpuWork &W, CpuVectorPart Part) {
  bool IsAll = Part == CpuVectorAll;
  if (W.Vector != CPU_VECTOR_DOT)
    return !IsAll ? "ipipip" : W.Tail ? "ipipipiip" : "ipipipii";
  return Part == CpuVectorOther ? "ippiipiiii"
         : IsAll && W.Tail      ? "ippiipiip"
                                : "ippiipii";
}

bool hasNearKernel(const CpuWork &W) { return !W.Tail || isScaled(W); }

Function *vectorKernel(CpuUnit &U, const CpuWork &Of, CpuVectorPart Part) {
  bool IsDot = Of.Vector == CPU_VECTOR_DOT, IsNew;
  bool IsOther = Part == CpuVectorOther, IsAll = Part == CpuVectorAll;
  if (Of.Vector == CPU_VECTOR_NO || (IsDot && IsOther && !mayBeFew(Of)) ||
      (IsAll && !hasNearKernel(Of)))
    return nullptr;
  CpuWork W = Of;
  if (IsDot && IsOther && W.Column == CPU_VECTOR_NO)
    std::swap(W.In[IN0], W.In[IN1]); // a few rows are what it has rows for
  int Steps = IsDot || IsAll ? 0 : IsOther ? 1 : Together;
  const char *Kind = !IsDot ? "add" : IsOther ? "dots" : "dot";
  bool Scales = IsAll && W.Tail;
  Function *F =
      U.function(Twine("vector.") + Kind + Twine(Steps) +
                     (Scales ? ".scaled" : "") + "." + dtype_name(W.In[0]) +
                     "." + dtype_name(W.In[1]) + "." + dtype_name(W.Sum),
                 Type::getVoidTy(U.context()), vectorArguments(W, Part), IsNew);
  bool Masks = teir_cpu_has_masks(&U.Cpu, W.Sum) &&
               teir_cpu_has_masks(&U.Cpu, W.In[IN0]) &&
               teir_cpu_has_masks(&U.Cpu, W.In[IN1]);
  if (IsNew && IsDot)
    DotKernel(U, W, Masks, IsOther ? Few : 1, Scales, *F).emit();
  else if (IsNew && IsAll)
    SumKernel(U, W, Masks, *F).emit();
  else if (IsNew)
    AddKernel(U, W, Masks, Steps, *F).emit();
  return F;
}

} // namespace nputeir
