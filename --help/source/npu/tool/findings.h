/* findings.h -- what the plugin says of the nests of a compilation: the file
 * that NPUTEIR_REPORT names has a JSON object per nest and line. */
#ifndef NPUTEIR_TOOL_FINDINGS_H
#define NPUTEIR_TOOL_FINDINGS_H

#include "base.h"

#define FINDING_STRING const char * /* NULL: the key is not there */
#define FINDING_NUMBER int          /* 0: it is not there */
#define FINDING_FLAG bool
struct finding {
#define KEY(name, kind, ...) FINDING_##kind name;
#include "findings.def"
#undef KEY
  const char *text; /* the object as it was read, without a line's end */
};

struct findings {
  int count, taken;
  struct finding *item;
};

/* The nests of a report in their order.  False and *d: it cannot be read, or is
 * none. */
bool findings_read(struct arena *, const char *path, struct findings *,
                   struct diag *);
/* A table of the keys for people, and as a JSON Schema of an object. */
void findings_list_keys(struct text *);
void findings_schema(struct text *);

#endif
