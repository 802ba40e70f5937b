/* asm_test.c -- text to bytes and back: every form, bytes known from other
 * tools, labels, alignment, directives, objects, linked programs, errors. */
#include "asm.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

static const struct isa *isa;

static struct arena *arena;

static struct asm_program *parse(const char *text, struct diag *d) {
  *d = (struct diag){DIAG_NONE, loc_none(), ""};
  return asm_parse(arena, isa, "t.s", text, d);
}

/* Bytes of a text placed at 0 as hex digits; "" and *d set on error. */
static const char *hex_of(const char *text, struct diag *d) {
  static char hex[1 << 16];
  struct text bytes = {0};
  hex[0] = 0;
  struct asm_program *p = parse(text, d);
  if (p && asm_bytes(p, 0, NULL, 0, &bytes, d))
    for (size_t i = 0; i < bytes.length && i < sizeof hex / 2 - 1; i++)
      sprintf(hex + 2 * i, "%02x", (unsigned char)bytes.data[i]);
  text_free(&bytes);
  return hex;
}

/* Disassembling and assembling again gives the same bytes. */
static bool survives(const char *text) {
  struct diag d;
  char *hex = arena_string(arena, hex_of(text, &d));
  if (!*hex)
    return false;
  struct text bytes = {0}, out = {0};
  bool good = asm_bytes(parse(text, &d), 0, NULL, 0, &bytes, &d);
  asm_disassemble(isa, (const uint8_t *)text_string(&bytes), bytes.length, 0,
                  &out);
  good = good && strcmp(hex_of(text_string(&out), &d), hex) == 0;
  out.length = 0;
  asm_print(parse(text, &d), &out);
  good = good && strcmp(hex_of(text_string(&out), &d), hex) == 0;
  text_free(&bytes);
  text_free(&out);
  return good;
}

/* ---- every form ---- */

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t random_below(uint64_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % n;
}

static int64_t random_operand(const struct isa_operand *o) {
  const struct isa_class *c = isa_class(isa, o->operand_class);
  if (!c->is_register) {
    int64_t high = c->high == UINT32_MAX ? INT32_MAX : c->high;
    uint64_t count = (uint64_t)(high - c->low) / (uint64_t)c->scale + 1;
    return c->low + (int64_t)random_below(count) * c->scale;
  }
  int reg;
  do
    reg = (int)random_below((uint64_t)isa_reg_count(isa));
  while (!isa_class_has(isa, o->operand_class, reg));
  return reg;
}

static void test_every_form(void) {
  for (int id = 1; id < isa_insn_count(isa); id++)
    for (int round = 0; round < 12; round++) {
      const struct insn *insn = isa_insn(isa, (enum insn_id)id);
      struct isa_bundle b = {0};
      struct isa_op *op = &b.slot[insn->slot];
      op->id = (enum insn_id)id;
      for (int i = 0; i < insn->operand_count; i++) {
        const struct isa_operand *o = &insn->operand[i];
        op->operand[i] = o->fixed_reg >= 0 ? o->fixed_reg
                         : o->tied_to >= 0 ? isa_tied_register(isa, op, i)
                                           : random_operand(o);
      }
      struct diag d;
      struct text text = {0};
      asm_print_op(isa, op, NULL, 0, &text);
      struct asm_program *p = parse(text_string(&text), &d);
      CHECK(p && p->count == 1 && p->line[0].kind == ASM_BUNDLE);
      if (p) {
        const struct isa_op *back = &p->line[0].bundle.slot[insn->slot];
        CHECK(back->id == op->id &&
              memcmp(back->operand, op->operand, sizeof op->operand) == 0);
      } else {
        fprintf(stderr, "%s: %s\n", text_string(&text), d.text);
      }
      text_free(&text);
    }
}

/* ---- bytes printed by another disassembler (isa.md G) ---- */

static void test_known_bytes(void) {
  static const struct {
    const char *text, *hex;
  } known[] = {
      {"nop", "0100"},
      {"nopb; nopa; nops; nopxm; nopv", "c0030000000000000000000000000000"},
      {"paddb [sp], #0x20", "19200338"},
      {"st lr, [sp, #-4]", "99c2ff0f"},
      {"jl #0x1b0", "150100d80000"},
      {"mova r24, #0x0; st p7, [sp, #-8]; movxm p0, #0x70424",
       "7710121ac001807eff0f0600"},
      {"st r24, [p0, #0]; movx r0, #0x31; mov r1, #-0x1",
       "3bc9ff27280600005600"},
      {"nopa; nopv", "2378000004000000"},
      {"movxm p7, #0x70424", "5548680e0700"},
      {"movx r0, #0x30; mov r1, #0x1", "43c8032008060000"},
      {"lda r24, [p7, #0]", "59b00207"},
      {"lda p7, [sp, #-8]", "d97eff07"},
      {"movxm r25, #0x7ffffffe", "55fc9ffcff7f"},
      {"ltu r25, r25, r24", "998c7316"},
      {"add r24, r25, r24; mov p0, p7", "43283b1f048c3300"},
      {"nopb; nopa; nops; nopx; nopm; nopv",
       "c0030088030000000000000000000000"},
      {"lda lr, [sp, #-4]", "d9c2ff07"},
      {"j #0x1d0", "950000e80000"},
      {"mova dj0, #0xbb; movxm p0, #0x70400", "bb10001ac00100286417"},
      {"st dj0, [p0, #4]; mov m0, #0xaa", "034057110020d400"},
      {"st m0, [p0], #8; movx r1, #0x1", "3d050220b000"},
      {"nopa; st r1, [p0, #4]; mov dj0, #0xcc; nopv",
       "2f780000b4196100008206000000"},
      {"paddb [sp], #-0x20; nopa; st dj0, [p0, #0]; movx r0, #0x34; nopm; nopv",
       "c00300880300880600a102000000fcff"},
      {"and r1, r2, r3", "99348210"},
      {"or r1, r2, r3", "99358210"},
      {"nops; nopb; nopx; nopm", "378803000000000000000000"},
      {"nopa; nopb; rel #0x30, r16; nopm; nops",
       "7f00000071000002010600000000"},
  };
  struct diag d;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    CHECK(strcmp(hex_of(known[i].text, &d), known[i].hex) == 0);
    CHECK(survives(known[i].text));
  }
  /* order, blanks and comments do not matter */
  CHECK(strcmp(hex_of("mov r1,#1;movx   r0 , #48 ;// x", &d),
               "43c8032008060000") == 0);
  CHECK(strcmp(hex_of("/* a\n b */ nop /* c */", &d), "0100") == 0);
  CHECK(strcmp(hex_of("movx r0, #(1 << 4) * 3", &d),
               hex_of("movx r0, #48", &d)) == 0);
  CHECK(strcmp(hex_of("", &d), "") == 0 && d.kind == DIAG_NONE);
}

/* ---- layout ---- */

/* Address of the bundle that follows label `name` in the linked program. */
static int64_t address_of(const char *text, const char *name) {
  struct diag d;
  char *with = arena_printf(arena, "%s\n.data\n.globl probe\nprobe: .long %s\n",
                            text, name);
  struct asm_program *p = parse(with, &d);
  struct text elf = {0};
  int64_t value = -1;
  if (p && asm_link(&p, 1, NULL, 0, &elf, &d))
    for (size_t i = 52; i + 32 <= elf.length; i += 32) {
      const uint8_t *h = (const uint8_t *)elf.data + i;
      if (h[0] == 1 && h[10] == 7) { /* the data segment at 0x70000 */
        const uint8_t *word = (const uint8_t *)elf.data + (h[4] | h[5] << 8);
        value = word[0] | word[1] << 8 | word[2] << 16;
        break;
      }
    }
  text_free(&elf);
  return value;
}

static void test_layout(void) {
  struct diag d;
  /* a gap is closed by widening the bundle before it: no bundle is added */
  CHECK(strcmp(hex_of("nop\n.p2align 4\nnop", &d),
               "c0030000000000000000000000000000"
               "0100") == 0);
  CHECK(strcmp(hex_of("lda r24, [p7, #0]\n.p2align 3\nnop", &d),
               arena_printf(arena, "%s0100",
                            hex_of("nopv; lda r24, [p7, #0]", &d))) == 0);
  /* nothing to widen: a nop bundle of the gap's size */
  CHECK(strcmp(hex_of(".byte 1, 2\n.p2align 4\nnop", &d),
               arena_printf(arena, "0102%s0100",
                            hex_of("nopa; nopb; nopxm; nopv", &d))) == 0);
  /* targets of jumps, global labels, return addresses start on 16 bytes */
  CHECK(address_of("nop\nx: nop\nj #x\n", "x") == 16);
  CHECK(address_of("nop\nx: nop\n", "x") == 2);
  CHECK(address_of("nop\nx: nop\n.globl x\n", "x") == 16);
  CHECK(address_of(".autoalign 0\nnop\nx: nop\nj #x\n", "x") == 2);
  CHECK(address_of("jl #x\nnop\nnop\nnop\nnop\nnop\ny: nop\nnop\nnop\nx: nop",
                   "x") == 32);
  /* the bundle at le has 16 bytes, ls and le are aligned */
  const char *loop = "movxm ls, #s\nmovxm le, #e\nmova lc, #4\n"
                     "s: nop\nnop\ne: nop\nafter: nop\n";
  CHECK(address_of(loop, "s") == 16);
  CHECK(address_of(loop, "e") == 32);
  CHECK(address_of(loop, "after") == 48);
  CHECK(survives(loop));
  CHECK(survives("nop; movxm r0, #5\nnop; j #0"));
  CHECK(strlen(hex_of("nop; j #0", &d)) == 16);
  CHECK(strlen(hex_of("j #0", &d)) == 12);
}

/* What compilers write around code does not disturb it. */
static void test_directives(void) {
  struct diag d;
  CHECK(strcmp(hex_of("  .file \"a.c\"\n  .section .text.f,\"ax\",@progbits\n"
                      "  .globl f // -- Begin function f\n  .p2align 4\n"
                      "  .type f,@function\nf: // @f\n  .cfi_startproc\n"
                      "// %bb.0:\n  ret lr\n  nop // Delay Slot 5\n"
                      ".Lend:\n  .size f, .Lend-f\n  .cfi_endproc\n"
                      "  .ident \"x\"\n  .section \".note.GNU-stack\",\"\","
                      "@progbits\n  .addrsig\n",
                      &d),
               "19180010"
               "0100") == 0);
  CHECK(
      strcmp(hex_of(".byte 1, -1, 0b11\n.short 0x1234\n.long -2\n.space 3, 7\n"
                    ".zero 1",
                    &d),
             "01ff03"
             "3412"
             "feffffff"
             "070707"
             "00") == 0);
}

static void test_bundle_requests(void) {
  struct diag d;
  struct asm_program *p = parse("vmac.f bml0, bml0, x0, x2, r0", &d);
  struct text bytes = {0}, text = {0};
  p->line[0].full = true;
  CHECK(asm_bytes(p, 0, NULL, 0, &bytes, &d) && bytes.length == 16);
  asm_print(p, &text);
  CHECK(strlen(hex_of(text_string(&text), &d)) == 32);
  p->line[0].full = false;
  p->line[0].size = 10;
  bytes.length = text.length = 0;
  CHECK(asm_bytes(p, 0, NULL, 0, &bytes, &d) && bytes.length == 10);
  asm_print(p, &text);
  CHECK(strlen(hex_of(text_string(&text), &d)) == 20);
  text_free(&bytes);
  text_free(&text);
}

/* ---- linking ---- */

static uint32_t word_at(const struct text *t, size_t at, int bytes) {
  uint32_t v = 0;
  for (int i = 0; i < bytes && at + (size_t)i < t->length; i++)
    v |= (uint32_t)(unsigned char)t->data[at + (size_t)i] << (8 * i);
  return v;
}

static void test_link(void) {
  struct diag d;
  struct asm_program *program[2] = {
      parse(".globl start\nstart: jl #work\nmovxm p0, #buffer+32\nnop\nnop\n"
            "nop\nnop\n.L1: done\nnop\nj #.L1\nnop\nnop\nnop\nnop\nnop\n",
            &d),
      parse(".globl work\n.type work,@function\nwork: ret lr\nnop\nnop\nnop\n"
            "nop\n.L1: nop\n.size work, .-work\n"
            ".data\n.globl table\ntable: .long work, table+4, 7\n.byte 1\n",
            &d)};
  const struct asm_symbol buffer = {"buffer", 0x74000};
  struct text elf = {0};
  CHECK(program[0] && program[1]);
  CHECK(asm_link(program, 2, &buffer, 1, &elf, &d));
  CHECK(word_at(&elf, 0, 4) == 0x464c457f && word_at(&elf, 16, 2) == 2 &&
        word_at(&elf, 18, 2) == 264 && word_at(&elf, 36, 4) == 2);
  CHECK(word_at(&elf, 44, 2) == 2); /* two segments */
  size_t code = word_at(&elf, 52 + 4, 4), data = word_at(&elf, 84 + 4, 4);
  CHECK(word_at(&elf, 52 + 12, 4) == 0 && word_at(&elf, 84 + 12, 4) == 0x70000);
  /* no gap between headers and sections but for their alignment */
  CHECK(code == (52 + 2 * 32 + 15) / 16 * 16);
  CHECK(data == (code + word_at(&elf, 52 + 16, 4) + 15) / 16 * 16);
  struct isa_bundle b;
  const uint8_t *bytes = (const uint8_t *)elf.data;
  int size = isa_decode(isa, bytes + code, elf.length - code, &b);
  int64_t work = b.slot[SLOT_LNG].operand[0];
  CHECK(size && b.slot[SLOT_LNG].id == INSN_JL && work > 0 && work % 16 == 0);
  size_t at = code + (size_t)size;
  size = isa_decode(isa, bytes + at, elf.length - at, &b);
  CHECK(size && b.slot[SLOT_LNG].id == INSN_MOVXM &&
        b.slot[SLOT_LNG].operand[1] == 0x74020);
  CHECK(isa_decode(isa, bytes + code + work, 16, &b) &&
        b.slot[SLOT_ALU].id == INSN_RET);
  CHECK(word_at(&elf, data, 4) == work &&
        word_at(&elf, data + 4, 4) == 0x70004);
  CHECK(word_at(&elf, data + 8, 4) == 7 && word_at(&elf, data + 12, 1) == 1);

  /* the disassembler reads it and what it prints assembles to the same code */
  struct text text = {0}, again = {0};
  CHECK(asm_disassemble_elf(isa, bytes, elf.length, &text, &d));
  CHECK(strstr(text_string(&text), "work:") != NULL);
  struct asm_program *p = parse(text_string(&text), &d);
  CHECK(p && asm_link(&p, 1, NULL, 0, &again, &d));
  size_t code2 = word_at(&again, 52 + 4, 4), length = word_at(&elf, 52 + 16, 4);
  CHECK(word_at(&again, 52 + 16, 4) == length &&
        memcmp(again.data + code2, elf.data + code, length) == 0);
  text_free(&text);
  text_free(&again);

  /* errors */
  elf.length = 0;
  d.kind = DIAG_NONE;
  CHECK(!asm_link(program, 1, NULL, 0, &elf, &d) &&
        strstr(d.text, "undefined symbol"));
  struct asm_program *twice[2] = {program[1], program[1]};
  d.kind = DIAG_NONE;
  CHECK(!asm_link(twice, 2, NULL, 0, &elf, &d) && strstr(d.text, "'work'"));
  struct asm_program *big = parse(".space 20000", &d);
  d.kind = DIAG_NONE;
  CHECK(!asm_link(&big, 1, NULL, 0, &elf, &d) && strstr(d.text, "16384"));
  big = parse(".data\n.space 70000", &d);
  d.kind = DIAG_NONE;
  CHECK(!asm_link(&big, 1, NULL, 0, &elf, &d) && strstr(d.text, "65536"));
  text_free(&elf);
}

/* Relocation numbers of isa.md F4 for bundles of several sizes. */
static void test_object(void) {
  static const struct {
    const char *text;
    int type;
  } known[] = {
      {"jl #f", 1},
      {"movxm p0, #f", 42},
      {"mova r0, #0; movxm p0, #f", 44},
      {"nop; j #f", 2},
      {"j #f; vmac.f bml0, bml0, x0, x2, r0", 4},
      {"movx r0, #f", 17},
      {"mov r0, #f", 29},
      {"mova r0, #f", 10},
      {"movx r0, #1; mov r1, #f", 31},
      {"nopa; nopb; nops; nopv; movxm p0, #f", 41},
      {"nopa; nopb; nops; nopv; jnz r3, #f", 0},
      {"nopa; nopb; nops; nopv; nopm; movx r0, #f", 16},
      {"nopa; nopb; nops; nopv; nopx; mov r0, #f", 28},
      {"nopa; nopb; nopv; nopx; mov r0, #f", 40},
      {"nopa; nops; nopv; mov r0, #f", 39},
      {".long f", 51},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct diag d;
    struct text elf = {0}, text = {0};
    CHECK(asm_object(parse(known[i].text, &d), &elf, &d));
    uint32_t table = word_at(&elf, 32, 4), count = word_at(&elf, 48, 2);
    bool found = false;
    for (uint32_t s = 0; s < count; s++) {
      size_t h = table + 40 * s;
      if (word_at(&elf, h + 4, 4) != 4)
        continue;
      size_t at = word_at(&elf, h + 16, 4);
      found = true;
      CHECK((int)word_at(&elf, at + 4, 1) == known[i].type);
      CHECK(word_at(&elf, h + 20, 4) == 12);
    }
    CHECK(found);
    CHECK(asm_disassemble_elf(isa, (const uint8_t *)elf.data, elf.length, &text,
                              &d));
    CHECK(strstr(text_string(&text), "#f") ||
          strstr(text_string(&text), ".long") ||
          strstr(text_string(&text), ".byte"));
    text_free(&elf);
    text_free(&text);
  }
  struct diag d;
  struct text elf = {0};
  CHECK(!asm_object(parse("acq #f, r0", &d), &elf, &d) &&
        strstr(d.text, "no relocation"));
  text_free(&elf);
}

/* Every form that takes an address, in every set of slots beside it, has a
 * relocation, and all numbers for code occur. */
static void test_relocations(const char *const form[], int types) {
  static const struct {
    const char *nop;
    enum isa_slot slot;
  } filler[] = {{"nopa", SLOT_LDA},  {"nopb", SLOT_LDB}, {"nops", SLOT_ST},
                {"nopx", SLOT_ALU},  {"nopm", SLOT_MV},  {"nopv", SLOT_VEC},
                {"nopxm", SLOT_LNG}, {"nop", SLOT_COUNT}};
  bool seen[64] = {false};
  for (size_t i = 0; form[i]; i++)
    for (unsigned set = 0; set < 256; set++) {
      struct diag d;
      struct text line = {0}, elf = {0};
      text_puts(&line, form[i]);
      for (int k = 0; k < 8; k++)
        if (set >> k & 1)
          text_printf(&line, "; %s", filler[k].nop);
      struct asm_program *p = parse(text_string(&line), &d);
      if (p) { /* else a slot is taken twice */
        CHECK(asm_object(p, &elf, &d));
        uint32_t table = word_at(&elf, 32, 4);
        size_t rela = word_at(&elf, table + 2 * 40 + 16, 4);
        uint32_t type = word_at(&elf, rela + 4, 1);
        CHECK((int)type < types);
        seen[type & 63] = true;
      }
      text_free(&line);
      text_free(&elf);
    }
  for (int type = 0; type < types; type++)
    CHECK(seen[type]);
}

/* ---- aie2p ---- */

/* Bundles as LLVM's disassembler prints them, of code that it compiled. */
static void test_known_bytes_aie2p(void) {
  static const struct {
    const char *hex, *text;
  } known[] = {
      {"840000000000", "j #0x0"},
      {"2c0000000000", "mova r0, #0x0; nopx"},
      {"f8720218", "vbcst.32 x0, r0"},
      {"0000", "nop"},
      {"982a1c08", "vst wl0, [p0], #0x20"},
      {"5c0050508503", "vst wl0, [p0], #0x20; ret lr"},
      {"982a0408", "vst wl0, [p0, #0x0]"},
      {"e1000078a5010800005b012000000101",
       "mova r1, #0x8; nopb; nops; movx r0, #0x0; nopm; nopv"},
      {"7e602b004b00090d062000002400",
       "mova r4, #0x1; nopb; movx r3, #0x3; mov r2, #0x2; nops"},
      {"ba700000000400000565", "mova r5, #0x328; paddxm [sp], #0x80"},
      {"765840c808768215850710fe",
       "mova r16, #-0x10; st r8, [sp, #-124]; movx r7, #0x70; mov r6, #0x40"},
      {"765800020080803581071100",
       "mova r17, #0x0; st r9, [sp, #-128]; event #0; mov m0, #0x200"},
      {"1880701d", "add.nc lc, r1, #0x0"},
      {"4400e0010000", "movxm ls, #0x0"},
      {"4400e0060000", "movxm le, #0x0"},
      {"e100000000000000005b012000f02c00", "nopa; nopb; nops; nopxm; nopv"},
      {"e100007860b00100000b712100b08240",
       "vlda bmll0, [p2, #0x0]; nopb; movs m1, r17; nopx; mov p3, p0; nopv"},
      {"e100007860310200005b012000f00c65",
       "padda [p3], m1; nopb; nops; nopx; mov p4, p1; nopv"},
      {"1200006810f62c00", "nopa; vldb x0, [p3], m0; nopx"},
      {"18e01d3c", "vldb.128 wl7, [p4], #0x10"},
      {"78088019", "vshuffle x3, x0, x0, r2"},
      {"780c8018", "vshuffle x1, x0, x0, r3"},
      {"b8819c1c", "vextract.8 r18, x7, #0x0, vaddsign1"},
      {"b88bdc1d", "vextract.8 r23, x7, #0x5, vaddsign1"},
      {"b89d1c1a", "vextract.8 r8, x7, #0xe, vaddsign1"},
      {"743fb9840661", "vldb x0, [p3], m0; vextract.8 r9, x7, #0xf, vaddsign1"},
      {"f872481a", "vbcst.8 x4, r18"},
      {"f4e598850661", "vldb x0, [p3], m0; vbcst.8 x5, r19"},
      {"0a950428e672d4691006",
       "vldb x0, [p3], m0; vbcst.8 x3, r21; vmac dm0, dm0, y1, y2, r5"},
      {"7808001d", "vshuffle x10, x0, x0, r2"},
      {"7810d51a", "vshuffle x5, x10, x10, r4"},
      {"02304844006086ff", "vst x0, [sp, #-0x40]; vshuffle x1, x1, x1, r4"},
      {"22550029e672dc00", "vbcst.8 x1, r23; vmac dm1, dm0, y0, y1, r5"},
      {"2215282a6610b302",
       "vshuffle x5, x6, x6, r4; vmac dm2, dm1, y2, y0, r5"},
      {"2215442be672ec00", "vbcst.8 x1, r27; vmac dm3, dm2, y1, y0, r5"},
      {"d420bb73b7ff", "vlda x6, [sp, #-0x40]; vshuffle x3, x11, x11, r4"},
      {"2215682ce672f400", "vbcst.8 x1, r29; vmac dm4, dm3, y2, y0, r5"},
      {"a920440100000000005b012000f02c00",
       "nopa; nopb; nops; nopxm; vmac dm0, dm4, y1, y0, r5"},
      {"1243202400f02c00", "nopa; nopb; add r16, r16, #0x10"},
      {"987c2414", "ltu r18, r16, r7"},
      {"840140000090", "jnz r18, #0x0"},
      {"98061c0a", "vst bmll0, [p2], #0x40"},
      {"98606214", "add r17, r17, r6"},
      {"ba78a5010080102026f0", "lda r9, [sp, #-128]; event #1; nopm"},
      {"18118507", "lda r8, [sp, #-124]"},
      {"18002810", "ret lr"},
      {"c4010000f0ff", "paddxm [sp], #-0x80"},
      {"9895d10f", "st r12, [sp, #-48]"},
      {"3a410000000000b02afb", "st r10, [sp, #-40]; jl #0x0"},
      {"0270603003b0a6fb", "st r9, [sp, #-36]; mov p6, p0"},
      {"0270106801b087fc", "st lr, [sp, #-28]; mov r11, r0"},
      {"3a799008adc002b03af9",
       "st r14, [sp, #-56]; or r12, r1, r1; mov r8, r2"},
      {"76781049ad11068b84070d00",
       "mova r13, #0x0; movs p7, p1; or r1, r3, r3; mov r10, r4"},
      {"e100004000000000005b012000f02c00", "nopa; nopb; nops; jl #0x0; nopv"},
      {"f820501a", "mov r9, r0"},
      {"e44128b15450", "or r1, r10, r10; mov r2, r8"},
      {"7e602b00af348089422300f02c00",
       "nopa; nopb; ge r1, r13, r8; nopm; nops"},
      {"840140000008", "jnz r1, #0x0"},
      {"18001010", "event #0"},
      {"18001012", "event #1"},
      {"e100002000000000005b012000f02c00", "nopa; nopb; nops; j #0x0; nopv"},
      {"b64000000000002000f02c00", "nopa; nopb; jl #0x0"},
      {"983dc40f", "st lr, [sp, #-60]"},
      {"18000010", "nopx"},
      {"2c0000f02c00", "nopa; nopx"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct diag d;
    bool same = strcmp(hex_of(known[i].text, &d), known[i].hex) == 0 &&
                survives(known[i].text);
    CHECK(same);
    if (!same)
      fprintf(stderr, "  %s\n", known[i].text);
  }
}

/* Flags and relocations of an object; the linked file says its set, too. */
static void test_elf_aie2p(void) {
  static const struct {
    const char *text;
    int type;
  } known[] = {
      {"movxm ls, #f", 42},
      {"jnz r18, #f", 1},
      {"nopa; nopb; nops; jl #f; nopv", 0},
      {"st r10, [sp, #-40]; jl #f", 2},
      {"nopa; nopb; jl #f", 4},
      {"add.nc r0, r1, #f", 50},
      {".long f", 63},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct diag d;
    struct text elf = {0}, text = {0};
    CHECK(asm_object(parse(known[i].text, &d), &elf, &d));
    CHECK(word_at(&elf, 36, 4) == 3);
    uint32_t table = word_at(&elf, 32, 4), count = word_at(&elf, 48, 2);
    int type = -1;
    for (uint32_t s = 0; s < count; s++)
      if (word_at(&elf, table + 40 * s + 4, 4) == 4)
        type = (int)word_at(&elf, word_at(&elf, table + 40 * s + 16, 4) + 4, 1);
    CHECK(type == known[i].type);
    CHECK(asm_disassemble_elf(isa_at(0), (const uint8_t *)elf.data, elf.length,
                              &text, &d) == isa);
    text_free(&elf);
    text_free(&text);
  }
}

/* A file of a set without tables is refused; one that does not say its set is
 * of the one given. */
static void test_elf_flags(void) {
  struct diag d;
  struct text elf = {0}, text = {0};
  CHECK(asm_object(parse("mova r1, #2", &d), &elf, &d));
  elf.data[36] = 0;
  CHECK(asm_disassemble_elf(isa, (const uint8_t *)elf.data, elf.length, &text,
                            &d) == isa);
  CHECK(strstr(text_string(&text), "mova r1, #2"));
  elf.data[36] = 1;
  CHECK(!asm_disassemble_elf(isa, (const uint8_t *)elf.data, elf.length, &text,
                             &d));
  CHECK(strstr(d.text, "flags 1"));
  text_free(&elf);
  text_free(&text);
}

/* Any bytes disassemble to text that gives them back. */
static void test_random_bytes(void) {
  for (int round = 0; round < 40; round++) {
    uint8_t bytes[1024];
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (uint8_t)random_below(256);
    struct diag d;
    struct text out = {0}, again = {0};
    asm_disassemble(isa, bytes, sizeof bytes, 0, &out);
    struct asm_program *p = parse(text_string(&out), &d);
    CHECK(p && asm_bytes(p, 0, NULL, 0, &again, &d));
    CHECK(again.length == sizeof bytes &&
          memcmp(again.data, bytes, sizeof bytes) == 0);
    text_free(&out);
    text_free(&again);
  }
}

static void test_errors_aie2p(void) {
  static const struct {
    const char *text;
    int line, col;
    const char *message;
  } wrong[] = {
      {"vlda.pop.576 ex0, [p0, lf1, r24]", 1, 24, "same register as ptr"},
      {"vlda.pop.576 ex0, [p2, lf0, r24]", 1, 20, "not allowed here"},
      {"nop\n  vlda x0, [p0, #32]", 2, 17, "no multiple of 64"},
      {"vlda x0, [p0, #512]", 1, 15, "out of range -512..448"},
      {"vmac cm0, cm0, x0, x1, r0", 1, 6, "no such register"},
      {"vsrs.2x wl0, bmll0, s0, srssign2", 1, 25, "expected 'srssign0'"},
      {"mov r0, #1024", 1, 9, "out of range -1024..1023"},
      {"st r0, [sp, #4]", 1, 13, "out of range -2048..-4"},
      {"mov r0, r1.fx2flt, s3", 1, 20, "expected 's2'"},
      {"vfloor.s32.bf16 x0, bmll0[2], s0", 1, 27, "out of range 0..1"},
      {"vlda.ups.s32.s16 bmll0, s0, [p0], #32", 1, 1, "unknown instruction"},
      {"vst.push.576 ex0, [p0, sf, r26]", 1, 20, "expected 'p2'"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct diag d;
    CHECK(*hex_of(wrong[i].text, &d) == 0);
    bool same = d.kind == DIAG_ERROR && d.at.line == wrong[i].line &&
                d.at.col == wrong[i].col && strstr(d.text, wrong[i].message);
    CHECK(same);
    if (!same)
      fprintf(stderr, "  %s\n  gives %d:%d: %s\n", wrong[i].text, d.at.line,
              d.at.col, d.text);
  }
}

/* ---- errors: line, column and a piece of the message ---- */

static void test_errors(void) {
  static const struct {
    const char *text;
    int line, col;
    const char *message;
  } wrong[] = {
      {"frob r0", 1, 1, "unknown instruction 'frob'"},
      {"nop\n  add r0, r1, #64", 2, 15, "out of range -64..63"},
      {"mova r0, #1024", 1, 10, "out of range -1024..1023 (class simm11)"},
      {"lda r0, [p0, #3]", 1, 14, "'#3' is no multiple of 4"},
      {"lda r0, [p0, #128]", 1, 14, "out of range -128..124"},
      {"vlda wl0, [p9], #32", 1, 12, "'p9': no such register (class eP)"},
      {"vlda x0, [p0], #32", 1, 6, "not allowed here"},
      {"add r0, r1", 1, 11, "expected ',', found end of line"},
      {"add r0, r1, r2 r3", 1, 16, "unexpected 'r3'"},
      {"add r0, r1, r2; sub r3, r4, r5", 1, 17, "slot alu is taken by add"},
      {"movxm r0, #1; mov r1, #2", 1, 15, "slot mv is taken by movxm"},
      {"vaddmac.f bml0, bml1, bml2, x0, x1, r0", 1, 17, "same register"},
      {"x: nop\nx: nop", 2, 1, "already defined"},
      {"j #nowhere", 1, 1, "undefined symbol 'nowhere'"},
      {".frob 1", 1, 1, "unknown directive '.frob'"},
      {".p2align x", 1, 10, "expected a constant"},
      {".align 12", 1, 8, "12 is no power of two"},
      {".section \".data, \"aw\"", 1, 16, "expected '\"'"},
      {".byte 300", 1, 7, "does not fit"},
      {".long 1 2", 1, 9, "unexpected '2'"},
      {"mova r0, #1/0", 1, 14, "division by zero"},
      {"mova r0, #(1", 1, 13, "expected ')'"},
      {"mova r0, #a*2", 1, 14, "may only stand in a sum"},
      {".data\nnop", 2, 1, "holds no code"},
      {"nop, nop", 1, 4, "expected ';'"},
      {"acq #64, r0", 1, 5, "out of range 0..63"},
      {"vmac.f bml9, bml0, x0, x1, r0", 1, 8, "no such register"},
      {"a: movx r0, #a+b", 1, 17, "may only stand in a sum"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct diag d;
    CHECK(*hex_of(wrong[i].text, &d) == 0);
    bool same = d.kind == DIAG_ERROR && d.at.line == wrong[i].line &&
                d.at.col == wrong[i].col && strstr(d.text, wrong[i].message);
    CHECK(same);
    if (!same)
      fprintf(stderr, "  %s\n  gives %d:%d: %s\n", wrong[i].text, d.at.line,
              d.at.col, d.text);
  }
}

int main(void) {
  static const char *const addresses[] = {
      "j #f",        "jl #f",       "jz r1, #f",  "jnz r1, #f", "movxm p0, #f",
      "mova r0, #f", "movx r0, #f", "mov r0, #f", NULL};
  static const char *const more_addresses[] = {
      "j #f",        "jl #f",        "jz r1, #f",
      "jnz r1, #f",  "movxm p0, #f", "mova r0, #f",
      "movx r0, #f", "mov r0, #f",   "add.nc r0, r1, #f",
      NULL};
  arena = arena_open();
  isa = isa_find("aie2p");
  test_every_form();
  test_known_bytes_aie2p();
  test_elf_aie2p();
  test_relocations(more_addresses, 62);
  test_errors_aie2p();
  test_random_bytes();
  isa = isa_find("aie2");
  test_random_bytes();
  test_every_form();
  test_known_bytes();
  test_layout();
  test_directives();
  test_bundle_requests();
  test_link();
  test_object();
  test_elf_flags();
  test_relocations(addresses, 50);
  test_errors();
  arena_close(arena);
  return check_result();
}
