/* fuzz.c -- one input through the reader that its first byte names; the entry
 * point of libFuzzer when built with NPUTEIR_FUZZ.  Checksums are repaired
 * first, so that changes get behind them. */
#include "fuzz.h"

#include "commands.h"

#include <stdlib.h>

static uint32_t word(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

/* ~(sum of the words before) into the last of `words` words. */
static void repair(uint8_t *p, size_t size, size_t first, size_t words) {
  uint32_t sum = 0;
  if (first + 4 * words > size)
    return;
  for (size_t i = 0; i + 1 < words; i++)
    sum += word(p + first + 4 * i);
  for (int i = 0; i < 4; i++)
    p[first + 4 * (words - 1) + (size_t)i] = (uint8_t)(~sum >> 8 * i);
}

/* Blocks of one word or none are written as a CDO has them: as a plain write,
 * or not at all. */
static const struct command_list *plain(struct arena *a,
                                        const struct command_list *l) {
  struct command_list *p = command_list(a);
  for (int i = 0; i < l->count; i++) {
    const struct command *c = &l->item[i];
    if (c->kind != COMMAND_BLOCK || c->count > 1) {
      command_write(p, 0, 0);
      p->item[p->count - 1] = *c;
    } else if (c->count == 1) {
      command_write(p, c->address, c->words[0]);
    }
  }
  return p;
}

static bool try_cdo(struct arena *a, const void *bytes, size_t size,
                    struct diag *d, bool *accepted) {
  struct command_list *l = cdo_read(a, bytes, size, d), *again;
  struct text cdo = {0};
  if (!l)
    return d->kind == DIAG_ERROR;
  *accepted = true;
  bool good = cdo_write(l, &cdo, d) &&
              (again = cdo_read(a, cdo.data, cdo.length, d)) &&
              commands_equal(plain(a, l), again);
  text_free(&cdo);
  return good;
}

static bool try_pdi(struct arena *a, uint8_t *bytes, size_t size,
                    struct diag *d, bool *accepted) {
  const void *cdo;
  size_t length;
  repair(bytes, size, 0x10, 32);
  repair(bytes, size, 0xd0, 32);
  if (!pdi_read(bytes, size, &cdo, &length, d))
    return d->kind == DIAG_ERROR;
  return try_cdo(a, cdo, length, d, accepted);
}

static bool try_xclbin(struct arena *a, const void *bytes, size_t size,
                       struct diag *d, bool *accepted) {
  struct xclbin_info info, again;
  const void *pdi, *pdi_again, *cdo;
  size_t length, length_again;
  if (!xclbin_read(bytes, size, &info, &pdi, &length, d))
    return d->kind == DIAG_ERROR;
  struct diag e = {0};
  struct text x = {0};
  bool good = true;
  *accepted = true;
  if (xclbin_write(&info, pdi, length, &x, &e))
    good =
        xclbin_read(x.data, x.length, &again, &pdi_again, &length_again, &e) &&
        length == length_again && memcmp(pdi, pdi_again, length) == 0 &&
        info.columns == again.columns &&
        info.buffer_arguments == again.buffer_arguments &&
        strcmp(info.kernel, again.kernel) == 0;
  text_free(&x);
  if (pdi_read(pdi, length, &cdo, &length, d))
    cdo_read(a, cdo, length, d);
  return good;
}

static bool try_txn(struct arena *a, const void *bytes, size_t size,
                    struct diag *d, bool *accepted) {
  int columns, columns_again;
  struct command_list *l = txn_read(a, bytes, size, &columns, d), *again;
  if (!l)
    return d->kind == DIAG_ERROR;
  struct diag e = {0};
  struct text txn = {0};
  bool good = true;
  *accepted = true;
  if (txn_write(l, device_at(0), columns, &txn,
                &e)) /* fields may be out of range */
    good = (again = txn_read(a, txn.data, txn.length, &columns_again, &e)) &&
           columns == columns_again && commands_equal(l, again);
  text_free(&txn);
  return good;
}

static bool try_elf(struct arena *a, const void *bytes, size_t size,
                    struct diag *d, bool *accepted) {
  *accepted = elf_load(device_at(0), bytes, size, 0, 2, command_list(a), d);
  return *accepted || d->kind == DIAG_ERROR;
}

/* What unpacks and packs again keeps its meaning. */
static bool try_bd(const uint8_t *bytes, size_t size, struct diag *d,
                   bool *accepted) {
  uint32_t words[8] = {0}, packed[8], again[8];
  struct bd b, c;
  if (size < 33)
    return true;
  for (int i = 0; i < 8; i++)
    words[i] = word(bytes + 1 + 4 * i);
  int kind = bytes[0] % 3;
  bd_unpack(kind, words, &b);
  int count = bd_pack(kind, &b, packed, d);
  *accepted = count > 0;
  if (!count)
    return d->kind == DIAG_ERROR;
  return bd_unpack(kind, packed, &c) && bd_pack(kind, &c, again, d) == count &&
         memcmp(packed, again, sizeof packed) == 0;
}

bool fuzz_one(const uint8_t *data, size_t size, bool *accepted) {
  *accepted = false;
  if (size < 2 || size > 1 << 16)
    return true;
  struct arena *a = arena_open();
  struct diag d = {0};
  bool good = true;
  size_t length = size - 1;
  uint8_t *bytes = malloc(length); /* exactly as long, for the sanitizer */
  memcpy(bytes, data + 1, length);
  switch (data[0] % FUZZ_KINDS) {
  case FUZZ_CDO:
    repair(bytes, length, 0, 5);
    good = try_cdo(a, bytes, length, &d, accepted);
    break;
  case FUZZ_PDI:
    good = try_pdi(a, bytes, length, &d, accepted);
    break;
  case FUZZ_XCLBIN:
    good = try_xclbin(a, bytes, length, &d, accepted);
    break;
  case FUZZ_TXN:
    good = try_txn(a, bytes, length, &d, accepted);
    break;
  case FUZZ_ELF:
    good = try_elf(a, bytes, length, &d, accepted);
    break;
  case FUZZ_BD:
    good = try_bd(bytes, length, &d, accepted);
    break;
  }
  free(bytes);
  arena_close(a);
  return good;
}

#ifdef NPUTEIR_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool accepted;
  if (!fuzz_one(data, size, &accepted))
    abort();
  return 0;
}
#endif
