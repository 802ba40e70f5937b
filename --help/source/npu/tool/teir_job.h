/* teir_job.h -- one call of `nputeir teir`: its words, the program, the answer.
 */
#ifndef NPUTEIR_TOOL_TEIR_JOB_H
#define NPUTEIR_TOOL_TEIR_JOB_H

#include "teir.h"
#include "teir_lower.h"
#include "tool.h"

enum teir_form {
  TEIR_FORM_UNSAID, /* text */
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
struct teir_job_pairs {
  int count;
  struct teir_job_pair one[TEIR_JOB_PAIRS];
};

struct teir_job {
  struct arena *arena; /* the call's */
  const char *file, *output, *machine, *device;
  bool explain, fast;
  int64_t threads;
  enum teir_form form;
  int words; /* behind the file */
  const char *word[TEIR_JOB_WORDS];
  struct teir_job_pairs bind, in, out_file;
  struct teir *teir;
  bool keep_tec;         /* a TEC is not made into a program */
  const struct tec *tec; /* the file, if it is one */
  struct text out;
  struct diag d;
};

/* teir_change.c: the actions that transform a program; each gives what
 * `nputeir teir` prints. */
bool teir_job_split(struct teir_job *), teir_job_fuse(struct teir_job *),
    teir_job_interchange(struct teir_job *),
    teir_job_reorder(struct teir_job *), teir_job_policy(struct teir_job *),
    teir_job_place(struct teir_job *), teir_job_consume(struct teir_job *),
    teir_job_brgemm(struct teir_job *), teir_job_sink(struct teir_job *),
    teir_job_hoist(struct teir_job *), teir_job_peel(struct teir_job *),
    teir_job_pack(struct teir_job *);

/* teir_show.c: adds the program to the answer in the form asked for; NULL:
 * false. */
bool teir_job_show(struct teir_job *, const struct teir *);
/* NAME=VALUE[,NAME=VALUE] of --bind; NAME=VALUE of --in and --out. */
bool teir_job_read_bind(struct tool *, void *pairs, const char *);
bool teir_job_read_pair(struct tool *, void *pairs, const char *);
bool teir_job_read_out(struct tool *, void *pairs, const char *);
/* Replaces the program by one with its symbols bound. */
bool teir_job_bind(struct teir_job *);
/* The actions `run` and `choose`, in files of their own. */
bool teir_job_run(struct teir_job *);
bool teir_job_choose(struct teir_job *);

#endif
