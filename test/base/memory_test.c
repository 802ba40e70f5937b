/* memory_test.c -- attempts that run out of memory: what they had opened is
 * closed (the sanitizer counts), what stood before them stays. */
#include "base.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct job {
  struct arena *before, *opened;
  struct text text, empty;
  bool fails;
  int reached;
};

static void fill(struct job *j) {
  for (int i = 0; i < 100; i++) {
    arena_alloc(j->before, 1000);
    arena_alloc(j->opened, 1000);
    text_printf(&j->text, "line %d\n", i);
  }
}

static void work(void *with) {
  struct job *j = with;
  struct arena *closed = arena_open();
  j->opened = arena_open();
  struct arena *last = arena_open();
  text_puts(&j->empty, "something");
  fill(j);
  arena_close(closed);
  arena_close(last);
  j->reached = 1;
  if (j->fails)
    arena_array(j->opened, SIZE_MAX / 2, 4);
  j->reached = 2;
}

static void test_success(void) {
  struct job j = {.before = arena_open()};
  CHECK(memory_try(work, NULL, &j) && j.reached == 2);
  CHECK(strcmp(text_string(&j.empty), "something") == 0);
  CHECK(arena_bytes(j.opened) >= 100000);
  fill(&j); /* still open */
  text_free(&j.text);
  text_free(&j.empty);
  arena_close(j.opened);
  arena_close(j.before);
}

static void test_failure(void) {
  struct job j = {.before = arena_open(), .fails = true};
  text_puts(&j.text, "before");
  CHECK(!memory_try(work, NULL, &j) && j.reached == 1);
  CHECK(arena_bytes(j.before) >= 100000);
  j.opened = arena_open(); /* the attempt closed the other */
  fill(&j);
  CHECK(strncmp(text_string(&j.text), "beforeline 0\n", 13) == 0);
  text_free(&j.text);
  arena_close(j.opened);
  arena_close(j.before);
}

/* An attempt inside of another: the inner one catches, what it made when it
 * succeeded survives the outer one's failure. */
static void nest(void *with) {
  struct job *inner = with;
  for (int i = 0; i < 2; i++)
    CHECK(memory_try(work, NULL, &inner[i]) == !inner[i].fails);
  struct arena *a = arena_open();
  arena_array(a, SIZE_MAX / 2, 4);
  CHECK(!"reached");
}

static void test_nested(void) {
  struct job j[2] = {{.before = arena_open()},
                     {.before = arena_open(), .fails = true}};
  CHECK(!memory_try(nest, NULL, j));
  CHECK(arena_bytes(j[0].opened) >= 100000);
  text_free(&j[0].text);
  text_free(&j[0].empty);
  arena_close(j[0].opened);
  arena_close(j[0].before);
  arena_close(j[1].before);
}

/* What undo closes is not closed again. */
static void close_opened(void *with) {
  struct job *j = with;
  CHECK(j->reached == 1);
  arena_close(j->opened);
  text_free(&j->empty);
  j->reached = 3;
}

static void test_undo(void) {
  struct job j = {.before = arena_open(), .fails = true};
  text_puts(&j.text, "before");
  CHECK(!memory_try(work, close_opened, &j) && j.reached == 3);
  j.fails = false;
  CHECK(memory_try(work, close_opened, &j) && j.reached == 2);
  text_free(&j.text);
  text_free(&j.empty);
  arena_close(j.opened);
  arena_close(j.before);
}

/* The memory of a cleared arena is handed out again, as zeros, and to nobody
 * else: the smallest piece that is large enough. */
static void test_clear(void) {
  enum { LARGE = 1 << 20, SMALL = 100 };
  struct arena *a = arena_open(), *others = arena_open();
  const char *large = NULL;
  for (int round = 0; round < 3; round++) {
    char *small = arena_alloc(a, SMALL), *p = arena_alloc(a, LARGE);
    CHECK(!round || p == large);
    large = p;
    for (int i = 0; i < LARGE; i++)
      CHECK(!p[i] && (i >= SMALL || !small[i]));
    memset(p, 1, LARGE);
    memset(small, 1, SMALL);
    arena_clear(a);
    CHECK(arena_bytes(a) == 0 && arena_alloc(others, LARGE) != large);
  }
  arena_close(others);
  arena_close(a);
}

int main(void) {
  test_success();
  test_failure();
  test_nested();
  test_undo();
  test_clear();
  return check_result();
}
