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

/* Whether clang would compile a file of that name, and not link it. */
bool compiler_takes(const char *file);
enum { COMPILER_WORDS = 224 };
/* Compiles the file to nothing, and reads what the plugin says of its nests.
 * False and the call's diag unless the compiler succeeds; what was found until
 * it failed is in *findings all the same. */
bool compiler_run(struct tool *, const struct compiler_job *,
                  struct findings *);

#endif
