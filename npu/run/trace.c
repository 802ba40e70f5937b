/* trace.c -- one line on stderr per replaced call when NPUTEIR_TRACE=1:
 *
 *   nputeir: einsum=mk,kn->mn sizes=m:64,k:32,n:64 types=bf16,bf16,f32
 *   device=sim status=done launches=1 compiled=1 cycles=5342 core_util=0.912
 *   where=gemm.c:12
 *
 * (in one line).  A declined call has status=declined and reason="...".  What
 * is not known is left out of the line's numbers as 0 and of its words as -.
 */
#include "parts.h"

static const char *word(const char *s) { return s && *s ? s : "-"; }

/* A message in double quotes, with ' for " so that the line stays one word. */
static void put_quoted(struct text *t, const char *s) {
  text_puts(t, "\"");
  for (; *s; s++)
    text_printf(t, "%c", *s == '"' ? '\'' : *s == '\n' ? ' ' : *s);
  text_puts(t, "\"");
}

void trace_report(const struct run_report *r, const char *where) {
  double util = r->counts.core_cycles ? (double)r->counts.mac_cycles /
                                            (double)r->counts.core_cycles
                                      : 0;
  struct text t = {0};
  text_printf(&t, "nputeir: einsum=%s sizes=%s types=%s device=%s status=%s ",
              word(r->einsum), word(r->sizes), word(r->types), word(r->device),
              r->done ? "done" : "declined");
  text_puts(&t, "reason=");
  if (r->done)
    text_puts(&t, "-");
  else
    put_quoted(&t, r->reason.text);
  text_printf(&t, " launches=%lld compiled=%d cycles=%llu core_util=%.3f ",
              (long long)r->launches, r->compiled,
              (unsigned long long)r->counts.cycles, util);
  text_printf(&t, "where=%s\n", word(where));
  fputs(text_string(&t), stderr); /* in one piece: threads may trace, too */
  text_free(&t);
}
