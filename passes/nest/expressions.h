// expressions.h -- what the code of a nest computes, and the places that it
// reads and writes, in the words of the nest description.
//
// Whoever derives from this adds the loops, finds the tensors' starts, and then
// the statements, places first: how they are written decides how they are read.
#ifndef NPUTEIR_EXPRESSIONS_H
#define NPUTEIR_EXPRESSIONS_H

#include "affine_guards.h"
#include "body.h"
#include "joins.h"
#include "lane_functions.h"
#include "tensor_bases.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace nputeir {

class Expressions : protected LaneFunctions {
protected:
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  verdict &V;
  Body Code;
  Joins Places;
  TensorBases Known;
  llvm::SmallVector<llvm::Loop *, 8> Loops; // index is the nest's
  llvm::DenseMap<const llvm::Loop *, int> LoopIndex;
  llvm::DenseSet<int> Written; // tensors
  // Loops by the strides that they have in what lies in rows.
  llvm::SmallVector<std::pair<int, int>, 8> RowStrides;
  llvm::SmallVector<const llvm::LoadInst *, 8> Loads; // of what is described

  // First: what is described; null: all of Outer.
  Expressions(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
              llvm::DominatorTree &DT, llvm::AAResults &AA, arena *A, IRNest &R,
              verdict &V, Sides &Ways, const llvm::Loop *First)
      : LaneFunctions(A, R), Outer(Outer), LI(LI), SE(SE), V(V),
        Code(Outer, LI, SE, DT, A, V, Ways, First),
        Places(Outer, LI, SE, AA, Code), Known(SE, Places), DT(DT),
        Tests(Places, SE, *this) {}

  bool isLocal(const llvm::SCEV *Address) const override {
    return Code.isLocal(Address);
  }
  using Operations::at;
  loc at(const llvm::Loop &L) { return locOf(L.getStartLoc(), A); }
  int loopOf(const llvm::BasicBlock *B) const;

  // False and a verdict when the address is not affine.
  bool readAccess(const llvm::Instruction &I, const llvm::Value *Pointer,
                  dtype Type, nest_access &Access);
  bool describe(const llvm::Instruction &I, const Address &X, dtype Type,
                nest_access &Access);
  nest_expr *read(const llvm::Value *W, bool Unsigned, int Depth) override;
  // What the place of a conditional store holds behind it.
  nest_expr *readConditional(const llvm::StoreInst &S, const nest_statement &N);

  // Affine guards are all that decides, in the loop around B, whether B runs;
  // in all loops around it.
  bool followsGuards(const llvm::BasicBlock *B);
  bool runsUnderGuards(const llvm::BasicBlock *B);
  // An access of B that may be made in all iterations, if some make it.
  bool isSkippedAlike(const llvm::Instruction &I, const llvm::BasicBlock *B,
                      const llvm::Value *Pointer);

private:
  llvm::DominatorTree &DT;
  AffineGuards Tests;
  llvm::DenseMap<std::pair<const llvm::PHINode *, int>, int>
      Scalar; // and its lane
  enum { BranchesMax = 20000 };
  int Branches = 0; // followed so far

  using Reached = llvm::function_ref<nest_expr *(const llvm::BasicBlock *From)>;

  void assign(int Id, const llvm::Instruction *Where, int LoopNumber,
              const llvm::Value *W);
  int scalar(const llvm::PHINode *P);
  nest_expr *whereRun(const llvm::Loop &L, nest_expr *New, nest_expr *Old);
  nest_expr *readElement(const llvm::Value *W, bool Unsigned, int Depth);
  nest_expr *readPhi(const llvm::PHINode *P, int Depth);
  nest_expr *readLoad(const llvm::Value *W, bool Unsigned);
  nest_expr *readOutside(const llvm::Value *W, dtype T);
  nest_expr *readBits(const llvm::Instruction *I);
  nest_expr *readHalf(const llvm::Value *W) override;
  bool readsRows() const;
  bool countsLoops(llvm::Value *W);
  nest_expr *follow(const llvm::BasicBlock *D, const llvm::BasicBlock *Goal,
                    nest_expr *Else, Reached AtGoal, int Depth);
  nest_expr *enter(const llvm::BasicBlock *From, const llvm::BasicBlock *To,
                   const llvm::BasicBlock *Goal, nest_expr *Else,
                   Reached AtGoal, int Depth);
  nest_expr *readChoice(const llvm::PHINode &P, int Depth);
};

} // namespace nputeir

#endif
