// address.h -- addresses as a start plus stride times iteration of every loop.
#ifndef NPUTEIR_ADDRESS_H
#define NPUTEIR_ADDRESS_H

#include "body.h"
#include "pieces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace nputeir {

// Known or written to be below zero.
bool looksNegative(const llvm::SCEV *S);

struct Address {
  const llvm::SCEV *Start;
  llvm::SmallVector<const llvm::SCEV *, 8> Stride; // null: the loop moves none
};

class Addresses {
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
  const Body &Code;
  llvm::SmallVector<llvm::Loop *, 8> Loops;
  llvm::SmallVector<const llvm::SCEV *, 8> Extents; // 64 bits
  llvm::SmallVector<int, 8> Cutters; // of loops cut into pieces; -1: none
  llvm::SmallVector<const llvm::SCEV *, 8> InARow; // extents, or of a piece
  // Loops that go on where loop After has ended: After steps over as much as
  // Ratio iterations do, and has gone over Distance of them.
  struct Rest {
    int After = -1; // none
    int64_t Ratio = 1;
    const llvm::SCEV *Distance = nullptr;
  };
  llvm::SmallVector<Rest, 8> Rests;
  llvm::SmallVector<int64_t, 8> Steps; // from number to number; mostly 1
  llvm::SmallVector<const llvm::SCEV *, 4> Strides; // per number, of parts
  // Of starts that turn out to be the same, the one that is used.
  llvm::DenseMap<const llvm::SCEV *, const llvm::SCEV *> Joined;
  llvm::DenseMap<const llvm::Loop *, int> Index;
  llvm::SmallVector<bool, 8> Reversed;
  llvm::DenseMap<const llvm::Loop *, const llvm::SCEV *> Counts;
  llvm::SmallPtrSet<const llvm::Value *, 8> Open; // known() looks at them
  // What counts rely on: numbers that must not wrap until their loop is left.
  struct Limit {
    const llvm::SCEV *Of;
    const llvm::Loop *Within;
    bool Signed;
  };
  llvm::SmallVector<Limit, 4> Limits;
  // And what values do: conditions that do not change.
  llvm::SmallVector<std::pair<llvm::Value *, bool>, 2> Assumed;

public:
  // What must not wrap for the addresses to be true.
  std::vector<NoWrap> Bounded;
  std::vector<NoWrap> BoundedExtents; // .. and the numbers of iterations
  std::vector<AtLeast> Counted;
  std::vector<std::pair<const llvm::SCEV *, const llvm::SCEV *>> Equal;
  std::vector<RowArray> Rows; // on which the addresses rely

  Addresses(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
            llvm::AAResults &AA, const Body &Code)
      : Outer(Outer), LI(LI), SE(SE), AA(AA), Code(Code) {}
  // Known and unchanging before the nest, and harmless to compute there.
  bool usable(const llvm::SCEV *S);
  // How often L runs, in 64 bits; null and a verdict: not known.
  const llvm::SCEV *extentOf(llvm::Loop &L, arena *A, verdict &V);
  void addLoop(llvm::Loop *L, const llvm::SCEV *Extent);
  // The same for a loop that one of those added before cuts into pieces, which
  // is added if it is one; false and a verdict if the pieces make no whole.
  bool addPiece(llvm::Loop *L, arena *A, verdict &V);
  // After the last loop: takes pairs of loops for one that is cut into pieces,
  // where every address goes on from piece to piece.
  void findPieces(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  llvm::Loop *loop(int Index) const { return Loops[Index]; }
  // After the last loop, and the pieces: takes loops for the rests of those
  // before them, where every address goes on.
  void findRests(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  int after(int Index) const { return Rests[Index].After; } // -1: none
  int64_t step(int Index) const { return Steps[Index]; }
  // Where its numbers end: how often it runs, unless it is a part.
  const llvm::SCEV *extent(int Index) const;
  int cutter(int Index) const { return Cutters[Index]; }
  bool isReversed(int Index) const { return Reversed[Index]; }
  // After the last loop: turns round loops in which addresses only go down.
  void chooseDirections(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  bool read(const llvm::Instruction &I, const llvm::Value *Pointer,
            Address &Result);
  // A number or an address as it is before I, in 64 bits, modulo its own.
  bool readNumber(const llvm::Instruction &I, const llvm::Value *W, bool Signed,
                  Address &Result);
  Sum sum(const Address &X) const; // over all iterations
  // What must hold for extents and addresses to be true; false: this cannot be
  // asked before the nest.
  bool addConditions(IRNest &R);
  // The same of a number that I uses, as a signed one of few bits.
  bool readIndex(const llvm::Instruction &I, const llvm::Value *Number,
                 Address &Result);

private:
  const llvm::SCEV *valueIn(const llvm::Instruction &I, const llvm::Value *V);
  void turnRound(Address &X);
  bool split(const llvm::Instruction &I, const llvm::Value *Pointer,
             Address &Result);
  bool splitNumber(const llvm::Instruction &I, const llvm::Value *W,
                   Address &Result);
  void cut(int L, int Cutter, const llvm::SCEV *Length,
           const llvm::SCEV *Whole);
  bool areSame(const llvm::SCEV *X, const llvm::SCEV *Y);
  void numberThrough(Address &X);
  bool splitIndex(const llvm::Instruction &I, const llvm::Value *Number,
                  Address &Result);
  bool addPointers(llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                   llvm::SmallVectorImpl<Address> &All);
  void addComparisons(llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                      llvm::SmallVectorImpl<Address> &All);
  bool goesOn(int Cutter, int L, const Address &X) const;
  const llvm::SCEV *constant(int64_t Number) const;
  const llvm::SCEV *firstNumber(int L) const;
  bool isPart(int L) const;
  const llvm::SCEV *strideOf(int L, const llvm::SCEV *Stride);
  bool numberOn(Address &X);
  bool movesAlike(const Address &X, int L, const Address &Y, const Rest &R);
  const llvm::SCEV *startBefore(const Address &X, int L, const Rest &R);
  bool goesOn(const Address &X, int L, const Address &Y, const Rest &R);
  bool isRest(int L, const Rest &R, llvm::ArrayRef<Address> All);
  bool findRest(int L, int Before, llvm::ArrayRef<Address> All);
  bool isSame(const llvm::SCEV *X, const llvm::SCEV *Y);
  bool findPieces(int Cutter, llvm::ArrayRef<Address> All,
                  llvm::SmallVectorImpl<int> &Pieces) const;
  bool peel(const llvm::SCEV *S, const llvm::Loop &Scope, Address &Result);
  bool makeNumber(bool Signed, Address &Result);
  const llvm::SCEV *widen(const llvm::SCEV *S);
  const llvm::SCEV *recurrence(const llvm::SCEV *Start, const llvm::SCEV *Step,
                               int L);
  // Replaces what ScalarEvolution does not know.
  const llvm::SCEV *resolve(const llvm::SCEV *S, const llvm::Loop *Scope);
  const llvm::SCEV *last(const llvm::SCEVAddRecExpr &Rec,
                         const llvm::Loop *Scope);
  const llvm::SCEV *known(llvm::Value &W);
  const llvm::SCEV *chosen(llvm::SelectInst &S);
  const llvm::SCEV *variable(const llvm::PHINode &P);
  const llvm::SCEV *stepped(const llvm::PHINode &P, llvm::Loop &L);
  const llvm::SCEV *count(llvm::Loop &L);
  const llvm::SCEVAddRecExpr *counter(llvm::Loop &L, const llvm::SCEV *&End,
                                      llvm::CmpInst::Predicate &Is);
  const llvm::SCEV *countDistance(llvm::Loop &L);
  const llvm::SCEV *countTo(const llvm::SCEVAddRecExpr &Rec,
                            const llvm::SCEV *End, llvm::CmpInst::Predicate Is);
  const llvm::SCEV *number(const llvm::SCEV *S, bool Signed);
  const llvm::SCEV *rowAddress(const llvm::LoadInst &L);
  const RowArray &rowArray(const llvm::LoadInst &L, const llvm::SCEV *Start,
                           const llvm::SCEV *Stride, const llvm::SCEV *Extent);
  bool mayChange(const llvm::LoadInst &L);
};

} // namespace nputeir

#endif
