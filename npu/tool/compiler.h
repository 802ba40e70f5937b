/* compiler.h -- runs the clang or opt that the plugin was built for on a file
 * of the user's, with the plugin beside this program. */
#ifndef NPUTEIR_TOOL_COMPILER_H
#define NPUTEIR_TOOL_COMPILER_H

#include "findings.h"
#include "tool.h"

enum compiler_language {
  COMPILER_BY_NAME, /* of the file */
  COMPILER_C,
  COMPILER_CXX,
  COMPILER_IR
};

struct compiler_job {
  const char *file; /* "-": standard input */
  enum compiler_language language;
  char **word; /* for clang, in the place of -ffast-math; NULL: none */
  int word_count;
};

extern const char compiler_clang[]; /* for C, of the plugin's LLVM */
/* What the compiler finds there. */
struct compiler_environment {
  const char *report;  /* for NPUTEIR_REPORT; NULL: none */
  const char *options; /* for NPUTEIR_OPTIONS; NULL: as they are */
};
/* Runs a compiler; *took are seconds of its processor time.  False and *d
 * unless it succeeds. */
bool compiler_execute(char **argv, const struct compiler_environment *,
                      double *took, struct diag *d);

/* Whether clang would compile a file of that name, and not link it. */
bool compiler_takes(const char *file);
enum { COMPILER_WORDS = 224 };
/* Compiles the file to nothing, and reads what the plugin says of its nests.
 * False and the call's diag unless the compiler succeeds; what was found until
 * it failed is in *findings all the same. */
bool compiler_run(struct tool *, const struct compiler_job *,
                  struct findings *);

#endif
