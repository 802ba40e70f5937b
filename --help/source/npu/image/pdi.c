/* pdi.c -- the programmable device image around a CDO, as NPU firmware loads
 * it: one image with one partition, no boot header (formats.md section
 * 2).  The bytes are those that bootgen makes from the same CDO.
 */
#include "bytes.h"
#include "image.h"

#include <assert.h>

/* Offsets in words. */
enum {
  WIDTHS = 0x00,      /* bus width detection pattern */
  IMAGE_TABLE = 0x04, /* image header table, 32 words */
  IMAGE = 0x24,       /* image header, 16 words */
  PARTITION = 0x34,   /* partition header, 32 words */
  DATA = 0x54,        /* the CDO */
  TABLE_WORDS = 32,
  IMAGE_WORDS = 16,
  PARTITION_WORDS = 32,
  ALIGN_WORDS = 4
};

enum {
  META_VERSION = 0x00040000,
  ID_CODE = 0x14ca8093,
  EXTENDED_ID_CODE = 1,
  IDENT = 0x50504449, /* "IDPP" */
  HEADER_SIZES = 0x00201020,
  META_WORDS = 0x30,
  IMAGE_ID = 0x1c000000,
  CDO_OWNED_BY_PLM = 0x02000006
};

static const uint32_t width_pattern[4] = {0x000000dd, 0x11223344, 0x55667788,
                                          0x99aabbcc};

static void fill_header(uint32_t *w, uint32_t cdo_words) {
  uint32_t padded = (cdo_words + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
  memcpy(w + WIDTHS, width_pattern, sizeof width_pattern);

  uint32_t *table = w + IMAGE_TABLE;
  table[0] = META_VERSION;
  table[1] = 1; /* images */
  table[2] = IMAGE;
  table[3] = 1; /* partitions */
  table[4] = PARTITION;
  table[6] = ID_CODE;
  table[10] = IDENT;
  table[11] = HEADER_SIZES;
  table[12] = META_WORDS;
  table[17] = EXTENDED_ID_CODE;

  uint32_t *image = w + IMAGE;
  image[0] = PARTITION;
  image[1] = 1; /* partitions */
  memcpy(image + 4, "aie_image", 9);
  image[8] = IMAGE_ID;

  uint32_t *partition = w + PARTITION;
  partition[0] = padded;
  partition[1] = cdo_words;
  partition[2] = padded;
  partition[6] = partition[7] = 0xffffffff; /* load address: none */
  partition[8] = DATA;
  partition[9] = CDO_OWNED_BY_PLM;
  partition[10] = 1; /* sections */
}

bool pdi_write(const void *cdo, size_t length, struct text *pdi,
               struct diag *d) {
  if (length % 4 || length == 0 || length > UINT32_MAX / 2)
    return diag_error(d, loc_none(),
                      "a CDO of %zu bytes does not fit a PDI: it is a multiple "
                      "of 4 bytes",
                      length);
  uint32_t header[DATA] = {0};
  fill_header(header, (uint32_t)(length / 4));
  assert(header[PARTITION] % ALIGN_WORDS == 0 &&
         header[PARTITION] >= length / 4);
  static const struct {
    int at, words;
  } checked[] = {{IMAGE_TABLE, TABLE_WORDS},
                 {IMAGE, IMAGE_WORDS},
                 {PARTITION, PARTITION_WORDS}};
  for (size_t i = 0; i < sizeof checked / sizeof *checked; i++) {
    uint32_t *table = header + checked[i].at, sum = 0;
    for (int k = 0; k < checked[i].words - 1; k++)
      sum += table[k];
    table[checked[i].words - 1] = ~sum;
  }
  for (int i = 0; i < DATA; i++)
    bytes_put_u32(pdi, header[i]);
  text_append(pdi, cdo, length);
  bytes_zeros(pdi, -length % (4 * ALIGN_WORDS));
  return true;
}

static bool table_fits(const uint8_t *pdi, size_t length, uint32_t at,
                       uint32_t words, const char *what, struct diag *d) {
  if (!bytes_within(length, 4 * (uint64_t)at, 4 * (uint64_t)words))
    return diag_error(d, loc_none(), "PDI: %s at word %u is past the end", what,
                      at);
  const uint8_t *table = pdi + 4 * (size_t)at;
  uint32_t want = bytes_checksum(table, words - 1);
  uint32_t have = bytes_u32(table + 4 * (words - 1));
  if (want != have)
    return diag_error(d, loc_none(),
                      "PDI: %s has checksum 0x%08x, computed "
                      "0x%08x",
                      what, have, want);
  return true;
}

bool pdi_read(const void *data, size_t length, const void **cdo,
              size_t *cdo_length, struct diag *d) {
  const uint8_t *pdi = data;
  if (length < 16 || bytes_u32(pdi + 4) != width_pattern[1] ||
      bytes_u32(pdi + 8) != width_pattern[2])
    return diag_error(d, loc_none(),
                      "not a PDI: the bus width pattern of its "
                      "first 16 bytes is missing");
  if (!table_fits(pdi, length, IMAGE_TABLE, TABLE_WORDS, "image header table",
                  d))
    return false;
  const uint8_t *table = pdi + 4 * IMAGE_TABLE;
  uint32_t partitions = bytes_u32(table + 12), at = bytes_u32(table + 16);
  if (bytes_u32(table + 40) != IDENT || partitions != 1)
    return diag_error(d, loc_none(),
                      "PDI: identification 0x%08x with %u "
                      "partitions; we read one partition of a CDO",
                      bytes_u32(table + 40), partitions);
  if (!table_fits(pdi, length, at, PARTITION_WORDS, "partition header", d))
    return false;
  const uint8_t *partition = pdi + 4 * (size_t)at;
  uint64_t offset = 4 * (uint64_t)bytes_u32(partition + 32);
  uint64_t bytes = 4 * (uint64_t)bytes_u32(partition + 4);
  if (!bytes_within(length, offset, bytes))
    return diag_error(d, loc_none(),
                      "PDI: the partition of %llu bytes at "
                      "%llu is past the end of %zu",
                      (unsigned long long)bytes, (unsigned long long)offset,
                      length);
  *cdo = pdi + offset;
  *cdo_length = (size_t)bytes;
  return true;
}
