/* dtype.c -- questions about data types, and element access by type: one
 * function each per row, made from its kind and bits. */
#include "base.h"

#include <assert.h>
#include <string.h>

#include "dtype.def"

/* ---- what a kind says ---- */
#define KIND_HALF DTYPE_FLOAT
#define KIND_FLOAT DTYPE_FLOAT
#define KIND_SIGNED DTYPE_SIGNED
#define KIND_UNSIGNED DTYPE_UNSIGNED

static const struct {
  const char *name;
  int bits;
  enum dtype_kind kind;
  bool half;
} row[] = {
#define IS_HALF_HALF true
#define IS_HALF_FLOAT false
#define IS_HALF_SIGNED false
#define IS_HALF_UNSIGNED false
#define ROW(id, name, bits, kind, ...)                                         \
  {name, bits, KIND_##kind, IS_HALF_##kind},
    DTYPE_ROWS(ROW, )};

/* Integers of all types pass through int64_t: in here, as constants of
 * expressions and TEIR, in conversions. */
#define FITS(id, name, bits, kind, ...)                                        \
  static_assert(bits == 8 || bits == 16 || bits == 32 ||                       \
                    (bits == 64 && KIND_##kind != DTYPE_UNSIGNED),             \
                "type " name " needs more than int64_t");
DTYPE_ROWS(FITS, )

const char *dtype_name(enum dtype t) { return row[t].name; }
int dtype_bytes(enum dtype t) { return row[t].bits / 8; }
enum dtype_kind dtype_kind(enum dtype t) { return row[t].kind; }
bool dtype_is_half(enum dtype t) { return row[t].half; }

bool dtype_is_bf16(enum dtype t) { return t == DTYPE_BF16 || t == DTYPE_BFP16; }

bool dtype_parse(const char *name, enum dtype *t) {
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(name, row[i].name) == 0) {
      *t = (enum dtype)i;
      return true;
    }
  return false;
}

/* ---- elements ---- */

/* A half float is named by its conversions. */
#define F32_OF_BF16 bf16_to_f32
#define F32_OF_BFP16 bf16_to_f32
#define F32_OF_F16 f16_to_f32
#define BF16_OF_F32 bf16_from_f32
#define BFP16_OF_F32 bf16_from_f32
#define F16_OF_F32 f16_from_f32

typedef float float32;
typedef double float64;
#define STORED_HALF(bits) uint##bits##_t
#define STORED_FLOAT(bits) float##bits
#define STORED_SIGNED(bits) int##bits##_t
#define STORED_UNSIGNED(bits) uint##bits##_t

/* From and to a stored v; a double rounded twice would not be to nearest. */
#define NUMBER_HALF(id, v) F32_OF_##id(v)
#define NUMBER_FLOAT(id, v) v
#define NUMBER_SIGNED(id, v) v
#define NUMBER_UNSIGNED(id, v) v
#define FROM_DOUBLE_HALF(id, bits, v) id##_OF_F32(f32_to_odd(v))
#define FROM_DOUBLE_FLOAT(id, bits, v) (float##bits) v
#define FROM_DOUBLE_SIGNED(id, bits, v) (int##bits##_t)(int64_t) v
#define FROM_DOUBLE_UNSIGNED(id, bits, v) (uint##bits##_t)(int64_t) v
#define FROM_INT_HALF(id, bits, v) id##_OF_F32(f32_to_odd((double)v))
#define FROM_INT_FLOAT(id, bits, v) (float##bits)(double) v
#define FROM_INT_SIGNED(id, bits, v) (int##bits##_t) v
#define FROM_INT_UNSIGNED(id, bits, v) (uint##bits##_t) v

int64_t dtype_load_int(enum dtype t, const void *p) {
  switch (t) {
#define LOAD_INT(id, name, bits, kind, ...)                                    \
  case DTYPE_##id: {                                                           \
    STORED_##kind(bits) v;                                                     \
    memcpy(&v, p, sizeof v);                                                   \
    return (int64_t)NUMBER_##kind(id, v);                                      \
  }
    DTYPE_ROWS(LOAD_INT, )
  case DTYPE_COUNT:
    break;
  }
  return 0;
}

double dtype_load_float(enum dtype t, const void *p) {
  switch (t) {
#define LOAD_FLOAT(id, name, bits, kind, ...)                                  \
  case DTYPE_##id: {                                                           \
    STORED_##kind(bits) v;                                                     \
    memcpy(&v, p, sizeof v);                                                   \
    return (double)NUMBER_##kind(id, v);                                       \
  }
    DTYPE_ROWS(LOAD_FLOAT, )
  case DTYPE_COUNT:
    break;
  }
  return 0;
}

void dtype_store_int(enum dtype t, void *p, int64_t v) {
  switch (t) {
#define STORE_INT(id, name, bits, kind, ...)                                   \
  case DTYPE_##id: {                                                           \
    STORED_##kind(bits) s = FROM_INT_##kind(id, bits, v);                      \
    memcpy(p, &s, sizeof s);                                                   \
    return;                                                                    \
  }
    DTYPE_ROWS(STORE_INT, )
  case DTYPE_COUNT:
    break;
  }
}

void dtype_store_float(enum dtype t, void *p, double v) {
  switch (t) {
#define STORE_FLOAT(id, name, bits, kind, ...)                                 \
  case DTYPE_##id: {                                                           \
    STORED_##kind(bits) s = FROM_DOUBLE_##kind(id, bits, v);                   \
    memcpy(p, &s, sizeof s);                                                   \
    return;                                                                    \
  }
    DTYPE_ROWS(STORE_FLOAT, )
  case DTYPE_COUNT:
    break;
  }
}
