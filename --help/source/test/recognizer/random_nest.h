/* random_nest.h -- random nests as text, the same ones of the same seed. */
#ifndef RANDOM_NEST_H
#define RANDOM_NEST_H
#include "base.h"

#include <stdint.h>

void random_seed(uint64_t);
int pick(int choices); /* 0 .. choices - 1 */
bool maybe(int percent);

void random_nest(struct text *);
/* Changes a number, an index, an array, a sign or a line.  The text may grow by
 * a line. */
void random_damage(char *text);

#endif
