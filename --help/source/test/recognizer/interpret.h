/* interpret.h -- what a nest, and what a contraction, does to memory: both are
 * executed element by element, and know nothing of each other. */
#ifndef NPUTEIR_TEST_INTERPRET_H
#define NPUTEIR_TEST_INTERPRET_H

#include "recognizer.h"

/* Every tensor has MEMORY bytes, and its address is in the middle. */
enum { MEMORY = 1 << 14, NUMBERS = 16 };
struct memory {
  unsigned char *tensor[64];
  int64_t symbol[64];
  unsigned char outside[NUMBERS][8]; /* each in its type */
};

/* false: an access left its tensor, or there was more to do than it is worth.
 */
bool interpret_nest(const struct nest *, struct memory *);
/* false: a guard does not hold, or an axis has no iteration. */
bool interpret_contraction(struct arena *, const struct nest *,
                           const struct contraction *, struct memory *);

#endif
