// sides.h -- which way conditions go that do not change in a nest.
//
//     for i, j, k:  s += a[i][k] * (transposed ? b[j][k] : b[k][j]);
//
// Such a nest is no contraction, and on either side of the condition it is one.
// It is read once for each side, and what is taken gets a guarded call of its
// own, one in front of the other, before the one code.
#ifndef NPUTEIR_SIDES_H
#define NPUTEIR_SIDES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instruction.h"

#include <optional>
#include <string>

namespace nputeir {

class Sides {
public:
  struct Choice {
    const llvm::Instruction *At; // a branch or a select
    bool Side;
  };

private:
  llvm::SmallVector<Choice, 4> Given;

public:
  enum { GivenMax = 3 };
  // Met by a reading, and not given: it goes on with neither side ..
  const llvm::Instruction *Open = nullptr;
  // .. or with one, while the other may be a contraction, too.
  llvm::SmallVector<Choice, 4> Taken;

  Sides() = default;
  // The same for another reading, with one more condition.
  Sides(const Sides &Before, const llvm::Instruction &At, bool Side);
  // The side of At's condition that is given, or follows from that.
  std::optional<bool> of(const llvm::Instruction &At,
                         llvm::ScalarEvolution &SE) const;
  void meet(const llvm::Instruction &At);
  bool isFull() const { return Given.size() >= GivenMax; }
  // The conditions and their sides, to be added to a sentence.
  std::string text() const;
};

} // namespace nputeir

#endif
