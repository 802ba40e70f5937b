/* design.c -- the parts of a design in order. */
#include "parts.h"

#include <assert.h>

struct design *design_make(struct arena *a, const struct tile_program *p,
                           struct core_cache *cores, struct diag *d) {
  assert(p->grid.rows > 0 && p->steps_k > 0 && p->rounds_n > 0);
  struct design *x = arena_alloc(a, sizeof *x);
  x->program = p;
  struct builder m = {.arena = a, .design = x, .diag = d};
  if (!make_tiles(&m) || !make_routes(&m) || !make_tasks(&m) ||
      !make_programs(&m, cores) || (p->converts && !make_converters(&m)) ||
      !design_check(x, d))
    return NULL;
  return x;
}
