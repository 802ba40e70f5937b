/* find.c -- parts of a design by their names. */
#include "design.h"

#include <string.h>

const struct design_lock *design_find_lock(const struct design *x, int column,
                                           int row, const char *name) {
  for (int i = 0; i < x->lock_count; i++)
    if (x->lock[i].column == column && x->lock[i].row == row &&
        strcmp(x->lock[i].name, name) == 0)
      return &x->lock[i];
  return NULL;
}

const struct design_buffer *design_find_buffer(const struct design *x,
                                               int column, int row,
                                               const char *name) {
  for (int i = 0; i < x->buffer_count; i++)
    if (x->buffer[i].column == column && x->buffer[i].row == row &&
        strcmp(x->buffer[i].name, name) == 0)
      return &x->buffer[i];
  return NULL;
}
