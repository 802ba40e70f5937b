/* report.c -- `nputeir report`: sources as a page with every nest coloured, of
 * files that are compiled for it, or of what a whole build has collected. */
#include "report.h"
#include "compiler.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES = 4096 };

struct job {
  int file_count;
  const char **file; /* or one folder */
  const char *folder;
  bool extra; /* words for the compiler */
  struct report_sizes sizes;
  const struct preset *at;
};

static bool read_file(struct tool *t, void *to, const char *word) {
  struct job *j = to;
  if (!j->file)
    j->file = arena_array(t->arena, FILES, sizeof *j->file);
  if (j->file_count == FILES)
    return tool_usage(t, "more than %d files", FILES);
  j->file[j->file_count++] = word;
  return true;
}

static bool read_bind(struct tool *t, void *to, const char *word) {
  struct report_sizes *s = to;
  const char *name, *value;
  int64_t number;
  if (!tool_assignment(t, word, &name, &value))
    return false;
  if (!tool_scan_number(&value, &number) || *value || number < 1 ||
      number > INT32_MAX)
    return tool_usage(t, "--bind takes NAME=N, not '%s'", word);
  if (s->count == (int)(sizeof s->name / sizeof *s->name))
    return tool_usage(t, "more than %d sizes", s->count);
  s->name[s->count] = name;
  s->value[s->count++] = number;
  return true;
}

static bool is_folder(const char *path) {
  struct stat there;
  return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static bool check_words(struct tool *t, const struct job *j) {
  bool collected = j->file_count == 1 && is_folder(j->file[0]);
  if (collected && j->extra)
    return tool_usage(t, "a folder was compiled already");
  if (!collected && !j->folder)
    return tool_usage(t, "-o FOLDER is missing");
  for (int i = 0; i < j->file_count && !collected; i++)
    if (!compiler_takes(j->file[i]))
      return tool_usage(t, "takes C, C++ or LLVM IR, not '%s'", j->file[i]);
  return t->rest_count <= COMPILER_WORDS ||
         tool_usage(t, "more than %d compiler words", COMPILER_WORDS);
}

/* ---- the nests ---- */

/* Headers are compiled many times, and say the same each time. */
static bool is_known(const struct findings *all, const struct finding *f) {
  for (int i = 0; i < all->count; i++)
    if (strcmp(all->item[i].text, f->text) == 0)
      return true;
  return false;
}

static void add_all(struct arena *a, struct findings *to,
                    const struct findings *more) {
  struct finding *old = to->item;
  to->item = arena_copy(a, old, (size_t)to->count,
                        (size_t)(to->count + more->count + 1), sizeof *old);
  for (int i = 0; i < more->count; i++)
    if (!is_known(to, &more->item[i])) {
      to->item[to->count++] = more->item[i];
      to->taken += more->item[i].taken;
    }
}

/* All files, also behind one that does not compile; false if there is one. */
static bool compile_all(struct tool *t, const struct job *j,
                        struct findings *all) {
  bool good = true;
  for (int i = 0; i < j->file_count; i++) {
    struct compiler_job c = {.file = j->file[i]};
    struct findings more;
    if (j->extra) {
      c.word = t->rest;
      c.word_count = t->rest_count;
    }
    good &= compiler_run(t, &c, &more);
    add_all(t->arena, all, &more);
  }
  return good;
}

static bool collect(struct tool *t, const struct job *j, struct findings *all) {
  struct findings more;
  if (!is_folder(j->file[0]))
    return compile_all(t, j, all);
  const char *path = arena_printf(t->arena, "%s/nests.json", j->file[0]);
  if (!findings_read(t->arena, path, &more, &t->diag))
    return false;
  add_all(t->arena, all, &more);
  return true;
}

/* ---- the page ---- */

static bool write_page(struct tool *t, const struct job *j,
                       const struct findings *all, const char *folder) {
  struct diag d = {0};
  struct text page = {0};
  struct report_plan **plan =
      arena_array(t->arena, (size_t)all->count + 1, sizeof(*plan));
  for (int i = 0; i < all->count; i++)
    if (all->item[i].taken)
      plan[i] = report_plan_of(t, &all->item[i], &j->sizes, j->at);
  report_page(t->arena, all, plan, j->at, &page);
  const char *path = arena_printf(t->arena, "%s/index.html", folder);
  bool good = folder_make(folder, &d) &&
              file_write(path, text_string(&page), page.length, &d);
  text_free(&page);
  if (good)
    text_printf(&t->out, "%s: %d of %d nests taken\n", path, all->taken,
                all->count);
  return good || diag_error(&t->diag, d.at, "%s", d.text);
}

static bool run(struct tool *t, void *job) {
  struct job *j = job;
  struct findings all = {0};
  if (!check_words(t, j))
    return false;
  assert(j->file_count > 0);
  if (!j->at)
    j->at = preset_find("8700g");
  bool compiled = collect(t, j, &all);
  if (!compiled && !all.count)
    return false;
  return write_page(t, j, &all, j->folder ? j->folder : j->file[0]) &&
         tool_print(t, NULL) && compiled;
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE|FOLDER", NULL, read_file, 0,
     .help = "C, C++ or LLVM IR, which are compiled for it; or the folder that "
             "NPUTEIR_REPORT named in a build",
     .flags = TOOL_NEEDED | TOOL_MANY},
    {"-o", "FOLDER", tool_folder_to_write, AT(folder),
     .help = "where index.html goes (default: the folder of the build)"},
    {"--device", "NAME", tool_preset, AT(at),
     .help = "the platform that the gain is of: %s (default 8700g)",
     .list = tool_list_presets},
    {"--size", "N", tool_number, AT(sizes.size),
     .help = "extents that are known at run time only (512)", .low = 1,
     .high = 1 << 20},
    {"--bind", "NAME=N", read_bind, AT(sizes),
     .help = "one of them, by the name in the nest's sizes",
     .flags = TOOL_MANY},
    {"--", NULL, tool_flag, AT(extra),
     .help = "words for the compiler, such as -- -O3 -Iinclude; they replace "
             "-ffast-math"},
    {0},
};

static const struct job defaults = {.sizes = {.size = 512}};

const struct tool_command tool_report = {
    .name = "report",
    .summary = "sources as a page: what was taken, what not, what it gains",
    .usage = "FILE.. -o FOLDER [options] [-- COMPILER WORDS]\n"
             "FOLDER [-o FOLDER] [options]",
    .intro =
        "Writes index.html, one page that any browser shows: the nests, those "
        "first that gain most, and the sources with every nest coloured, taken "
        "for the NPU, as code for the processor, or declined. Beside it stand "
        "the einsum, extents, the schedule, which core computes which blocks, "
        "and predicted times; of a declined one the rule and the change that "
        "would have it taken.",
    .options = options,
    .notes = "Of a whole build: compile it with the plugin, -gline-tables-only "
             "(or any -g), and NPUTEIR_REPORT=FOLDER/ in the environment; then "
             "nputeir report FOLDER. If a file does not compile, the page "
             "shows what was found until then, and the exit status is 1.",
    .job_bytes = sizeof(struct job),
    .job = &defaults,
    .run = run,
};
