/* tool_test.c -- `nputeir as` and `nputeir dis` from the outside: exit status,
 * messages, and that what one prints the other reads.  argv[1] is the tool. */
#include "base.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct arena *arena;
static const char *tool, *folder;

static const char *path(const char *name) {
  return arena_printf(arena, "%s/%s", folder, name);
}

static void put(const char *name, const char *text) {
  struct diag d = {DIAG_NONE, loc_none(), ""};
  CHECK(file_write(path(name), text, strlen(text), &d));
}

static const char *get(const char *name, size_t *length) {
  struct diag d = {DIAG_NONE, loc_none(), ""};
  size_t unused;
  const char *text =
      file_read(arena, path(name), length ? length : &unused, &d);
  CHECK(text != NULL);
  return text ? text : "";
}

/* Runs `nputeir <words>` in the folder; output and errors go to out and err. */
static int run(const char *words) {
  int status = system(arena_printf(arena, "cd '%s' && '%s' %s >out 2>err",
                                   folder, tool, words));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *file, const char *piece) {
  bool found = strstr(get(file, NULL), piece) != NULL;
  if (!found)
    fprintf(stderr, "'%s' not in: %s\n", piece, get(file, NULL));
  return found;
}

static void test_round_trip(void) {
  put("a.s", ".globl main\nmain: movxm p0, #buffer\n  mova r0, #1; nopb\n"
             "  ret lr\n nop\n nop\n nop\n nop\n nop\n.data\n.long 7\n");
  CHECK(run("as a.s --link --define buffer=0x74000") == 0);
  CHECK(run("dis a.elf -o b.s") == 0);
  CHECK(run("as b.s --link -o b.elf") == 0);
  size_t a, b;
  const char *first = get("a.elf", &a), *second = get("b.elf", &b);
  CHECK(a == b && memcmp(first, second, a) == 0);
  CHECK(run("as a.s -o a.o") == 0 && run("dis a.o") == 0);
  CHECK(says("out", "movxm p0, #buffer"));
  put("c.s", "jl #0x1b0\nnop\n");
  CHECK(run("as c.s --hex") == 0);
  CHECK(strcmp(get("out", NULL), "15 01 00 d8 00 00\n01 00\n") == 0);
  CHECK(run("dis --hex '15 01 00 d8 00 00 0x01,00'") == 0);
  CHECK(says("out", "jl #432") && says("out", "nop"));
  CHECK(run("as c.s --bytes -o c.bin") == 0 && run("dis c.bin") == 0);
  CHECK(says("out", "jl #432"));
}

static void test_check(void) {
  put("d.s",
      "mul r0, r1, r2\nadd r3, r4, r5\nret lr\nnop\nnop\nnop\nnop\nnop\n");
  CHECK(run("as d.s --check") == 1);
  CHECK(says("err", "d.s:2:1: error: add r3, r4, r5 (line 2) and mul"));
  CHECK(access(path("d.o"), F_OK) != 0);
  put("d.s", "mul r0, r1, r2\nnop\nadd r3, r4, r5\nret lr\nnop\nnop\nnop\nnop\n"
             "nop\n");
  CHECK(run("as d.s --check") == 0 && *get("out", NULL) == 0);
  CHECK(run("as --list-forms") == 0);
  CHECK(says("out", "vmac.f $dst, $acc1, $s1, $s2, $c"));
}

/* Another instruction set: named for text and bytes, found in an ELF. */
static void test_sets(void) {
  put("p.s", "vlda.pop.576 ex0, [p0, lf0, r24]\nret lr\nnop\nnop\nnop\nnop\n"
             "nop\n");
  CHECK(run("as p.s") == 1 && says("err", "unknown instruction"));
  CHECK(run("as --isa=aie2p p.s --hex") == 0);
  CHECK(says("out", "98 0b 00 04"));
  CHECK(run("as --isa=aie2p --link p.s -o p.elf") == 0);
  CHECK(run("dis p.elf") == 0 && says("out", "vlda.pop.576 ex0"));
  CHECK(run("dis --isa=aie2p --hex 18002810") == 0 && says("out", "ret lr"));
  put("q.s", "clr: vclr dm0\ndone\nnop\nnop\nnop\nnop\nnop\n");
  CHECK(run("core q.s") == 1 && run("core --isa=aie2p q.s") == 0);
  CHECK(run("as --isa=aie2p --link q.s -o q.elf") == 0);
  CHECK(run("core q.elf") == 0 && says("out", "bundles=2"));
  CHECK(run("as --list-forms --isa=aie2p") == 0);
  CHECK(says("out", "cycle of the result unknown"));
  CHECK(says("out", "## open questions"));
  CHECK(run("as --isa=aie3 p.s") == 2);
  CHECK(says("err", "no instruction set 'aie3'; there are aie2, aie2p"));
}

static void test_errors(void) {
  put("e.s", "nop\n  add r0, r1, #64\n");
  CHECK(run("as e.s") == 1);
  CHECK(says("err", "e.s:2:15: error: add: imm '#64' is out of range -64..63"));
  CHECK(run("as missing.s") == 1 && says("err", "missing.s"));
  put("f.bin", "\x7f"
               "ELFxxxxxxxxxx");
  CHECK(run("dis f.bin") == 1 && says("err", "f.bin: error: not a little"));
  CHECK(run("as") == 2 && says("err", "see: nputeir help as"));
  CHECK(run("as e.s --frob") == 2 && says("err", "--frob"));
  CHECK(run("as e.s c.s") == 2);
  CHECK(run("as e.s --hex --link") == 2);
  CHECK(run("as e.s --define x") == 2 && run("as e.s --define x=y") == 2);
  CHECK(run("as e.s -o") == 2);
  CHECK(run("dis") == 2 && run("dis --hex 0") == 1 && run("dis --hex zz") == 1);
  CHECK(run("dis a b") == 2 && run("dis e.s --hex 00") == 2);
  CHECK(run("help as") == 0 && says("out", "--list-forms"));
  CHECK(run("help dis") == 0 && says("out", "--address"));
}

int main(int argc, char **argv) {
  if (argc < 2) {
    printf("skipped: no tool given\n");
    return 77;
  }
  char name[] = "/tmp/nputeir-as-XXXXXX";
  arena = arena_open();
  tool = argv[1];
  folder = mkdtemp(name);
  CHECK(folder != NULL);
  if (folder) {
    test_round_trip();
    test_check();
    test_sets();
    test_errors();
    CHECK(system(arena_printf(arena, "rm -r '%s'", folder)) == 0);
  }
  arena_close(arena);
  return check_result();
}
