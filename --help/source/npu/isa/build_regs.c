/* build_regs.c -- compiles regs.def: registers, the units of state that they
 * are made of, and the operand classes with their field values.
 *
 * Registers that are one unit come first, so a unit has the number of the
 * register that is only this unit. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum reg_file isa_file_of(const char *name, size_t length) {
  static const char *const file[FILE_COUNT] = {
      [FILE_R] = "r",   [FILE_P] = "p",   [FILE_M] = "m",
      [FILE_DN] = "dn", [FILE_DJ] = "dj", [FILE_DC] = "dc",
      [FILE_S] = "s",   [FILE_EL] = "el", [FILE_EH] = "eh"};
  for (int i = 1; i < FILE_COUNT; i++)
    if (strlen(file[i]) == length && memcmp(file[i], name, length) == 0)
      return (enum reg_file)i;
  return FILE_OTHER;
}

int isa_name_compare(const char *name, size_t length, const char *string) {
  int order = strncmp(name, string, length);
  return order ? order : string[length] ? -1 : 0;
}

unsigned isa_name_hash(const char *name, size_t length) {
  unsigned hash = 0;
  for (size_t i = 0; i < length; i++)
    hash = hash * 31 + (unsigned char)name[i];
  return hash;
}

int isa_reg_of(const struct isa *t, const char *key, size_t length) {
  for (int i = 0; i < t->reg_count; i++)
    if (t->reg_key[i][0] == key[0] &&
        isa_name_compare(key, length, t->reg_key[i]) == 0)
      return i;
  return -1;
}

static int add_reg(struct isa *t, const char *prefix, const char *text,
                   int index) {
  assert(t->reg_count < MAX_REGS);
  int reg = t->reg_count++;
  char number[12] = "";
  if (index >= 0)
    snprintf(number, sizeof number, "%d", index);
  int length =
      snprintf(t->reg_key[reg], sizeof t->reg_key[reg], "%s%s", prefix, number);
  assert(length < (int)sizeof t->reg_key[reg]);
  (void)length; /* without assertions */
  snprintf(t->reg_name[reg], sizeof t->reg_name[reg], "%s%s", text, number);
  t->reg[reg].name = t->reg_name[reg];
  t->reg_file[reg] = isa_file_of(prefix, strlen(prefix));
  return reg;
}

static void build_units(struct isa *t) {
  for (int row = 0; row < t->rows->file_count; row++) {
    const struct file_row *f = &t->rows->file[row];
    for (int i = 0; i < (f->count ? f->count : 1); i++) {
      int reg = add_reg(t, f->prefix, f->prefix, f->count ? f->first + i : -1);
      t->reg[reg].unit_count = 1;
      t->reg[reg].unit[0] = reg;
      t->reg_bits[reg] = f->bits;
    }
  }
  t->unit_count = t->reg_count;
}

/* Splits "prefix12" into prefix and number; returns the prefix's length. */
static size_t split_number(const char *word, size_t length, int *number) {
  size_t prefix = length;
  while (prefix > 0 && word[prefix - 1] >= '0' && word[prefix - 1] <= '9')
    prefix--;
  *number = prefix < length ? atoi(word + prefix) : -1;
  return prefix;
}

/* The register `step` * i after the one that `word` names. */
static int find_stepped(const struct isa *t, const char *word, size_t length,
                        int distance) {
  int number;
  size_t prefix = split_number(word, length, &number);
  if (number < 0)
    return isa_reg_of(t, word, length);
  char key[24];
  int n =
      snprintf(key, sizeof key, "%.*s%d", (int)prefix, word, number + distance);
  return isa_reg_of(t, key, (size_t)n);
}

static void build_views(struct isa *t) {
  for (int row = 0; row < t->rows->view_count; row++) {
    const struct view_row *v = &t->rows->view[row];
    for (int i = 0; i < (v->count ? v->count : 1); i++) {
      int index = v->count ? v->first + i : -1;
      struct isa_reg *r = &t->reg[add_reg(t, v->prefix, v->text, index)];
      for (const char *at = v->pieces; *at;) {
        size_t word = strcspn(at, "+");
        int step = atoi(at + word + 1);
        int unit = find_stepped(t, at, word, step * i);
        assert(unit >= 0 && r->unit_count < ISA_REG_UNITS);
        r->unit[r->unit_count++] = unit;
        at += strcspn(at, " ");
        at += strspn(at, " ");
      }
    }
  }
}

/* One word of a class's members: name[+step][*count]=value[+step][?] */
static void add_members(const struct isa *t, struct reg_class *c,
                        const char *word) {
  size_t name = strcspn(word, "+*=");
  const char *at = word + name;
  int step = 1, count = 1, value_step = 0;
  if (*at == '+')
    step = (int)strtol(at + 1, (char **)&at, 10);
  if (*at == '*')
    count = (int)strtol(at + 1, (char **)&at, 10);
  assert(*at == '=');
  int value = (int)strtol(at + 1, (char **)&at, 0);
  if (*at == '+')
    value_step = (int)strtol(at + 1, (char **)&at, 10);
  for (int i = 0; i < count; i++, value += value_step) {
    int reg = find_stepped(t, word, name, step * i);
    assert(reg >= 0 && value >= 0 && value < 1 << c->bits);
    assert(c->reg[value] < 0);
    c->reg[value] = (int16_t)reg;
    if (*at != '?')
      c->value[reg] = (int16_t)value;
  }
}

static void build_classes(struct isa *t) {
  for (int row = 0; row < t->rows->class_count; row++) {
    struct reg_class *c = &t->class[t->class_count++];
    c->shown.name = t->rows->class[row].name;
    c->shown.is_register = true;
    c->bits = t->rows->class[row].bits;
    memset(c->reg, -1, sizeof c->reg);
    memset(c->value, -1, sizeof c->value);
    for (const char *at = t->rows->class[row].members; *at;) {
      add_members(t, c, at);
      at += strcspn(at, " ");
      at += strspn(at, " ");
    }
  }
}

/* Insertion sort; equal names stay in order of their numbers. */
static void sort_names(struct isa *t) {
  for (int i = 0; i < t->reg_count; i++) {
    int at = i;
    for (; at > 0 &&
           strcmp(t->reg_name[t->reg_sorted[at - 1]], t->reg_name[i]) > 0;
         at--)
      t->reg_sorted[at] = t->reg_sorted[at - 1];
    t->reg_sorted[at] = (int16_t)i;
  }
}

/* Registers of one name stand together in the sorted list: its first place. */
static void hash_names(struct isa *t) {
  static_assert(REG_SLOTS > 2 * MAX_REGS, "free slots end a search");
  for (int i = 0; i < REG_SLOTS; i++)
    t->reg_slot[i] = -1;
  const char *last = "";
  for (int i = 0; i < t->reg_count; i++) {
    const char *name = t->reg_name[t->reg_sorted[i]];
    unsigned slot = isa_name_hash(name, strlen(name)) % REG_SLOTS;
    while (strcmp(name, last) != 0 && t->reg_slot[slot] >= 0)
      slot = (slot + 1) % REG_SLOTS;
    if (strcmp(name, last) != 0)
      t->reg_slot[slot] = (int16_t)i;
    last = name;
  }
}

int isa_class_find(const struct isa *t, const char *name, size_t length) {
  for (int i = 0; i < t->class_count; i++)
    if (strlen(t->class[i].shown.name) == length &&
        memcmp(t->class[i].shown.name, name, length) == 0)
      return i;
  return -1;
}

void isa_build_regs(struct isa *t) {
  build_units(t);
  build_views(t);
  sort_names(t);
  hash_names(t);
  build_classes(t);
}
