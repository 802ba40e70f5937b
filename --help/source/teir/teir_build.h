/* teir_build.h -- how the module's own files put programs together.
 *
 * Arrays that these functions make have room for the next power of two, so
 * that adding an element copies only when the count is a power of two.
 * teir_clone gives any program this property; only add to clones.
 */
#ifndef NPUTEIR_TEIR_BUILD_H
#define NPUTEIR_TEIR_BUILD_H

#include "teir.h"

struct teir *teir_clone(struct arena *, const struct teir *);
struct teir *teir_empty(struct arena *, const char *file);

/* Each adds one and gives its index.  Ids are kept, not copied. */
int teir_add_symbol(struct arena *, struct teir *, const char *id);
/* All axes get stride 0 and offset 0 on a new tensor. */
int teir_add_tensor(struct arena *, struct teir *, const char *id, enum dtype);
int teir_add_axis(struct arena *, struct teir *, const char *id,
                  struct value extent);
int teir_add_primitive(struct arena *, struct teir *, const char *id,
                       enum teir_op);
int teir_add_iteration(struct arena *, struct teir *, const char *id, int axis);
int teir_add_invocation(struct arena *, struct teir *, const char *id,
                        int primitive);
void teir_add_property(struct arena *, struct teir *, int primitive,
                       const char *key, const char *value);

void teir_add_guard(struct arena *, struct teir_node *, struct teir_guard_term);
/* From zero on, with no steps; all axes are there. */
struct affine_guard *teir_add_limit(struct arena *, struct teir *, bool below);

void teir_list_add(struct arena *, struct teir_list *, int item);
void teir_list_insert(struct arena *, struct teir_list *, int place, int item);
void teir_list_remove(struct teir_list *, int place);
struct teir_list teir_list_copy(struct arena *, struct teir_list);
int teir_list_find(struct teir_list, int item); /* -1: none */

/* `wish`, or `wish` with the first free number behind it. */
const char *teir_fresh_axis(struct arena *, const struct teir *,
                            const char *wish);
const char *teir_fresh_node(struct arena *, const struct teir *,
                            const char *wish);
const char *teir_fresh_primitive(struct arena *, const struct teir *,
                                 const char *wish);
const char *teir_fresh_tensor(struct arena *, const struct teir *,
                              const char *wish);

/* The list that holds node `n` (a children list or the roots) and its place
 * there; *parent is -1 for a root.  The program is well formed. */
struct teir_list *teir_home(struct teir *, int n, int *parent, int *place);
/* parent[n], -1 for roots.  The program is well formed. */
int *teir_parents(struct arena *, const struct teir *);

/* Forgets nodes that no root leads to and primitives that no node calls; the
 * others keep their order. */
void teir_compact(struct teir *);
/* Forgets axes that no node, guard or primitive names. */
void teir_compact_axes(struct teir *);

/* What every transformation needs: nothing symbolic, addresses that fit. */
bool teir_check_concrete(const struct teir *, struct diag *);
/* The same, and node `n` exists and iterates. */
bool teir_check_loop(const struct teir *, int n, struct diag *);

/* Identifiers by kind, to be looked up often: the first index of this name, -1:
 * none. */
enum teir_kind {
  TEIR_KIND_SYMBOL,
  TEIR_KIND_TENSOR,
  TEIR_KIND_AXIS,
  TEIR_KIND_PRIMITIVE,
  TEIR_KIND_NODE,
  TEIR_KINDS
};
struct teir_names;
struct teir_names *teir_names(struct arena *, const struct teir *);
int teir_names_find(const struct teir_names *, enum teir_kind, const char *id);

/* Characters that need no quotes in an identifier, in a metadata value. */
bool teir_is_word(char);
bool teir_is_value(char);
/* An identifier, in quotes if it needs them. */
void teir_print_id(const char *id, struct text *);
/* The number, or the name of the run-time value. */
void teir_print_size(const struct teir *, struct value, struct text *);
/* A Map's expression by the names of its inputs. */
void teir_print_expression(const struct teir *, const struct teir_primitive *,
                           struct text *);

/* The file a message is about when no line is known. */
struct loc teir_loc(const struct teir *);
/* False, with a message, if there are limits, which most of the module does not
 * know. */
bool teir_check_whole(const struct teir *, struct diag *);
/* False, with a message, if a run-time value is not bound yet. */
bool teir_check_bound(const struct teir *, struct diag *);

#endif
