/* words_test.c -- the words of every sub-command of `nputeir`: help, version,
 * what is refused and with which exit status, and output that goes nowhere. */
#include "call.h"
#include "check.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMAND(name) extern const struct tool_command tool_##name;
#include "commands.def"
#undef COMMAND
static const struct tool_command *const command[] = {
#define COMMAND(name) &tool_##name,
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof command / sizeof *command };

static struct call c, d;

static void expect(const char *words, int status, const char *piece) {
  call_tool(&c, NULL, words);
  bool good = c.status == status &&
              (strstr(c.err, piece) || (status == 0 && strstr(c.out, piece)));
  CHECK(good);
  if (!good)
    fprintf(stderr, "nputeir %s: status %d, not %d; no '%s' in: %s%s\n", words,
            c.status, status, piece, c.out, c.err);
}

/* ---- every command ---- */

static void test_lines(const char *help) {
  for (const char *at = help; *at;) {
    int columns = 0;
    for (; *at && *at != '\n'; at++)
      columns += (*at & 0xc0) != 0x80;
    CHECK(columns <= 80);
    at += *at == '\n';
  }
}

/* `name` is a command, or a command and its action. */
static void test_help(const char *name) {
  char words[200];
  snprintf(words, sizeof words, "help %s", name);
  call_tool(&c, NULL, words);
  snprintf(words, sizeof words, "%s --help", name);
  call_tool(&d, NULL, words);
  CHECK(c.status == 0 && d.status == 0 && !*c.err && !*d.err);
  CHECK(*c.out && strcmp(c.out, d.out) == 0);
  CHECK(strstr(c.out, "usage: nputeir ") == c.out);
  test_lines(c.out);
  snprintf(words, sizeof words, "%s no such words --help", name);
  call_tool(&d, NULL, words);
  CHECK(d.status == 0 || strchr(name, ' ') == NULL);
  snprintf(words, sizeof words, "%s --version", name);
  call_tool(&d, NULL, words);
  CHECK(d.status == 0 && strncmp(d.out, "nputeir 0.", 10) == 0);
}

/* One function prints help and version of all commands. */
static void test_help_nowhere(void) {
  static const char *const words[] = {"help", "as --help", "as --version",
                                      "teir split --help"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    call_tool(&d, "/dev/full", words[i]);
    CHECK(d.status == 1 && strstr(d.err, "No space left on device"));
    CHECK(strstr(d.err, "standard output"));
    call_tool(&d, "closed", words[i]);
    CHECK(d.status == 1 && strstr(d.err, "standard output"));
  }
}

static void test_wrong_option(const struct tool_command *t,
                              const struct tool_command *action) {
  char words[200];
  snprintf(words, sizeof words, "%s%s%s --no-such-option", t->name,
           action ? " " : "", action ? action->name : "");
  call_tool(&c, NULL, words);
  CHECK(c.status == 2 && !*c.out && strstr(c.err, "; see: nputeir help "));
  CHECK(strchr(c.err, '\n') == c.err + strlen(c.err) - 1);
}

static void test_command(const struct tool_command *t) {
  char name[100];
  test_help(t->name);
  test_wrong_option(t, NULL);
  for (const struct tool_command *a = t->actions; a && a->name; a++) {
    snprintf(name, sizeof name, "%s %s", t->name, a->name);
    test_help(name);
    test_wrong_option(t, a);
  }
}

/* ---- words ---- */

static const struct {
  const char *words;
  int status;
  const char *piece;
} row[] = {
    {"help", 0, "nputeir help <command> is complete"},
    {"help help", 2, "there is no command 'help'"},
    {"help as dis", 2, "'dis' is one word too many"},
    {"help teir split", 0, "usage: nputeir teir split FILE AXIS N"},
    {"brew", 2, "there is no command 'brew'; see: nputeir help"},
    {"kernel", 2, "which primitive: gemm, zero, copy, add"},
    {"teir dance", 2, "there is no action 'dance'; there are check, "},
    {"bench array bf16-64x64 --blocked", 0, "packed=in0:asked"},
    {"bench tea", 2, "there is no benchmark 'tea'"},
    {"doctor --report /nowhere/x", 1, "/nowhere/x: error: cannot write"},
    {"verify", 2, "PROGRAM is missing"},
    {"verify --first /nowhere/program --last", 1,
     "cannot run /nowhere/program"},
    {"verify /bin/true --first", 1, "said nothing at its end"},
    /* twice */
    {"build 8x8x8 -o a -o b", 2, "-o is given twice"},
    {"map 8x8x8 --relu --relu", 2, "--relu is given twice"},
    {"map 8x8x8 16x16x16", 2, "'16x16x16' is one word too many"},
    {"as a.s --hex --hex", 2, "--hex is given twice"},
    {"as a.s --hex --print", 2, "the form of the output is given twice"},
    {"as --list-forms a.s", 2, "--list-forms stands alone"},
    {"as --list-forms --check", 2, "--list-forms stands alone"},
    {"as --list-forms -o /dev/null", 0, ""},
    {"teir print a.teir --bind a=1,a=2", 2, "a is given twice"},
    {"teir print a.teir --bind a=1 --bind a=2", 2, "a is given twice"},
    {"teir check a.teir --fast", 2, "there is no option '--fast'"},
    /* numbers */
    {"map 8x8x18446744073709551624", 2, "sizes go from 1 to 2147483647"},
    {"map 8x8", 2, "is neither MxNxK, an einsum expression nor a"},
    {"map ab,bc->ac", 1, "the letter 'a' has no size"},
    {"map ab,bc,cd->ad --sizes a=8,b=8,c=8,d=8", 1, "contraction of two"},
    {"map 8x8x8 --sizes a=8", 2, "an einsum expression's letters"},
    {"map 8x8x8 --layout ab,bc->ac", 2, "an einsum expression's tensors"},
    {"core nowhere.s --trace --json", 2, "--trace prints text"},
    {"sim nowhere.teir --relu", 2, "--relu is not for a program in a file"},
    {"sim nowhere.teir --types i8,i8,i32", 2, "--types is not for"},
    {"sim a.xclbin b.txn --shift 2", 2, "not for an xclbin"},
    {"map a+b,b->a --sizes a=8,b=8", 1, "error"},
    {"sim ab,bc->ac RUN.txn --sizes a=8,b=8,c=8", 2, "one word too many"},
    {"sim 8x8x8 --repeat 2", 2, "are for an xclbin"},
    {"sim ab,bc->ac --sizes a=20,b=16,c=24", 0, "right=1"},
    {"sim ab,bc->ac --sizes a=20,b=16,c=24 --layout ba,bc->ca --relu", 0,
     "right=1"},
    {"sim 16x16x16 --types i8,i8,i8 --shift 3", 0, "right=1"},
    /* 24 in two blocks of 4 on each of four rows */
    {"sim deab,ecd->bca --sizes a=1,b=24,c=32,d=17,e=96 --layout "
     "abed,ecd->bac",
     0, "right=1"},
    {"sim ba,cb->ac --sizes a=20,b=16,c=24 --types i8,i8,i32", 0, "right=1"},
    {"map ab,bc->ac --sizes a=20,b=16,c=24", 0, "# what the array does"},
    {"map 8x8x8 --shift 18446744073709551617", 2, "from 0 to 31"},
    {"map 8x8x8 --shift 3", 2, "narrower than their sums, not for f32 of f32"},
    {"sim ab,bc->ac --sizes a=8,b=8,c=8 --types i8,i8,i32 --shift 1", 2,
     "not for i32 of i32"},
    {"map 1000000x1000000x1000000", 1,
     "phases; a transaction has up to 32767"},
    {"sim 0x8x8", 2, "'0x8x8': sizes go from 1 to 2147483647"},
    {"sim 8x8", 2, "if '8x8' is an xclbin; it is neither MxNxK nor"},
    {"map 100000x100000x100000", 1, "argument 0 (in0) has data behind 4998"},
    {"map ab->ab --sizes a=8,b=8", 1, "has 1 input; the array takes"},
    {"map ab,bc,cd->ad --sizes a=8,b=8,c=8,d=8", 1, "has 3 inputs; the array"},
    {"map 8x8x8 --shift=32", 2, "from 0 to 31"},
    {"kernel gemm --m 18446744073709551620 --k 8 --n 8", 2, "1 to 65536"},
    {"kernel gemm --m 8 --k 8 --n 8 --steps 18446744073709551617", 2,
     "--steps takes"},
    {"kernel gemm --m 8 --k 8", 2, "--n N is missing"},
    {"kernel copy --rows 8 --columns 8 --block 18446744073709551620x4", 2,
     "--block takes"},
    {"sim a b --budget 99999999999999999999", 2, "from 0 to 92233720368547"},
    {"sim a b --repeat", 2, "--repeat takes a value, N"},
    {"sim a b --trace=1", 2, "--trace takes no value"},
    {"profile 8x8x8 -o x --=ir", 2, "there is no option '--'"},
    {"nest a.c --=ir", 2, "there is no option '--'"},
    {"nest a.c --=", 2, "there is no option '--'"},
    {"as a.s --define x=99999999999999999999", 2, "--define takes a whole"},
    {"dis --hex 00 --address 0x10000000000000000", 2,
     "--address takes a whole"},
    {"dis --hex=0100", 0, "nop"},
    {"map 8x8x8 --device npu7", 2,
     "there is no device 'npu7'; there are npu1 (default)"},
    /* files */
    {"map /nowhere.teir", 1, "/nowhere.teir: error: cannot read"},
    {"build 8x8x8 -o /nowhere/to/go", 1, "error: cannot write"},
    {"build 8x8x8 -o /dev/null", 1, "/dev/null: error: cannot write"},
    {"map 8x8x8 -o /nowhere/to/go", 1, "error: cannot write"},
    {"map 8x8x8 -o /tmp", 1, "/tmp: error: cannot write: Is a directory"},
    {"sim /nowhere.xclbin b --out 0:4=/nowhere/x", 1, "/nowhere/x: error"},
    {"bench kernels --svg /nowhere/x.svg", 1, "/nowhere/x.svg: error"},
    /* input that never ends */
    {"as /dev/zero", 1, "/dev/zero: error: cannot read: more than 256 MiB"},
    {"sim /dev/zero /dev/zero", 1, "it may never end"},
};

/* Names come from the tables. */
static void test_lists(void) {
  call_tool(&c, NULL, "help sim");
  call_tool(&d, NULL, "help build");
  for (int i = 0; preset_at(i); i++)
    CHECK(strstr(c.out, preset_at(i)->name) &&
          strstr(d.out, preset_at(i)->name));
  for (int i = 0; device_at(i); i++)
    CHECK(strstr(d.out, device_at(i)->name));
}

/* Commands that print something else than help. */
static void test_full(void) {
  static const char *const words[] = {
      "map 64x64x64",
      "design 64x64x64",
      "einsum ab,bc->ac --sizes a=2,b=3,c=4",
      "kernel zero --bytes 64",
      "kernel zero --bytes 64 --report",
      "dis --hex 0100",
      "as --list-forms",
      "nest --rules",
      "bench core 1000",
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    call_tool(&c, "/dev/full", words[i]);
    CHECK(c.status == 1 && strstr(c.err, "standard output"));
    call_tool(&c, "closed", words[i]);
    CHECK(c.status == 1 && strstr(c.err, "standard output"));
  }
}

/* A folder is written to, and what is listed goes nowhere, not into it. */
static void test_closed(void) {
  char folder[] = "/tmp/nputeir-words-XXXXXX", words[200];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(words, sizeof words, "build 64x64x64 -o %s", folder);
  call_tool(&c, "closed", words);
  CHECK(c.status == 1 && strstr(c.err, "standard output"));
  snprintf(words, sizeof words, "sim %s/design.xclbin %s/design.txn", folder,
           folder);
  call_tool(&c, NULL, words);
  CHECK(c.status == 1 && strstr(c.err, "arguments were passed"));
  snprintf(words, sizeof words, "rm -r %s", folder);
  CHECK(system(words) == 0);
}

/* Symbols all have a value, and no other name has one. */
static void test_symbols(void) {
#define SIZES "rows=4,columns=4,depth=8"
#define STRIDES "lda=16,ldb=8,ldc=16"
  static const struct {
    const char *bind;
    int status;
    const char *piece;
  } row[] = {
      {SIZES "," STRIDES, 0, "axis"},
      {SIZES "," STRIDES ",tea=1", 1, "there is no symbol 'tea'"},
      {SIZES ",lda=16,ldb=8,ldc=x", 1, "symbol ldc: 'x' is no number"},
      {SIZES ",lda=16,ldb=8", 1, "symbol ldc has no value"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    char words[300];
    snprintf(words, sizeof words, "teir print %s/../teir/matmul.teir --bind %s",
             getenv("NPUTEIR_TEST_DATA"), row[i].bind);
    expect(words, row[i].status, row[i].piece);
  }
}

static void test_core(void) {
  char path[] = "/tmp/nputeir-core-XXXXXX", words[200];
  static const char text[] = "  nop\n  done\n";
  int fd = mkstemp(path);
  CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
  close(fd);
  static const struct {
    const char *option;
    int status;
    const char *piece;
  } option[] = {
      {"--lock 5=63", 0, "cycles="},
      {"--lock 5=99", 1, "value of a lock: 99 is not in 0 to 63"},
      {"--lock 5=-1", 1, "value of a lock: -1 is not in 0 to 63"},
      {"--lock 64=1", 1, "number of a lock: 64 is not in 0 to 63"},
      {"--set r0=18446744073709551617", 1, "at most 64 bits"},
      {"--set r0=4294967296", 1, "r0: 4294967296 is not in"},
      {"--set r0=0xffffffff", 0, "cycles="},
      {"--load 18446744073709551616=/dev/null", 1, "at most 64 bits"},
      {"--dump 0x70000=/dev/null", 2, "ADDRESS:LENGTH=FILE"},
      {"--dump 0x70000:4=/nowhere/x", 1, "/nowhere/x: error"},
      {"--cycles 18446744073709551617", 2, "--cycles takes a whole number"},
  };
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
    snprintf(words, sizeof words, "core %s %s", path, option[i].option);
    expect(words, option[i].status, option[i].piece);
  }
  unlink(path);
}

/* A variable that the runtime refuses is wrong, not missing. */
static void test_doctor(void) {
  setenv("NPUTEIR_DEVICE", "abacus", 1);
  call_tool(&c, NULL, "doctor");
  CHECK(c.status == 1 && strstr(c.out, "WRONG    device"));
  CHECK(strstr(c.err, "1 wrong"));
  setenv("NPUTEIR_DEVICE", "sim", 1);
  setenv("NPUTEIR_OPTIONS", "device=sim,fp=maybe", 1);
  call_tool(&c, NULL, "doctor");
  CHECK(c.status == 1 && strstr(c.out, "WRONG    options"));
  unsetenv("NPUTEIR_DEVICE");
  unsetenv("NPUTEIR_OPTIONS");
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
  for (int i = 0; i < COMMANDS; i++)
    test_command(command[i]);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    expect(row[i].words, row[i].status, row[i].piece);
  test_help_nowhere();
  test_lists();
  test_full();
  test_closed();
  test_symbols();
  test_core();
  test_doctor();
  double start = seconds();
  call_tool(&c, NULL, "bench kernels --svg /nowhere/x.svg");
  CHECK(seconds() - start < 3); /* before anything is measured */
  return check_result();
}
