/* base.h -- what every module may assume: memory that is freed as a whole, one
 * diagnostic, growing text, a small scanner for our text forms, data types.
 *
 * const arguments are borrowed for the call.  A result that takes an arena
 * lives there and dies with it.  A call that fails returns NULL or false and
 * has filled *d; the first problem in a diag wins.  Out of memory ends the
 * process, as it does in LLVM, or the attempt that memory_try makes, so
 * constructors have no NULL ladder.
 */
#ifndef NPUTEIR_BASE_H
#define NPUTEIR_BASE_H

#include "half.h" /* bf16_to_f32, bf16_from_f32 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- out of memory ---- */
/* Ends the attempt that the thread makes; if it makes none, says so on stderr
 * and ends the process. */
void out_of_memory(size_t size) __attribute__((noreturn));
/* Runs work(with).  False: memory ran out in it, it was left where it stood,
 * undo(with) was called, unless it is NULL, and then the arenas and texts that
 * the work had opened and nobody has closed were closed; those opened before
 * stay open, with what it has put there.  True: what it opened and did not
 * close stays open. */
bool memory_try(void (*work)(void *), void (*undo)(void *), void *with);

/* ---- arena: bump memory, freed as a whole ---- */
struct arena;
struct arena *arena_open(void);
void arena_close(struct arena *);               /* NULL is fine */
void arena_clear(struct arena *);               /* empty; its memory stays */
void *arena_alloc(struct arena *, size_t size); /* zeroed, 16-byte aligned */
/* A zeroed array; the product of count and size is checked. */
void *arena_array(struct arena *, size_t count, size_t size);
/* A copy of `count` elements in room for at least `room` of them. */
void *arena_copy(struct arena *, const void *from, size_t count, size_t room,
                 size_t size);
char *arena_string(struct arena *, const char *); /* a copy */
char *arena_substring(struct arena *, const char *, size_t length);
char *arena_printf(struct arena *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const struct arena *); /* handed out so far */

/* ---- diag: the one way to say that something is wrong ---- */
struct loc {
  const char *file; /* NULL: not from a file */
  int line, col;    /* from 1; line 0: no position known */
};
enum diag_kind { DIAG_NONE, DIAG_DECLINED, DIAG_ERROR };
struct diag {
  enum diag_kind kind;
  struct loc at;
  char text[240];
};
/* Both fill *d unless it is filled already, and return false. */
bool diag_error(struct diag *d, struct loc at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool diag_declined(struct diag *d, struct loc at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "file:line:col: error: text"; parts that are not known are left out. */
void diag_print(const struct diag *, FILE *);
struct loc loc_none(void);

/* ---- text: a growing output buffer, always NUL terminated ---- */
struct text {
  char *data; /* owned; NULL while empty */
  size_t length, capacity;
};
void text_printf(struct text *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_puts(struct text *, const char *);
void text_append(struct text *, const char *bytes, size_t length);
/* Moves what is in the second one behind the first. */
void text_take(struct text *, struct text *from);
/* Room for so many more bytes, so that it grows once. */
void text_expect(struct text *, size_t length);
/* So many zero bytes behind it, which lie there until it grows again. */
char *text_extend(struct text *, size_t length);
const char *text_string(const struct text *); /* "" while empty */
/* Any string as scan_string reads it: "a \"b\"\n", quotes included. */
void text_quote(struct text *, const char *);
bool utf8_valid(const char *bytes, size_t length);
void text_free(struct text *);

/* ---- files ---- */
/* A whole file in memory, NUL terminated behind its *length bytes. */
char *file_read(struct arena *, const char *path, size_t *length,
                struct diag *);
/* Writes beside `path` and renames, so that a reader never sees half a file;
 * a device, a pipe or a link stays what it is and is written to. */
bool file_write(const char *path, const void *bytes, size_t length,
                struct diag *);
/* Makes a folder in one that is there; an old one stays. */
bool folder_make(const char *path, struct diag *);

/* ---- scan: what all our text forms share.  Lines, words, numbers,
 * punctuation; '#' starts a comment.  A scanner holds a position only. ---- */
struct scan {
  const char *file;  /* for messages */
  const char *at;    /* next character */
  const char *start; /* start of the current line */
  int line;
};
struct scan scan_open(const char *file, const char *text);
struct loc scan_loc(const struct scan *); /* of the next token */
/* Blanks and comments inside a line are skipped before every token. */
bool scan_end(struct scan *);         /* no text left (skips empty lines) */
bool scan_end_of_line(struct scan *); /* nothing left in this line */
void scan_next_line(struct scan *);
bool scan_char(struct scan *, char c);           /* takes c if it is next */
bool scan_word(struct scan *, const char *word); /* takes exactly this word */
/* A name: letter or _ first, then letters, digits, _ . $ ; NULL if none. */
char *scan_name(struct scan *, struct arena *);
bool scan_is_name(const char *); /* would it be taken whole? */
/* A quoted string of UTF-8 without raw line ends; \" \\ \n \r \t and \xHH stand
 * for what they do in C.  NULL if none is next, or, with a message, if it is
 * damaged. */
char *scan_string(struct scan *, struct arena *, struct diag *);
/* Decimal or 0x, with sign; false if none is next or it does not fit. */
bool scan_int(struct scan *, int64_t *value);
/* Fails with "expected <what>, found '<token>'" at the next token. */
bool scan_expected(struct scan *, struct diag *, const char *what);

/* ---- data types: one row each in dtype.def ---- */
#include "dtype.def"
#define DTYPE_ID(id, ...) DTYPE_##id,
enum dtype { DTYPE_ROWS(DTYPE_ID, ) DTYPE_COUNT };
#undef DTYPE_ID
#undef DTYPE_ROWS
enum dtype_kind { DTYPE_SIGNED, DTYPE_UNSIGNED, DTYPE_FLOAT };
const char *dtype_name(enum dtype);
int dtype_bytes(enum dtype);
enum dtype_kind dtype_kind(enum dtype);
bool dtype_is_half(enum dtype); /* computed with in f32, and rounded */
bool dtype_is_bf16(enum dtype); /* in memory */
bool dtype_parse(const char *name, enum dtype *);
/* Element access by type; integers and floats convert exactly where they fit.
 * bf16 and f16 are rounded to nearest even when stored. */
double dtype_load_float(enum dtype, const void *);
int64_t dtype_load_int(enum dtype, const void *);
void dtype_store_float(enum dtype, void *, double);
void dtype_store_int(enum dtype, void *, int64_t); /* modulo 2^bits */

#endif
