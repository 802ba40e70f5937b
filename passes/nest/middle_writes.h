// middle_writes.h -- places that are written under conditions on counters.
#ifndef NPUTEIR_MIDDLE_WRITES_H
#define NPUTEIR_MIDDLE_WRITES_H

#include "joins.h"
#include "nest_builder.h"

namespace nputeir {

// Of a conditional store with its value: each place is written by some
// iteration, which is asked at run time.  False: that is not known.
bool isWrittenInMiddle(const nest_statement &Store, const Joins &Places,
                       llvm::ScalarEvolution &SE, NestBuilder &Nest);

} // namespace nputeir

#endif
