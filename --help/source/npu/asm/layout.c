/* layout.c -- gives every bundle its size and every label its offset.
 *
 * Sizes do not depend on the values of symbols, so one pass is enough.  At an
 * alignment point the gap is closed by widening bundles since the last such
 * point: slots of a wider format are filled with nops, which costs no cycle.
 * A table of what the last bundles can absorb finds the assignment that widens
 * fewest of them; only if there is none, a nop bundle is inserted. */
#include "parts.h"

#include <assert.h>
#include <string.h>

enum { TARGET_ALIGN = 16, DELAY_SLOTS = 5, MAX_SECTION = 1 << 24 };

struct builder {
  struct layout *l;
  struct diag *diag;
  int current; /* section */
  bool autoalign;
  const char **target; /* names of labels that start on 16 bytes */
  int target_count;
  const char **loop_end;
  int loop_end_count;
  bool full_next; /* the next bundle is the last of a hardware loop */
  int call_slots; /* delay slots left until a return address */
};

static bool contains(const char *const *set, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(set[i], name) == 0)
      return true;
  return false;
}

/* Whether the reference is to a loop end; sets *target if to code at all. */
static bool names_loop_end(const struct isa *isa, const struct asm_line *line,
                           const struct asm_reference *r, bool *target) {
  const struct isa_op *op = &line->bundle.slot[r->slot];
  const struct insn *insn = isa_insn(isa, op->id);
  *target = insn && insn->flags & INSN_BRANCH;
  if (!insn || *target || insn->operand_count < 1 ||
      !insn->operand[0].written || r->addend != 0)
    return false;
  const struct isa_reg *reg = isa_reg(isa, (int)op->operand[0]);
  if (!reg)
    return false;
  bool end = strcmp(reg->name, "le") == 0;
  *target = end || strcmp(reg->name, "ls") == 0;
  return end;
}

static void find_targets(struct builder *b) {
  const struct asm_program *p = b->l->program;
  int count = 0;
  for (int i = 0; i < p->count; i++)
    count += p->line[i].kind == ASM_BUNDLE ? p->line[i].reference_count : 1;
  b->target = arena_array(b->l->arena, (size_t)count + 1, sizeof *b->target);
  b->loop_end =
      arena_array(b->l->arena, (size_t)count + 1, sizeof *b->loop_end);
  for (int i = 0; i < p->count; i++)
    for (int r = 0; r < p->line[i].reference_count; r++) {
      const struct asm_reference *ref = &p->line[i].reference[r];
      bool target;
      if (names_loop_end(p->isa, &p->line[i], ref, &target))
        b->loop_end[b->loop_end_count++] = ref->symbol;
      if (target)
        b->target[b->target_count++] = ref->symbol;
    }
}

/* ---- sections, fragments, labels ---- */

static struct section *current(struct builder *b) {
  return &b->l->section[b->current];
}

static void enter_section(struct builder *b, const char *name, unsigned flags) {
  struct layout *l = b->l;
  for (int i = 0; i < l->section_count; i++)
    if (strcmp(l->section[i].name, name) == 0) {
      b->current = i;
      return;
    }
  if (l->section_count == l->section_capacity) {
    int capacity = l->section_capacity ? 2 * l->section_capacity : 8;
    l->section = arena_copy(l->arena, l->section, (size_t)l->section_count,
                            (size_t)capacity, sizeof *l->section);
    l->section_capacity = capacity;
  }
  b->current = l->section_count++;
  l->section[b->current] = (struct section){
      .name = name, .flags = flags, .align = flags & SECTION_EXEC ? 16 : 4};
}

static struct fragment *add_fragment(struct builder *b, enum fragment_kind kind,
                                     const struct asm_line *line,
                                     uint32_t size) {
  struct section *s = current(b);
  if (s->count == s->capacity) {
    int capacity = s->capacity ? 2 * s->capacity : 64;
    s->fragment = arena_copy(b->l->arena, s->fragment, (size_t)s->count,
                             (size_t)capacity, sizeof *s->fragment);
    s->capacity = capacity;
  }
  struct fragment *f = &s->fragment[s->count++];
  *f = (struct fragment){
      .kind = kind, .line = line, .offset = s->size, .size = size};
  s->size += size;
  return f;
}

static struct label *find_label(struct layout *l, const char *name) {
  for (int i = 0; i < l->label_count; i++)
    if (strcmp(l->label[i].name, name) == 0)
      return &l->label[i];
  return NULL;
}

static struct label *get_label(struct layout *l, const char *name) {
  struct label *label = find_label(l, name);
  if (label)
    return label;
  if (l->label_count == l->label_capacity) {
    int capacity = l->label_capacity ? 2 * l->label_capacity : 32;
    l->label = arena_copy(l->arena, l->label, (size_t)l->label_count,
                          (size_t)capacity, sizeof *l->label);
    l->label_capacity = capacity;
  }
  label = &l->label[l->label_count++];
  *label = (struct label){.name = name, .section = -1, .size = -1};
  return label;
}

const struct label *layout_label(const struct layout *l, const char *name) {
  for (int i = 0; i < l->label_count; i++)
    if (l->label[i].section >= 0 && strcmp(l->label[i].name, name) == 0)
      return &l->label[i];
  return NULL;
}

uint32_t layout_address(const struct layout *l, const struct label *label) {
  assert(label->section >= 0 && label->section < l->section_count);
  const struct section *s = &l->section[label->section];
  assert(label->fragment >= 0 && label->fragment <= s->count);
  return s->address + (label->fragment < s->count
                           ? s->fragment[label->fragment].offset
                           : s->size);
}

/* ---- alignment ---- */

/* What a bundle may grow to beyond its size, the next step up. */
static uint32_t next_size(const struct isa *isa, const struct fragment *f,
                          uint32_t size) {
  int bigger = isa_bundle_size(isa, &f->line->bundle, (int)size + 2);
  assert(bigger == 0 || bigger > (int)size);
  return (uint32_t)bigger;
}

enum { MAX_GAP = 16, MAX_WIDEN = 64 };

/* Chooses bundles among the last ones that grow by exactly `gap` bytes in all;
 * changed[k] tells with how few bundles k bytes can be absorbed. */
static bool widen(const struct isa *isa, struct section *s, uint32_t gap) {
  assert(gap > 0 && gap <= MAX_GAP && gap % 2 == 0);
  int candidate[MAX_WIDEN], count = 0;
  for (int i = s->count - 1; i >= s->barrier && count < MAX_WIDEN; i--)
    if (s->fragment[i].kind == FRAGMENT_BUNDLE && s->fragment[i].size < 16)
      candidate[count++] = i;
  uint32_t grow[MAX_WIDEN][MAX_GAP / 2 + 1]; /* by the candidate, in best way */
  int changed[MAX_GAP / 2 + 1];
  uint32_t units = gap / 2;
  for (uint32_t k = 0; k <= units; k++)
    changed[k] = k ? 1000 : 0;
  for (int c = 0; c < count; c++) {
    const struct fragment *f = &s->fragment[candidate[c]];
    for (uint32_t k = units + 1; k-- > 0;) {
      grow[c][k] = 0;
      for (uint32_t to = next_size(isa, f, f->size);
           to && to - f->size <= 2 * k;
           to = to < 16 ? next_size(isa, f, to) : 0) {
        uint32_t by = (to - f->size) / 2;
        if (changed[k - by] + 1 < changed[k]) {
          changed[k] = changed[k - by] + 1;
          grow[c][k] = by;
        }
      }
    }
  }
  if (changed[units] >= 1000)
    return false;
  for (int c = count - 1; c >= 0; c--) {
    uint32_t by = grow[c][units];
    s->fragment[candidate[c]].size += 2 * by;
    assert(by <= units);
    units -= by;
  }
  assert(units == 0);
  return true;
}

static void place_from(struct section *s, int first) {
  uint32_t offset =
      first ? s->fragment[first - 1].offset + s->fragment[first - 1].size : 0;
  for (int i = first; i < s->count; i++) {
    s->fragment[i].offset = offset;
    offset += s->fragment[i].size;
  }
  s->size = offset;
}

static bool align(struct builder *b, uint32_t to, struct loc at) {
  struct section *s = current(b);
  assert(to > 0 && s->barrier <= s->count);
  if (to > s->align)
    s->align = to;
  uint32_t gap = (to - s->size % to) % to;
  if (gap && !(s->flags & SECTION_EXEC)) {
    add_fragment(b, FRAGMENT_PAD, NULL, gap);
  } else if (gap) {
    if (gap % 2)
      return diag_error(b->diag, at, "code at an odd offset");
    while (gap > MAX_GAP) {
      add_fragment(b, FRAGMENT_PAD, NULL, MAX_GAP);
      gap -= MAX_GAP;
    }
    if (widen(b->l->program->isa, current(b), gap))
      place_from(current(b), current(b)->barrier);
    else
      add_fragment(b, FRAGMENT_PAD, NULL, gap);
  }
  assert(s->size % to == 0);
  s->barrier = s->count;
  return true;
}

/* ---- lines ---- */

static bool add_label(struct builder *b, const struct asm_line *line) {
  struct label *label = get_label(b->l, line->text);
  if (label->section >= 0)
    return diag_error(b->diag, line->at, "label '%s' is already defined",
                      line->text);
  bool exec = current(b)->flags & SECTION_EXEC;
  bool target = contains(b->target, b->target_count, line->text);
  if (exec && b->autoalign && (target || label->global) &&
      !align(b, TARGET_ALIGN, line->at))
    return false;
  if (exec && b->autoalign &&
      contains(b->loop_end, b->loop_end_count, line->text))
    b->full_next = true;
  label->section = b->current;
  label->fragment = current(b)->count;
  label->at = line->at;
  add_fragment(b, FRAGMENT_LABEL, line, 0);
  return true;
}

static bool is_call(const struct isa *isa, const struct isa_bundle *bundle) {
  for (int s = 0; s < SLOT_COUNT; s++) {
    const struct insn *insn = isa_insn(isa, bundle->slot[s].id);
    if (insn && insn->flags & INSN_BRANCH)
      for (int i = 0; i < insn->operand_count; i++)
        if (insn->operand[i].fixed_reg >= 0 && insn->operand[i].written &&
            strcmp(insn->operand[i].name, "lr") == 0)
          return true;
  }
  return false;
}

static bool add_bundle(struct builder *b, const struct asm_line *line) {
  if (!(current(b)->flags & SECTION_EXEC))
    return diag_error(b->diag, line->at,
                      "instructions in section %s, which holds no code",
                      current(b)->name);
  if (b->call_slots && --b->call_slots == 0 && b->autoalign &&
      !align(b, TARGET_ALIGN, line->at))
    return false;
  int at_least = line->full || b->full_next ? 16 : line->size;
  int size = isa_bundle_size(b->l->program->isa, &line->bundle, at_least);
  if (!size) {
    uint8_t bytes[ISA_BUNDLE_BYTES];
    struct diag why = {DIAG_NONE, loc_none(), ""};
    isa_encode(b->l->program->isa, &line->bundle, at_least, bytes, &why);
    return diag_error(b->diag, line->at, "%s", why.text);
  }
  assert(size >= at_least && size <= ISA_BUNDLE_BYTES && size % 2 == 0);
  b->full_next = false;
  add_fragment(b, FRAGMENT_BUNDLE, line, (uint32_t)size);
  if (is_call(b->l->program->isa, &line->bundle))
    b->call_slots = DELAY_SLOTS + 1;
  return true;
}

static bool add_directive(struct builder *b, const struct asm_line *line) {
  struct directive r;
  struct cursor c = {NULL,          line->at.file, line->text, line->text,
                     line->at.line, b->l->arena,   b->diag};
  if (!directive_parse(&c, &r))
    return false;
  struct fragment *f;
  struct label *label;
  switch (r.kind) {
  case DIRECTIVE_SECTION:
    enter_section(b, r.name, r.flags);
    return true;
  case DIRECTIVE_ALIGN:
    return align(b, (uint32_t)r.value, line->at);
  case DIRECTIVE_GLOBAL:
    get_label(b->l, r.name)->global = true;
    return true;
  case DIRECTIVE_DATA:
  case DIRECTIVE_SPACE:
    if (r.kind == DIRECTIVE_DATA)
      r.value = (int64_t)r.unit * r.count;
    f = add_fragment(b, FRAGMENT_DATA, line, (uint32_t)r.value);
    f->directive = r;
    f->fill = r.fill;
    current(b)->barrier = current(b)->count;
    return current(b)->size < MAX_SECTION ||
           diag_error(b->diag, line->at, "section %s is larger than %d bytes",
                      current(b)->name, MAX_SECTION);
  case DIRECTIVE_TYPE:
    get_label(b->l, r.name)->function = r.value;
    return true;
  case DIRECTIVE_SIZE:
    label = get_label(b->l, r.name);
    label->size =
        r.value >= 0 || label->section != b->current
            ? r.value
            : current(b)->size - current(b)->fragment[label->fragment].offset;
    return true;
  case DIRECTIVE_AUTOALIGN:
    b->autoalign = r.value;
    return true;
  case DIRECTIVE_LOCKORDER:
    b->l->lock_order = r.value;
    return true;
  case DIRECTIVE_NOTHING:
    return true;
  }
  return true;
}

/* .globl may stand behind its label, and so be too late to align it. */
static void find_globals(struct builder *b) {
  for (int i = 0; i < b->l->program->count; i++) {
    const struct asm_line *line = &b->l->program->line[i];
    if (line->kind != ASM_DIRECTIVE || strncmp(line->text, ".glob", 5) != 0)
      continue;
    struct directive r;
    struct diag quiet = {DIAG_NONE, loc_none(), ""};
    struct cursor c = {NULL,          line->at.file, line->text, line->text,
                       line->at.line, b->l->arena,   &quiet};
    if (directive_parse(&c, &r) && r.kind == DIRECTIVE_GLOBAL)
      get_label(b->l, r.name)->global = true;
  }
}

bool layout_build(struct layout *l, struct arena *a,
                  const struct asm_program *p, struct diag *d) {
  *l = (struct layout){.arena = a, .program = p, .lock_order = true};
  struct builder b = {.l = l, .diag = d, .autoalign = true};
  find_targets(&b);
  find_globals(&b);
  enter_section(&b, ".text", SECTION_EXEC);
  for (int i = 0; i < p->count; i++) {
    const struct asm_line *line = &p->line[i];
    bool good = true;
    switch (line->kind) {
    case ASM_LABEL:
      good = add_label(&b, line);
      break;
    case ASM_BUNDLE:
      good = add_bundle(&b, line);
      break;
    case ASM_DIRECTIVE:
      good = add_directive(&b, line);
      break;
    case ASM_COMMENT:
      break;
    }
    if (!good)
      return false;
  }
  return true;
}

/* ---- bytes ---- */

static bool value_of(const struct resolver *r, const char *symbol,
                     struct loc at, int64_t *value, struct diag *d) {
  *value = 0;
  if (r->relocate)
    return true;
  const struct label *label = layout_label(r->own, symbol);
  if (label) {
    *value = layout_address(r->own, label);
    return true;
  }
  return (r->resolve && r->resolve(r, symbol, value)) ||
         diag_error(d, at, "undefined symbol '%s'", symbol);
}

static bool emit_bundle(const struct isa *isa, const struct fragment *f,
                        const struct resolver *r, struct text *out,
                        struct diag *d) {
  struct isa_bundle b = f->line->bundle;
  for (int i = 0; i < f->line->reference_count; i++) {
    const struct asm_reference *ref = &f->line->reference[i];
    int64_t value;
    if (!value_of(r, ref->symbol, f->line->at, &value, d))
      return false;
    b.slot[ref->slot].operand[ref->operand] =
        r->relocate ? 0 : value + ref->addend;
  }
  uint8_t bytes[ISA_BUNDLE_BYTES];
  struct diag why = {DIAG_NONE, loc_none(), ""};
  if (!isa_encode(isa, &b, (int)f->size, bytes, &why))
    return diag_error(d, f->line->at, "%s", why.text);
  text_append(out, (const char *)bytes, f->size);
  return true;
}

static bool emit_data(const struct fragment *f, const struct resolver *r,
                      struct text *out, struct diag *d) {
  if (f->directive.kind == DIRECTIVE_SPACE) {
    for (uint32_t i = 0; i < f->size; i++)
      text_append(out, &(char){(char)f->fill}, 1);
    return true;
  }
  for (int i = 0; i < f->directive.count; i++) {
    int64_t value = 0;
    const struct expression *e = &f->directive.item[i];
    if (e->symbol && !value_of(r, e->symbol, f->line->at, &value, d))
      return false;
    if (!(e->symbol && r->relocate))
      value += e->value;
    for (int k = 0; k < f->directive.unit; k++)
      text_append(out, &(char){(char)(uint64_t)(value >> (8 * k))}, 1);
  }
  return true;
}

static void emit_padding(const struct isa *isa, const struct section *s,
                         const struct fragment *f, struct text *out) {
  uint8_t bytes[ISA_BUNDLE_BYTES] = {0};
  if (s->flags & SECTION_EXEC) {
    const struct isa_bundle empty = {0};
    struct diag none = {DIAG_NONE, loc_none(), ""};
    isa_encode(isa, &empty, (int)f->size, bytes, &none);
    text_append(out, (const char *)bytes, f->size);
    return;
  }
  for (uint32_t i = 0; i < f->size; i++)
    text_append(out, (const char *)bytes, 1);
}

bool layout_emit(const struct layout *l, const struct section *s,
                 const struct resolver *r, struct text *out, struct diag *d) {
  const size_t start = out->length;
  (void)start; /* without assertions */
  for (int i = 0; i < s->count; i++) {
    const struct fragment *f = &s->fragment[i];
    assert(out->length - start == f->offset);
    switch (f->kind) {
    case FRAGMENT_LABEL:
      break;
    case FRAGMENT_BUNDLE:
      if (!emit_bundle(l->program->isa, f, r, out, d))
        return false;
      break;
    case FRAGMENT_DATA:
      if (!emit_data(f, r, out, d))
        return false;
      break;
    case FRAGMENT_PAD:
      emit_padding(l->program->isa, s, f, out);
      break;
    }
  }
  return true;
}
