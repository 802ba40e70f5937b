/* freestanding.c -- what tests need of a C library, by Linux system calls: for
 * targets whose library is not installed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined __aarch64__
enum { WRITE = 64, EXIT = 93, MMAP = 222, MPROTECT = 226 };
__asm__(".globl _start\n_start: mov x29, #0\n bl begin\n");
static long call(long n, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
#elif defined __powerpc64__
enum { WRITE = 4, EXIT = 1, MMAP = 90, MPROTECT = 125 };
__asm__(".abiversion 2\n.globl _start\n_start:\n"
        "addis 2,12,.TOC.-_start@ha\naddi 2,2,.TOC.-_start@l\n"
        "stdu 1,-64(1)\nbl begin\nnop\n");
static long call(long n, long a, long b, long c, long d, long e, long f) {
  register long r0 __asm__("r0") = n, r3 __asm__("r3") = a;
  register long r4 __asm__("r4") = b, r5 __asm__("r5") = c;
  register long r6 __asm__("r6") = d, r7 __asm__("r7") = e;
  register long r8 __asm__("r8") = f;
  __asm__ volatile("sc\n\tbns+ 1f\n\tneg %1,%1\n1:"
                   : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7),
                     "+r"(r8)
                   :
                   : "memory", "cr0", "ctr", "r9", "r10", "r11", "r12");
  return r3;
}
#endif

int main(void);
__attribute__((used)) _Noreturn void begin(void) {
  call(EXIT, main(), 0, 0, 0, 0, 0);
  __builtin_unreachable();
}

void abort(void) {
  call(EXIT, 134, 0, 0, 0, 0, 0);
  __builtin_unreachable();
}

void *mmap(void *at, size_t size, int may, int how, int file, long offset) {
  long to = call(MMAP, (long)at, (long)size, may, how, file, offset);
  return to < 0 && to > -4096 ? MAP_FAILED : (void *)to;
}

int mprotect(void *at, size_t size, int may) {
  return (int)call(MPROTECT, (long)at, (long)size, may, 0, 0, 0);
}

/* The last one is freed first, or all are kept. */
static char heap[64 << 20] __attribute__((aligned(64)));
static size_t used;

void *malloc(size_t size) {
  size_t whole = (size + 127) / 64 * 64;
  if (whole > sizeof heap - used)
    return NULL;
  *(size_t *)(heap + used) = used;
  void *to = heap + used + 64;
  used += whole;
  return used <= sizeof heap ? to : NULL;
}

void free(void *p) {
  if (p)
    used = *(size_t *)((char *)p - 64);
}

void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++)
    ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int c, size_t n) {
  for (size_t i = 0; i < n; i++)
    ((volatile char *)to)[i] = (char)c;
  return to;
}

int bcmp(const void *a, const void *b, size_t n) { // memcmp, compared with 0
  const char *x = a, *y = b;
  for (; n > 0 && *x == *y; n--)
    x++, y++;
  return n > 0;
}

static void put(const char *s, size_t n) {
  call(WRITE, 1, (long)s, (long)n, 0, 0, 0);
}

static void put_number(long n) {
  char digit[24];
  size_t at = sizeof digit;
  unsigned long left = n < 0 ? 0ul - (unsigned long)n : (unsigned long)n;
  do
    digit[--at] = (char)('0' + left % 10);
  while (left /= 10);
  if (n < 0)
    digit[--at] = '-';
  put(digit + at, sizeof digit - at);
}

/* %s, %d, %ld */
int printf(const char *format, ...) {
  va_list args;
  va_start(args, format);
  for (const char *p = format; *p; p++) {
    if (*p != '%') {
      put(p, 1);
    } else if (*++p == 's') {
      const char *s = va_arg(args, const char *);
      for (; *s; s++)
        put(s, 1);
    } else if (*p == 'd') {
      put_number(va_arg(args, int));
    } else {
      p++;
      put_number(va_arg(args, long));
    }
  }
  va_end(args);
  return 0;
}
