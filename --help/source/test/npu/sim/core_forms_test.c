/* Every instruction form that the table knows the meaning of runs on the core;
 * the others stop it with a report.  Random programs, random bytes and random
 * register contents never do worse than that. */
#include "core_machine.h"
#include "core_state.h"

#include "check.h"

static const struct isa *isa;

/* A legal value for an operand: any number of its range, any register of its
 * class. */
static int64_t operand_value(const struct insn *insn, const struct isa_op *op,
                             int i, unsigned *seed) {
  const struct isa_operand *o = &insn->operand[i];
  if (o->fixed_reg >= 0)
    return o->fixed_reg;
  if (o->tied_to >= 0)
    return op->operand[o->tied_to];
  const struct isa_class *k = isa_class(isa, o->operand_class);
  if (!k->is_register && strcmp(o->name, "target") == 0)
    return 0x100;
  if (!k->is_register)
    return k->low +
           k->scale * (rand_r(seed) % ((k->high - k->low) / k->scale + 1));
  int members = 0, reg = 0;
  for (int r = 0; r < isa_reg_count(isa); ++r)
    members += isa_class_has(isa, o->operand_class, r);
  for (int pick = rand_r(seed) % members;; ++reg)
    if (isa_class_has(isa, o->operand_class, reg) && pick-- == 0)
      return reg;
}

static struct isa_op form(enum insn_id id, unsigned *seed) {
  struct isa_op op = {.id = id};
  const struct insn *insn = isa_insn(isa, id);
  for (int i = 0; i < insn->operand_count; ++i)
    op.operand[i] = operand_value(insn, &op, i, seed);
  return op;
}

static bool gives(void *context, uint32_t *word, bool *last) {
  (void)context;
  *word = 1;
  *last = true;
  return true;
}
static bool takes(void *context, uint32_t word, bool last) {
  (void)context, (void)word, (void)last;
  return true;
}
static bool gives_wide(void *context, uint8_t value[64]) {
  (void)context;
  memset(value, 1, 64);
  return true;
}
static bool takes_wide(void *context, const uint8_t value[64]) {
  (void)context, (void)value;
  return true;
}
static bool reads(void *context, uint32_t offset, uint32_t *value) {
  (void)context;
  *value = offset;
  return true;
}
static bool writes(void *context, uint32_t offset, uint32_t value) {
  (void)context, (void)offset, (void)value;
  return true;
}

/* Surrounded by everything that it could talk to. */
static void connect(struct machine *m) {
  struct core_surroundings around = {
      .isa = isa_find("aie2"),
      .context = m,
      .program = m->program,
      .memory = {m->memory, m->memory, m->memory, m->memory},
      .acquire = machine_acquire,
      .release = machine_release,
      .stream_read = gives,
      .stream_write = takes,
      .cascade_read = gives_wide,
      .cascade_write = takes_wide,
      .register_read = reads,
      .register_write = writes,
  };
  core_close(m->core);
  m->core = core_open(&around);
  core_enable(m->core, true);
}

/* Registers so that one instruction has nothing to complain about. */
static void prepare(struct machine *m, const struct insn *insn, int config) {
  char name[8];
  core_reset(m->core, 0);
  for (int i = 0; i < 32; ++i) {
    snprintf(name, sizeof name, "r%d", i);
    core_write_register(m->core, name, (uint32_t)config);
  }
  for (int i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "p%d", i);
    bool register_bus = strstr(insn->mnemonic, ".tm") != NULL;
    bool branch = insn->flags & INSN_BRANCH;
    core_write_register(m->core, name,
                        branch         ? 0x100
                        : register_bus ? 0x80100
                                       : 0x70800);
  }
  core_write_register(m->core, "sp", 0x78000);
  for (int i = 0; i < 64; ++i)
    m->lock[i] = config;
}

/* The form alone in a program of nops; its operands in *op. */
static void place_form(struct machine *m, enum insn_id id, struct isa_op *op,
                       unsigned *seed) {
  struct isa_bundle bundle = {0};
  struct diag d = {0};
  *op = bundle.slot[isa_insn(isa, id)->slot] = form(id, seed);
  memset(m->program, 0, sizeof m->program);
  for (int i = 0; i < 16384; i += 2)
    m->program[i] = 1; /* nops */
  CHECK(isa_encode(isa, &bundle, 0, m->program, &d));
  core_invalidate(m->core);
}

/* Configuration of a multiply, and harmless as anything else. */
static int config_for(const struct insn *insn) {
  bool integer = insn->slot == SLOT_VEC && !strstr(insn->mnemonic, ".f");
  return integer ? 776 : 28;
}

static void every_form(void) {
  struct machine *m = machine_open("nop");
  unsigned seed = 1, banks;
  int ran = 0, unknown = 0;
  CHECK(m);
  if (!m)
    return;
  connect(m);
  for (int id = 1; id < INSN_COUNT; ++id) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    struct isa_op op;
    place_form(m, (enum insn_id)id, &op, &seed);
    prepare(m, insn, config_for(insn));
    for (int i = 0; i < 40; ++i)
      core_step(m->core, &banks);
    bool failed = core_state(m->core) == CORE_FAILED;
    bool sparse = insn->slot == SLOT_VEC && failed &&
                  strstr(core_diag(m->core)->text, "sparse");
    bool may_fail = insn->flags & INSN_UNKNOWN || sparse ||
                    strcmp(insn->mnemonic, "vshift.align") == 0;
    if (failed && !may_fail)
      fprintf(stderr, "%s: %s\n", insn->form, core_diag(m->core)->text);
    CHECK(failed == may_fail);
    ran += !failed;
    unknown += failed;
  }
  CHECK(ran + unknown == 606);
  printf("%d forms run, %d are not known\n", ran, unknown);
  machine_close(m);
}

/* Random vectors, so that a result differs from what was there before. */
static void scatter(struct machine *m, unsigned *seed) {
  uint8_t *x = m->core->reg.x[0];
  size_t bytes =
      sizeof m->core->reg.x + sizeof m->core->reg.cm + sizeof m->core->reg.q;
  for (size_t i = 0; i < bytes; ++i)
    x[i] = i % 2 ? (uint8_t)(0x3F + rand_r(seed) % 3) : (uint8_t)rand_r(seed);
  for (int i = 0; i < 65536; ++i)
    m->memory[i] = (uint8_t)rand_r(seed);
  for (int i = 0; i < 8; ++i)
    m->core->reg.m[i] = m->core->reg.dj[i] = 64;
}

/* The cycle at whose end an operand's register first differs, 0: never. */
static int first_change(struct machine *m, int reg) {
  struct core_place p = {0};
  uint32_t mask;
  uint8_t before[128];
  unsigned banks;
  if (!core_place_of(m->core, reg, &p, &mask))
    return 0;
  memcpy(before, core_bytes(m->core, p), p.bytes);
  for (int cycle = 1, steps = 0; cycle < 16 && steps < 40; ++steps) {
    uint64_t bundles = core_counts(m->core)->bundles;
    core_step(m->core, &banks);
    if (core_counts(m->core)->bundles == bundles)
      continue; /* a stall: the pipeline stood still */
    if (memcmp(before, core_bytes(m->core, p), p.bytes) != 0)
      return cycle;
    ++cycle;
  }
  return 0;
}

/* Results appear at the end of the cycle that the table says (isa.md D2), not
 * before and not behind. */
static void result_cycles(void) {
  struct machine *m = machine_open("nop");
  unsigned seed = 5;
  int seen = 0, silent = 0;
  CHECK(m);
  if (!m)
    return;
  connect(m);
  for (int id = 1; id < INSN_COUNT; ++id) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    if (insn->flags & INSN_UNKNOWN)
      continue;
    for (int o = 0; o < insn->operand_count; ++o) {
      const struct isa_operand *operand = &insn->operand[o];
      bool status = strncmp(operand->name, "sr", 2) == 0;
      if (!operand->written || status || operand->written_units != ~0u)
        continue;
      int cycle = 0;
      for (int attempt = 0; attempt < 8 && !cycle; ++attempt) {
        struct isa_op op;
        place_form(m, (enum insn_id)id, &op, &seed);
        prepare(m, insn, config_for(insn));
        scatter(m, &seed);
        cycle = first_change(m, operand->fixed_reg >= 0 ? operand->fixed_reg
                                                        : (int)op.operand[o]);
        if (core_state(m->core) == CORE_FAILED)
          break; /* not known */
        if (cycle && cycle != operand->write_cycle)
          fprintf(stderr, "%s: %s changes in cycle %d, not %d\n", insn->form,
                  operand->name, cycle, operand->write_cycle);
        CHECK(!cycle || cycle == operand->write_cycle);
      }
      seen += cycle != 0;
      silent += !cycle;
    }
  }
  printf("%d results seen in their cycle, %d never changed\n", seen, silent);
  CHECK(seen > 10 * silent);
  machine_close(m);
}

/* Random bundles of every format with random registers. */
static void random_programs(int rounds) {
  struct machine *m = machine_open("nop");
  unsigned seed = 2, banks;
  CHECK(m);
  if (!m)
    return;
  connect(m);
  for (int round = 0; round < rounds; ++round) {
    for (int at = 0; at < 16384 - 16;) {
      struct isa_bundle bundle = {0};
      struct diag d = {0};
      for (int slots = 1 + rand_r(&seed) % 5; slots > 0; --slots) {
        enum insn_id id = (enum insn_id)(1 + rand_r(&seed) % (INSN_COUNT - 1));
        const struct insn *insn = isa_insn(isa, id);
        if (!(insn->flags & (INSN_UNKNOWN | INSN_LOCK)))
          bundle.slot[insn->slot] = form(id, &seed);
      }
      if (bundle.slot[SLOT_LNG].id)
        bundle.slot[SLOT_ALU].id = bundle.slot[SLOT_MV].id = INSN_NONE;
      int size = isa_encode(isa, &bundle, 0, m->program + at, &d);
      at += size ? size : 2;
      if (!size)
        m->program[at - 2] = 1, m->program[at - 1] = 0;
    }
    if (round % 4 == 0) /* bytes that nobody meant */
      for (int i = 0; i < 4000; ++i)
        m->program[rand_r(&seed) % 16384] = (uint8_t)rand_r(&seed);
    for (int i = 0; i < 65536; ++i)
      m->memory[i] = (uint8_t)rand_r(&seed);
    core_invalidate(m->core);
    core_strict(m->core, round % 3 == 0);
    uint32_t pc = (uint32_t)(rand_r(&seed) % 8192) * 2;
    for (int go = 0; go < 50; ++go) {
      prepare(m, isa_insn(isa, INSN_VMAC_F), go % 2 ? 28 : 776);
      core_reset(m->core, (pc + (uint32_t)go * 64) % 16384);
      core_write_register(m->core, "p0", 0x70000 + (uint32_t)rand_r(&seed));
      core_write_register(m->core, "r0", go % 2 ? 28 : 776);
      for (int i = 0; i < 200; ++i)
        core_step(m->core, &banks);
      /* a bundle that cannot run says why, and nothing else does */
      bool failed = core_state(m->core) == CORE_FAILED;
      const struct diag *d = core_diag(m->core);
      CHECK(failed == (d->kind == DIAG_ERROR) && failed == (d->text[0] != 0));
    }
  }
  machine_close(m);
}

int main(int argc, char **argv) {
  isa = isa_find("aie2");
  every_form();
  result_cycles();
  random_programs(argc > 1 ? atoi(argv[1]) : 10);
  return check_result();
}
