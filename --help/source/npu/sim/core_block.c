/* core_block.c -- AIE2P's registers with exponents: 64 mantissas and what 8 of
 * them share. */
#include "core_state.h"

static struct core_place mantissas(struct core_place p) {
  p.bytes = 64;
  return p;
}

static struct core_place exponents(struct core_place p) {
  p.offset = (CORE_OFFSET(e) + (p.offset - CORE_OFFSET(x)) / 8) & 0xFFF;
  p.bytes = 8;
  return p;
}

void core_get_block(struct core *c, struct core_place p,
                    struct core_block *out) {
  uint8_t scratch[64];
  memcpy(out->mantissa, core_vector(c, mantissas(p), scratch), 64);
  memcpy(out->exponent, core_vector(c, exponents(p), scratch), 8);
}

void core_put_block(struct core *c, const struct core_op *op, unsigned cycle,
                    const struct core_block *block) {
  unsigned ahead = op->d.write - cycle;
  memcpy(core_put_vector(c, ahead, op->d.offset, 64, op->d.bypass),
         block->mantissa, 64);
  memcpy(core_put_vector(c, ahead, exponents(op->d).offset, 8, op->d.bypass),
         block->exponent, 8);
}

/* In memory an exponent stands before its 8 mantissas. */
void core_pack_block(uint8_t out[72], const struct core_block *block) {
  for (int i = 0; i < 8; ++i) {
    out[9 * i] = block->exponent[i];
    memcpy(out + 9 * i + 1, block->mantissa + 8 * i, 8);
  }
}

void core_unpack_block(struct core_block *block, const uint8_t in[72]) {
  for (int i = 0; i < 8; ++i) {
    block->exponent[i] = in[9 * i];
    memcpy(block->mantissa + 8 * i, in + 9 * i + 1, 8);
  }
}
