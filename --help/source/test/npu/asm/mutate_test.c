/* mutate_test.c -- a short deterministic run of the fuzz target: seeds of every
 * kind, each changed a few thousand times by a fixed generator.  Built with
 * sanitizers it also finds out-of-range reads and leaks. */
#include "asm.h"
#include "check.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 0x2545f4914f6cdd1du;
static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state % n);
}

static const char *const text_seed[] = {
    "main: mova r0, #-1; movxm ls, #.Lb // set up\n"
    "  movxm le, #.Le\n  movxm lc, #16; vldb wl0, [p0], #32\n"
    ".Lb: vlda wl2, [p1], #32; vmac.f bml0, bml0, x0, x1, r1\n"
    "  nop\n  nop\n  nop\n  nop\n  nop\n  nop\n"
    ".Le: vst amll0, [p2], #32\n  ret lr\n  nop\n nop\n nop\n nop\n nop\n",
    "  .globl f\n  .type f,@function\n  .p2align 4\nf:\n  jl #g\n nop\n nop\n"
    " nop\n nop\n nop\n  nop; j #f\n nop\n nop\n nop\n nop\n nop\n"
    "g: ret lr\n nop\n nop\n nop\n nop\n nop\n .size f, .-f\n"
    "  .data\nt: .long f+4, (1<<4)|2, -1\n  .short 1, 2\n  .byte 97\n",
    "acq #48, r0\nvlda.ups.s32.s16 bml0, s0, [p0], #32\nvextract.d64 "
    "r17:r16, x0, r16\n.section .data.x,\"aw\",@progbits\n.space 7, 3\n"
    ".align 8\nq: .zero 4\n",
};

static const char *const byte_seed[] = {
    "\x01\x00\xc0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "\x77\x10\x12\x1a\xc0\x01\x80\x7e\xff\x0f\x06\x00\x15\x01\x00\xd8\x00\x00",
    "\x2f\x78\x00\x00\xb4\x19\x61\x00\x00\x82\x06\x00\x00\x00\x43\xc8\x03\x20",
};
enum { BYTE_SEED = 18 };

struct input {
  uint8_t data[1 << 13];
  size_t size;
};

static void put(struct input *in, int kind, const void *data, size_t size) {
  if (size > sizeof in->data / 2)
    size = sizeof in->data / 2;
  in->data[0] = (uint8_t)kind;
  memcpy(in->data + 1, data, size);
  in->size = size + 1;
}

/* One change: a byte, a bit, a cut, a doubled piece or a token of the text. */
static void mutate(struct input *in) {
  static const char *const token[] = {
      "#", "[",  "]",  ";",  "\n",     ", ", "p0", "r1",  "-1", "0x",
      ":", "//", "/*", "*/", ".long ", "(",  "x9", "nop", "+",  "1<<63"};
  size_t at = 1 + random_below((uint32_t)(in->size));
  if (at >= in->size)
    at = in->size - 1;
  switch (random_below(6)) {
  case 0:
    if (at)
      in->data[at] = (uint8_t)random_below(256);
    break;
  case 1:
    if (at)
      in->data[at] ^= (uint8_t)(1u << random_below(8));
    break;
  case 2:
    in->size = at ? at : 1;
    break;
  case 3: {
    size_t n = 1 + random_below(24), from = 1 + random_below((uint32_t)at + 1);
    if (from + n <= in->size && in->size + n < sizeof in->data) {
      memcpy(in->data + in->size, in->data + from, n);
      in->size += n;
    }
    break;
  }
  case 4:
  case 5: {
    const char *t = token[random_below(sizeof token / sizeof *token)];
    size_t n = strlen(t);
    if (in->size + n < sizeof in->data && at) {
      memmove(in->data + at + n, in->data + at, in->size - at);
      memcpy(in->data + at, t, n);
      in->size += n;
    }
    break;
  }
  }
}

static void run(const struct input *seed, int rounds) {
  CHECK(fuzz_one(seed->data, seed->size));
  for (int i = 0; i < rounds; i++) {
    static struct input in;
    in = *seed;
    for (uint32_t k = 1 + random_below(6); k > 0; k--)
      mutate(&in);
    bool good = fuzz_one(in.data, in.size);
    CHECK(good);
    if (!good) {
      fprintf(stderr, "kind %d, %zu bytes:\n%.*s\n", in.data[0] % FUZZ_KINDS,
              in.size, (int)in.size - 1, in.data + 1);
      return;
    }
  }
}

static bool link_seed(struct input *in, const char *text, bool object) {
  struct arena *a = arena_open();
  struct diag d = {DIAG_NONE, loc_none(), ""};
  struct text elf = {0};
  struct asm_program *p = asm_parse(a, isa_find("aie2"), "seed.s", text, &d);
  bool good = p && (object ? asm_object(p, &elf, &d)
                           : asm_link(&p, 1, NULL, 0, &elf, &d));
  if (good)
    put(in, FUZZ_ELF, text_string(&elf), elf.length);
  text_free(&elf);
  arena_close(a);
  return good;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1500;
  static struct input in;
  for (size_t i = 0; i < sizeof text_seed / sizeof *text_seed; i++) {
    put(&in, FUZZ_TEXT, text_seed[i], strlen(text_seed[i]));
    run(&in, rounds);
  }
  for (size_t i = 0; i < sizeof byte_seed / sizeof *byte_seed; i++) {
    put(&in, FUZZ_BYTES, byte_seed[i], BYTE_SEED);
    run(&in, 2 * rounds);
  }
  for (int object = 0; object < 2; object++) {
    CHECK(link_seed(&in, text_seed[0], object));
    run(&in, 2 * rounds);
  }
  return check_result();
}
