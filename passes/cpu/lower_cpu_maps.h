// lower_cpu_maps.h -- contractions that multiply what maps make of elements, as
// ones that multiply the elements.
#ifndef NPUTEIR_LOWER_CPU_MAPS_H
#define NPUTEIR_LOWER_CPU_MAPS_H

#include "lower_cpu_form.h"

#include <optional>

namespace nputeir {

// What the map of an input adds, of the sum's type; null: there is no map, or
// it does more.
const calc *cpuAdded(arena *A, const contraction &C, int T);

// A contraction whose maps add numbers, as one without, and what its tail needs
// beside its extras: these follow them.
struct CpuUnmapped {
  const calc *Tail;
  int Extras;              // with those
  int Sums[2] = {-1, -1};  // of an input's elements: which extra; -1: none
  int Fills[2] = {-1, -1}; // what counts as an element that a limit leaves out
  int Steps = -1;          // of K
  // The sums are multiplied when they are formed, by what is added to the other
  // input, which is one number, so that the tail need not.
  bool Scaled[2] = {false, false};
  bool isScaled() const { return Scaled[IN0] && Scaled[IN1]; }
};
// Nothing, if they do more.
std::optional<CpuUnmapped> cpuUnmapped(arena *A, const contraction &C);

} // namespace nputeir

#endif
