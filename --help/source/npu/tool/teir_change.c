/* teir_change.c -- the actions of `nputeir teir` that transform a program. */
#include "teir_branch.h"
#include "teir_job.h"
#include "teir_transform.h"

#include <string.h>

static bool take_axis(struct teir_job *j, int word, int *axis) {
  *axis = teir_find_axis(j->teir, j->word[word]);
  return *axis >= 0 ||
         diag_error(&j->d, loc_none(), "there is no axis '%s'", j->word[word]);
}

static bool take_node(struct teir_job *j, int word, int *node) {
  *node = teir_find_node(j->teir, j->word[word]);
  return *node >= 0 ||
         diag_error(&j->d, loc_none(), "there is no node '%s'", j->word[word]);
}

static bool take_count(struct teir_job *j, int word, int64_t *count) {
  struct scan s = scan_open(NULL, j->word[word]);
  return (scan_int(&s, count) && scan_end(&s)) ||
         diag_error(&j->d, loc_none(), "'%s' is no number", j->word[word]);
}

/* The place of a word in a list that NULL ends. */
static bool take_choice(struct teir_job *j, int word, const char *const *list,
                        int *choice) {
  struct text known = {0};
  for (int i = 0; list[i]; i++) {
    if (strcmp(j->word[word], list[i]) == 0) {
      *choice = i;
      text_free(&known);
      return true;
    }
    text_printf(&known, "%s%s", i ? ", " : "", list[i]);
  }
  diag_error(&j->d, loc_none(), "'%s' is none of %s", j->word[word],
             text_string(&known));
  text_free(&known);
  return false;
}

bool teir_job_split(struct teir_job *j) {
  int axis;
  int64_t inner;
  return take_axis(j, 0, &axis) && take_count(j, 1, &inner) &&
         teir_job_show(j, teir_split(j->arena, j->teir, axis, inner, &j->d));
}

bool teir_job_fuse(struct teir_job *j) {
  int node;
  return take_node(j, 0, &node) &&
         teir_job_show(j, teir_fuse(j->arena, j->teir, node, &j->d));
}

bool teir_job_interchange(struct teir_job *j) {
  int node;
  return take_node(j, 0, &node) &&
         teir_job_show(j, teir_interchange(j->arena, j->teir, node, &j->d));
}

bool teir_job_reorder(struct teir_job *j) {
  int node[TEIR_JOB_WORDS];
  for (int i = 0; i < j->words; i++)
    if (!take_node(j, i, &node[i]))
      return false;
  return teir_job_show(j,
                       teir_reorder(j->arena, j->teir, node, j->words, &j->d));
}

bool teir_job_policy(struct teir_job *j) {
  static const char *const name[] = {"sequential", "parallel", NULL};
  int node, choice;
  return take_node(j, 0, &node) && take_choice(j, 1, name, &choice) &&
         teir_job_show(j, teir_set_policy(j->arena, j->teir, node,
                                          (enum teir_policy)choice, &j->d));
}

bool teir_job_place(struct teir_job *j) {
  static const char *const name[] = {"anywhere", "rows", "columns", "time",
                                     NULL};
  int node, choice;
  return take_node(j, 0, &node) && take_choice(j, 1, name, &choice) &&
         teir_job_show(j, teir_set_place(j->arena, j->teir, node,
                                         (enum teir_place)choice, &j->d));
}

bool teir_job_consume(struct teir_job *j) {
  static const char *const name[] = {"M", "N", "K", NULL};
  int node, role = TEIR_ROLES;
  return take_node(j, 0, &node) &&
         (j->words == 1 || take_choice(j, 1, name, &role)) &&
         teir_job_show(j, teir_consume(j->arena, j->teir, node,
                                       (enum teir_role)role, &j->d));
}

bool teir_job_brgemm(struct teir_job *j) {
  int primitive = teir_find_primitive(j->teir, j->word[0]);
  int64_t inner;
  if (primitive < 0)
    return diag_error(&j->d, loc_none(), "there is no primitive '%s'",
                      j->word[0]);
  return take_count(j, 1, &inner) &&
         teir_job_show(j,
                       teir_brgemm(j->arena, j->teir, primitive, inner, &j->d));
}

bool teir_job_sink(struct teir_job *j) {
  int node, into;
  return take_node(j, 0, &node) && take_node(j, 1, &into) &&
         teir_job_show(j, teir_sink(j->arena, j->teir, node, into, &j->d));
}

bool teir_job_hoist(struct teir_job *j) {
  int node;
  return take_node(j, 0, &node) &&
         teir_job_show(j, teir_hoist(j->arena, j->teir, node, &j->d));
}

bool teir_job_peel(struct teir_job *j) {
  int node, axis;
  int64_t main;
  return take_node(j, 0, &node) && take_axis(j, 1, &axis) &&
         take_count(j, 2, &main) &&
         teir_job_show(j,
                       teir_peel(j->arena, j->teir, node, axis, main, &j->d));
}

bool teir_job_pack(struct teir_job *j) {
  int node, tensor = teir_find_tensor(j->teir, j->word[1]);
  if (tensor < 0)
    return diag_error(&j->d, loc_none(), "there is no tensor '%s'", j->word[1]);
  return take_node(j, 0, &node) &&
         teir_job_show(j, teir_pack(j->arena, j->teir, node, tensor, &j->d));
}
