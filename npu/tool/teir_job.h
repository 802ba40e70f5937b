/* teir_job.h -- one call of `nputeir teir`: its words, the program, the answer.
 */
#ifndef NPUTEIR_TOOL_TEIR_JOB_H
#define NPUTEIR_TOOL_TEIR_JOB_H

#include "teir.h"
#include "teir_lower.h"
#include "tool.h"

enum teir_form {
  TEIR_FORM_TEXT,
  TEIR_FORM_TREE,
  TEIR_FORM_DOT,
  TEIR_FORM_JSON,
  TEIR_FORM_TEC
};
enum { TEIR_JOB_WORDS = 16, TEIR_JOB_PAIRS = 32 };

struct teir_job_pair {
  const char *name, *value;
};

struct teir_job {
  struct arena *arena;
  const char *file, *output, *machine;
  bool explain, fast;
  int64_t threads;
  enum teir_form form;
  int words;
  const char *word[TEIR_JOB_WORDS];
  int bind_count, in_count, out_count;
  struct teir_job_pair bind[TEIR_JOB_PAIRS], in[TEIR_JOB_PAIRS],
      out_file[TEIR_JOB_PAIRS];
  struct teir *teir;
  struct text out;
  struct diag d;
};

/* What follows `nputeir teir`; a NULL name ends a list. */
struct teir_action {
  const char *name;
  int least, most; /* words behind the file */
  bool (*run)(struct teir_job *);
};
extern const struct teir_action teir_changes[];

/* Adds the program to the answer in the form asked for; NULL: false. */
bool teir_job_show(struct teir_job *, const struct teir *);
/* NAME=VALUE[,NAME=VALUE] of --bind, --in or --out; false after a message. */
bool teir_job_option(struct teir_job *, const char *option, const char *value);
/* Replaces the program by one with its symbols bound. */
bool teir_job_bind(struct teir_job *);
/* The actions `run` and `choose`. */
bool teir_job_run(struct teir_job *);
bool teir_job_choose(struct teir_job *);

#endif
