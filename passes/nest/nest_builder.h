// nest_builder.h -- a struct nest under construction: what the readers of
// loops, of library calls and of matrix intrinsics share.
#ifndef NPUTEIR_NEST_BUILDER_H
#define NPUTEIR_NEST_BUILDER_H

#include "read_ir.h"

#include "llvm/ADT/SmallVector.h"

namespace nputeir {

// False: the recogniser has no such type.  Integers of the IR have no sign: how
// they are used decides.  There is no unsigned type of 64 bits; truth values
// are u8.
bool typeOf(const llvm::Type *T, bool Unsigned, dtype &D);
// Of a number, or of the elements of a vector; it is known.
dtype typeOf(const llvm::Type *T, bool Unsigned);

class NestBuilder {
  llvm::SmallVector<const char *, 8> Scalars, Tensors, Symbols, Outsides;
  llvm::SmallVector<int, 8> Pitches; // of tensors: symbols; -1: none
  llvm::SmallVector<bool, 8> Local;  // of tensors: only the nest has it
  llvm::SmallVector<struct nest_loop, 8> Loops;
  llvm::SmallVector<nest_statement, 8> Statements;
  llvm::SmallVector<nest_multiple, 4> Multiples;

public:
  arena *A;
  IRNest &R;
  int Exprs = 0;         // made so far
  int GuardCount = 0;    // among them
  bool Infinite = false; // floats need not be finite
  bool Skips = false;    // products are skipped where a factor is zero

  NestBuilder(arena *A, IRNest &R) : A(A), R(R) {}
  virtual ~NestBuilder() = default;
  // Only the nest has what lies there.
  virtual bool isLocal(const llvm::SCEV *) const { return false; }

  // Returns the loop's index; its name follows from that.
  int addLoop(int Parent, const llvm::SCEV *Extent, loc At, int CutBy = -1,
              bool Down = false);
  // Numbers the loop's iterations on from those of After, by Step.
  void number(int Loop, int After, int64_t Step);
  int loopCount() const { return (int)Loops.size(); }
  value extent(int Loop) const { return Loops[Loop].extent; }
  const char *loopName(int Loop) const { return Loops[Loop].name; }

  // A 64-bit integer that is known before the nest.
  value valueOf(const llvm::SCEV *S, const llvm::Twine &Name);
  int tensorOf(const llvm::SCEV *Start);
  void setPitch(int Tensor, const llvm::SCEV *Bytes);
  int pitch(int Tensor) const { return Pitches[Tensor]; }
  const char *symbolName(int Symbol) const { return Symbols[Symbol]; }
  // One symbol is so many times another.
  void addMultiple(int Symbol, int64_t Times, int Of);
  const char *tensorName(int Tensor) const { return Tensors[Tensor]; }
  int outsideOf(llvm::Value *Number); // one from before the nest
  // After the last loop.  Strides are zero until they are filled in.
  nest_access access(dtype Type, const llvm::SCEV *Start);

  bool samePlace(const nest_access &X, const nest_access &Y) const;

  nest_expr *make(nest_op Op, dtype Type, loc At, const nest_expr *X = nullptr,
                  const nest_expr *Y = nullptr, const nest_expr *Z = nullptr);
  nest_expr *other(const char *What, loc At);
  nest_expr *as(nest_expr *E, dtype Type); // E itself where it has the type
  nest_expr *readConstant(const llvm::Constant *C, dtype Type);
  int addScalar();
  void add(const nest_statement &S) { Statements.push_back(S); }
  // The variable Scalar gets a value; a place in memory does.
  void assign(int Scalar, int Loop, int Order, const nest_expr *To, loc At);
  void store(const nest_access &Place, int Loop, int Order,
             const nest_expr *What, loc At);

  // Puts the statements in order; the nest is in R then.
  void finish(loc At);
};

} // namespace nputeir

#endif
