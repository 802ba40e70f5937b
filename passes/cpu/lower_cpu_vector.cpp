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
#include "lower_cpu_vector.h"

using namespace llvm;

namespace nputeir {

namespace {

// Columns of which the epilogue gets offsets at once, those of all tensors: so
// many that the table's room in the frame does not grow with these.
static int64_t storedColumns(unsigned Tensors) {
  enum { Most = 256, Offsets = 1280, Whole = 16 };
  return std::clamp<int64_t>(Offsets / Tensors / Whole * Whole, Whole, Most);
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
    if (hasNearKernel(W))
      C.when(isNear(), [&] {
        near();
        C.CreateRet(C.number(0));
      });
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
  // Has it one vector, and a matrix that caches hold until each of its lines
  // was read, in parts?  Then one kernel does all of it.
  Value *isNear() {
    Value *Is =
        C.CreateICmpEQ(C.times(Extent[AXIS_C], Extent[AXIS_M]), C.number(1));
    Value *Elements = C.times(Extent[AXIS_N], Extent[AXIS_K]);
    Value *IsSmall = C.CreateICmpULE(
        Elements, C.number(TEIR_CPU_NEAR_BYTES / dtype_bytes(W.In[IN1])));
    Is = C.CreateAnd(Is, IsSmall);
    bool IsDot = W.Vector == CPU_VECTOR_DOT;
    if (!IsDot && !W.Tail) // sums are adjacent
      return Is;
    dtype T = IsDot ? W.In[IN0] : W.Out;
    Value *Stride = IsDot ? stride(AXIS_K, IN0) : stride(AXIS_N, OUT);
    return C.CreateAnd(Is, C.CreateICmpEQ(Stride, C.number(dtype_bytes(T))));
  }

  void near() {
    auto Base = [&](int64_t T) { return C.getPointer(C.argument(0), T); };
    Value *Add = Adds, *Factors = nullptr;
    if (W.Tail) {
      Factors = C.frame(C.getInt8Ty(),
                        (uint64_t)(CpuFactors * dtype_bytes(W.Sum)), 8);
      Add = callPart(C, C.getPointer(C.argument(0), cpuPartsSlot(Tensors)),
                     CpuScale, scaleType(U), {C.argument(0), Factors});
    }
    Code::Values Of =
        W.Vector == CPU_VECTOR_DOT
            ? Code::Values{Extent[AXIS_K],      Base(IN0),
                           Base(IN1),           stride(AXIS_N, IN1),
                           Extent[AXIS_N],      Base(OUT),
                           stride(AXIS_N, OUT), Add}
            : Code::Values{Extent[AXIS_N],      Base(IN0),
                           stride(AXIS_K, IN0), Base(IN1),
                           stride(AXIS_K, IN1), Base(OUT),
                           Extent[AXIS_K],      Add};
    if (Factors)
      Of.push_back(Factors);
    callKernel(CpuVectorAll, Of);
  }

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
        callKernel(CpuVectorMany,
                   {B.Steps, C.at(B.X, C.times(V, B.Next)),
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
      callKernel(CpuVectorOther,
                 {B.Steps, C.at(B.From, C.times(I, Row)), B.X, B.Next,
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
        callKernel(CpuVectorOther, {B.Steps, C.at(B.X, C.times(V, B.Next)),
                                    C.at(B.From, C.times(I, Row)), Row,
                                    least(Count, I, Together), Y, B.Step, B.Add,
                                    B.Next, least(M, V, Few)});
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
        callKernel(Some == 1 ? CpuVectorOther : CpuVectorMany,
                   {Count, X, stride(AXIS_K, IN0),
                    C.at(A, C.times(P, stride(AXIS_K, IN1))),
                    stride(AXIS_K, IN1), To});
      });
    };
    Steps(C.number(0), Whole, Together);
    Steps(Whole, K, 1);
  }

  // One of the table: products that turn out to be of a vector have it there
  // for each of their two forms.
  void callKernel(CpuVectorPart Part, ArrayRef<Value *> Arguments) {
    callPart(C, C.getPointer(C.argument(0), cpuPartsSlot(Tensors)),
             (W.Column != CPU_VECTOR_NO ? CpuColumn : CpuVector) + Part,
             U.type(C.getVoidTy(), vectorArguments(W, Part)), Arguments);
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

std::string vectorKind(const CpuWork &W) {
  return (W.Tail && hasNearKernel(W) ? "scaled." : "") + W.kind();
}

CpuCode vectorCode(CpuUnit &U, const CpuWork &W) {
  bool IsNew;
  std::string Kind = W.Vector == CPU_VECTOR_DOT ? "vector.dot." : "vector.add.";
  if (W.Column != CPU_VECTOR_NO)
    Kind += "column.";
  Function *F = U.Common->function(Kind + vectorKind(W),
                                   Type::getInt64Ty(U.context()), "pp", IsNew);
  if (IsNew) {
    CpuUnit::compileFast(*F);
    VectorDriver(*U.Common, W, *F).emit();
  }
  return {F, false};
}

} // namespace nputeir
