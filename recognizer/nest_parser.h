/* nest_parser.h -- a nest's text while it is read.  expr_parse.c reads what
 * stands in a line, nest_parse.c the lines.  A function that fails has filled
 * the diagnostic and gives false, -1 or NULL. */
#ifndef NPUTEIR_NEST_PARSER_H
#define NPUTEIR_NEST_PARSER_H

#include "recognizer_parts.h"

enum { NAMES_MAX = 64 };

struct names {
  int count;
  const char *item[NAMES_MAX];
};

struct parser {
  struct scan scan;
  struct arena *arena;
  struct diag *diag;
  struct nest *nest;
  struct names tensor, symbol, scalar, outside;
  enum dtype tensor_type[NAMES_MAX], scalar_type[NAMES_MAX];
  enum dtype outside_type[NAMES_MAX];
  bool tensor_typed[NAMES_MAX], scalar_typed[NAMES_MAX];
  bool tensor_local[NAMES_MAX];
  int tensor_pitch[NAMES_MAX]; /* symbols; -1: none */
  enum dtype type;             /* in which is computed what is being read */
  enum dtype compare;          /* in which comparisons compute */
  bool reassoc;
  int loop, order;
};

bool parser_fail(struct parser *, const char *expected);
/* A name's number; -1: it is new.  The same, and a new one gets a number. */
int parser_find(const struct names *, const char *name);
int parser_intern(struct parser *, struct names *, const char *name);
/* The loop of that name around what is being read; -1: none. */
int parser_loop(const struct parser *, const char *name);
/* A scalar has the type of the statement that names it first. */
int parser_scalar(struct parser *, const char *name);

/* A number or a run-time value. */
bool parser_value(struct parser *, struct value *);
/* An element of tensor `name`, behind its bracket. */
bool parser_access(struct parser *, char *name, struct nest_access *);
/* What the statement assigns, from = or += on. */
bool parser_assigned(struct parser *, struct nest_statement *);

#endif
