/* fake_commands.c -- contexts and commands of the driver's stand-in.  See
 * fake_driver.h. */
#include "fake_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

static struct context *context_of(uint32_t handle) {
  bool exists =
      handle >= 1 && handle <= CONTEXTS && fake.context[handle - 1].used;
  return exists ? &fake.context[handle - 1] : NULL;
}

int fake_create_context(struct xdna_create_context *c) {
  struct buffer *heap = fake_buffer(fake.heap);
  const struct xdna_qos *qos = (const void *)(uintptr_t)c->qos;
  if (c->zero0 || c->zero1)
    return fake_refuse(EINVAL, "CREATE_HWCTX with extensions");
  if (!qos)
    return fake_refuse(EFAULT, "CREATE_HWCTX without quality of service");
  for (int i = 0; i < 8; i++)
    if (qos->word[i] && i != XDNA_QOS_START_COLUMN)
      return fake_refuse(EINVAL, "CREATE_HWCTX asks for a quality of service");
  if (!heap)
    return fake_refuse(ENOENT, "CREATE_HWCTX without a heap");
  if (!heap->cpu || (uintptr_t)heap->cpu % HEAP)
    return fake_refuse(EINVAL,
                       "CREATE_HWCTX with a heap at no multiple of 64 MiB");
  uint32_t rows = (uint32_t)fake.device->core_rows, columns = c->tiles / rows;
  if (!columns || c->tiles % rows || columns > (uint32_t)fake.device->columns)
    return fake_refuse(EINVAL, "CREATE_HWCTX with a wrong number of tiles");
  if (fake.counts.contexts + fake.taken >= fake.contexts_max)
    return EINVAL;
  int i = 0;
  while (i < CONTEXTS && fake.context[i].used)
    i++;
  if (i == CONTEXTS)
    return EINVAL;
  if (fake.contexts &&
      atomic_fetch_add(fake.contexts, 1) >= fake.contexts_max) {
    atomic_fetch_sub(fake.contexts, 1);
    return EINVAL;
  }
  columns = (uint32_t)device_partition(fake.device, (int)columns);
  fake.context[i] = (struct context){.used = true, .columns = columns};
  c->handle = (uint32_t)i + 1;
  c->syncobj = fake.old ? 0 : (uint32_t)i + 101;
  fake.counts.contexts++;
  fake.counts.contexts_made++;
  if (fake.counts.contexts > fake.counts.most_contexts)
    fake.counts.most_contexts = fake.counts.contexts;
  return 0;
}

/* Bytes of the PDI in a buffer that was rounded up to pages: its partition
 * header says how many words follow 0x150. */
static size_t pdi_bytes(const struct buffer *b) {
  uint32_t words;
  memcpy(&words, b->device + 0xD0 + 8, sizeof words);
  return 0x150 + 4 * (size_t)words;
}

int fake_config_context(const struct xdna_config_context *c) {
  struct context *x = context_of(c->handle);
  const struct xdna_units *units = (const void *)(uintptr_t)c->value;
  if (!x || c->zero || c->kind)
    return fake_refuse(EINVAL, "CONFIG_HWCTX of no context");
  if (c->value_bytes > PAGE)
    return fake_refuse(E2BIG, "CONFIG_HWCTX of more than a page");
  if (x->pdi)
    return fake_refuse(EINVAL, "CONFIG_HWCTX a second time");
  if (c->value_bytes != sizeof *units || units->count != 1 || units->zero[0] ||
      units->zero[1] || units->zero[2])
    return fake_refuse(EINVAL, "CONFIG_HWCTX with wrong units");
  const struct buffer *b = fake_buffer(units->unit[0].buffer);
  if (!b || b->type != XDNA_BUFFER_IN_HEAP)
    return fake_refuse(EINVAL, "CONFIG_HWCTX with a PDI outside the heap");
  x->pdi = units->unit[0].buffer;
  return 0;
}

/* The configuration is loaded when the first command of a context comes. */
static bool load(struct context *x) {
  const struct buffer *b = fake_buffer(x->pdi);
  struct xclbin_info info = {.kernel = "FAKE",
                             .columns = (int)x->columns,
                             .start_column_count = 1,
                             .start_columns = {fake.device->first_column},
                             .buffer_arguments = 3};
  struct sim_options options = {.preset = fake.preset};
  struct text xclbin = {0};
  struct diag d = {0};
  if (b && xclbin_write(&info, b->device, pdi_bytes(b), &xclbin, &d))
    x->sim = sim_open(xclbin.data, xclbin.length, &options, &d);
  if (!x->sim)
    fprintf(stderr, "fake driver: PDI: %s\n", d.text);
  text_free(&xclbin);
  return x->sim;
}

/* ---- commands ---- */

static uint64_t word64(const uint32_t *word) {
  return word[0] | (uint64_t)word[1] << 32;
}

static uint64_t device_address(const struct buffer *b) {
  return b->type == XDNA_BUFFER_IN_HEAP ? HEAP_BASE + b->offset
         : fake.addresses               ? fake_addresses + b->offset
                                        : (uint64_t)(uintptr_t)b->cpu;
}

/* The device's view of an address that must lie in a buffer of the command. */
static bool resolve(const struct sent *c, uint64_t address, uint64_t bytes,
                    struct sim_buffer *out) {
  for (uint32_t i = 0; i < c->buffer_count; i++) {
    const struct buffer *b = fake_buffer(c->buffer[i]);
    uint64_t offset = b ? address - device_address(b) : 0;
    if (!b || offset >= b->bytes || bytes > b->bytes - offset)
      continue;
    *out = (struct sim_buffer){b->device + offset, b->bytes - offset};
    return true;
  }
  return false;
}

/* Begins one on the simulator. */
static bool begin_launch(struct context *x, const struct sent *c,
                         const uint32_t *word, unsigned words) {
  int arguments = ((int)words - XDNA_WORD_ARGUMENT) / 2;
  uint64_t txn_words = word[XDNA_WORD_TRANSACTION_WORDS];
  struct sim_buffer txn, argument[XDNA_ARGUMENTS_MAX];
  struct diag d = {0};
  if (word[XDNA_WORD_MASK] != 1 || arguments < 0 ||
      arguments > XDNA_ARGUMENTS_MAX ||
      word64(word + XDNA_WORD_OPERATION) != XDNA_OPERATION_TRANSACTION ||
      !resolve(c, word64(word + XDNA_WORD_TRANSACTION), 4 * txn_words, &txn))
    return fake_refuse(0, "a command that the firmware does not know"), false;
  for (int i = 0; i < arguments; i++)
    if (!resolve(c, word64(word + XDNA_WORD_ARGUMENT + 2 * i), 1, &argument[i]))
      return fake_refuse(0, "an argument outside the command's buffers"), false;
  if (x->sim && fake.reload && fake.counts.commands % fake.reload == 0) {
    sim_close(x->sim);
    x->sim = NULL;
  }
  if ((x->sim || load(x)) &&
      sim_begin(x->sim, txn.data, 4 * txn_words, argument, arguments, &d))
    return true;
  fprintf(stderr, "fake driver: %s\n", d.text);
  return false;
}

static bool end_launch(struct context *x) {
  struct diag d = {0};
  while (!sim_advance(x->sim, UINT64_MAX))
    ;
  if (sim_end(x->sim, NULL, &d))
    return true;
  fprintf(stderr, "fake driver: %s\n", d.text);
  return false;
}

/* The state in which it ends, or that it runs. */
static unsigned begin_packet(struct context *x, const struct sent *c,
                             const uint32_t *packet) {
  if (++fake.counts.commands == fake.state_at)
    return (unsigned)fake.state;
  return begin_launch(x, c, packet + 1, xdna_words(packet[0]))
             ? XDNA_STATE_RUNNING
             : XDNA_STATE_TIMEOUT;
}

static unsigned end_packet(struct context *x, unsigned state) {
  return state != XDNA_STATE_RUNNING ? state
         : end_launch(x)             ? XDNA_STATE_COMPLETED
                                     : XDNA_STATE_TIMEOUT;
}

static uint32_t *packet_of(uint64_t handle) {
  const struct buffer *b = fake_buffer(handle);
  return b && b->type == XDNA_BUFFER_COMMAND ? (uint32_t *)b->cpu : NULL;
}

/* Those of a chain run until one fails. */
static unsigned run_chain(struct context *x, const struct sent *c,
                          uint32_t *word) {
  unsigned state = fake.latechain ? XDNA_STATE_NEW : XDNA_STATE_COMPLETED;
  for (uint32_t i = 0; !fake.latechain && i < word[XDNA_WORD_CHAIN_COUNT];
       i++) {
    const uint32_t *packet =
        packet_of(word64(word + XDNA_WORD_CHAIN_HANDLE + 2 * i));
    word[XDNA_WORD_CHAIN_SUBMITTED] = word[XDNA_WORD_CHAIN_ERROR] = i;
    state = end_packet(x, begin_packet(x, c, packet));
    if (state != XDNA_STATE_COMPLETED)
      break;
  }
  return state;
}

/* The oldest of a context's commands: the device does it now. */
static void run_oldest(struct context *x) {
  struct sent *c = &x->command[x->done++ % IN_FLIGHT];
  uint32_t *packet = packet_of(c->packet);
  bool chain = xdna_opcode(packet[0]) == XDNA_OPCODE_CHAIN;
  unsigned state = chain      ? run_chain(x, c, packet + 1)
                   : x->begun ? XDNA_STATE_RUNNING
                              : begin_packet(x, c, packet);
  x->begun = false;
  if (!chain)
    state = end_packet(x, state);
  if (state != XDNA_STATE_COMPLETED && !chain) /* with what firmware says */
    memset(packet + 1, 0xFF, 4 * xdna_words(packet[0]));
  packet[0] = (packet[0] & ~15u) | state;
  for (uint32_t i = 0; i < c->buffer_count; i++)
    if (fake_buffer(c->buffer[i])->cpu)
      fake_evict(fake_buffer(c->buffer[i]));
  free(c->buffer);
  *c = (struct sent){0};
}

/* As long as a look takes: a call, and the flush of a line. */
enum { LOOK_CYCLES = 1000 };

static bool uses(const struct sent *, uint32_t handle);

static void go_on(struct context *x, uint64_t cycles) {
  if (x->begun && sim_advance(x->sim, cycles))
    run_oldest(x);
}

void fake_hurry(void) {
  for (int i = 0; i < CONTEXTS && fake.hurry; i++)
    go_on(&fake.context[i], (uint64_t)fake.hurry);
}

void fake_look(uint32_t handle) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *x = &fake.context[i];
    if (x->done == x->sequence)
      continue;
    const struct sent *c = &x->command[x->done % IN_FLIGHT];
    const uint32_t *packet = packet_of(c->packet);
    if (!uses(c, handle) || xdna_opcode(packet[0]) == XDNA_OPCODE_CHAIN)
      continue;
    fake.counts.looks++;
    if (!x->begun && begin_packet(x, c, packet) != XDNA_STATE_RUNNING) {
      fake.counts.commands--; /* it fails when somebody waits for it */
      continue;
    }
    x->begun = true;
    go_on(x, LOOK_CYCLES);
  }
}

static void run_until(struct context *x, uint64_t sequence) {
  while (x->done < sequence)
    run_oldest(x);
}

int fake_destroy_context(const struct xdna_destroy_context *c) {
  struct context *x = context_of(c->handle);
  if (!x || c->zero)
    return fake_refuse(EINVAL, "DESTROY_HWCTX of no context");
  run_until(x, x->sequence);
  sim_close(x->sim);
  *x = (struct context){0};
  if (fake.contexts)
    atomic_fetch_sub(fake.contexts, 1);
  fake.counts.contexts--;
  return 0;
}

static bool uses(const struct sent *c, uint32_t handle) {
  const uint32_t *packet = packet_of(c->packet), *word = packet + 1;
  bool is = c->packet == handle;
  if (xdna_opcode(packet[0]) == XDNA_OPCODE_CHAIN)
    for (uint32_t i = 0; i < word[XDNA_WORD_CHAIN_COUNT]; i++)
      is |= word64(word + XDNA_WORD_CHAIN_HANDLE + 2 * i) == handle;
  for (uint32_t i = 0; i < c->buffer_count; i++)
    is |= c->buffer[i] == handle;
  return is;
}

bool fake_is_used(uint32_t handle) {
  for (int i = 0; i < CONTEXTS; i++) {
    const struct context *x = &fake.context[i];
    for (uint64_t k = x->done; k < x->sequence; k++)
      if (uses(&x->command[k % IN_FLIGHT], handle))
        return true;
  }
  return false;
}

static int check_launch(uint64_t handle) {
  const uint32_t *packet = packet_of(handle);
  if (!packet)
    return fake_refuse(EINVAL, "EXEC_CMD without a mapped command buffer");
  unsigned words = xdna_words(packet[0]);
  if (xdna_state(packet[0]) != XDNA_STATE_NEW)
    return fake_refuse(EINVAL, "EXEC_CMD with a command that is not new");
  if (xdna_opcode(packet[0]) != XDNA_OPCODE_START_UNIT || words > 20 ||
      words < 6)
    return fake_refuse(EINVAL, "EXEC_CMD with a command that is too long");
  return 0;
}

/* A slot is an index, a number of words, and the words behind the mask. */
static int check_chain(const uint32_t *packet) {
  const uint32_t *word = packet + 1;
  uint32_t count = word[XDNA_WORD_CHAIN_COUNT];
  size_t bytes = 0;
  if (fake.nochain)
    return EINVAL;
  if (!count || xdna_words(packet[0]) != XDNA_WORD_CHAIN_HANDLE + 2 * count)
    return fake_refuse(EINVAL, "a chain of another length than it says");
  for (uint32_t i = 3; i < XDNA_WORD_CHAIN_HANDLE; i++)
    if (word[i])
      return fake_refuse(EINVAL, "a chain with spare words set");
  for (uint32_t i = 0; i < count; i++) {
    uint64_t handle = word64(word + XDNA_WORD_CHAIN_HANDLE + 2 * i);
    int error = check_launch(handle);
    if (error)
      return error;
    bytes += 8 + 4 * (xdna_words(*packet_of(handle)) - 1);
  }
  if (bytes > XDNA_CHAIN_BYTES)
    return fake_refuse(EINVAL, "a chain of more than 4 KiB");
  fake.counts.chains++;
  return 0;
}

static int check_command(const struct xdna_execute *e) {
  const uint32_t *handle = (const void *)(uintptr_t)e->buffers;
  const uint32_t *packet = packet_of(e->command);
  if (e->zero0 || e->zero1 || e->kind || e->command_count != 1 ||
      !e->buffer_count || e->buffer_count > 4095)
    return fake_refuse(EINVAL, "EXEC_CMD with wrong fields");
  if (!packet)
    return fake_refuse(EINVAL, "EXEC_CMD without a mapped command buffer");
  for (uint32_t i = 0; i < e->buffer_count; i++) {
    const struct buffer *b = fake_buffer(handle[i]);
    if (!b)
      return fake_refuse(ENOENT, "EXEC_CMD with a buffer that does not exist");
    if (b->type == XDNA_BUFFER_COMMAND)
      return fake_refuse(EOPNOTSUPP, "EXEC_CMD with a command for its data");
  }
  return xdna_opcode(packet[0]) == XDNA_OPCODE_CHAIN ? check_chain(packet)
                                                     : check_launch(e->command);
}

/* Runs later: when somebody waits for it, or when there is no place for more.
 * So what the host changes too early is seen. */
int fake_execute(struct xdna_execute *e) {
  struct context *x = context_of(e->context);
  if (!x || !x->pdi)
    return fake_refuse(EINVAL, "EXEC_CMD on no configured context");
  int error = check_command(e);
  if (error)
    return error;
  if (x->sequence - x->done == IN_FLIGHT)
    run_oldest(x);
  struct sent *c = &x->command[x->sequence % IN_FLIGHT];
  size_t bytes = e->buffer_count * sizeof *c->buffer;
  *c = (struct sent){(uint32_t)e->command, e->buffer_count, malloc(bytes)};
  memcpy(c->buffer, (const void *)(uintptr_t)e->buffers, bytes);
  e->sequence = ++x->sequence;
  fake.counts.executes++;
  return 0;
}

static bool is_interrupted(void) {
  bool is = fake.interrupted < fake.interrupts;
  fake.interrupted = is ? fake.interrupted + 1 : 0;
  return is;
}

int fake_timeline_wait(const struct xdna_timeline_wait *w) {
  const uint32_t *syncobj = (const void *)(uintptr_t)w->handles;
  const uint64_t *point = (const void *)(uintptr_t)w->points;
  struct context *x = w->count == 1 ? context_of(*syncobj - 100) : NULL;
  if (!x || fake.old)
    return fake_refuse(ENOENT, "a wait for no synchronisation object");
  if (is_interrupted())
    return EINTR;
  if (*point > x->sequence)
    return ETIME;
  run_until(x, *point);
  return 0;
}

int fake_wait_command(const struct xdna_wait_command *w) {
  if (!fake.old)
    return fake_refuse(EOPNOTSUPP, "WAIT_CMD");
  if (is_interrupted())
    return EINTR;
  struct context *x = context_of(w->context);
  if (!x || w->sequence > x->sequence)
    return ENOENT;
  run_until(x, w->sequence);
  return 0;
}
