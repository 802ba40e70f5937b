/* tool.h -- the program `nputeir`: one sub-command per stage of the road.
 *
 * A sub-command is a row of commands.def and a struct tool_command in a file
 * of its own: a table of its options, from which the words of a call are read
 * and the help text is printed, and a function that does the job.  The driver
 * (tool.c) owns the memory of a call and prints its diagnostic before that
 * memory goes; a sub-command cannot close an arena (arena_close is poisoned).
 *
 * Exit statuses are stable: 0 done, 1 the job failed, 2 the words of the call
 * are wrong.
 */
#ifndef NPUTEIR_TOOL_H
#define NPUTEIR_TOOL_H

#include "array.h"

enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

/* One call. */
struct tool {
  struct arena *arena; /* lives until the diagnostic is printed */
  struct text out;     /* what tool_print prints */
  struct diag diag;    /* why the job failed */
  bool misused;        /* diag is about the words of the call */
  bool json;           /* what keys.h prints is JSON */
  const char *name;    /* "kernel gemm", for messages */
  const char *option;  /* that is being read */
  int64_t low, high;   /* of the row that is being read */
  char **rest; /* words behind "--" or an operand, where a row says so */
  int rest_count;
};

/* ---- tables ---- */

enum {
  TOOL_NEEDED = 1, /* a call without it is wrong */
  TOOL_MANY = 2,   /* may be given more than once */
  TOOL_REST = 4,   /* an operand; what follows it is the call's rest */
};

/* "--types" takes the word behind it where `value` names it.  Operands, whose
 * names begin with no dash, are taken in the order of their rows; "--" takes
 * the rest of the call. */
struct tool_option {
  const char *name, *value;
  /* Reads a word (NULL: a flag) into the field; false after tool_usage or
   * diag_error. */
  bool (*read)(struct tool *, void *field, const char *word);
  size_t field;     /* its offset in the job */
  const char *help; /* %s stands for what `list` adds */
  void (*list)(struct text *);
  int64_t low, high; /* of numbers; or for `read` to use */
  unsigned flags;    /* TOOL_NEEDED, TOOL_MANY */
};

struct tool_command {
  const char *name;
  const char *summary; /* one line for `nputeir help` */
  const char *usage;   /* the words behind the name, a form per line; NULL: as
                          the table tells */
  const char *intro, *notes;   /* paragraphs above and below the options; a line
                                  that begins with a blank stays as it is */
  void (*list)(struct text *); /* what %s in the notes stands for, or NULL */
  const struct tool_option *shared;   /* rows of several commands, or NULL */
  const struct tool_option *options;  /* ended by a row without a name */
  const struct tool_command *actions; /* or NULL; ended likewise */
  const char *action;                 /* what one of them is called */
  size_t job_bytes;
  const void *job; /* what it holds before options; NULL: zeros */
  bool (*run)(struct tool *, void *job); /* false: the call's diag is filled */
};

/* ---- readers of words ---- */

bool tool_flag(struct tool *, void *bool_, const char *);
bool tool_word(struct tool *, void *string, const char *);
/* low..high, decimal or 0x. */
bool tool_number(struct tool *, void *int64, const char *);
bool tool_int(struct tool *, void *int_, const char *);
bool tool_type(struct tool *, void *dtype, const char *);
/* A file or folder that will be written; fails now where that cannot be. */
bool tool_file_to_write(struct tool *, void *string, const char *);
bool tool_folder_to_write(struct tool *, void *string, const char *);
/* A preset by its name, as const struct preset *. */
bool tool_preset(struct tool *, void *preset, const char *);
void tool_list_presets(struct text *); /* their names */
/* An instruction set by its name, as const struct isa *. */
bool tool_isa(struct tool *, void *isa, const char *);
void tool_list_isas(struct text *);
/* A number at *at, which moves behind it; false if none is there or it does
 * not fit into 64 bits. */
bool tool_scan_number(const char **at, int64_t *value);
/* The two parts around the first '='; false after tool_usage. */
bool tool_assignment(struct tool *, const char *word, const char **left,
                     const char **right);

/* ---- what sub-commands share ---- */

/* The words of the call are wrong.  Returns false. */
bool tool_usage(struct tool *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole file; "-" is standard input. */
char *tool_input(struct tool *, const char *path, size_t *length);
/* Text or bytes to `path`, or to standard output when path is NULL or "-". */
bool tool_output(struct tool *, const char *path, const struct text *);
bool tool_print(struct tool *, const char *path); /* t->out */
/* The compiler plugin beside this program's folder, as it was built or
 * installed; NULL: there is none.  compiler.c */
char *tool_find_plugin(struct arena *, struct diag *);
/* Runs a part of the job in memory of its own, freed behind it. */
bool tool_nested(struct tool *, bool (*part)(struct tool *, void *), void *);
/* Runs an action with the job as it is without options. */
bool tool_run_action(struct tool *, const struct tool_command *);

/* ---- inside: common.c, arguments.c, help.c ---- */

/* A job as it is without options. */
void *tool_new_job(struct tool *, const struct tool_command *);
bool tool_read_arguments(struct tool *, const struct tool_command *,
                         const struct tool_command *action, void *job, int argc,
                         char **argv);
void tool_help(const struct tool_command *, const struct tool_command *action,
               struct text *);
extern const char tool_statuses[]; /* exit statuses, a sentence */
extern const struct tool_option tool_options_of_all[]; /* --help, .. */
/* "usage: nputeir nest FILE .." and further lines. */
void tool_help_usage(const struct tool_command *,
                     const struct tool_command *action, struct text *);
/* Words with what `list` prints, unless it is NULL, in the place of their %s.
 */
void tool_expand(struct text *, const char *words, void (*list)(struct text *));
/* Breaks lines before column 80; all but the first begin at `column`, and the
 * first stands there already. */
void tool_wrap(struct text *, int column, const char *text);

/* ---- man.c, completion.c: from the same tables ---- */
void tool_man(const struct tool_command *, struct text *);
void tool_man_overview(const struct tool_command *const *, int count,
                       const char *intro, struct text *);
void tool_complete_bash(const struct tool_command *const *, int count,
                        struct text *);
void tool_complete_zsh(const struct tool_command *const *, int count,
                       struct text *);

/* The whole program. */
int tool_main(int argc, char **argv);

#ifndef NPUTEIR_TOOL_DRIVER
#pragma GCC poison arena_open arena_close
#endif

#endif
