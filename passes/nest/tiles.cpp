// tiles.cpp -- numbers of iterations that ScalarEvolution knows and that are
// still no numbers.
//
// The point loop of a tiled nest,
//
//     for (p = a; p < m; p += t)
//       for (i = p; i < min(p + t, n); i++)
//
// is taken back max(p, min(p + t, n)) - p times, where p is a recurrence of the
// tile loop.  With the difference drawn into it that is max(0, min(t, n - p)):
// a fixed length, and a remainder that falls by one step from tile to tile.
// Sources write the same as min(t, n - p), or with `&& i < n`; and of sizes
// known when compiling, InstCombine makes it min(p, n - t) + t.  Steps and
// lengths are compared by the caller; here, only the form is found, in 64 bits,
// and what must hold for 64 bits to say the same as the source's type.
#include "tiles.h"
#include "ir_scev.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

// Sums of two of these stay within 64 bits.
static constexpr int64_t Small = (int64_t)1 << 62;

namespace {

bool isMaximum(const SCEV *S) {
  return isa<SCEVSMaxExpr>(S) || isa<SCEVUMaxExpr>(S);
}

bool isMinimum(const SCEV *S) {
  return isa<SCEVSMinExpr>(S) || isa<SCEVUMinExpr>(S);
}

// The smallest of some numbers.
using Choice = SmallVector<const SCEV *, 4>;

class PointLoopReader {
  ScalarEvolution &SE;
  SmallVector<Choice, 4> Largest; // of these, the extent is the largest
  // What minima compare before something is added; and without a sign.
  SmallVector<std::pair<const SCEV *, bool>, 4> Compared;
  bool Relative;         // to the start of the tile, which is drawn in already
  bool Unsigned = false; // the smallest of numbers without a sign

  using Change = function_ref<const SCEV *(const SCEV *)>;

  // S, a maximum, minimum or sum, of changed parts; Else, if it is none.
  const SCEV *rebuild(const SCEV *S, const SCEV *Else, Change Part) {
    if (!isMaximum(S) && !isMinimum(S) && !isa<SCEVAddExpr>(S))
      return Else;
    SmallVector<const SCEV *, 4> Parts;
    for (const SCEV *Old : cast<SCEVNAryExpr>(S)->operands())
      Parts.push_back(Part(Old));
    if (isa<SCEVAddExpr>(S))
      return SE.getAddExpr(Parts);
    return isa<SCEVSMaxExpr>(S)   ? SE.getSMaxExpr(Parts)
           : isa<SCEVUMaxExpr>(S) ? SE.getUMaxExpr(Parts)
           : isa<SCEVSMinExpr>(S) ? SE.getSMinExpr(Parts)
                                  : SE.getUMinExpr(Parts);
  }

  // A remainder that must turn out not to fall below zero.
  bool isFallingRemainder(const SCEV *S) {
    const auto *Remainder = dyn_cast<SCEVAddRecExpr>(S);
    return Relative && Remainder &&
           looksNegative(Remainder->getStepRecurrence(SE));
  }

  // An extension of S, which may go into S if both see the same sign.
  const SCEV *lowerCast(const SCEV *S, bool Signed, const SCEV *Whole) {
    if (isFallingRemainder(S))
      return SE.getSignExtendExpr(S, Whole->getType());
    bool SignedParts = isa<SCEVSMaxExpr>(S) || isa<SCEVSMinExpr>(S);
    if (isa<SCEVAddExpr>(S) ||
        (SignedParts != Signed && !SE.isKnownNonNegative(S)))
      return Whole;
    return rebuild(S, Whole, [&](const SCEV *Part) {
      Type *T = Whole->getType();
      return lower(SignedParts ? SE.getSignExtendExpr(Part, T)
                               : SE.getZeroExtendExpr(Part, T));
    });
  }

public:
  PointLoopReader(ScalarEvolution &SE, bool Relative)
      : SE(SE), Relative(Relative) {}

  // Taken = max(From, ..) - From: returns the maximum, which is null if Taken
  // is something else.
  static const SCEV *findFrom(const SCEV *Taken, ScalarEvolution &SE,
                              const SCEV *&From) {
    const auto *Sum = dyn_cast<SCEVAddExpr>(Taken);
    for (const SCEV *Max : Sum ? Sum->operands() : ArrayRef<const SCEV *>()) {
      From = SE.getMinusSCEV(Max, Taken);
      if (isMaximum(Max) &&
          is_contained(cast<SCEVNAryExpr>(Max)->operands(), From))
        return Max;
    }
    return nullptr;
  }

  // Where a loop ends that is taken back Taken times and starts at From: at the
  // largest of two numbers without From, if that is one of them, or else there
  // if that is not below From when the loop starts.  Null: it is not known to
  // be.
  static const SCEV *endOf(const SCEV *Taken, const SCEV *From, bool Signed,
                           const Loop &L, ScalarEvolution &SE) {
    const SCEV *Start, *Max = findFrom(Taken, SE, Start);
    if (!Max) {
      const SCEV *End = SE.getAddExpr(Taken, From);
      return SE.isLoopEntryGuardedByCond(
                 &L, Signed ? ICmpInst::ICMP_SGE : ICmpInst::ICMP_UGE, End,
                 From)
                 ? End
                 : nullptr;
    }
    if (Start != From || isa<SCEVSMaxExpr>(Max) != Signed)
      return nullptr;
    Choice Others;
    copy_if(cast<SCEVNAryExpr>(Max)->operands(), std::back_inserter(Others),
            [&](const SCEV *S) { return S != From; });
    return Signed ? SE.getSMaxExpr(Others) : SE.getUMaxExpr(Others);
  }

  // min(max(p, m) - p, max(p, n) - p) = max(p, min(m, n)) - p, of loops with
  // two conditions.  Else what it was.
  static const SCEV *joinMaxima(const SCEV *Taken, const Loop &L,
                                ScalarEvolution &SE) {
    const auto *Min = dyn_cast<SCEVUMinExpr>(Taken);
    const SCEV *Max = nullptr, *From = nullptr;
    Choice Ends;
    for (const SCEV *Part : Min ? Min->operands() : ArrayRef<const SCEV *>())
      if (!Max)
        Max = findFrom(Part, SE, From);
    if (!Max)
      return Taken;
    bool Signed = isa<SCEVSMaxExpr>(Max);
    for (const SCEV *Part : Min->operands())
      if (const SCEV *End = endOf(Part, From, Signed, L, SE))
        Ends.push_back(End);
      else
        return Taken;
    Choice Both = {From, Signed ? SE.getSMinExpr(Ends) : SE.getUMinExpr(Ends)};
    return SE.getMinusSCEV(Signed ? SE.getSMaxExpr(Both) : SE.getUMaxExpr(Both),
                           From);
  }

  // In 64 bits, with extensions drawn into maxima, minima and sums.
  const SCEV *lower(const SCEV *S) {
    if (const auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
      return lowerCast(Cast->getOperand(), isa<SCEVSignExtendExpr>(Cast), S);
    return rebuild(S, S, [&](const SCEV *Part) { return lower(Part); });
  }

  // Splits S + Plus, of which S may be a maximum of minima; false: it is
  // something else.
  bool split(const SCEV *S, const SCEV *Plus) {
    if (isMaximum(S))
      return all_of(cast<SCEVNAryExpr>(S)->operands(),
                    [&](const SCEV *Part) { return split(Part, Plus); });
    if (const auto *Sum = dyn_cast<SCEVAddExpr>(S))
      if (const auto *Min = find_if(Sum->operands(), isMinimum);
          Min != Sum->operands().end())
        return splitShifted(*Min,
                            SE.getAddExpr(SE.getMinusSCEV(S, *Min), Plus));
    Unsigned |= isa<SCEVUMinExpr>(S);
    Choice C;
    for (const SCEV *Part : isMinimum(S) ? cast<SCEVNAryExpr>(S)->operands()
                                         : ArrayRef<const SCEV *>(S)) {
      if (isMaximum(Part) || isMinimum(Part))
        return false;
      C.push_back(SE.getAddExpr(Part, Plus));
    }
    if (C.size() > 1 || !C[0]->isZero()) // an extent is no less than zero
      Largest.push_back(C);
    return true;
  }

  // Min + Plus, which is the smallest of sums if what is compared is as small
  // as it looks.
  bool splitShifted(const SCEV *Min, const SCEV *Plus) {
    for (const SCEV *Part : cast<SCEVNAryExpr>(Min)->operands())
      Compared.push_back({Part, isa<SCEVUMinExpr>(Min)});
    return split(Min, Plus);
  }

  // A number that is compared is as it looks, also in 64 bits.
  void checkCompared(Conditions &If) const {
    for (auto [S, HasNoSign] : Compared) {
      const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
      If.within(Rec ? Rec->getStart() : S, HasNoSign ? 0 : -Small, Small);
    }
  }

  // Numbers below zero would be compared as large ones.
  bool hasNoSign() const { return Unsigned; }

  // min(length, whole - step * iteration), and nothing else but zero.
  bool match(PointLoop &P) {
    if (Largest.size() != 1 || Largest[0].size() != 2)
      return false;
    const auto *Remainder = dyn_cast<SCEVAddRecExpr>(Largest[0][0]);
    P.Length = Largest[0][1];
    if (!Remainder) {
      Remainder = dyn_cast<SCEVAddRecExpr>(P.Length);
      P.Length = Largest[0][0];
    }
    if (!Remainder || !Remainder->isAffine())
      return false;
    P.TileLoop = Remainder->getLoop();
    P.Whole = Remainder->getStart();
    P.Step = SE.getNegativeSCEV(Remainder->getStepRecurrence(SE));
    P.RemainderMayWrap = Relative && Unsigned;
    assert(P.Length->getType() == P.Whole->getType());
    return true;
  }
};

} // namespace

bool readPointLoop(const Loop &L, const SCEV *Taken, ScalarEvolution &SE,
                   function_ref<const SCEV *(const SCEV *)> Widen,
                   Conditions &If, PointLoop &P) {
  enum { SizeMax = 500 }; // shared parts are rewritten for each that has them
  if (Taken->getExpressionSize() > SizeMax)
    return false;
  Taken = PointLoopReader::joinMaxima(Taken, L, SE);
  const SCEV *From, *Max = PointLoopReader::findFrom(Taken, SE, From);
  PointLoopReader Reader(SE, !Max);
  bool Signed = Max && isa<SCEVSMaxExpr>(Max);
  Type *I64 = Type::getInt64Ty(SE.getContext());
  auto In64 = [&](const SCEV *S, bool Signed) {
    return Widen(Reader.lower(Signed ? SE.getNoopOrSignExtend(S, I64)
                                     : SE.getNoopOrZeroExtend(S, I64)));
  };
  if (!Max) {
    if (!Reader.split(In64(Taken, false), SE.getZero(I64)) || !Reader.match(P))
      return false;
    Reader.checkCompared(If);
    return true;
  }
  const auto *Start = dyn_cast<SCEVAddRecExpr>(In64(From, Signed));
  if (!Start || !Reader.split(In64(Max, Signed), SE.getNegativeSCEV(Start)) ||
      !Reader.match(P) || Start->getLoop() != P.TileLoop)
    return false;
  Reader.checkCompared(If);
  const SCEV *First = Start->getStart();
  int64_t Least = Signed && !Reader.hasNoSign() ? -Small : 0;
  If.within(First, Least, Small);
  If.within(SE.getAddExpr(First, P.Whole), Least, Small);
  return true;
}

} // namespace nputeir
