// tensor_bases.h -- which accesses of a nest lie in one tensor.
//
// Starts that differ by a known number of bytes do.  So do starts that differ
// by whole rows of a pitch that only the program knows, as those of
//
//     b[l * n + j]   b[(l + 1) * n + j]   b[(l + 2) * n + j]
//
// if the accesses move alike: a loop over them was unrolled.  Other starts are
// taken for different tensors, such as parts of one buffer, and so is what is
// read behind or in front of all that is written, as another member of a struct
// is; whether their memory overlaps is asked when the call is made.
#ifndef NPUTEIR_TENSOR_BASES_H
#define NPUTEIR_TENSOR_BASES_H

#include "addresses.h"

namespace nputeir {

// Tensor + Bytes + Rows * Pitch.
struct TensorBase {
  const llvm::SCEV *Tensor;
  int64_t Bytes, Rows;
  const llvm::SCEV *Pitch; // null: the tensor has none
};

class TensorBases {
  // Bytes + Times * Unit.
  struct Distance {
    int64_t Bytes = 0, Times = 0;
    const llvm::SCEV *Unit = nullptr; // null: none, as Times is zero
  };
  struct Reach {
    uint64_t Below = 0, Above = 0; // bytes from the start
  };
  struct Family {
    Address First;
    bool Written;
    const llvm::SCEV *Unit = nullptr; // of all distances from First
    llvm::SmallVector<int64_t, 4> Times = {0};
    llvm::SmallVector<int64_t, 4> Bytes = {0}; // from First, where Times is 0

    bool has(const Distance &D) const;
    int64_t timesPerRow() const;
  };
  llvm::ScalarEvolution &SE;
  const Addresses &Places;
  llvm::SmallVector<Family, 4> Families;

  bool measure(const llvm::SCEV *From, const llvm::SCEV *To, Distance &D);
  Reach reachOf(const Address &X) const;
  bool isFar(const Family &F, const Address &X, const Distance &D) const;
  bool join(Family &F, const Address &X, bool Written);

public:
  TensorBases(llvm::ScalarEvolution &SE, const Addresses &Places)
      : SE(SE), Places(Places) {}
  // All that is written before anything that is read.
  void add(const Address &X, bool Written);
  TensorBase find(const Address &X);
};

} // namespace nputeir

#endif
