/* amdxdna.c -- finding the NPU, and its memory (doc/hardware/driver.md,
 * "Order"); amdxdna_run.c has contexts and commands.
 *
 * open, ioctl, mmap, munmap and close are called by their names in libc, so
 * that a library in front of it can stand for the driver in tests.
 */
#include "amdxdna_parts.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
  HEAP_BYTES = 64 << 20, /* and so is its alignment in the address space */
  HEAP_CHUNKS = 8,       /* that newer drivers take for newer NPUs */
  PAGE_BYTES = 4096,
  CALL_TRIES = 1000, /* against interrupts that never end */
};
static const char driver_name[] = "amdxdna_accel_driver";
static const char node_folder[] = "/dev/accel";

/* ---- calls ---- */

bool amdxdna_interrupted(int result) {
  return result != 0 && (errno == EINTR || errno == EAGAIN);
}

int amdxdna_call(int fd, uint32_t number, void *argument) {
  int result = ioctl(fd, number, argument);
  for (int i = 1; i < CALL_TRIES && amdxdna_interrupted(result); i++)
    result = ioctl(fd, number, argument);
  return result;
}

bool amdxdna_failed(struct diag *d, const char *what) {
  return diag_declined(d, loc_none(), "the NPU's driver: %s: %s", what,
                       strerror(errno));
}

/* ---- finding it ---- */

static const char *model_of_name(const char *name) {
  static const struct {
    const char *name, *model;
  } part[] = {
#define PART(name, model) {name, model},
#include "part.def"
  };
  for (size_t i = 0; i < sizeof part / sizeof *part; i++)
    if (strcmp(part[i].name, name) == 0)
      return part[i].model;
  return NULL;
}

/* The first line of a file of the device in sysfs. */
static bool read_attribute(int fd, const char *name, char *out, size_t size) {
  struct stat s;
  char path[128];
  if (fstat(fd, &s) != 0)
    return false;
  snprintf(path, sizeof path, "/sys/dev/char/%u:%u/device/%s", major(s.st_rdev),
           minor(s.st_rdev), name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = read(file, out, size - 1);
  close(file);
  if (length <= 0)
    return false;
  out[length] = 0;
  out[strcspn(out, "\n")] = 0;
  return true;
}

static bool is_amdxdna(int fd, struct xdna_version *v) {
  char name[64] = "";
  *v = (struct xdna_version){.name_length = sizeof name - 1, .name = name};
  bool is =
      amdxdna_call(fd, call_VERSION, v) == 0 && strcmp(name, driver_name) == 0;
  v->name = NULL;
  return is;
}

/* What to do about a node that cannot be opened.  To open it is to bind the
 * process's page tables to the NPU, which the IOMMU must allow. */
static const char *open_advice(int error) {
  switch (error) {
  case EACCES:
  case EPERM:
    return "; join its group (usually render) and log in again";
  case ENODEV:
  case EINVAL:
  case EOPNOTSUPP:
    return "; switch the IOMMU on in the firmware setup, and boot without "
           "iommu=pt, iommu=off or amd_iommu=off";
  default:
    return "";
  }
}

/* Opens the node if amdxdna is behind it; below 0 and *d if not. */
enum { NOT_OPENED = -1, OTHER_DRIVER = -2 };
static int open_node(const char *path, struct xdna_version *v, struct diag *d) {
  int fd;
  do
    fd = open(path, O_RDWR | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    diag_declined(d, loc_none(), "%s: %s%s", path, strerror(errno),
                  open_advice(errno));
    return NOT_OPENED;
  }
  if (is_amdxdna(fd, v))
    return fd;
  close(fd);
  diag_declined(d, loc_none(), "%s is not driven by amdxdna", path);
  return OTHER_DRIVER;
}

/* The node that NPUTEIR_ACCEL names, or the first one of amdxdna. */
static int find_node(struct xdna_version *v, struct diag *d) {
  const char *asked = getenv("NPUTEIR_ACCEL");
  if (asked && *asked)
    return open_node(asked, v, d);
  int fd = -1;
  struct diag first = {0}; /* of what others drive nothing is said */
  DIR *folder = opendir(node_folder);
  for (struct dirent *e; folder && fd < 0 && (e = readdir(folder));) {
    char path[sizeof node_folder + sizeof e->d_name];
    struct diag problem = {0};
    if (strncmp(e->d_name, "accel", 5) != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", node_folder, e->d_name);
    fd = open_node(path, v, &problem);
    if (fd != OTHER_DRIVER && !first.kind)
      first = problem;
  }
  if (folder)
    closedir(folder);
  if (fd >= 0)
    return fd;
  if (first.kind)
    *d = first;
  else
    diag_declined(d, loc_none(), "no NPU: %s has no node of the amdxdna driver",
                  node_folder);
  return -1;
}

static bool ask(const struct amdxdna *x, uint32_t kind, void *to,
                size_t bytes) {
  struct xdna_get_info info = {kind, (uint32_t)bytes, (uintptr_t)to};
  return amdxdna_call(x->fd, call_GET_INFO, &info) == 0;
}

static bool identify(struct amdxdna *x, const struct xdna_version *v,
                     struct diag *d) {
  struct xdna_firmware firmware = {0};
  if (!read_attribute(x->fd, "vbnv", x->name, sizeof x->name))
    return diag_declined(d, loc_none(), "the NPU does not tell its name");
  const char *model = model_of_name(x->name);
  if (!model)
    return diag_declined(d, loc_none(), "the NPU '%s' is not known", x->name);
  snprintf(x->model, sizeof x->model, "%s", model);
  if (ask(x, XDNA_INFO_FIRMWARE, &firmware, sizeof firmware))
    snprintf(x->version, sizeof x->version,
             "driver %d.%d, firmware %u.%u.%u.%u", v->major, v->minor,
             firmware.major, firmware.minor, firmware.patch, firmware.build);
  else
    snprintf(x->version, sizeof x->version, "driver %d.%d, firmware unknown",
             v->major, v->minor);
  char host[64] = "";
  if (gethostname(host, sizeof host - 1) != 0)
    host[0] = 0;
  snprintf(x->identity, sizeof x->identity, "%s, %s, %s", x->name, x->version,
           host);
  return true;
}

void amdxdna_ask(struct amdxdna *x, struct amdxdna_status *s) {
  struct xdna_array array = {0};
  struct xdna_clocks clocks = {0};
  struct xdna_resources resources = {0};
  *s = (struct amdxdna_status){-1, -1, {-1, -1}, -1, -1};
  if (ask(x, XDNA_INFO_ARRAY, &array, sizeof array)) {
    s->columns = array.columns;
    s->rows = array.rows;
  }
  if (ask(x, XDNA_INFO_CLOCKS, &clocks, sizeof clocks))
    for (int i = 0; i < 2; i++)
      s->mhz[i] = (int)clocks.clock[i].mhz;
  if (ask(x, XDNA_INFO_RESOURCES, &resources, sizeof resources)) {
    s->contexts = (int)resources.contexts_now;
    s->contexts_max = (int)resources.contexts_max;
  }
}

/* ---- memory ---- */

static bool dead(struct amdxdna *x) {
  pthread_mutex_lock(&x->lock);
  bool is = x->dead;
  pthread_mutex_unlock(&x->lock);
  return is;
}

bool amdxdna_usable(struct amdxdna *x, struct diag *d) {
  if (x->owner != getpid())
    return diag_declined(d, loc_none(),
                         "a forked process cannot use its parent's NPU");
  return !dead(x) ||
         diag_declined(d, loc_none(), "the NPU failed earlier in this process");
}

static void gem_close(struct amdxdna *x, uint32_t handle) {
  struct xdna_gem_close c = {.handle = handle};
  amdxdna_call(x->fd, call_GEM_CLOSE, &c);
}

static uint64_t page_round(size_t bytes) {
  return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * (uint64_t)PAGE_BYTES;
}

/* A buffer object that is not mapped yet. */
static bool describe(struct amdxdna *x, const struct xdna_create_buffer *c,
                     struct amdxdna_buffer *b, struct xdna_buffer_info *info,
                     struct diag *d) {
  *info = (struct xdna_buffer_info){.handle = c->handle};
  *b = (struct amdxdna_buffer){.handle = c->handle, .bytes = c->bytes};
  if (amdxdna_call(x->fd, call_BUFFER_INFO, info) == 0)
    return true;
  amdxdna_failed(d, "no information on a buffer");
  gem_close(x, c->handle);
  b->handle = 0;
  return false;
}

static bool create(struct amdxdna *x, enum xdna_buffer_type type, size_t bytes,
                   struct amdxdna_buffer *b, struct xdna_buffer_info *info,
                   struct diag *d) {
  struct xdna_create_buffer c = {.bytes = page_round(bytes), .type = type};
  *b = (struct amdxdna_buffer){0};
  if (bytes > SIZE_MAX - PAGE_BYTES ||
      amdxdna_call(x->fd, call_CREATE_BUFFER, &c) != 0)
    return amdxdna_failed(d, "no buffer");
  return describe(x, &c, b, info, d);
}

/* Addresses for so many chunks and one more, of which nothing is used. */
static char *reserve(size_t chunks) {
  return mmap(NULL, (chunks + 1) * HEAP_BYTES, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* The heap begins at a multiple of a chunk's size, and its chunks follow each
 * other: keeps addresses for all, or where there are not so many for one, and
 * has the first chunk there. */
static bool map_heap(struct amdxdna *x, uint64_t offset) {
  size_t chunks = HEAP_CHUNKS;
  char *start = reserve(chunks);
  if (start == MAP_FAILED)
    start = reserve(chunks = 1);
  if (start == MAP_FAILED)
    return false;
  size_t bytes = (chunks + 1) * HEAP_BYTES;
  x->heap_most = chunks * HEAP_BYTES;
  size_t before = -(uintptr_t)start % HEAP_BYTES;
  char *at = start + before;
  void *heap = mmap(at, HEAP_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, x->fd, (off_t)offset);
  if (heap == MAP_FAILED) {
    int error = errno;
    munmap(start, bytes);
    errno = error;
    return false;
  }
  if (before)
    munmap(start, before);
  munmap(at + x->heap_most, bytes - x->heap_most - before);
  x->heap.memory = heap;
  return true;
}

static bool open_heap(struct amdxdna *x, struct diag *d) {
  struct xdna_buffer_info info;
  if (!create(x, XDNA_BUFFER_HEAP, HEAP_BYTES, &x->heap, &info, d))
    return false;
  x->heap_base = info.device_address;
  return map_heap(x, info.map_offset) ||
         amdxdna_failed(d, "the heap is not mapped");
}

/* Under the lock: one more chunk behind the last one.  False: the driver takes
 * no more, or there are no addresses. */
static bool grow_heap(struct amdxdna *x) {
  struct amdxdna_buffer chunk;
  struct xdna_buffer_info info;
  struct diag ignored = {0};
  if (x->heap.bytes == x->heap_most ||
      !create(x, XDNA_BUFFER_HEAP, HEAP_BYTES, &chunk, &info, &ignored))
    return false;
  char *at = (char *)x->heap.memory + x->heap.bytes;
  if (mmap(at, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           x->fd, (off_t)info.map_offset) == MAP_FAILED) {
    gem_close(x, chunk.handle);
    x->heap_most = x->heap.bytes; /* perhaps these addresses are others' now */
    return false;
  }
  x->heap.bytes += HEAP_BYTES;
  return true;
}

/* In the heap, which may have to grow for it.  A driver that lets it says
 * EAGAIN of a full one, as it does of one that is not mapped. */
static bool create_in_heap(struct amdxdna *x, size_t bytes,
                           struct amdxdna_buffer *b,
                           struct xdna_buffer_info *info, struct diag *d) {
  struct xdna_create_buffer c = {.bytes = page_round(bytes),
                                 .type = XDNA_BUFFER_IN_HEAP};
  *b = (struct amdxdna_buffer){0};
  pthread_mutex_lock(&x->lock);
  int result, error, tries = 0;
  do {
    result = ioctl(x->fd, call_CREATE_BUFFER, &c);
    error = errno;
  } while (result != 0 && ((error == EINTR && ++tries < CALL_TRIES) ||
                           (error == EAGAIN && grow_heap(x))));
  pthread_mutex_unlock(&x->lock);
  errno = error;
  if (result != 0)
    return amdxdna_failed(d, "no buffer");
  return describe(x, &c, b, info, d);
}

/* A piece of the heap has no mapping of its own. */
static bool place_in_heap(struct amdxdna *x, struct amdxdna_buffer *b,
                          const struct xdna_buffer_info *info, struct diag *d) {
  uint64_t offset = info->device_address - x->heap_base;
  pthread_mutex_lock(&x->lock);
  size_t bytes = x->heap.bytes;
  pthread_mutex_unlock(&x->lock);
  if (info->device_address == XDNA_NO_ADDRESS || offset > bytes ||
      b->bytes > bytes - offset)
    return diag_declined(d, loc_none(),
                         "the NPU's driver: a buffer lies outside the heap");
  b->memory = (char *)x->heap.memory + offset;
  b->address = info->device_address;
  return true;
}

/* Where device and program share page tables, the driver gives no address of
 * its own. */
static bool map_shared(struct amdxdna *x, struct amdxdna_buffer *b,
                       const struct xdna_buffer_info *info, struct diag *d) {
  b->memory = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, x->fd,
                   (off_t)info->map_offset);
  if (b->memory == MAP_FAILED) {
    b->memory = NULL;
    return amdxdna_failed(d, "a buffer is not mapped");
  }
  b->address = info->device_address != XDNA_NO_ADDRESS
                   ? info->device_address
                   : (uint64_t)(uintptr_t)b->memory;
  return true;
}

bool amdxdna_open_typed(struct amdxdna *x, enum xdna_buffer_type type,
                        size_t bytes, struct amdxdna_buffer *b,
                        struct diag *d) {
  struct xdna_buffer_info info;
  if (type == XDNA_BUFFER_IN_HEAP ? !create_in_heap(x, bytes, b, &info, d)
                                  : !create(x, type, bytes, b, &info, d))
    return false;
  if (type == XDNA_BUFFER_IN_HEAP ? place_in_heap(x, b, &info, d)
                                  : map_shared(x, b, &info, d))
    return true;
  gem_close(x, b->handle);
  *b = (struct amdxdna_buffer){0};
  return false;
}

bool amdxdna_buffer_open(struct amdxdna *x, size_t bytes, bool in_heap,
                         struct amdxdna_buffer *b, struct diag *d) {
  *b = (struct amdxdna_buffer){0};
  return amdxdna_usable(x, d) &&
         amdxdna_open_typed(x,
                            in_heap ? XDNA_BUFFER_IN_HEAP : XDNA_BUFFER_SHARED,
                            bytes, b, d);
}

/* What a process may pin; the driver counts against the same limit. */
static bool may_pin(size_t bytes) {
  struct rlimit limit;
  return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

bool amdxdna_buffer_borrow(struct amdxdna *x, const void *memory, size_t bytes,
                           struct amdxdna_buffer *b) {
  enum { WORD = 4 };
  struct diag ignored = {0};
  *b = (struct amdxdna_buffer){0};
  uintptr_t at = (uintptr_t)memory, first = at / PAGE_BYTES * PAGE_BYTES;
  if (x->no_user_memory || at % WORD || bytes > SIZE_MAX / 2 ||
      !amdxdna_usable(x, &ignored))
    return false;
  struct xdna_user_memory user = {.file = XDNA_NO_FILE,
                                  .count = 1,
                                  .address = first,
                                  .bytes = page_round(at + bytes - first)};
  struct xdna_create_buffer c = {.address = (uintptr_t)&user,
                                 .type = XDNA_BUFFER_SHARED};
  if (!may_pin(user.bytes))
    return false;
  if (amdxdna_call(x->fd, call_CREATE_BUFFER, &c) != 0) {
    /* Others mean this memory: read-only, or too much is pinned. */
    x->no_user_memory = errno == EINVAL || errno == EOPNOTSUPP;
    return false;
  }
  struct xdna_buffer_info info = {.handle = c.handle};
  if (amdxdna_call(x->fd, call_BUFFER_INFO, &info) != 0) {
    gem_close(x, c.handle);
    return false;
  }
  uint64_t base =
      info.device_address != XDNA_NO_ADDRESS ? info.device_address : first;
  *b = (struct amdxdna_buffer){.handle = c.handle,
                               .address = base + (at - first),
                               .bytes = user.bytes,
                               .borrowed = true};
  return true;
}

void amdxdna_buffer_close(struct amdxdna *x, struct amdxdna_buffer *b) {
  if (!b->handle || x->owner != getpid())
    return;
  char *heap = x->heap.memory, *at = b->memory;
  if (!b->borrowed && (at < heap || at >= heap + x->heap_most))
    munmap(b->memory, b->bytes);
  gem_close(x, b->handle);
  *b = (struct amdxdna_buffer){0};
}

bool amdxdna_buffer_sync_part(struct amdxdna *x, const struct amdxdna_buffer *b,
                              size_t offset, size_t bytes, bool from_device,
                              struct diag *d) {
  struct xdna_sync_buffer s = {.handle = b->handle,
                               .direction = from_device ? XDNA_FROM_DEVICE
                                                        : XDNA_TO_DEVICE,
                               .offset = offset,
                               .bytes = bytes};
  assert(offset <= b->bytes && bytes <= b->bytes - offset);
  return amdxdna_call(x->fd, call_SYNC_BUFFER, &s) == 0 ||
         amdxdna_failed(d, "cache flush");
}

bool amdxdna_buffer_sync(struct amdxdna *x, const struct amdxdna_buffer *b,
                         bool from_device, struct diag *d) {
  return amdxdna_buffer_sync_part(x, b, 0, b->bytes, from_device, d);
}

/* ---- the one of this process ---- */

static struct amdxdna found = {.fd = -1,
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .waited = PTHREAD_COND_INITIALIZER};
static struct diag problem;

static bool read_chains(struct diag *d) {
  const char *word = getenv("NPUTEIR_CHAINS");
  bool off = word && strcmp(word, "off") == 0;
  found.no_chains = off;
  return !word || !*word || off || strcmp(word, "on") == 0 ||
         diag_declined(d, loc_none(), "NPUTEIR_CHAINS is on or off, not '%s'",
                       word);
}

static void find(void) {
  struct xdna_version version;
  found.owner = getpid();
  if (!read_chains(&problem))
    return;
  found.fd = find_node(&version, &problem);
  if (found.fd >= 0 && identify(&found, &version, &problem) &&
      open_heap(&found, &problem))
    return;
  if (found.fd >= 0)
    close(found.fd);
  found.fd = -1;
}

struct amdxdna *amdxdna_find(struct diag *d) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  if (found.fd < 0) {
    *d = problem;
    return NULL;
  }
  return amdxdna_usable(&found, d) ? &found : NULL;
}

const char *amdxdna_model(const struct amdxdna *x) { return x->model; }
const char *amdxdna_name(const struct amdxdna *x) { return x->name; }
const char *amdxdna_version(const struct amdxdna *x) { return x->version; }
const char *amdxdna_identity(const struct amdxdna *x) { return x->identity; }
