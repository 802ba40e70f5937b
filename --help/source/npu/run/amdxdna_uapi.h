/* amdxdna_uapi.h -- what the amdxdna kernel driver and the DRM core exchange
 * with user space: the numbers of their calls and the structures that these
 * take (doc/hardware/driver.md, "Numbers").  Linux 6.14 to 7.x.  Fields called
 * zero must be 0.
 */
#ifndef NPUTEIR_AMDXDNA_UAPI_H
#define NPUTEIR_AMDXDNA_UAPI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* CALL(name, number for ioctl, structure) */
#define AMDXDNA_CALLS(CALL)                                                    \
  CALL(VERSION, 0xC0406400u, xdna_version)                                     \
  CALL(GEM_CLOSE, 0x40086409u, xdna_gem_close)                                 \
  CALL(SYNCOBJ_DESTROY, 0xC00864C0u, xdna_syncobj_destroy)                     \
  CALL(TIMELINE_WAIT, 0xC02864CAu, xdna_timeline_wait)                         \
  CALL(CREATE_CONTEXT, 0xC0386440u, xdna_create_context)                       \
  CALL(DESTROY_CONTEXT, 0xC0086441u, xdna_destroy_context)                     \
  CALL(CONFIG_CONTEXT, 0xC0186442u, xdna_config_context)                       \
  CALL(CREATE_BUFFER, 0xC0206443u, xdna_create_buffer)                         \
  CALL(BUFFER_INFO, 0xC0306444u, xdna_buffer_info)                             \
  CALL(SYNC_BUFFER, 0xC0186445u, xdna_sync_buffer)                             \
  CALL(EXECUTE, 0xC0386446u, xdna_execute)                                     \
  CALL(GET_INFO, 0xC0106447u, xdna_get_info)                                   \
  CALL(WAIT_COMMAND, 0x40106449u, xdna_wait_command)

struct xdna_version {
  int32_t major, minor, patch;
  uint64_t name_length;
  char *name;
  uint64_t date_length;
  char *date;
  uint64_t description_length;
  char *description;
};

struct xdna_gem_close {
  uint32_t handle, zero;
};

struct xdna_syncobj_destroy {
  uint32_t handle, zero;
};

enum { XDNA_WAIT_FOR_SUBMIT = 2 };
struct xdna_timeline_wait {
  uint64_t handles, points; /* pointers to uint32_t and uint64_t */
  int64_t deadline_ns;      /* CLOCK_MONOTONIC */
  uint32_t count, flags, first_signaled, zero;
};

/* All zero: no request, and so the highest clock.  The driver copies the size
 * that it knows. */
struct xdna_qos {
  uint32_t word[8];
};
enum { XDNA_QOS_START_COLUMN = 6, XDNA_NO_START_COLUMN = 0xFF };

struct xdna_create_context {
  uint64_t zero0, zero1;
  uint64_t qos; /* pointer */
  uint32_t zero2, zero3, max_operations, tiles, memory_bytes;
  uint32_t doorbell, handle, syncobj; /* out */
};

struct xdna_destroy_context {
  uint32_t handle, zero;
};

/* Which program a context runs, said once. */
struct xdna_units {
  uint16_t count, zero[3];
  struct {
    uint32_t buffer; /* the PDI, in the heap */
    uint8_t function, zero[3];
  } unit[1];
};
struct xdna_config_context {
  uint32_t handle, kind; /* 0: units */
  uint64_t value;        /* pointer */
  uint32_t value_bytes, zero;
};

enum xdna_buffer_type {
  XDNA_BUFFER_SHARED = 1,
  XDNA_BUFFER_HEAP,
  XDNA_BUFFER_IN_HEAP,
  XDNA_BUFFER_COMMAND,
};
struct xdna_create_buffer {
  uint64_t zero, address, bytes;
  uint32_t type, handle; /* handle: out */
};

/* The program's own memory as a shared buffer of 0 bytes: its address points to
 * this.  Whole pages; not in Linux 6.14. */
struct xdna_user_memory {
  int32_t file; /* XDNA_NO_FILE */
  uint32_t count;
  uint64_t address, bytes;
};
enum { XDNA_NO_FILE = -1 };

#define XDNA_NO_ADDRESS UINT64_MAX
struct xdna_buffer_info {
  uint64_t zero0, zero1;
  uint32_t handle, zero2;
  uint64_t map_offset, user_address, device_address; /* out */
};

enum { XDNA_TO_DEVICE, XDNA_FROM_DEVICE };
struct xdna_sync_buffer {
  uint32_t handle, direction;
  uint64_t offset, bytes;
};

struct xdna_execute {
  uint64_t zero0, zero1;
  uint32_t context, kind; /* 0: a command buffer */
  uint64_t command;       /* its handle */
  uint64_t buffers;       /* pointer to the handles of all that it uses */
  uint32_t command_count, buffer_count;
  uint64_t sequence; /* out */
};

enum {
  XDNA_INFO_ARRAY = 1,
  XDNA_INFO_CLOCKS = 3,
  XDNA_INFO_FIRMWARE = 8,
  XDNA_INFO_RESOURCES = 12, /* newer drivers */
};
struct xdna_get_info {
  uint32_t kind, bytes;
  uint64_t value; /* pointer */
};
struct xdna_firmware {
  uint32_t major, minor, patch, build;
};

/* XDNA_INFO_ARRAY; what its kinds of tiles have is in our own tables. */
struct xdna_array {
  uint32_t column_bytes;
  uint16_t columns, rows;
  uint32_t version[2];
  uint16_t tiles[3][8];
};
struct xdna_clocks {
  struct {
    uint8_t name[16];
    uint32_t mhz, zero;
  } clock[2];
};
struct xdna_resources {
  uint64_t clock_max, tops_max, contexts_max, tops_now, contexts_now;
};

struct xdna_wait_command {
  uint32_t context, milliseconds;
  uint64_t sequence;
};

/* ---- a command buffer: a header word, then as many words as it says ---- */
enum { XDNA_COMMAND_BYTES = 4096 };
enum {
  XDNA_STATE_NEW = 1,
  XDNA_STATE_QUEUED,
  XDNA_STATE_RUNNING,
  XDNA_STATE_COMPLETED,
  XDNA_STATE_ERROR,
  XDNA_STATE_ABORT,
  XDNA_STATE_SUBMITTED,
  XDNA_STATE_TIMEOUT,
  XDNA_STATE_NO_RESPONSE,
};
enum { XDNA_OPCODE_START_UNIT = 0, XDNA_OPCODE_CHAIN = 19, XDNA_TYPE_UNIT = 3 };
static inline uint32_t xdna_header(unsigned opcode, unsigned words) {
  return XDNA_STATE_NEW | words << 12 | opcode << 23 |
         (uint32_t)XDNA_TYPE_UNIT << 28;
}
static inline unsigned xdna_state(uint32_t header) { return header & 15; }
static inline unsigned xdna_words(uint32_t header) {
  return header >> 12 & 0x7FF;
}
static inline unsigned xdna_opcode(uint32_t header) {
  return header >> 23 & 0x1F;
}

/* Words behind the header of XDNA_OPCODE_START_UNIT: a mask of units, then the
 * registers of the unit: the operation (3, a transaction), the transaction's
 * address and number of words, and the addresses of the arguments. */
enum {
  XDNA_WORD_MASK,
  XDNA_WORD_OPERATION,
  XDNA_WORD_TRANSACTION = 3,
  XDNA_WORD_TRANSACTION_WORDS = 5,
  XDNA_WORD_ARGUMENT,
};
enum { XDNA_OPERATION_TRANSACTION = 3, XDNA_ARGUMENTS_MAX = 7 };

/* Words behind the header of XDNA_OPCODE_CHAIN: how many commands there are and
 * at which one it failed, then the handles of their buffers, 8 bytes each.  All
 * are of one opcode, and firmware gets them as slots of 4 KiB together. */
enum {
  XDNA_WORD_CHAIN_COUNT,
  XDNA_WORD_CHAIN_SUBMITTED,
  XDNA_WORD_CHAIN_ERROR,
  XDNA_WORD_CHAIN_HANDLE = 6,
};
enum { XDNA_CHAIN_BYTES = 4096 };

#define XDNA_BYTES(name, number, type)                                         \
  static_assert(((number) >> 16 & 0x3FFF) == sizeof(struct type),              \
                "the call's number has the size of its structure");
AMDXDNA_CALLS(XDNA_BYTES)
#undef XDNA_BYTES

#endif
