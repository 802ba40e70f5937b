/* fake_driver.c -- see fake_driver.h. */
#define _GNU_SOURCE /* memfd_create, RTLD_NEXT, O_TMPFILE */
#include "fake_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .memory = -1};

static void *real(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (!symbol)
    abort();
  return symbol;
}

/* ---- words ---- */

static void be_platform(const char *name) {
  fake.preset = preset_find(name);
  fake.device = device_find(fake.preset->device);
  fake.contexts_max = fake.device->contexts;
}

/* The number of contexts of all processes lies in a file. */
static void share(const char *path) {
  int (*next)(const char *, int, ...) = real("open");
  void *(*map)(void *, size_t, int, int, int, off_t) = real("mmap");
  int fd = next(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, PAGE) != 0)
    abort();
  void *memory = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    abort();
  fake.contexts = memory;
  ((int (*)(int))real("close"))(fd);
}

/* What the kernel does when a process ends. */
__attribute__((destructor)) static void end_process(void) {
  if (fake.contexts)
    atomic_fetch_sub(fake.contexts, fake.counts.contexts);
}

static struct timespec real_time(clockid_t clock) {
  struct timespec t;
  syscall(SYS_clock_gettime, clock, &t);
  return t;
}

static int64_t nanoseconds(const struct timespec *t) {
  return t->tv_sec * (int64_t)1000000000 + t->tv_nsec;
}

/* From now on. */
static void slow_clock(int factor) {
  struct timespec t = real_time(CLOCK_MONOTONIC);
  fake.slow_from = nanoseconds(&t);
  fake.slow = factor;
}

static void say_word(const char *word) {
  const char *value = strchr(word, '=');
  value = value ? value + 1 : "";
  const char *second = strchr(value, ':');
  int number = atoi(value), other = second ? atoi(second + 1) : 0;
  if (strncmp(word, "name=", 5) == 0)
    snprintf(fake.name, sizeof fake.name, "%s", value);
  else if (strncmp(word, "preset=", 7) == 0)
    be_platform(value);
  else if (strncmp(word, "contexts=", 9) == 0)
    fake.contexts_max = number;
  else if (strncmp(word, "taken=", 6) == 0)
    fake.taken = number;
  else if (strncmp(word, "file=", 5) == 0)
    share(value);
  else if (strncmp(word, "slow=", 5) == 0)
    slow_clock(number);
  else if (strcmp(word, "addresses") == 0)
    fake.addresses = true;
  else if (strcmp(word, "old") == 0)
    fake.old = true;
  else if (strncmp(word, "heaps=", 6) == 0)
    fake.heaps_most = number;
  else if (strncmp(word, "heap=", 5) == 0)
    fake.heap_bytes = (uint64_t)number << 10;
  else if (strcmp(word, "noheap") == 0)
    fake.noheap = true;
  else if (strcmp(word, "nouser") == 0)
    fake.nouser = true;
  else if (strcmp(word, "nochain") == 0)
    fake.nochain = true;
  else if (strcmp(word, "latechain") == 0)
    fake.latechain = true;
  else if (strcmp(word, "every") == 0)
    fake.every = true;
  else if (strncmp(word, "open=", 5) == 0)
    fake.open_errno = number;
  else if (strncmp(word, "interrupts=", 11) == 0)
    fake.interrupts = number;
  else if (strncmp(word, "fail=", 5) == 0)
    fake.fail_at = number, fake.fail_errno = other;
  else if (strncmp(word, "map=", 4) == 0)
    fake.map_fail_at = number, fake.map_errno = other;
  else if (strcmp(word, "nounmap") == 0)
    fake.nounmap = true;
  else if (strncmp(word, "hurry=", 6) == 0)
    fake.hurry = number;
  else if (strncmp(word, "reload=", 7) == 0)
    fake.reload = number;
  else if (strncmp(word, "state=", 6) == 0)
    fake.state_at = number, fake.state = other;
  else {
    fprintf(stderr, "fake driver: there is no word '%s'\n", word);
    abort();
  }
}

static void start(void) {
  if (fake.said)
    return;
  fake.said = true;
  strcpy(fake.name, "NPU Phoenix");
  be_platform("phoenix");
  fake.heaps_most = 1;
  fake.heap_bytes = HEAP;
}

static void say(const char *words) {
  start();
  char *copy = strdup(words), *rest = copy;
  for (char *word; (word = strsep(&rest, ","));)
    if (*word)
      say_word(word);
  free(copy);
}

void fake_driver_say(const char *words) {
  pthread_mutex_lock(&fake.lock);
  say(words);
  pthread_mutex_unlock(&fake.lock);
}

struct fake_driver_counts fake_driver_counts(void) {
  pthread_mutex_lock(&fake.lock);
  struct fake_driver_counts counts = fake.counts;
  pthread_mutex_unlock(&fake.lock);
  return counts;
}

int fake_refuse(int error, const char *rule) {
  fake.counts.broken_rules++;
  fprintf(stderr, "fake driver: %s\n", rule);
  return error;
}

/* ---- buffers ---- */

struct buffer *fake_buffer(uint64_t handle) {
  bool exists =
      handle >= 1 && handle <= BUFFERS && fake.buffer[handle - 1].type;
  return exists ? &fake.buffer[handle - 1] : NULL;
}

/* Whole pages of the program, of which address checks know only a part: they
 * must see neither these accesses nor memcpy. */
#define UNCHECKED __attribute__((no_sanitize("address")))

UNCHECKED static bool line_differs(const char *a, const char *b) {
  const volatile uint64_t *x = (const void *)a, *y = (const void *)b;
  for (size_t i = 0; i < LINE / sizeof *x; i++)
    if (x[i] != y[i])
      return true;
  return false;
}

UNCHECKED static void copy_line(char *to, const char *from) {
  volatile uint64_t *x = (void *)to;
  const volatile uint64_t *y = (const void *)from;
  for (size_t i = 0; i < LINE / sizeof *x; i++)
    x[i] = y[i];
}

/* As nothing that is there: every line is new to the device. */
UNCHECKED static void invert(char *to, const char *from, uint64_t bytes) {
  volatile char *x = to;
  const volatile char *y = from;
  for (uint64_t i = 0; i < bytes; i++)
    x[i] = (char)~y[i];
}

/* Lines that the CPU changed go to the device, the others come from it; that
 * is what a flush of a cache line does. */
static void flush(struct buffer *b, uint64_t from, uint64_t bytes) {
  for (uint64_t at = from / LINE * LINE; at < from + bytes; at += LINE) {
    bool dirty = line_differs(b->cpu + at, b->clean + at);
    if (dirty)
      copy_line(b->device + at, b->cpu + at);
    else if (line_differs(b->device + at, b->clean + at))
      copy_line(b->cpu + at, b->device + at);
    copy_line(b->clean + at, b->device + at);
  }
}

void fake_evict(struct buffer *b) {
  for (uint64_t at = 0; at < b->bytes; at += LINE) {
    if (!line_differs(b->cpu + at, b->clean + at))
      continue;
    copy_line(b->device + at, b->cpu + at);
    copy_line(b->clean + at, b->cpu + at);
  }
}

static bool overlaps_heap_piece(uint64_t offset, uint64_t bytes) {
  for (int i = 0; i < BUFFERS; i++) {
    const struct buffer *b = &fake.buffer[i];
    if (b->type == XDNA_BUFFER_IN_HEAP && offset < b->offset + b->bytes &&
        b->offset < offset + bytes)
      return true;
  }
  return false;
}

/* The chunk of the heap with that number. */
static struct buffer *heap_chunk(int chunk) {
  for (int i = 0; i < BUFFERS; i++)
    if (fake.buffer[i].type == XDNA_BUFFER_HEAP && chunk-- == 0)
      return &fake.buffer[i];
  return NULL;
}

/* In a chunk of its own. */
static int place_in_heap(struct buffer *b) {
  const struct buffer *first = heap_chunk(0);
  if (b->bytes > (uint64_t)fake.heaps_most * HEAP)
    return fake_refuse(EINVAL, "a buffer larger than the heap can be");
  if (!first || !first->cpu)
    return fake_refuse(EAGAIN, "a buffer in a heap that is not mapped");
  for (int i = 0; i < fake.heaps; i++) {
    const struct buffer *chunk = heap_chunk(i);
    uint64_t start = (uint64_t)i * HEAP;
    if (chunk->cpu != first->cpu + start)
      return fake_refuse(EAGAIN, "a chunk of the heap not behind the others");
    for (uint64_t at = 0; at + b->bytes <= fake.heap_bytes; at += HEAP_GRAIN) {
      if (overlaps_heap_piece(start + at, b->bytes))
        continue;
      b->offset = start + at;
      b->cpu = chunk->cpu + at;
      b->device = chunk->device + at;
      b->clean = chunk->clean + at;
      return 0;
    }
  }
  return fake.heaps < fake.heaps_most ? EAGAIN : ENOSPC;
}

/* Zeros that cost nothing until they are touched: a leak checker would read
 * all of what malloc gives, 128 MiB for a heap, as each process ends. */
static char *map_new(size_t bytes) {
  void *(*next)(void *, size_t, int, int, int, off_t) = real("mmap");
  void *memory = next(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return memory;
}

static void unmap(void *memory, size_t bytes) {
  ((int (*)(void *, size_t))real("munmap"))(memory, bytes);
}

static int place_in_file(struct buffer *b) {
  if (fake.memory < 0)
    fake.memory = fake.node[0];
  b->offset = fake.memory_bytes;
  fake.memory_bytes += b->bytes;
  b->device = map_new(b->bytes);
  b->clean = map_new(b->bytes);
  return ftruncate(fake.memory, (off_t)fake.memory_bytes) == 0 ? 0 : ENOMEM;
}

static int new_handle(const struct buffer *b, uint32_t *handle) {
  int i = 0;
  while (i < BUFFERS && fake.buffer[i].type)
    i++;
  if (i == BUFFERS)
    return ENOMEM;
  fake.buffer[i] = *b;
  *handle = (uint32_t)i + 1;
  fake.counts.buffers++;
  fake.counts.buffers_made++;
  return 0;
}

/* Whether the kernel could write there: it reads a byte into its place. */
static bool is_writable(char *at) {
  int both[2];
  if (pipe(both) != 0)
    return false;
  bool good = syscall(SYS_write, both[1], at, 1) == 1 &&
              syscall(SYS_read, both[0], at, 1) == 1;
  ((int (*)(int))real("close"))(both[0]);
  ((int (*)(int))real("close"))(both[1]);
  return good;
}

/* The device sees nothing of it before a flush. */
static int create_user_buffer(struct xdna_create_buffer *c) {
  const struct xdna_user_memory *user = (const void *)(uintptr_t)c->address;
  struct rlimit limit;
  if (fake.nouser)
    return EINVAL;
  if (c->type != XDNA_BUFFER_SHARED || c->bytes)
    return fake_refuse(EINVAL, "CREATE_BO on user memory with a type or size");
  if (user->file != XDNA_NO_FILE || user->count != 1)
    return fake_refuse(EINVAL,
                       "CREATE_BO on user memory that is no single range");
  if (!user->bytes || user->bytes % PAGE || user->address % PAGE)
    return fake_refuse(EINVAL,
                       "CREATE_BO on user memory that is not whole pages");
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      fake.counts.pinned_bytes + user->bytes > limit.rlim_cur)
    return ENOMEM;
  struct buffer b = {.type = c->type,
                     .bytes = user->bytes,
                     .cpu = (char *)(uintptr_t)user->address,
                     .user = true};
  for (uint64_t i = 0; i < b.bytes; i += PAGE)
    if (!is_writable(b.cpu + i))
      return EFAULT;
  b.device = map_new(b.bytes);
  b.clean = map_new(b.bytes);
  invert(b.clean, b.cpu, b.bytes);
  fake.counts.user_buffers++;
  fake.counts.pinned_bytes += b.bytes;
  int error = new_handle(&b, &c->handle);
  if (!error) /* apart from all that is in the file */
    fake.buffer[c->handle - 1].offset = ((uint64_t)c->handle + 256) << 32;
  return error;
}

static int create_buffer(struct xdna_create_buffer *c) {
  if (c->zero)
    return fake_refuse(EINVAL, "CREATE_BO with flags");
  if (c->address)
    return create_user_buffer(c);
  if (c->type < XDNA_BUFFER_SHARED || c->type > XDNA_BUFFER_COMMAND ||
      !c->bytes || c->bytes % PAGE)
    return fake_refuse(EINVAL, "CREATE_BO of no type or size");
  if (c->type == XDNA_BUFFER_HEAP) {
    if (fake.noheap)
      return ENOMEM;
    if (fake.heaps && fake.heaps_most == 1)
      return fake_refuse(EBUSY, "a second heap");
    if (fake.heaps == fake.heaps_most)
      return ENOSPC;
    if (c->bytes != HEAP)
      return fake_refuse(EINVAL, "a heap of another size than 64 MiB");
  }
  struct buffer b = {.type = c->type, .bytes = c->bytes};
  int error =
      c->type == XDNA_BUFFER_IN_HEAP ? place_in_heap(&b) : place_in_file(&b);
  if (error || (error = new_handle(&b, &c->handle)))
    return error;
  if (c->type == XDNA_BUFFER_HEAP) {
    fake.heap = fake.heaps ? fake.heap : c->handle;
    fake.counts.heaps = ++fake.heaps;
  }
  return 0;
}

static int buffer_info(struct xdna_buffer_info *info) {
  const struct buffer *b = fake_buffer(info->handle);
  if (info->zero0 || info->zero1 || info->zero2)
    return fake_refuse(EINVAL, "GET_BO_INFO with spare fields set");
  if (!b)
    return fake_refuse(ENOENT, "GET_BO_INFO of no buffer");
  bool in_heap = b->type == XDNA_BUFFER_IN_HEAP;
  info->map_offset = in_heap || b->user ? XDNA_NO_ADDRESS : b->offset;
  info->user_address = (uintptr_t)b->cpu;
  info->device_address = in_heap                       ? HEAP_BASE + b->offset
                         : b->type == XDNA_BUFFER_HEAP ? HEAP_BASE
                         : fake.addresses ? fake_addresses + b->offset
                                          : XDNA_NO_ADDRESS;
  return 0;
}

static int close_buffer(const struct xdna_gem_close *c) {
  struct buffer *b = fake_buffer(c->handle);
  if (!b || c->zero)
    return fake_refuse(EINVAL, "GEM_CLOSE of no buffer");
  for (int i = 0; i < CONTEXTS; i++)
    if (fake.context[i].used && fake.context[i].pdi == c->handle)
      return fake_refuse(EBUSY,
                         "a context's configuration was freed before it");
  if (fake_is_used(c->handle))
    return fake_refuse(EBUSY, "a buffer of a command under way was freed");
  if (b->type != XDNA_BUFFER_IN_HEAP) {
    unmap(b->device, b->bytes);
    unmap(b->clean, b->bytes);
  }
  if (b->user)
    fake.counts.pinned_bytes -= b->bytes;
  *b = (struct buffer){0};
  fake.counts.buffers--;
  return 0;
}

static int sync_buffer(const struct xdna_sync_buffer *s) {
  struct buffer *b = fake_buffer(s->handle);
  if (!b)
    return fake_refuse(ENOENT, "SYNC_BO of no buffer");
  if (s->direction > 1)
    return fake_refuse(EINVAL, "SYNC_BO in no direction");
  if (s->offset > b->bytes || s->bytes > b->bytes - s->offset)
    return fake_refuse(EINVAL, "SYNC_BO outside the buffer");
  if (!b->cpu)
    return fake_refuse(EINVAL, "SYNC_BO of a buffer that is not mapped");
  if (s->direction == XDNA_FROM_DEVICE)
    fake_look(s->handle);
  flush(b, s->offset, s->bytes);
  fake.counts.flushes++;
  return 0;
}

/* ---- what else there is ---- */

static int version(struct xdna_version *v) {
  static const char name[] = "amdxdna_accel_driver";
  v->major = 0, v->minor = 6, v->patch = 0;
  if (v->name)
    memcpy(v->name, name,
           v->name_length < sizeof name - 1 ? v->name_length : sizeof name - 1);
  v->name_length = sizeof name - 1;
  return 0;
}

/* As many bytes as there are, if there is room for them. */
static int tell(const struct xdna_get_info *g, const void *from, size_t bytes) {
  if (g->bytes < bytes)
    return fake_refuse(EINVAL, "GET_INFO into too little room");
  memcpy((void *)(uintptr_t)g->value, from, bytes);
  return 0;
}

static uint16_t all_columns(void) {
  return (uint16_t)(fake.device->first_column + fake.device->columns);
}

static int get_info(struct xdna_get_info *g) {
  static const struct xdna_firmware firmware = {1, 5, 5, 391};
  static const struct xdna_clocks clocks = {
      {{"MP-NPU Clock", 400, 0}, {"H Clock", 800, 0}}};
  const struct xdna_array array = {
      .column_bytes = 0x2000000,
      .columns = all_columns(),
      .rows = (uint16_t)(fake.device->core_rows + CORE_ROW),
      .version = {2, 0}};
  const struct xdna_resources resources = {
      .contexts_max = (uint64_t)fake.contexts_max,
      .contexts_now =
          (uint64_t)((fake.contexts ? *fake.contexts : fake.counts.contexts) +
                     fake.taken)};
  switch (g->kind) {
  case XDNA_INFO_ARRAY:
    return tell(g, &array, sizeof array);
  case XDNA_INFO_CLOCKS:
    return tell(g, &clocks, sizeof clocks);
  case XDNA_INFO_FIRMWARE:
    return tell(g, &firmware, sizeof firmware);
  case XDNA_INFO_RESOURCES:
    return fake.old ? EOPNOTSUPP : tell(g, &resources, sizeof resources);
  default:
    return EOPNOTSUPP;
  }
}

#define NUMBER(id, value, type) static const uint32_t number_##id = value;
AMDXDNA_CALLS(NUMBER)
#undef NUMBER

static int dispatch(uint32_t number, void *argument) {
  return number == number_VERSION           ? version(argument)
         : number == number_GEM_CLOSE       ? close_buffer(argument)
         : number == number_SYNCOBJ_DESTROY ? 0
         : number == number_TIMELINE_WAIT   ? fake_timeline_wait(argument)
         : number == number_CREATE_CONTEXT  ? fake_create_context(argument)
         : number == number_DESTROY_CONTEXT ? fake_destroy_context(argument)
         : number == number_CONFIG_CONTEXT  ? fake_config_context(argument)
         : number == number_CREATE_BUFFER   ? create_buffer(argument)
         : number == number_BUFFER_INFO     ? buffer_info(argument)
         : number == number_SYNC_BUFFER     ? sync_buffer(argument)
         : number == number_EXECUTE         ? fake_execute(argument)
         : number == number_GET_INFO        ? get_info(argument)
         : number == number_WAIT_COMMAND
             ? fake_wait_command(argument)
             : fake_refuse(ENOTTY, "an ioctl that the driver does not have");
}

/* ---- libc's calls ---- */

static bool is_node(int fd) {
  for (int i = 0; i < fake.nodes; i++)
    if (fake.node[i] == fd)
      return true;
  return false;
}

static bool is_path(const char *path) {
  const char *node = getenv("NPUTEIR_ACCEL");
  return node && strcmp(node, path) == 0;
}

static int open_node(void) {
  pthread_mutex_lock(&fake.lock);
  start();
  if (!fake.nodes && getenv("FAKE_AMDXDNA"))
    say(getenv("FAKE_AMDXDNA"));
  if (fake.open_errno) {
    errno = fake.open_errno;
    pthread_mutex_unlock(&fake.lock);
    return -1;
  }
  int fd = fake.nodes < NODES ? memfd_create("accel", MFD_CLOEXEC) : -1;
  if (fd >= 0)
    fake.node[fake.nodes++] = fd;
  pthread_mutex_unlock(&fake.lock);
  return fd;
}

/* A file of sysfs with what the device is called. */
static int open_name(void) {
  int fd = memfd_create("vbnv", MFD_CLOEXEC);
  if (fd >= 0 && (write(fd, fake.name, strlen(fake.name)) < 0 ||
                  write(fd, "\n", 1) < 0 || lseek(fd, 0, SEEK_SET) < 0))
    return -1;
  return fd;
}

EXPORT int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  if (is_path(path))
    return open_node();
  if (fake.nodes && strcmp(path, "/sys/dev/char/0:0/device/vbnv") == 0)
    return open_name();
  return ((int (*)(const char *, int, ...))real("open"))(path, flags, mode);
}

EXPORT int close(int fd) {
  pthread_mutex_lock(&fake.lock);
  for (int i = 0; i < fake.nodes; i++)
    if (fake.node[i] == fd)
      fake.node[i] = fake.node[--fake.nodes];
  pthread_mutex_unlock(&fake.lock);
  return ((int (*)(int))real("close"))(fd);
}

EXPORT int ioctl(int fd, unsigned long number, ...) {
  va_list list;
  va_start(list, number);
  void *argument = va_arg(list, void *);
  va_end(list);
  pthread_mutex_lock(&fake.lock);
  if (!is_node(fd)) {
    pthread_mutex_unlock(&fake.lock);
    return ((int (*)(int, unsigned long, ...))real("ioctl"))(fd, number,
                                                             argument);
  }
  int count = ++fake.counts.ioctls;
  fake_hurry();
  bool fails = fake.fail_at &&
               (fake.every ? count >= fake.fail_at : count == fake.fail_at);
  int error = fails ? fake.fail_errno : dispatch((uint32_t)number, argument);
  pthread_mutex_unlock(&fake.lock);
  errno = error;
  return error ? -1 : 0;
}

/* Of the node, or of addresses that are kept for it. */
static bool map_fails(int protection, int fd) {
  if (!fake.nodes || (fd < 0 && protection != PROT_NONE))
    return false;
  pthread_mutex_lock(&fake.lock);
  bool counts = fd < 0 || is_node(fd);
  int count = fake.counts.maps += counts;
  bool fails =
      counts && fake.map_fail_at &&
      (fake.every ? count >= fake.map_fail_at : count == fake.map_fail_at);
  pthread_mutex_unlock(&fake.lock);
  errno = fails ? fake.map_errno : errno;
  return fails;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd,
                  off_t offset) {
  void *(*next)(void *, size_t, int, int, int, off_t) = real("mmap");
  if (map_fails(protection, fd))
    return MAP_FAILED;
  void *memory = next(at, bytes, protection, flags, fd, offset);
  if (fd < 0 || !fake.nodes || memory == MAP_FAILED)
    return memory;
  pthread_mutex_lock(&fake.lock);
  for (int i = 0; is_node(fd) && i < BUFFERS; i++) {
    struct buffer *b = &fake.buffer[i];
    if (b->type && b->type != XDNA_BUFFER_IN_HEAP && !b->user &&
        b->offset == (uint64_t)offset && b->bytes == bytes)
      b->cpu = memory;
  }
  pthread_mutex_unlock(&fake.lock);
  return memory;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t) {
  *t = real_time(clock);
  if (fake.slow < 2 || clock != CLOCK_MONOTONIC)
    return 0;
  int64_t now = fake.slow_from + (nanoseconds(t) - fake.slow_from) / fake.slow;
  *t = (struct timespec){now / 1000000000, now % 1000000000};
  return 0;
}

EXPORT int munmap(void *at, size_t bytes) {
  if (fake.nounmap) {
    errno = EINVAL;
    return -1;
  }
  if (fake.nodes) {
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < BUFFERS; i++)
      if (fake.buffer[i].type && fake.buffer[i].type != XDNA_BUFFER_IN_HEAP &&
          !fake.buffer[i].user && fake.buffer[i].cpu == at)
        fake.buffer[i].cpu = NULL;
    pthread_mutex_unlock(&fake.lock);
  }
  return ((int (*)(void *, size_t))real("munmap"))(at, bytes);
}
