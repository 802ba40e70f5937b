// uneven.h -- nests of rows that do not have equally many columns: each row has
// one more than the row before it, or one less.  What every way to cut them
// into rectangles needs.
#ifndef NPUTEIR_UNEVEN_H
#define NPUTEIR_UNEVEN_H

#include "counted_nest.h"

namespace nputeir {

class UnevenNest : protected CountedNest {
protected:
  // A block is an eighth of the rows, in eights; with fewer blocks than four,
  // what no rectangle covers is a good part of the work.
  enum { RowStep = 8, RowsMin = 4 * RowStep, ColumnLoopsMax = 4 };

  llvm::Loop *OfRows;                          // L, or a loop in it
  llvm::SmallVector<llvm::Loop *, 4> Columns;  // over them, which are alike
  const llvm::SCEVAddRecExpr *Count = nullptr; // of columns, in the present row
  const llvm::SCEV *Rows = nullptr;
  bool Grows = false;
  bool FromStart = false; // all rows start in one column; else they end in one

  UnevenNest(llvm::Loop &L, LoopFacts &Facts)
      : CountedNest(L, Facts), OfRows(&L) {}

  // OfRows, Columns, Count, Rows and how they lie.  MayBeCut: some iterations
  // of this loop may be done later.  Inner: OfRows need not be L.
  bool findColumns(llvm::function_ref<bool(llvm::Loop &)> MayBeCut,
                   bool Inner = false);

  struct {                              // in front of L
    llvm::Value *Rows, *First, *Height; // First: columns of the first row
  } N = {};
  // Computes N; whether there are rows enough, and their numbers are what they
  // are taken for.  AtAll: the latter alone, and few rows are one block.
  llvm::Value *countRows(Checks &C, bool AtAll = false);
  // The branch to a nest that was split of which L is a part, if N can be
  // computed there, and what is asked; null: there is none.
  llvm::BranchInst *branchToCountAt(const SplitBranches &Branches);
  // Of S, where that is in front of L.
  bool canBeAt(const llvm::SCEV *S, const llvm::BasicBlock &B);
  // Of Row, which counts from 0.
  llvm::Value *columns(llvm::IRBuilder<> &B, llvm::Value *Row) const;
  // Of the rectangle of the block of rows from Begin on.
  llvm::Value *width(llvm::IRBuilder<> &B, llvm::Value *Begin) const;
  llvm::Value *height(llvm::IRBuilder<> &B, llvm::Value *Begin) const;
  // A counter of the iterations of the loop with this header, from 0.
  llvm::PHINode *addCounter(llvm::BasicBlock *Header, llvm::BasicBlock *Front);
  // X is a loop, or one of a copy of it: Map gives what is there for a value of
  // X.  It does iterations Begin to Begin + Times of what it did.
  void restrict(llvm::Loop &X, llvm::ValueToValueMapTy *Map, llvm::Value *Begin,
                llvm::Value *Times, llvm::BasicBlock *Front);
  // A copy does not store, nor compute what it stored.
  static void dropStores(llvm::ArrayRef<llvm::StoreInst *> Stores,
                         llvm::ValueToValueMapTy &Map);

  // X and Y are equal, or are to be if it is so when the program runs.
  bool isEqual(const llvm::SCEV *X, const llvm::SCEV *Y);
  llvm::SmallVector<std::pair<const llvm::SCEV *, const llvm::SCEV *>, 2> Equal;
  // Of a copy of L, which stands behind Front: the rows of the block from Begin
  // on, of which K does the iterations of the rectangle or the others.
  struct Part {
    llvm::PHINode *Row; // in the block
    llvm::Value *First; // iteration of K
  };
  Part formPart(llvm::Loop &K, llvm::BasicBlock *Front,
                llvm::ValueToValueMapTy &Map, llvm::Value *Begin,
                bool IsRectangle);

  // L as a loop over blocks of rows, each of a rectangle and the others, both
  // of them copies of L.
  struct Blocks {
    llvm::BasicBlock *Kept;               // L as it was, or nothing leads here
    llvm::BasicBlock *Enter, *Leave;      // in front of the loop, and behind
    llvm::BasicBlock *Head;               // of the loop
    llvm::PHINode *Begin;                 // the first row of a block
    llvm::BasicBlock *Rectangle, *Others; // where the copies begin
    llvm::ValueToValueMapTy OfRectangle, OfOthers;
  };
  // What is asked in front of L can be computed from here on.  K is cut.
  void startSplit(llvm::Loop &K);
  // Good: L may be split; null: it is.  Enter has no end yet.
  void makeBlocks(llvm::Value *Good, bool RectangleFirst, Blocks &X);
  // Into the loop over blocks from the end of this one, Enter or behind it.
  void enterBlocks(llvm::BasicBlock *From, Blocks &X);

private:
  // Numbers below which no row's columns are: that of the first row, and how it
  // changes from row to row.
  struct RowsEnd {
    const llvm::SCEV *First;
    int64_t Step;
  };
  llvm::SmallVector<RowsEnd, ColumnLoopsMax> RowsEnds;

  bool addEnd(const llvm::SCEV *End);
  llvm::Value *endsHold(Checks &C) const;
  void align(const llvm::Loop &X, bool &Starts, bool &Ends);
  bool varies(const llvm::Loop &X);
};

} // namespace nputeir

#endif
