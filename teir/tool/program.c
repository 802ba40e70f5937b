/* program.c -- reads a program in whatever form it has. */
#include "teir_program.h"

#include "teir_json.h"
#include "teir_tec.h"

static struct scan open_text(const char *file, const char *text) {
  struct scan s = scan_open(file, text);
  scan_end(&s);
  return s;
}

bool teir_program_is_tec(const char *file, const char *text) {
  struct scan s = open_text(file, text);
  return scan_word(&s, "tec");
}

struct teir *teir_program_parse(struct arena *a, const char *file,
                                const char *text, struct diag *d) {
  struct scan s = open_text(file, text);
  if (*s.at == '{')
    return teir_json_parse(a, file, text, d);
  if (teir_program_is_tec(file, text)) {
    struct tec c;
    return tec_parse(a, file, text, &c, d) ? teir_from_tec(a, &c, d) : NULL;
  }
  struct loc at = scan_loc(&s);
  if (scan_word(&s, "teir"))
    return teir_parse(a, file, text, d);
  diag_error(d, at,
             "the text begins neither with 'teir 1' nor with 'tec 1' or, as "
             "JSON, with '{'");
  return NULL;
}
