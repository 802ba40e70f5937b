// lane_functions.cpp -- functions of LLVM's and of processors' that combine
// lanes of vectors, as expressions of their elements.  They stay what they are
// in the code: compilers do not make them again of their parts.
#include "lane_functions.h"
#include "lanes.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace nputeir {

nest_expr *LaneFunctions::readLane(const Value *Of, int At, bool Unsigned,
                                   int Depth) {
  SaveAndRestore<int> Other(Lane, At);
  return read(Of, Unsigned, Depth + 1);
}

// As a type of at least twice its bits; products of numbers that are widened
// for them need no more.
nest_expr *LaneFunctions::readWide(const Value *Of, int At, dtype As,
                                   bool Unsigned, int Depth) {
  Element X = elementOf(Of, At);
  const auto *I = X.Of ? dyn_cast<Instruction>(X.Of) : nullptr;
  bool OfUnsigned;
  if (!I || X.Lane < 0 || tooLong(Depth) ||
      acrossLanes(*I, OfUnsigned) != Across::WideProduct ||
      OfUnsigned != Unsigned)
    return make(NEST_CAST, As, loc_none(), readLane(Of, At, Unsigned, Depth));
  return make(NEST_MUL, As, at(*I),
              readWide(I->getOperand(0), X.Lane, As, Unsigned, Depth + 1),
              readWide(I->getOperand(1), X.Lane, As, Unsigned, Depth + 1));
}

// Sums are modulo 2^32 throughout.
nest_expr *LaneFunctions::readAcross(const Instruction &I, int Depth) {
  bool Unsigned;
  Across How = acrossLanes(I, Unsigned);
  dtype T;
  if (How == Across::No || (Lane < 0) != (How == Across::Sum) ||
      !typeOf(I.getType()->getScalarType(), Unsigned, T))
    return nullptr;
  unsigned Operands = cast<CallBase>(I).arg_size();
  const Value *First = I.getOperand(0), *Last = I.getOperand(Operands - 1);
  int Count = laneCount(Last->getType());
  auto Product = [&](int At) {
    return make(NEST_MUL, T, at(I),
                readWide(I.getOperand(Operands - 2), At, T, Unsigned, Depth),
                readWide(Last, At, T, Unsigned, Depth));
  };
  nest_expr *E = nullptr;
  switch (How) {
  case Across::No:
    return nullptr;
  case Across::Sum:
    if (Count == 0)
      return nullptr;
    if (Operands == 2)
      E = read(First, false, Depth + 1);
    for (int L = 0; L < Count; L++) {
      nest_expr *X = readLane(Last, L, false, Depth);
      E = E ? sumIn(I, E, X) : X;
    }
    return E;
  case Across::Neighbours: {
    const Value *Of = Lane < Count / 2 ? First : Last;
    int At = 2 * Lane % Count;
    return sumIn(I, readLane(Of, At, false, Depth),
                 readLane(Of, At + 1, false, Depth));
  }
  case Across::WidePairs:
    return sumIn(I, readWide(Last, 2 * Lane, T, Unsigned, Depth),
                 readWide(Last, 2 * Lane + 1, T, Unsigned, Depth));
  case Across::WideProduct:
    return Product(Lane);
  case Across::Products:
    return sumIn(I, Product(2 * Lane), Product(2 * Lane + 1));
  case Across::Dot:
    E = read(First, false, Depth + 1);
    for (int P = 0; P < 4; P++)
      E = sumIn(I, E, Product(4 * Lane + P));
    return E;
  }
  return E;
}

// A wide number's bits are those of several elements, the lowest first: the
// highest one is taken, or all others are zero, as where vectors are widened by
// unpackings.
nest_expr *LaneFunctions::readParts(const Instruction &I, int Depth) {
  bool Shifts =
      I.getOpcode() == Instruction::AShr || I.getOpcode() == Instruction::LShr;
  const auto *Whole =
      dyn_cast<BitCastInst>(Shifts ? I.getOperand(0) : (const Value *)&I);
  int Count = Whole ? laneCount(Whole->getType()) : 0;
  int Of = Whole ? laneCount(Whole->getOperand(0)->getType()) : 0;
  dtype T;
  if (Lane < 0 || Count == 0 || Of <= Count || Of % Count != 0 ||
      !typeOf(I.getType()->getScalarType(), false, T))
    return nullptr;
  const Value *Parts = Whole->getOperand(0);
  int Each = Of / Count, First = Lane * Each, Last = First + Each - 1;
  unsigned Bits = Parts->getType()->getScalarSizeInBits();
  auto IsZero = [&](int From, int To) {
    for (int L = From; L <= To; L++) {
      Element X = elementOf(Parts, L);
      const auto *C = dyn_cast_or_null<Constant>(X.Of);
      if (!C || !C->isNullValue())
        return false;
    }
    return true;
  };
  auto Widened = [&](int At, bool Unsigned) {
    return make(NEST_CAST, T, at(I), readLane(Parts, At, Unsigned, Depth));
  };
  if (Shifts) {
    Element By = elementOf(I.getOperand(1), Lane);
    const auto *C = dyn_cast_or_null<ConstantInt>(By.Of);
    return C && C->getValue() == Bits * (unsigned)(Each - 1)
               ? Widened(Last, I.getOpcode() == Instruction::LShr)
               : nullptr;
  }
  if (Whole->getType()->getScalarType()->isIntegerTy())
    return IsZero(First + 1, Last) ? Widened(First, true) : nullptr;
  // The upper half of a float.
  Element X = elementOf(Parts, Last);
  if (T != DTYPE_F32 || Bits != 16 || !IsZero(First, First) || !X.Of)
    return nullptr;
  SaveAndRestore<int> Half(Lane, X.Lane);
  nest_expr *E = readHalf(X.Of);
  return E ? make(NEST_CAST, T, at(I), E) : nullptr;
}

} // namespace nputeir
