/* check_memory.c -- order of memory accesses among each other and with locks.
 *
 * Loads reach data memory in cycle 5, stores in 5, 7 (converting) or 11 (part
 * of a word), so an access can overtake an earlier one (isa.md D4).  Two
 * accesses are known to meet only if they use the same pointer and all that
 * moved it in between is a constant; what moves by a register is not followed.
 * Which buffer a lock guards is not known either, so every access counts but
 * those to the stack (isa.md D5).  Text that says `.lockorder 0` vouches for
 * the accesses around its locks; the simulator's strict mode, which knows the
 * addresses, can check that. */
#include "flow.h"

#include <string.h>

enum {
  RESUME_CYCLE = 8, /* of a lock operation, after its stall */
  VECTOR_BYTES = 32
};

static int operand_named(const struct insn *insn, const char *name) {
  for (int i = 0; i < insn->operand_count; i++)
    if (strcmp(insn->operand[i].name, name) == 0)
      return i;
  return -1;
}

static bool uses_stack(const struct isa *isa, const struct isa_op *op) {
  return operand_named(isa_insn(isa, op->id), "sp") >= 0;
}

static bool is_access(const struct isa *isa, const struct isa_op *op) {
  return isa_insn(isa, op->id)->memory_cycle > 0 && !uses_stack(isa, op);
}

static bool is_release(const struct isa *isa, const struct isa_op *op) {
  return strncmp(isa_insn(isa, op->id)->mnemonic, "rel", 3) == 0;
}

static bool complain(const struct flow *f, int from, const struct isa_op *a,
                     int to, const struct isa_op *b, int distance, int needed,
                     struct diag *d) {
  char first[96], second[96];
  return diag_error(
      d, flow_loc(f, to), "%s is %d bundle%s behind %s; memory order needs %d",
      flow_describe(f, to, b, second), distance, distance == 1 ? "" : "s",
      flow_describe(f, from, a, first), needed);
}

static bool has_lock(const struct flow *f, int step) {
  const struct step *s = &f->step[step];
  for (int i = 0; i < s->op_count; i++)
    if (isa_insn(f->isa, s->op[i]->id)->flags & INSN_LOCK)
      return true;
  return false;
}

/* Bundles from each step to the next one with a lock operation; more than
 * HORIZON: there is none near. */
static void find_locks(const struct flow *f, int *to_lock) {
  for (int i = 0; i < f->count; i++)
    to_lock[i] = has_lock(f, i) ? 0 : HORIZON + 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = f->count - 1; i >= 0; i--)
      for (int k = 0; k < 2; k++) {
        int next = f->step[i].next[k];
        if (next >= 0 && to_lock[next] + 1 < to_lock[i]) {
          to_lock[i] = to_lock[next] + 1;
          changed = true;
        }
      }
  }
}

/* A release comes when the accesses before it have reached memory; an access
 * behind an acquire reaches memory when the lock's stall is over.  `to_lock` is
 * NULL behind a lock operation, where any step may have an access. */
static bool check_locks(const struct flow *f, const int *to_lock, int from,
                        int step, int distance, struct diag *d) {
  if (step < 0 || distance + (to_lock ? to_lock[step] : 0) > HORIZON)
    return true;
  const struct step *s = &f->step[step];
  for (int i = 0; i < f->step[from].op_count; i++)
    for (int j = 0; j < s->op_count; j++) {
      const struct isa_op *a = f->step[from].op[i], *b = s->op[j];
      const struct insn *x = isa_insn(f->isa, a->id),
                        *y = isa_insn(f->isa, b->id);
      int needed = 0;
      if (is_access(f->isa, a) && y->flags & INSN_LOCK && is_release(f->isa, b))
        needed = x->memory_cycle - 1;
      else if (x->flags & INSN_LOCK && !is_release(f->isa, a) &&
               is_access(f->isa, b))
        needed = RESUME_CYCLE - y->memory_cycle + 1;
      if (a != b && distance < needed)
        return complain(f, from, a, step, b, distance, needed, d);
    }
  return check_locks(f, to_lock, from, s->next[0], distance + 1, d) &&
         check_locks(f, to_lock, from, s->next[1], distance + 1, d);
}

/* Where an operation accesses memory and how far it moves the pointer, both in
 * bytes and as far as they are constants. */
struct address {
  int pointer; /* register, -1: the operation has none */
  bool known, moves, step_known;
  int64_t offset, step;
};

static struct address address_of(const struct isa *isa,
                                 const struct isa_op *op) {
  const struct insn *insn = isa_insn(isa, op->id);
  int pointer = operand_named(insn, "ptr"), imm = operand_named(insn, "imm");
  struct address at = {.pointer = -1};
  if (pointer < 0)
    return at;
  at.pointer = flow_register(isa, op, pointer);
  at.moves = insn->operand[pointer].written;
  at.known = at.moves || imm >= 0 || operand_named(insn, "dj") < 0;
  if (at.moves) {
    at.step_known = imm >= 0;
    at.step = imm >= 0 ? op->operand[imm] : 0;
  } else if (imm >= 0) {
    at.offset = op->operand[imm];
  }
  return at;
}

/* Follows a store that is late, at `delta` bytes from what its pointer holds,
 * to accesses that would overtake it. */
static bool follow_store(const struct flow *f, int from,
                         const struct isa_op *store, int pointer, int step,
                         int64_t delta, int distance, struct diag *d) {
  int late = isa_insn(f->isa, store->id)->memory_cycle;
  for (; step >= 0 && distance < late; distance++) {
    const struct step *s = &f->step[step];
    int64_t moved = 0;
    bool lost = s->leaves;
    for (int i = 0; i < s->op_count; i++) {
      const struct isa_op *op = s->op[i];
      struct address at = address_of(f->isa, op);
      int cycle = isa_insn(f->isa, op->id)->memory_cycle, written;
      int needed = late - cycle + 1;
      if (at.pointer == pointer && at.known && is_access(f->isa, op) &&
          distance < needed && at.offset - delta > -4 &&
          at.offset - delta < VECTOR_BYTES)
        return complain(f, from, store, step, op, distance, needed, d);
      if (at.pointer == pointer && at.moves) {
        moved += at.step;
        lost = lost || !at.step_known;
      } else if (flow_writes(f->isa, op, pointer, &written)) {
        lost = true;
      }
    }
    if (lost)
      return true;
    delta -= moved;
    if (s->next[1] >= 0 && !follow_store(f, from, store, pointer, s->next[1],
                                         delta, distance + 1, d))
      return false;
    step = s->next[0];
  }
  return true;
}

static bool moved_by_another(const struct isa *isa, const struct step *s,
                             const struct isa_op *op, int pointer) {
  int operand;
  for (int i = 0; i < s->op_count; i++)
    if (s->op[i] != op && flow_writes(isa, s->op[i], pointer, &operand))
      return true;
  return false;
}

/* Vector stores that convert; part-word stores keep others away by a unit. */
static bool check_stores(const struct flow *f, int step, struct diag *d) {
  const struct step *s = &f->step[step];
  for (int i = 0; i < s->op_count; i++) {
    const struct isa_op *op = s->op[i];
    const struct insn *insn = isa_insn(f->isa, op->id);
    struct address at = address_of(f->isa, op);
    if (!(insn->flags & INSN_STORE) || insn->memory_cycle != 7 || !at.known ||
        (at.moves && !at.step_known) ||
        moved_by_another(f->isa, s, op, at.pointer))
      continue;
    for (int k = 0; k < 2; k++)
      if (s->next[k] >= 0 && !follow_store(f, step, op, at.pointer, s->next[k],
                                           at.offset - at.step, 1, d))
        return false;
  }
  return true;
}

bool flow_check_memory(const struct flow *f, struct diag *d) {
  struct arena *a = arena_open();
  int *to_lock = arena_array(a, (size_t)f->count, sizeof *to_lock);
  bool good = true;
  find_locks(f, to_lock);
  for (int i = 0; i < f->count && good; i++)
    good = (!f->layout.lock_order ||
            check_locks(f, to_lock[i] ? to_lock : NULL, i, i, 0, d)) &&
           check_stores(f, i, d);
  arena_close(a);
  return good;
}
