/* forms.h -- loop nests in uniform functions, so that one file says what the
 * compiler must take or decline (clang's -verify reads the expected remarks)
 * and is also run, with and without the plugin, by run.c.
 *
 * A and B hold 64 * 64 elements, C holds 64 * 64, x and y are sizes that a form
 * may use as it likes.  Every form is called with small, zero and negative
 * sizes and with arrays that overlap. */
#ifndef FORMS_H
#define FORMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum form_kind { FORM_INT, FORM_FLOAT };
struct form {
  const char *name;
  void *function;
  enum form_kind kind;
};

#define REGISTER(name, kind)                                                   \
  static const struct form form_##name __attribute__((                         \
      used, section("forms"), aligned(8))) = {#name, (void *)name, kind};

#define INT_FORM(name)                                                         \
  void name(int M, int N, int K, int32_t *C, const int8_t *A,                  \
            const int8_t *B);                                                  \
  REGISTER(name, FORM_INT)                                                     \
  void name(int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B)

#if __clang_major__ < 15 // no __bf16 on x86: such forms only have to compile
#define __bf16 float
#define REGISTER_BF16(name)
#else
#define REGISTER_BF16(name) REGISTER(name, FORM_FLOAT)
#endif

#define BF16_FORM(name)                                                        \
  void name(int M, int N, int K, float *C, const __bf16 *A, const __bf16 *B);  \
  REGISTER_BF16(name)                                                          \
  void name(int M, int N, int K, float *C, const __bf16 *A, const __bf16 *B)

#endif
