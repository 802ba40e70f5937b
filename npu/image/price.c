/* price.c -- what a change of the configuration costs.
 *
 * The command processor's writes, one after the other (timing.md P1 to P4), and
 * its data: a cycle for each word to come and another one to be sent, half of
 * which passes while other things are written.
 */
#include "image.h"

static double cycles_of(const struct command *c, const struct preset *p) {
  switch (c->kind) {
  case COMMAND_WRITE:
  case COMMAND_SYNC:
    return p->write32_cycles;
  case COMMAND_BLOCK:
    return p->write32_cycles + (double)p->blockwrite_word_cycles * c->count;
  case COMMAND_MASK_WRITE:
    return p->maskwrite_cycles;
  case COMMAND_MASK_POLL:
  case COMMAND_DDR_PATCH:
    return p->patch_cycles;
  case COMMAND_DELAY:
    return c->value;
  }
  return 0;
}

double change_seconds(const struct command_list *l,
                      const struct change_data *data, const struct preset *p) {
  static const double word_cycles = 1.5;
  double cycles = word_cycles * (data ? data->count : 0);
  for (int i = 0; i < l->count; i++)
    cycles += cycles_of(&l->item[i], p);
  return cycles / (p->clock_ghz * 1e9);
}
