/* xclbin.c -- the container that XRT loads: a PDI and what the host must know
 * to call it (formats.md section 3).
 *
 * One kernel of type "dpu" with the arguments opcode, instruction buffer,
 * number of instruction words and then the data buffers; two memories, HOST
 * for the data buffers and SRAM for the instructions.  Same input, same bytes:
 * where xclbinutil puts the time and a random uuid, we put a hash.
 */
#include "bytes.h"
#include "image.h"

#include <stdio.h>

enum section_kind {
  SECTION_EMBEDDED_METADATA = 2,
  SECTION_MEM_TOPOLOGY = 6,
  SECTION_CONNECTIVITY = 7,
  SECTION_IP_LAYOUT = 8,
  SECTION_GROUP_TOPOLOGY = 26,
  SECTION_GROUP_CONNECTIVITY = 27,
  SECTION_AIE_PARTITION = 32
};

/* Byte offsets in the file header and sizes. */
enum {
  AT_SIGNATURE = 0x08,
  AT_ONES = 0x0c, /* to AT_UNIQUE_ID */
  AT_UNIQUE_ID = 0x128,
  AT_LENGTH = 0x130,
  AT_VERSION = 0x148, /* u16 patch, u8 major, u8 minor */
  AT_UUID = 0x1a0,
  AT_SECTIONS = 0x1c0,
  HEADER_BYTES = 0x1c8,
  SECTION_HEADER_BYTES = 40,
  SECTION_AT_OFFSET = 0x18,
  SECTION_AT_SIZE = 0x20,
  SECTION_ALIGN = 8,
  MAX_SECTIONS = 4096
};

enum {
  KERNEL_ID = 0x901,
  FIRST_BUFFER = 3, /* arguments: opcode, instructions, count, buffers */
  INSTRUCTIONS = 1,
  MAX_BUFFERS = 7, /* what a command message holds (section 5) */
  MEM_DRAM = 2,
  MEMORY_HOST = 0,
  MEMORY_SRAM = 1,
  IP_PS_KERNEL = 7,
  SUBTYPE_DPU = 1
};

static const char instance_name[] = "npu";

/* Two sums with different starts. */
static void set_hash(char *to, const void *p, size_t length) {
  bytes_set_u64(to, bytes_hash(p, length, 0xcbf29ce484222325));
  bytes_set_u64(to + 8, bytes_hash(p, length, 0x84222325cbf29ce4));
}

static void uuid_of(const struct text *file, uint8_t uuid[16]) {
  set_hash((char *)uuid, file->data, file->length);
  uuid[6] = (uuid[6] & 0x0f) | 0x80; /* version 8: made by the application */
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static bool uuid_is_zero(const uint8_t uuid[16]) {
  static const uint8_t zero[16];
  return memcmp(uuid, zero, sizeof zero) == 0;
}

/* ---- sections ---- */

static void put_name(struct text *t, const char *name, size_t room) {
  size_t n = strlen(name);
  text_append(t, name, n);
  bytes_zeros(t, room - n);
}

static void put_memory(struct text *t, uint64_t kilobytes, const char *tag) {
  text_append(t, (const char[]){MEM_DRAM, 1}, 2); /* 1: used */
  bytes_zeros(t, 6);
  bytes_put_u64(t, kilobytes);
  bytes_put_u64(t, 0x4000000); /* where the driver maps the device heap */
  put_name(t, tag, 16);
}

static void put_memories(struct text *t) {
  bytes_put_u64(t, 2);
  put_memory(t, 0x10000, "HOST");
  put_memory(t, 0xc000, "SRAM");
}

static void put_ip_layout(struct text *t, const struct xclbin_info *info) {
  bytes_put_u64(t, 1);
  bytes_put_u32(t, IP_PS_KERNEL);
  bytes_put_u32(t, (uint32_t)KERNEL_ID << 16 | SUBTYPE_DPU);
  bytes_put_u64(t, UINT64_MAX); /* no base address */
  size_t name = t->length;
  text_printf(t, "%s:%s", info->kernel, instance_name);
  bytes_zeros(t, name + 64 - t->length);
}

static void put_connection(struct text *t, uint32_t argument, uint32_t memory) {
  bytes_put_u32(t, argument);
  bytes_put_u32(t, 0); /* index in the IP layout */
  bytes_put_u32(t, memory);
}

static void put_connectivity(struct text *t, const struct xclbin_info *info) {
  bytes_put_u32(t, 1 + (uint32_t)info->buffer_arguments);
  put_connection(t, INSTRUCTIONS, MEMORY_SRAM);
  for (int i = 0; i < info->buffer_arguments; i++)
    put_connection(t, FIRST_BUFFER + (uint32_t)i, MEMORY_HOST);
}

static void put_argument(struct text *t, int id, const char *name, int global,
                         int size, int offset, const char *type) {
  text_printf(t,
              "          <arg name=\"%s\" addressQualifier=\"%d\" id=\"%d\" "
              "size=\"0x%x\" offset=\"0x%x\" hostOffset=\"0x0\" "
              "hostSize=\"0x%x\" type=\"%s\"/>\n",
              name, global, id, size, offset, size, type);
}

static void put_metadata(struct text *t, const struct xclbin_info *info) {
  text_printf(t,
              "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
              "<project>\n"
              "  <platform>\n"
              "    <device>\n"
              "      <core>\n"
              "        <kernel name=\"%s\" language=\"c\" type=\"dpu\">\n"
              "          <extended-data subtype=\"%d\" functional=\"0\" "
              "dpu_kernel_id=\"0x%x\"/>\n",
              info->kernel, SUBTYPE_DPU, KERNEL_ID);
  put_argument(t, 0, "opcode", 0, 8, 0x00, "uint64_t");
  put_argument(t, 1, "instr", 1, 8, 0x08, "char *");
  put_argument(t, 2, "ninstr", 0, 4, 0x10, "uint32_t");
  for (int i = 0; i < info->buffer_arguments; i++) {
    char name[16];
    snprintf(name, sizeof name, "bo%d", i);
    put_argument(t, FIRST_BUFFER + i, name, 1, 8, 0x14 + 8 * i, "void*");
  }
  text_printf(t,
              "          <instance name=\"%s\"/>\n"
              "        </kernel>\n"
              "      </core>\n"
              "    </device>\n"
              "  </platform>\n"
              "</project>\n",
              instance_name);
}

/* AIE_PARTITION: a header, a PDI table of one entry, a CDO group of one entry
 * and what they point to by offsets from the section's start. */
enum {
  PARTITION_BYTES = 0xb8,
  PARTITION_AT_NAME = 0x04,
  PARTITION_AT_OPS = 0x08,
  PARTITION_AT_FINGERPRINT = 0x10,
  PARTITION_AT_PRE_POST = 0x18,
  PARTITION_AT_WIDTH = 0x20,
  PARTITION_AT_STARTS = 0x28,
  PARTITION_AT_PDIS = 0x78,
  PARTITION_AT_COMMIT = 0x80,
  PDI_BYTES = 96, /* uuid, image, groups */
  PDI_AT_IMAGE = 16,
  PDI_AT_GROUPS = 24,
  GROUP_BYTES = 96,
  GROUP_AT_TYPE = 4,
  GROUP_AT_PDI_ID = 8,
  GROUP_AT_KERNELS = 16,
  GROUP_AT_PRE_GROUPS = 24,
  GROUP_PRIMARY = 1,
  PDI_ID = 1,
  PRE_GROUP = 0xc1,
  OPS_PER_CYCLE = 2048,
  FINGERPRINT = 23423,
  PRE_POST_FINGERPRINT = 12345
};

static void set_array(struct text *t, size_t at, size_t count, size_t offset) {
  bytes_set_u32(t->data + at, (uint32_t)count);
  bytes_set_u32(t->data + at + 4, (uint32_t)offset);
}

static void set_string(struct text *t, size_t at, const char *s) {
  bytes_set_u32(t->data + at, (uint32_t)t->length);
  text_append(t, s, strlen(s) + 1);
}

static size_t put_group(struct text *t) {
  size_t group = t->length;
  bytes_zeros(t, GROUP_BYTES);
  bytes_set_u32(t->data + group + GROUP_AT_TYPE, GROUP_PRIMARY);
  bytes_set_u64(t->data + group + GROUP_AT_PDI_ID, PDI_ID);
  set_array(t, group + GROUP_AT_KERNELS, 1, t->length);
  bytes_put_u64(t, KERNEL_ID);
  set_array(t, group + GROUP_AT_PRE_GROUPS, 1, t->length);
  bytes_put_u64(t, PRE_GROUP); /* 64 bits: as XRT reads it */
  set_string(t, group, "DPU");
  bytes_align(t, 8);
  return group;
}

static void put_partition(struct text *t, const struct xclbin_info *info,
                          const void *pdi, size_t length) {
  bytes_zeros(t, PARTITION_BYTES);
  bytes_set_u32(t->data + PARTITION_AT_OPS, OPS_PER_CYCLE);
  bytes_set_u64(t->data + PARTITION_AT_FINGERPRINT, FINGERPRINT);
  bytes_set_u64(t->data + PARTITION_AT_PRE_POST, PRE_POST_FINGERPRINT);
  bytes_set_u32(t->data + PARTITION_AT_WIDTH, (uint32_t)info->columns);
  /* A name would make tools call the section AIE_PARTITION[name]. */
  set_string(t, PARTITION_AT_NAME, "");
  set_string(t, PARTITION_AT_COMMIT, "");
  bytes_align(t, 8);
  set_array(t, PARTITION_AT_STARTS, (size_t)info->start_column_count,
            t->length);
  for (int i = 0; i < info->start_column_count; i++) {
    text_append(t, (const char[]){(char)info->start_columns[i], 0}, 2);
  }
  bytes_align(t, 8);
  size_t image = t->length;
  text_append(t, pdi, length);
  bytes_align(t, 8);
  size_t group = put_group(t);
  set_array(t, PARTITION_AT_PDIS, 1, t->length);
  size_t entry = t->length;
  bytes_zeros(t, PDI_BYTES);
  set_hash(t->data + entry, pdi, length);
  set_array(t, entry + PDI_AT_IMAGE, length, image);
  set_array(t, entry + PDI_AT_GROUPS, 1, group);
}

/* ---- write ---- */

static bool info_check(const struct xclbin_info *info, size_t pdi_length,
                       struct diag *d) {
  size_t name = strnlen(info->kernel, sizeof info->kernel);
  if (name == 0 || name + sizeof instance_name + 1 > 64)
    return diag_error(d, loc_none(),
                      "xclbin: the kernel's name has %zu "
                      "characters; it has 1 to %zu",
                      name, 62 - sizeof instance_name);
  for (size_t i = 0; i < name; i++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                "0123456789",
                info->kernel[i]))
      return diag_error(d, loc_none(),
                        "xclbin: kernel name '%s' is not made "
                        "of letters, digits and _",
                        info->kernel);
  if (info->columns < 1 || info->columns > 8)
    return diag_error(d, loc_none(), "xclbin: %d columns; 1 to 8",
                      info->columns);
  if (info->start_column_count < 1 || info->start_column_count > 8)
    return diag_error(d, loc_none(), "xclbin: %d start columns; 1 to 8",
                      info->start_column_count);
  for (int i = 0; i < info->start_column_count; i++)
    if (info->start_columns[i] < 0 || info->start_columns[i] > 127)
      return diag_error(d, loc_none(), "xclbin: start column %d",
                        info->start_columns[i]);
  if (info->buffer_arguments < 0 || info->buffer_arguments > MAX_BUFFERS)
    return diag_error(d, loc_none(), "xclbin: %d buffer arguments; at most %d",
                      info->buffer_arguments, MAX_BUFFERS);
  if (pdi_length == 0 || pdi_length > UINT32_MAX / 2)
    return diag_error(d, loc_none(), "xclbin: a PDI of %zu bytes", pdi_length);
  return true;
}

struct section {
  enum section_kind kind;
  const char *name;
  struct text data;
};

static void put_file(struct text *t, struct section *section, int count) {
  bytes_zeros(t, HEADER_BYTES);
  memcpy(t->data, "xclbin2", 8);
  bytes_set_u32(t->data + AT_SIGNATURE, UINT32_MAX); /* unsigned */
  memset(t->data + AT_ONES, 0xff, AT_UNIQUE_ID - AT_ONES);
  t->data[AT_VERSION + 2] = 2;
  t->data[AT_VERSION + 3] = 26;
  bytes_set_u32(t->data + AT_SECTIONS, (uint32_t)count);
  size_t headers = t->length;
  bytes_zeros(t, (size_t)count * SECTION_HEADER_BYTES);
  for (int i = 0; i < count; i++) {
    bytes_align(t, SECTION_ALIGN);
    char *h = t->data + headers + (size_t)i * SECTION_HEADER_BYTES;
    bytes_set_u32(h, section[i].kind);
    memcpy(h + 4, section[i].name, strlen(section[i].name));
    bytes_set_u64(h + SECTION_AT_OFFSET, t->length);
    bytes_set_u64(h + SECTION_AT_SIZE, section[i].data.length);
    text_append(t, section[i].data.data, section[i].data.length);
    text_free(&section[i].data);
  }
  bytes_align(t, SECTION_ALIGN);
  bytes_set_u64(t->data + AT_LENGTH, t->length);
}

bool xclbin_write(const struct xclbin_info *info, const void *pdi,
                  size_t length, struct text *out, struct diag *d) {
  if (!info_check(info, length, d))
    return false;
  struct section section[] = {
      {SECTION_MEM_TOPOLOGY, "mem", {0}},
      {SECTION_AIE_PARTITION, "part", {0}},
      {SECTION_EMBEDDED_METADATA, "", {0}},
      {SECTION_IP_LAYOUT, "", {0}},
      {SECTION_CONNECTIVITY, "", {0}},
      {SECTION_GROUP_CONNECTIVITY, "", {0}},
      {SECTION_GROUP_TOPOLOGY, "", {0}},
  };
  put_memories(&section[0].data);
  put_partition(&section[1].data, info, pdi, length);
  put_metadata(&section[2].data, info);
  put_ip_layout(&section[3].data, info);
  put_connectivity(&section[4].data, info);
  put_connectivity(&section[5].data, info);
  put_memories(&section[6].data);
  struct text t = {0};
  put_file(&t, section, sizeof section / sizeof *section);
  uint8_t uuid[16];
  uuid_of(&t, uuid);
  memcpy(t.data + AT_UNIQUE_ID, uuid + 8, 8);
  memcpy(t.data + AT_UUID, uuid_is_zero(info->uuid) ? uuid : info->uuid, 16);
  text_take(out, &t);
  return true;
}

bool xclbin_around(const void *cdo, size_t length, int columns,
                   int buffer_arguments, struct text *xclbin, struct diag *d) {
  const struct xclbin_info info = {.kernel = "NPUTEIR",
                                   .columns = columns,
                                   .start_column_count = 1,
                                   .start_columns = {0},
                                   .buffer_arguments = buffer_arguments};
  struct text pdi = {0};
  bool good = pdi_write(cdo, length, &pdi, d) &&
              xclbin_write(&info, pdi.data, pdi.length, xclbin, d);
  text_free(&pdi);
  return good;
}

/* ---- read ---- */

struct view {
  const uint8_t *data;
  size_t length;
};

static bool view_part(struct view v, uint64_t offset, uint64_t size,
                      struct view *part) {
  if (!bytes_within(v.length, offset, size))
    return false;
  *part = (struct view){v.data + offset, (size_t)size};
  return true;
}

/* The first section of a kind; false: none, or it lies outside the file. */
static bool find_section(struct view file, enum section_kind kind,
                         struct view *section) {
  uint32_t count = bytes_u32(file.data + AT_SECTIONS);
  for (uint32_t i = 0; i < count && i < MAX_SECTIONS; i++) {
    struct view h;
    if (!view_part(file, HEADER_BYTES + (uint64_t)i * SECTION_HEADER_BYTES,
                   SECTION_HEADER_BYTES, &h))
      return false;
    if (bytes_u32(h.data) == (uint32_t)kind)
      return view_part(file, bytes_u64(h.data + SECTION_AT_OFFSET),
                       bytes_u64(h.data + SECTION_AT_SIZE), section);
  }
  return false;
}

/* An {count, offset} array inside a section, elements of `size` bytes. */
static bool view_array(struct view section, const uint8_t *array, size_t size,
                       struct view *part, uint32_t *count) {
  *count = bytes_u32(array);
  return view_part(section, bytes_u32(array + 4), (uint64_t)*count * size,
                   part);
}

static bool read_partition(struct view s, struct xclbin_info *info,
                           struct view *pdi, struct diag *d) {
  struct view starts, entry;
  uint32_t count;
  if (s.length < PARTITION_BYTES)
    return diag_error(d, loc_none(),
                      "xclbin: AIE_PARTITION has %zu bytes, "
                      "less than its header",
                      s.length);
  info->columns = bytes_u16(s.data + PARTITION_AT_WIDTH);
  if (!view_array(s, s.data + PARTITION_AT_STARTS, 2, &starts, &count))
    return diag_error(d, loc_none(),
                      "xclbin: start columns lie outside "
                      "AIE_PARTITION");
  for (uint32_t i = 0; i < count && i < 8; i++)
    info->start_columns[info->start_column_count++] =
        bytes_u16(starts.data + 2 * i);
  if (!view_array(s, s.data + PARTITION_AT_PDIS, PDI_BYTES, &entry, &count) ||
      count == 0)
    return diag_error(d, loc_none(), "xclbin: AIE_PARTITION holds no PDI");
  if (!view_array(s, entry.data + PDI_AT_IMAGE, 1, pdi, &count))
    return diag_error(d, loc_none(),
                      "xclbin: the PDI lies outside "
                      "AIE_PARTITION");
  return true;
}

/* "NAME:INSTANCE" of the first kernel. */
static void read_ip_layout(struct view s, struct xclbin_info *info) {
  if (s.length < 8 + 80)
    return;
  const char *name = (const char *)s.data + 8 + 16;
  for (size_t i = 0; i < 63 && name[i] && name[i] != ':'; i++)
    info->kernel[i] = name[i];
}

static void read_connectivity(struct view s, struct xclbin_info *info) {
  uint32_t count = s.length < 4 ? 0 : bytes_u32(s.data);
  for (uint32_t i = 0; i < count; i++) {
    if (!bytes_within(s.length, 4 + 12 * (uint64_t)i, 12))
      return;
    uint32_t argument = bytes_u32(s.data + 4 + 12 * (size_t)i);
    if (argument < FIRST_BUFFER || argument > 127)
      continue;
    int buffers = (int)argument - FIRST_BUFFER + 1;
    if (buffers > info->buffer_arguments)
      info->buffer_arguments = buffers;
  }
}

bool xclbin_read(const void *xclbin, size_t length, struct xclbin_info *info,
                 const void **pdi, size_t *pdi_length, struct diag *d) {
  struct view file = {xclbin, length}, section = {0}, image = {0};
  *info = (struct xclbin_info){0};
  if (length < HEADER_BYTES || memcmp(file.data, "xclbin2", 8) != 0)
    return diag_error(d, loc_none(),
                      "not an xclbin: it does not start with "
                      "'xclbin2' and a header of %d bytes",
                      HEADER_BYTES);
  uint64_t said = bytes_u64(file.data + AT_LENGTH);
  if (said < HEADER_BYTES || said > length)
    return diag_error(d, loc_none(),
                      "xclbin: the header says %llu bytes, the "
                      "file has %zu",
                      (unsigned long long)said, length);
  file.length = (size_t)said;
  memcpy(info->uuid, file.data + AT_UUID, sizeof info->uuid);
  if (!find_section(file, SECTION_AIE_PARTITION, &section))
    return diag_error(d, loc_none(),
                      "xclbin: no AIE_PARTITION section within "
                      "the file");
  if (!read_partition(section, info, &image, d))
    return false;
  if (find_section(file, SECTION_IP_LAYOUT, &section))
    read_ip_layout(section, info);
  if (find_section(file, SECTION_CONNECTIVITY, &section))
    read_connectivity(section, info);
  *pdi = image.data;
  *pdi_length = image.length;
  return true;
}
