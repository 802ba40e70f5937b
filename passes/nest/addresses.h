// addresses.h -- addresses as a start plus stride times iteration of every
// loop.
#ifndef NPUTEIR_ADDRESSES_H
#define NPUTEIR_ADDRESSES_H

#include "loop_table.h"
#include "read_ir.h"

namespace nputeir {

class Addresses : public LoopTable {
  llvm::AAResults &AA;

  // What has been split, and what that asked for.  Each access is looked at
  // several times; once all loops are known, with the same outcome.
  struct Split {
    bool Good;
    Address X;
    std::vector<NoWrap> Bounded;
  };
  using Place = std::pair<const llvm::Loop *, const llvm::Value *>;
  llvm::DenseMap<Place, Split> Splits;
  bool HasLoops = false; // all of them

public:
  // What must not wrap for the addresses to be true.
  std::vector<NoWrap> Bounded;
  std::vector<NoWrap> BoundedExtents; // .. and the numbers of iterations
  std::vector<RowPointers> Rows;      // on which the addresses rely

  Addresses(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
            llvm::AAResults &AA, const Body &Code)
      : LoopTable(Outer, LI, SE, Code), AA(AA) {}
  // After the last loop: reverses loops in which addresses only go down.
  void chooseDirections(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  bool read(const llvm::Instruction &I, const llvm::Value *Pointer,
            Address &Result);
  // A number or an address as it is before I, in 64 bits, modulo its own.
  bool readNumber(const llvm::Instruction &I, const llvm::Value *W, bool Signed,
                  Address &Result);
  // The same of an address of which nothing is asked before those of rows are
  // known.
  bool readPlace(const llvm::Instruction &I, const llvm::Value *Pointer,
                 Address &Result);
  // The same of a number that I uses, as a signed one of few bits.
  bool readIndex(const llvm::Instruction &I, const llvm::Value *Number,
                 Address &Result);
  bool readIndex(const llvm::SCEV *S, const llvm::Loop &Scope, Address &Result);
  Sum sum(const Address &X) const; // over all iterations
  // What must hold for extents and addresses to be true; false: this cannot be
  // asked before the nest.
  bool addConditions(IRNest &R);

protected:
  // Known only where the addresses of rows are.
  bool isFromRows(const llvm::SCEV *S) const;
  llvm::SmallPtrSet<const llvm::Loop *, 4> RowLoops; // from one to the next

  const llvm::SCEV *widen(const llvm::SCEV *S);
  // Before parts are numbered as one, and loops reversed.
  bool split(const llvm::Instruction &I, const llvm::Value *Pointer,
             Address &Result);
  bool splitIndex(const llvm::Instruction &I, const llvm::Value *Number,
                  Address &Result);
  bool splitIndex(const llvm::SCEV *S, const llvm::Loop &Scope,
                  Address &Result);

private:
  const llvm::SCEV *valueIn(const llvm::Instruction &I, const llvm::Value *V);
  bool splitNumber(const llvm::Instruction &I, const llvm::Value *W,
                   Address &Result);
  bool splitAnew(const llvm::Instruction &I, const llvm::Value *W,
                 Address &Result);
  void describeTriangle(Address &X);
  bool peel(const llvm::SCEV *S, const llvm::Loop &Scope, Address &Result);
  bool makeNumber(bool Signed, Address &Result);
  bool numbered(bool Signed, Address &Result);
  const llvm::SCEV *rowAddress(const llvm::LoadInst &L) override;
  const RowPointers &rowPointers(RowPointers New);
  const RowPointers *rowsOf(const llvm::SCEV *S) const;
  const llvm::SCEV *timesOf(const llvm::SCEV *S, const llvm::SCEV *Unit);
  bool isAlwaysRead(const llvm::LoadInst &L) const;
};

// What L reads in some iteration of Outer, Outer may write.
bool mayBeWritten(const llvm::LoadInst &L, const llvm::Loop &Outer,
                  llvm::AAResults &AA);

} // namespace nputeir

#endif
