/* lists.c -- the lists that the parts of a design fill. */
#include "parts.h"

#include <assert.h>

/* Each list doubles in the arena; the old copy is left behind. */
static void *grow(struct builder *m, int list, void **items, int *count,
                  size_t size) {
  if (*count == m->capacity[list]) {
    m->capacity[list] = m->capacity[list] ? 2 * m->capacity[list] : 32;
    *items = arena_copy(m->arena, *items, (size_t)*count,
                        (size_t)m->capacity[list], size);
  }
  assert(*count < m->capacity[list]);
  return (char *)*items + size * (size_t)(*count)++;
}

#define DEFINE_ADD(name, list)                                                 \
  struct design_##name *add_##name(struct builder *m) {                        \
    struct design *x = m->design;                                              \
    void *items = x->name;                                                     \
    struct design_##name *item =                                               \
        grow(m, list, &items, &x->name##_count, sizeof *item);                 \
    x->name = items;                                                           \
    return item;                                                               \
  }
DEFINE_ADD(buffer, 0)
DEFINE_ADD(lock, 1)
DEFINE_ADD(bd, 2)
DEFINE_ADD(start, 3)
DEFINE_ADD(route, 4)
DEFINE_ADD(task, 5)
DEFINE_ADD(core, 6)
