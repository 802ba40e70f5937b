/* dtype.c -- questions about data types, and element access by type. */
#include "base.h"

#include <string.h>

static const struct {
  const char *name;
  int bits;
  enum dtype_kind kind;
} type[] = {
#define DTYPE(id, name, bits, kind) {name, bits, kind},
#include "dtype.def"
#undef DTYPE
};

const char *dtype_name(enum dtype t) { return type[t].name; }
int dtype_bytes(enum dtype t) { return type[t].bits / 8; }
enum dtype_kind dtype_kind(enum dtype t) { return type[t].kind; }

bool dtype_parse(const char *name, enum dtype *t) {
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(name, type[i].name) == 0) {
      *t = (enum dtype)i;
      return true;
    }
  return false;
}

int64_t dtype_load_int(enum dtype t, const void *p) {
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
  } v;
  switch (t) {
  case DTYPE_I8:
    return *(const int8_t *)p;
  case DTYPE_U8:
    return *(const uint8_t *)p;
  case DTYPE_I16:
    memcpy(&v, p, 2);
    return v.i16;
  case DTYPE_U16:
    memcpy(&v, p, 2);
    return v.u16;
  case DTYPE_I32:
    memcpy(&v, p, 4);
    return v.i32;
  case DTYPE_U32:
    memcpy(&v, p, 4);
    return v.u32;
  case DTYPE_I64:
    memcpy(&v, p, 8);
    return v.i64;
  case DTYPE_BF16:
  case DTYPE_F16:
  case DTYPE_F32:
  case DTYPE_F64:
  case DTYPE_COUNT:
    break;
  }
  return (int64_t)dtype_load_float(t, p);
}

double dtype_load_float(enum dtype t, const void *p) {
  uint16_t half;
  float f;
  double v;
  switch (t) {
  case DTYPE_BF16:
    memcpy(&half, p, 2);
    return bf16_to_f32(half);
  case DTYPE_F16:
    memcpy(&half, p, 2);
    return f16_to_f32(half);
  case DTYPE_F32:
    memcpy(&f, p, 4);
    return f;
  case DTYPE_F64:
    memcpy(&v, p, 8);
    return v;
  case DTYPE_I8:
  case DTYPE_U8:
  case DTYPE_I16:
  case DTYPE_U16:
  case DTYPE_I32:
  case DTYPE_U32:
  case DTYPE_I64:
  case DTYPE_COUNT:
    break;
  }
  return (double)dtype_load_int(t, p);
}

void dtype_store_int(enum dtype t, void *p, int64_t v) {
  if (type[t].kind == DTYPE_FLOAT)
    dtype_store_float(t, p, (double)v);
  else
    memcpy(p, &v, (size_t)dtype_bytes(t)); /* little endian, as our hosts */
}

void dtype_store_float(enum dtype t, void *p, double v) {
  uint16_t half;
  float f;
  switch (t) {
  case DTYPE_BF16:
    half = bf16_from_f32(f32_to_odd(v));
    memcpy(p, &half, 2);
    return;
  case DTYPE_F16:
    half = f16_from_f32(f32_to_odd(v));
    memcpy(p, &half, 2);
    return;
  case DTYPE_F32:
    f = (float)v;
    memcpy(p, &f, 4);
    return;
  case DTYPE_F64:
    memcpy(p, &v, 8);
    return;
  case DTYPE_I8:
  case DTYPE_U8:
  case DTYPE_I16:
  case DTYPE_U16:
  case DTYPE_I32:
  case DTYPE_U32:
  case DTYPE_I64:
  case DTYPE_COUNT:
    break;
  }
  dtype_store_int(t, p, (int64_t)v);
}
