/* reg.c -- answers what registers and operand classes there are. */
#include "tables.h"

#include <string.h>

int isa_reg_count(const struct isa *t) { return t->reg_count; }
int isa_unit_count(const struct isa *t) { return t->unit_count; }
int isa_unit_bits(const struct isa *t, int unit) { return t->reg_bits[unit]; }

const struct isa_reg *isa_reg(const struct isa *t, int reg) {
  return reg >= 0 && reg < t->reg_count ? &t->reg[reg] : NULL;
}

/* The register written as a pair, "r17:r16", high part first (isa.md A1). */
static int find_pair(const struct isa *t, const char *name, size_t length) {
  for (int i = t->unit_count; i < t->reg_count; i++) {
    const struct isa_reg *r = &t->reg[i];
    char pair[40];
    if (r->unit_count != 2 || t->reg_file[r->unit[0]] != FILE_R)
      continue;
    int n = snprintf(pair, sizeof pair, "%s:%s", t->reg[r->unit[1]].name,
                     t->reg[r->unit[0]].name);
    if ((size_t)n == length && memcmp(pair, name, length) == 0)
      return i;
  }
  return -1;
}

bool isa_reg_is_pair(const struct isa *t, int reg) {
  const struct isa_reg *r = isa_reg(t, reg);
  return r && r->unit_count == 2 && t->reg_file[r->unit[0]] == FILE_R;
}

static bool is_named(const char *have, const char *name, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (have[i] != name[i]) /* at its end, too */
      return false;
  return !have[length];
}

/* Of the registers with this name: the first one in the class; in any class if
 * it is NULL.  A name with a colon is a pair. */
static int find_name(const struct isa *t, const struct reg_class *c,
                     const char *name, size_t length) {
  unsigned slot = isa_name_hash(name, length) % REG_SLOTS;
  int low;
  while ((low = t->reg_slot[slot]) >= 0 &&
         !is_named(t->reg_name[t->reg_sorted[low]], name, length))
    slot = (slot + 1) % REG_SLOTS;
  if (low < 0) {
    int pair = memchr(name, ':', length) ? find_pair(t, name, length) : -1;
    return pair >= 0 && (!c || c->value[pair] >= 0) ? pair : -1;
  }
  for (; low < t->reg_count; low++) {
    int reg = t->reg_sorted[low];
    if (!is_named(t->reg_name[reg], name, length))
      return -1;
    if (!c || c->value[reg] >= 0)
      return reg;
  }
  return -1;
}

int isa_reg_find(const struct isa *t, const char *name, size_t length) {
  return find_name(t, NULL, name, length);
}

int isa_class_reg_find(const struct isa *t, int operand_class, const char *name,
                       size_t length) {
  const struct reg_class *c = &t->class[operand_class];
  return c->shown.is_register ? find_name(t, c, name, length) : -1;
}

const struct isa_class *isa_class(const struct isa *t, int operand_class) {
  return operand_class >= 0 && operand_class < t->class_count
             ? &t->class[operand_class].shown
             : NULL;
}

bool isa_class_has(const struct isa *t, int operand_class, int reg) {
  return operand_class >= 0 && operand_class < t->class_count && reg >= 0 &&
         reg < t->reg_count && t->class[operand_class].shown.is_register &&
         t->class[operand_class].value[reg] >= 0;
}
