/* isa.c -- compiles the tables at the first look-up, and answers which
 * instructions there are.
 *
 * The build_*.c know nothing of look-ups: each takes tables that those before
 * it have filled. */
#include "tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const struct isa *isa_find(const char *name) {
  static const struct isa aie2 = {"aie2"};
  return strcmp(name, aie2.name) == 0 ? &aie2 : NULL;
}

static struct tables compiled;

static int by_mnemonic(const void *a, const void *b) {
  const uint16_t *x = a, *y = b;
  int order = strcmp(compiled.mnemonic[*x], compiled.mnemonic[*y]);
  return order ? order : *x - *y;
}

int isa_insn_find(const char *mnemonic, size_t length, const uint16_t **ids) {
  const struct tables *t = isa_tables();
  int low = 1, high = INSN_COUNT; /* first form that is not before it */
  while (low < high) {
    int middle = (low + high) / 2;
    if (isa_name_compare(mnemonic, length,
                         t->mnemonic[t->insn_sorted[middle]]) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  int count = 0;
  while (low + count < INSN_COUNT &&
         isa_name_compare(mnemonic, length,
                          t->mnemonic[t->insn_sorted[low + count]]) == 0)
    count++;
  *ids = t->insn_sorted + low;
  return count;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool built;

static void build(void) {
  isa_build_regs(&compiled);
  isa_build_insns(&compiled);
  isa_build_formats(&compiled);
  for (int id = 1; id < INSN_COUNT; id++)
    compiled.insn_sorted[id] = (uint16_t)id;
  qsort(compiled.insn_sorted + 1, INSN_COUNT - 1, sizeof(uint16_t),
        by_mnemonic);
  atomic_store_explicit(&built, true, memory_order_release);
}

const struct tables *isa_tables(void) {
  if (!atomic_load_explicit(&built, memory_order_acquire))
    pthread_once(&once, build);
  return &compiled;
}

const struct insn *isa_insn(enum insn_id id) {
  return id > INSN_NONE && id < INSN_COUNT ? &isa_tables()->insn[id] : NULL;
}
