/* isa.c -- compiles the tables of a set at its first look-up, and answers which
 * sets and instructions there are.
 *
 * The build_*.c know nothing of look-ups: each takes tables that those before
 * it have filled. */
#include "tables.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct isa_rows *const rows[] = {&aie2_rows, &aie2p_rows};
enum { SETS = sizeof rows / sizeof *rows };

static struct isa set[SETS];
static atomic_bool built[SETS];
static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;

struct named {
  const char *mnemonic;
  uint16_t id;
};

static int by_mnemonic(const void *a, const void *b) {
  const struct named *x = a, *y = b;
  int order = strcmp(x->mnemonic, y->mnemonic);
  return order ? order : x->id - y->id;
}

static void sort_insns(struct isa *t) {
  struct named named[ISA_MAX_INSNS];
  int count = t->rows->insn_count - 1;
  for (int i = 0; i < count; i++)
    named[i] = (struct named){t->mnemonic[i + 1], (uint16_t)(i + 1)};
  qsort(named, (size_t)count, sizeof *named, by_mnemonic);
  for (int i = 0; i < count; i++)
    t->insn_sorted[i + 1] = named[i].id;
}

static void build(struct isa *t, const struct isa_rows *r) {
  assert(r->insn_count <= ISA_MAX_INSNS);
  t->rows = r;
  isa_build_regs(t);
  isa_build_insns(t);
  isa_build_formats(t);
  sort_insns(t);
}

const struct isa *isa_at(int i) {
  if (i < 0 || i >= SETS)
    return NULL;
  if (!atomic_load_explicit(&built[i], memory_order_acquire)) {
    pthread_mutex_lock(&building);
    if (!atomic_load_explicit(&built[i], memory_order_relaxed))
      build(&set[i], rows[i]);
    atomic_store_explicit(&built[i], true, memory_order_release);
    pthread_mutex_unlock(&building);
  }
  return &set[i];
}

/* A search asks for each blocking, by a name that the linker mostly keeps
 * once. */
const struct isa *isa_find(const char *name) {
  for (int i = 0; i < SETS; i++)
    if (rows[i]->name == name)
      return isa_at(i);
  for (int i = 0; i < SETS; i++)
    if (strcmp(name, rows[i]->name) == 0)
      return isa_at(i);
  return NULL;
}

int isa_number(const struct isa *t) { return (int)(t - set); }
const char *isa_name(const struct isa *t) { return t->rows->name; }
uint32_t isa_elf_flags(const struct isa *t) { return t->rows->elf_flags; }
const struct isa_open *isa_open_questions(const struct isa *t) {
  return t->rows->open;
}
int isa_access_bytes(const struct isa *t) { return t->rows->access_bytes; }
int isa_insn_count(const struct isa *t) { return t->rows->insn_count; }

int isa_insn_find(const struct isa *t, const char *mnemonic, size_t length,
                  const uint16_t **ids) {
  int low = 1, count = isa_insn_count(t), high = count;
  while (low < high) { /* to the first form that is not before it */
    int middle = (low + high) / 2;
    if (isa_name_compare(mnemonic, length,
                         t->mnemonic[t->insn_sorted[middle]]) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  int found = 0;
  while (low + found < count &&
         isa_name_compare(mnemonic, length,
                          t->mnemonic[t->insn_sorted[low + found]]) == 0)
    found++;
  *ids = t->insn_sorted + low;
  return found;
}

const struct insn *isa_insn(const struct isa *t, enum insn_id id) {
  return id > INSN_NONE && (int)id < isa_insn_count(t) ? &t->insn[id] : NULL;
}

int isa_relocations(const struct isa *t, const struct isa_relocation **out) {
  *out = t->rows->relocation;
  return t->rows->relocation_count;
}

int isa_data_relocation(const struct isa *t) {
  return t->rows->data_relocation;
}
