// lower_cpu_direct_kernel.cpp -- a block of registers of a small product, whose
// inputs are read as they lie: rows of in0 by vectors of in1's columns.
#include "lower_cpu_direct.h"

using namespace llvm;

namespace nputeir {

namespace {

class DirectKernel {
  CpuUnit &U;
  DirectShape S;
  Code &C;
  DirectData D;
  Type *Element, *Vector;
  Value *Mask = nullptr;
  SmallVector<Value *, 16> In0Row; // offsets of rows
  Value *LastIn1, *LastOut;        // of the last vector

public:
  DirectKernel(CpuUnit &U, const DirectShape &S, Code &C, const DirectData &D)
      : U(U), S(S), C(C), D(D), Element(computedType(C.getContext(), S.Sum)),
        Vector(shape(Element)) {}

  void emit() {
    for (int I = 0; I < S.Height; I++) {
      Value *Row = C.number(I);
      if (S.Rows == DirectRows::Fewer)
        Row = C.least(Row, C.plus(D.Rows, -1));
      In0Row.push_back(I ? apart(C.times(D.In0Row, Row)) : Row);
    }
    findColumns();
    if (S.Rows != DirectRows::Blocks) {
      block(D.In0, D.Out);
      return;
    }
    C.repeat(C.number(0), D.Rows, C.number(S.Height), {},
             [&](Value *I, ArrayRef<Value *>) -> Code::Values {
               block(C.at(D.In0, C.times(I, D.In0Row)),
                     C.at(D.Out, C.times(I, D.OutRow)));
               return {};
             });
  }

private:
  // Loop strength reduction would see that rows are one stride apart, and add
  // it in every step to one address after the other: a step would wait for
  // that.
  Value *apart(Value *Offset) {
    return isa<Constant>(Offset) ? Offset : C.CreateFreeze(Offset);
  }

  void findColumns() {
    assert(!S.Masks || S.Vectors == 1);
    if (S.Masks)
      Mask = C.firstLanes((unsigned)S.Lanes, dtype_bytes(S.Sum), D.Columns);
    Value *Last = S.Vectors > 1 ? C.plus(D.Columns, -S.Lanes) : C.number(0);
    LastIn1 = apart(C.times(Last, dtype_bytes(S.In[1])));
    LastOut = C.times(Last, dtype_bytes(S.Sum));
  }

  void block(Value *In0, Value *Out) {
    Code::Values Sums = added(Out, steps(In0));
    size_t At = 0;
    places(Out, [&](Value *Place) { C.put(Sums[At++], Place, Mask); });
  }

  Type *shape(Type *T) {
    return S.Lanes == 1 ? T : FixedVectorType::get(T, (unsigned)S.Lanes);
  }

  Value *load(dtype T, Value *Place, Value *Masked) {
    return fromStored(
        C, T, C.get(shape(storedType(C.getContext(), T)), Place, Masked));
  }

  Value *vectorAt(Value *Row, int J, dtype T, Value *Last) {
    return J > 0 && J == S.Vectors - 1
               ? C.at(Row, Last)
               : C.at(Row, J * S.Lanes * dtype_bytes(T));
  }

  // A vector of each row of the result after the other: rows are reached one
  // from the one before, which keeps no registers.
  void places(Value *Row, function_ref<void(Value *)> Body) {
    for (int I = 0; I < S.Height; I++) {
      for (int J = 0; J < S.Vectors; J++)
        Body(vectorAt(Row, J, S.Sum, LastOut));
      Value *Next = D.OutRow;
      if (S.Rows == DirectRows::Fewer)
        Next = C.CreateSelect(C.CreateICmpSLT(C.number(I + 1), D.Rows), Next,
                              C.number(0));
      Row = C.at(Row, Next);
    }
  }

  // The result is added behind the steps, so that they need not wait for it.
  Code::Values added(Value *Out, Code::Values Sums) {
    bool IsFloat = Vector->isFPOrFPVectorTy();
    if (S.Scales) {
      Value *Alpha = factor(CpuAlpha);
      for (Value *&Sum : Sums)
        Sum = IsFloat ? C.CreateFMul(Sum, Alpha) : C.CreateMul(Sum, Alpha);
    }
    Value *Adds = C.CreateICmpNE(D.Add, C.number(0));
    return C.choose(Adds, Sums, [&] {
      Value *Beta = S.Scales ? factor(CpuBeta) : nullptr;
      Code::Values Now;
      places(Out, [&](Value *Place) {
        Value *Old = C.get(Vector, Place, Mask), *Sum = Sums[Now.size()];
        Now.push_back(Beta      ? multiplyAdd(C, U.Cpu, Old, Beta, Sum)
                      : IsFloat ? C.CreateFAdd(Old, Sum)
                                : C.CreateAdd(Old, Sum));
      });
      return Now;
    });
  }

  Value *factor(CpuFactor F) {
    Value *V = C.get(Element, C.at(D.Factors, F * dtype_bytes(S.Sum)));
    return S.Lanes > 1 ? C.CreateVectorSplat((unsigned)S.Lanes, V) : V;
  }

  Code::Values steps(Value *In0) {
    Code::Values Now = {In0, D.In1};
    Now.append((size_t)(S.Height * S.Vectors), Constant::getNullValue(Vector));
    auto *K = dyn_cast<ConstantInt>(D.K);
    if (K && directIsShort(S.Sum, K->getSExtValue() * S.Height * S.Vectors))
      for (int64_t P = 0; P < K->getSExtValue(); P++)
        Now = step(Now);
    else
      Now = C.repeat(C.number(0), D.K, C.number(1), Now,
                     [&](Value *, ArrayRef<Value *> V) { return step(V); });
    return Code::Values(Now.begin() + 2, Now.end());
  }

  Code::Values step(ArrayRef<Value *> Now) {
    Value *In0 = Now[0], *In1 = Now[1];
    SmallVector<Value *, 4> Row;
    for (int J = 0; J < S.Vectors; J++) {
      Value *V = load(S.In[1], vectorAt(In1, J, S.In[1], LastIn1), Mask);
      Row.push_back(convert(C, S.In[1], S.Sum, V));
    }
    Code::Values Next = {C.at(In0, D.In0K), C.at(In1, D.In1K)};
    for (int I = 0; I < S.Height; I++) {
      Value *Place = I ? C.at(In0, In0Row[(size_t)I]) : In0;
      Value *X = C.get(storedType(C.getContext(), S.In[0]), Place);
      X = convert(C, S.In[0], S.Sum, fromStored(C, S.In[0], X));
      if (S.Lanes > 1)
        X = C.CreateVectorSplat((unsigned)S.Lanes, X);
      for (int J = 0; J < S.Vectors; J++)
        Next.push_back(multiplyAdd(C, U.Cpu, X, Row[(size_t)J],
                                   Now[(size_t)(2 + I * S.Vectors + J)]));
    }
    return Next;
  }
};

} // namespace

// An integer of 8 bytes is multiplied in parts, by some ten instructions.
bool directIsShort(dtype Sum, int64_t Multiplications) {
  enum { Most = 144, MostOfParts = 40 };
  return Multiplications <= (Sum == DTYPE_I64 ? MostOfParts : Most);
}

void emitDirectKernel(CpuUnit &U, const DirectShape &S, Code &C,
                      const DirectData &D) {
  DirectKernel(U, S, C, D).emit();
}

// (k, in0, in0_row, in0_k, in1, in1_k, out, out_row, rows, columns, add), and
// the factors.
static StringRef kernelArguments(bool Scales) {
  return Scales ? "ipiipipiiiip" : "ipiipipiiii";
}

Function *directKernelFunction(CpuUnit &U, const DirectShape &S) {
  bool IsNew;
  Function *F = U.function(
      Twine("direct.") + dtype_name(S.In[0]) + "." + dtype_name(S.In[1]) + "." +
          dtype_name(S.Sum) + (S.Rows == DirectRows::Fewer ? ".few." : ".") +
          Twine(S.Height) + "." + Twine(S.Vectors) + "." + Twine(S.Lanes) +
          (S.Masks ? ".part" : "") + (S.Scales ? ".scaled" : ""),
      Type::getVoidTy(U.context()), kernelArguments(S.Scales), IsNew);
  if (!IsNew)
    return F;
  Code C(*F);
  auto A = [&](unsigned I) { return C.argument(I); };
  emitDirectKernel(U, S, C,
                   {A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9),
                    A(10), S.Scales ? A(11) : nullptr});
  C.CreateRetVoid();
  return F;
}

FunctionType *directKernelType(CpuUnit &U, bool Scales) {
  return U.type(Type::getVoidTy(U.context()), kernelArguments(Scales));
}

FunctionType *directType(CpuUnit &U, bool Scales) {
  return directKernelType(U, Scales);
}

DirectRows directRows(const struct teir_cpu_blocks &B, int Height) {
  return Height == B.direct_height[1] ? DirectRows::Fewer : DirectRows::Blocks;
}

Function *directKernel(CpuUnit &U, dtype Sum, int Height, int Vectors,
                       bool Scales) {
  struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, Sum);
  return directKernelFunction(U, {{Sum, Sum},
                                  Sum,
                                  Height,
                                  Vectors,
                                  Blocks.lanes,
                                  directRows(Blocks, Height),
                                  false,
                                  Scales});
}

} // namespace nputeir
