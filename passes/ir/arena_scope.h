// arena_scope.h -- an arena with the lifetime of a C++ scope.
#ifndef NPUTEIR_ARENA_SCOPE_H
#define NPUTEIR_ARENA_SCOPE_H

extern "C" {
#include "base.h"
}

namespace nputeir {

struct ArenaScope {
  arena *A = arena_open();
  ArenaScope() = default;
  ArenaScope(const ArenaScope &) = delete;
  ~ArenaScope() { arena_close(A); }
};

} // namespace nputeir

#endif
