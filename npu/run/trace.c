/* trace.c -- one line on stderr per replaced call when NPUTEIR_TRACE=1
 * (summary.c has the one line of NPUTEIR_TRACE=summary):
 *
 *   nputeir: einsum=mk,kn->mn sizes=m:64,n:64,k:32 types=bf16,bf16,f32
 *   device=sim status=done reason=- launches=1 compiled=1 configured=1
 *   cycles=5342 core_util=0.912 host_bytes=20480 packed=- where="gemm.c:12 f"
 *
 * (in one line).  A declined call has status=declined and its reason.  Words
 * with blanks stand in double quotes; a word that is not known is -, a number
 * 0.  Behind the types stand tail=<expression> where the product has one and
 * f32=bf16 or f32=bf16x3 where inputs were rounded or split, bf16=bfp16 where
 * they became block floats.  compiled: the
 * call built a launch.  configured: the device had to load a configuration, of
 * which shapes with the same blocks share one.  core_util: cycles in which a
 * core's multiplier issued, of all cycles of all cores from the first to the
 * last in which the array did something.  host_bytes: what the
 * host copied between the call's tensors and device buffers.  packed: tensors
 * whose elements it had to lay otherwise on that way, each with the reason:
 *
 *   stride  words of 4 bytes do not reach every row, or axes do not fuse
 *   extent  no blocks end with the tensor, or only such as cost a fifth more
 *   cost    short rows would cost the device more time than the copy
 *   descriptor  more dimensions than a descriptor has
 *   size    the work is cut into launches
 *   type    elements are converted
 *   span    most bytes from the first element to the last are not the tensor's
 *   add     results are added to old contents
 *   tail    results become what is stored
 *   zeros   elements that do not count are zeros in a copy
 *   made    what is multiplied is made of the elements
 *
 * Behind that stand rule=, for the first four of these by tensor the rule of
 * the hardware with the number that breaks it; epilogue=cores or epilogue=host,
 * where a tail makes results of the sums or they are added to old contents: who
 * does it; and changed=, where another configuration was loaded: the bytes of
 * transactions that changed it, and of what these brought to the array; and
 * resident=, the launches of a transaction that was on the device or stays
 * there.
 *
 * Of a device on which launches cost time, behind that stand build_us=,
 * copy_us= and launch_us=, the microseconds of making launches, of copies and
 * conversions on the host, and of waiting for the device; and, where loop or
 * device was to be chosen (gate.c), loop_us= and device_us=, those that the
 * call was expected to take.
 */
#include "parts.h"

#include <string.h>

/* " key=word", with ' for " inside, so that the line stays readable for
 * programs. */
static void put(struct text *t, const char *key, const char *word) {
  if (!word || !*word)
    word = "-";
  const char *quote = strpbrk(word, " \"\n\t") ? "\"" : "";
  text_printf(t, " %s=%s", key, quote);
  for (; *word; word++)
    text_printf(t, "%c",
                *word == '"'                     ? '\''
                : *word == '\n' || *word == '\t' ? ' '
                                                 : *word);
  text_puts(t, quote);
}

static void put_packed(struct text *t, const char *const packed[TENSORS]) {
  static const char *const name[] = {"in0", "in1", "out"};
  struct text list = {0};
  for (int i = 0; i < TENSORS; i++)
    if (packed[i])
      text_printf(&list, "%s%s:%s", list.length ? "," : "", name[i], packed[i]);
  put(t, "packed", text_string(&list));
  text_free(&list);
}

/* The rules of the hardware behind them. */
static void put_rules(struct text *t, const struct run_report *r) {
  static const char *const name[] = {"in0", "in1", "out"};
  struct text list = {0};
  for (int i = 0; i < TENSORS; i++)
    if (r->packed[i] && r->rule[i])
      text_printf(&list, "%s%s: %s", list.length ? "; " : "", name[i],
                  r->rule[i]);
  if (list.length)
    put(t, "rule", text_string(&list));
  text_free(&list);
}

void trace_report(const struct run_report *r, const char *where) {
  double util = r->counts.core_cycles ? (double)r->counts.mac_cycles /
                                            (double)r->counts.core_cycles
                                      : 0;
  struct text t = {0};
  text_puts(&t, "nputeir:");
  put(&t, "einsum", r->einsum);
  put(&t, "sizes", r->sizes);
  put(&t, "types", r->types);
  if (r->tail[0])
    put(&t, "tail", r->tail);
  if (r->f32)
    put(&t, "f32", r->f32);
  if (r->by_blocks)
    put(&t, "bf16", "bfp16");
  put(&t, "device", r->device);
  put(&t, "status", r->done ? "done" : "declined");
  put(&t, "reason", r->done ? NULL : r->reason.text);
  text_printf(&t,
              " launches=%lld compiled=%d configured=%d cycles=%llu "
              "core_util=%.3f",
              (long long)r->launches, r->compiled, r->counts.configured,
              (unsigned long long)r->counts.cycles, util);
  text_printf(&t, " host_bytes=%lld", (long long)r->host_bytes);
  put_packed(&t, r->packed);
  put_rules(&t, r);
  if (r->epilogue)
    put(&t, "epilogue", r->epilogue);
  if (r->counts.changed_bytes)
    text_printf(&t, " changed=%llu",
                (unsigned long long)r->counts.changed_bytes);
  if (r->counts.resident)
    text_printf(&t, " resident=%lld", (long long)r->counts.resident);
  if (r->done && r->real)
    text_printf(&t, " build_us=%.1f copy_us=%.1f launch_us=%.1f",
                1e6 * r->seconds.build, 1e6 * r->seconds.copy,
                1e6 * r->seconds.launch);
  if (r->predicted.device > 0)
    text_printf(&t, " loop_us=%.1f device_us=%.1f", 1e6 * r->predicted.loop,
                1e6 * r->predicted.device);
  put(&t, "where", where);
  text_puts(&t, "\n");
  fputs(text_string(&t), stderr); /* in one piece: threads may trace, too */
  text_free(&t);
}
