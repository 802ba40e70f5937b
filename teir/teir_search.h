/* teir_search.h -- chooses blocks of M, N and K for any machine: a grid of
 * cores with streams between them, or a processor with caches.
 *
 * A machine says which blocks there are and what each costs; the search knows
 * nothing else of it.  Costs are in any unit, the same for all blocks of one
 * search.
 */
#ifndef NPUTEIR_TEIR_SEARCH_H
#define NPUTEIR_TEIR_SEARCH_H

#include "teir.h"

struct teir_blocks {
  int64_t block[TEIR_ROLES]; /* elements along M, N and K */
  int form; /* from 1: what else a machine chooses, as buffers of out */
};

struct teir_model {
  void *self;               /* the machine's own, handed to its functions */
  int64_t unit[TEIR_ROLES]; /* blocks are multiples of these */
  int64_t most[TEIR_K];     /* along M and N */
  int forms;
  /* Which of blocks that cost the same is preferred; and whether large blocks
   * are looked at first, which finds good ones soon where small ones are poor.
   */
  bool deepest_first, largest_first;
  /* The deepest block of K worth trying on a block of M and N; 0: none is
   * better than `best`; -1: this block, and all wider ones, do not fit. */
  int64_t (*depth)(void *self, const struct teir_blocks *, double best);
  /* Of all work in such blocks; HUGE_VAL: it does not fit, or is no better
   * than `best`. */
  double (*price)(void *self, const struct teir_blocks *, double best);
};

struct teir_found {
  struct teir_blocks blocks;
  double cost; /* HUGE_VAL: nothing fits */
};
struct teir_found teir_search(const struct teir_model *);

#endif
