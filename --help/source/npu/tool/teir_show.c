/* teir_show.c -- the program that an action of `nputeir teir` gives, in the
 * form that was asked for. */
#include "teir_dump.h"
#include "teir_job.h"
#include "teir_json.h"
#include "teir_tec.h"

static bool show_tec(struct teir_job *j, const struct teir *t) {
  struct tec c;
  if (!teir_to_tec(t, &c, &j->d))
    return false;
  tec_print(&c, &j->out);
  return true;
}

bool teir_job_show(struct teir_job *j, const struct teir *t) {
  if (!t)
    return false;
  bool whole = j->form <= TEIR_FORM_TEXT || j->form == TEIR_FORM_JSON;
  if (t->limit_count && !whole)
    return diag_error(&j->d, t->limit[0].at, "only text and JSON have limits");
  switch (j->form) {
  case TEIR_FORM_UNSAID:
  case TEIR_FORM_TEXT:
    teir_print(t, &j->out);
    return true;
  case TEIR_FORM_TREE:
    teir_print_tree(t, &j->out);
    return true;
  case TEIR_FORM_DOT:
    teir_print_dot(t, &j->out);
    return true;
  case TEIR_FORM_JSON:
    teir_json_print(t, &j->out);
    return true;
  case TEIR_FORM_TEC:
    return show_tec(j, t);
  }
  return false;
}
