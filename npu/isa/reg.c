/* reg.c -- answers what registers and operand classes there are. */
#include "tables.h"

#include <string.h>

int isa_reg_count(void) { return isa_tables()->reg_count; }
int isa_unit_count(void) { return isa_tables()->unit_count; }
int isa_unit_bits(int unit) { return isa_tables()->reg_bits[unit]; }

const struct isa_reg *isa_reg(int reg) {
  const struct tables *t = isa_tables();
  return reg >= 0 && reg < t->reg_count ? &t->reg[reg] : NULL;
}

/* The pair r17:r16 is l0, and so on (isa.md A1). */
static int find_pair(const struct tables *t, const char *name, size_t length) {
  for (int i = 0; i < 8; i++) {
    char pair[40], key[] = {'l', (char)('0' + i)};
    int n = snprintf(pair, sizeof pair, "r%d:r%d", 17 + 2 * i, 16 + 2 * i);
    if ((size_t)n == length && memcmp(pair, name, length) == 0) {
      return isa_reg_of(t, key, sizeof key);
    }
  }
  return -1;
}

/* Of the registers with this name: the first one in the class; in any class if
 * it is NULL.  A name with a colon is a pair. */
static int find_name(const struct tables *t, const struct reg_class *c,
                     const char *name, size_t length) {
  if (memchr(name, ':', length)) {
    int pair = find_pair(t, name, length);
    return pair >= 0 && (!c || c->value[pair] >= 0) ? pair : -1;
  }
  unsigned slot = isa_name_hash(name, length) % REG_SLOTS;
  int low;
  while ((low = t->reg_slot[slot]) >= 0 &&
         isa_name_compare(name, length, t->reg_name[t->reg_sorted[low]]) != 0)
    slot = (slot + 1) % REG_SLOTS;
  if (low < 0)
    return -1;
  for (; low < t->reg_count; low++) {
    int reg = t->reg_sorted[low];
    if (isa_name_compare(name, length, t->reg_name[reg]) != 0)
      return -1;
    if (!c || c->value[reg] >= 0)
      return reg;
  }
  return -1;
}

int isa_reg_find(const char *name, size_t length) {
  return find_name(isa_tables(), NULL, name, length);
}

int isa_class_reg_find(int operand_class, const char *name, size_t length) {
  const struct tables *t = isa_tables();
  const struct reg_class *c = &t->class[operand_class];
  return c->shown.is_register ? find_name(t, c, name, length) : -1;
}

const struct isa_class *isa_class(int operand_class) {
  const struct tables *t = isa_tables();
  return operand_class >= 0 && operand_class < t->class_count
             ? &t->class[operand_class].shown
             : NULL;
}

bool isa_class_has(int operand_class, int reg) {
  const struct tables *t = isa_tables();
  return operand_class >= 0 && operand_class < t->class_count && reg >= 0 &&
         reg < t->reg_count && t->class[operand_class].shown.is_register &&
         t->class[operand_class].value[reg] >= 0;
}
