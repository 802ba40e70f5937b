// xrt.cpp -- the device "xrt": an NPU behind AMD's XRT and the amdxdna driver
// (formats.md section 5).
//
// XRT has no C interface for hardware contexts, so this file is C++; it is
// built only where XRT's headers have them.  Exceptions end here and become
// diagnostics.
//
// A command that did not complete may still run, and XRT ends the program when
// the object of a running command is destroyed.  So such a command is kept with
// all that it might write to, and the device is left alone from then on.
//
// A device has few places for contexts, for all processes.  A session gives up
// its context when others of ours need one, the one that was used longest ago
// first, and loads its configuration again for its next launch; its buffers
// stay.
extern "C" {
#include "run.h"
}

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_hw_context.h>
#include <xrt/xrt_kernel.h>

#if __has_include(<xrt/experimental/xrt_xclbin.h>)
#include <xrt/experimental/xrt_xclbin.h>
#else // older XRT
#include <experimental/xrt_xclbin.h>
#endif

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

constexpr unsigned first_device = 0;
constexpr uint64_t opcode_transaction = 3;
constexpr int instruction_argument = 1, first_buffer_argument = 3;
// The driver gives up after 60 s, or 2 s, and recovers; we look after that.
constexpr std::chrono::milliseconds launch_timeout{90000};

std::string device_name() {
  xrt::device device(first_device);
  return device.get_info<xrt::info::device::name>();
}

// The model in device.def behind a name that XRT reports; "" for none.
const char *model_of(const std::string &name) {
  static const struct {
    const char *name, *model;
  } parts[] = {
#define PART(name, model) {name, model},
#include "part.def"
  };
  for (const auto &part : parts)
    if (name == part.name)
      return part.model;
  return "";
}

// What is there does not change while a program runs: asked once.
struct found {
  std::string name, problem;
  const pid_t owner = getpid();
  std::atomic<bool> dead{false};
  found() {
    try {
      name = device_name();
      if (!*model_of(name))
        problem = "XRT's first device is '" + name + "', not an NPU";
    } catch (const std::exception &e) {
      problem = e.what();
    }
  }
};

found &device_found() {
  static found &once = *new found; // calls may come while the process ends
  return once;
}

bool present(struct diag *d) {
  const found &f = device_found();
  if (f.owner != getpid())
    return diag_declined(d, loc_none(),
                         "a forked process cannot use its parent's NPU");
  if (f.dead)
    return diag_declined(d, loc_none(),
                         "the NPU failed earlier in this process");
  return f.problem.empty() ||
         diag_declined(d, loc_none(), "no NPU: %s", f.problem.c_str());
}

const char *target(const struct run_options *, struct diag *d) {
  return present(d) ? model_of(device_found().name) : nullptr;
}

} // namespace

namespace {

// A configuration in its place on the array.
struct loaded {
  xrt::hw_context context;
  xrt::kernel kernel;
  loaded(xrt::device &device, const xrt::xclbin &xclbin)
      : context(device, device.register_xclbin(xclbin)),
        kernel(context, xclbin.get_kernels().at(0).get_name()) {}
};

} // namespace

struct run_session {
  xrt::device device{first_device};
  xrt::xclbin xclbin;
  std::unique_ptr<loaded> place; // under the lock; nothing: it has none now
  bool busy = false;             // as is this: a launch uses it
  uint64_t last_use = 0;
  xrt::bo instructions, buffer[TENSORS];
  uint32_t instruction_words;
  std::unique_ptr<xrt::run> run; // one that did not complete
  run_session *next = nullptr;   // of those that have one
  bool configured = false;       // by a launch, since it has its place

  explicit run_session(const struct run_plan &plan)
      : xclbin(bytes(plan.xclbin, plan.xclbin_bytes)),
        instruction_words(static_cast<uint32_t>(plan.txn_bytes / 4)) {}

  // With a place, which knows where buffers have to lie.
  void make_buffers(const struct run_plan &plan) {
    const xrt::kernel &kernel = place->kernel;
    instructions = xrt::bo(device, plan.txn_bytes, XCL_BO_FLAGS_CACHEABLE,
                           kernel.group_id(instruction_argument));
    std::memcpy(instructions.map<void *>(), plan.txn, plan.txn_bytes);
    instructions.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    for (int i = 0; i < TENSORS; i++)
      buffer[i] = xrt::bo(device, plan.tensor[i].bytes, XRT_BO_FLAGS_HOST_ONLY,
                          kernel.group_id(first_buffer_argument + i));
  }

  static std::vector<char> bytes(const void *p, size_t n) {
    const char *c = static_cast<const char *>(p);
    return {c, c + n};
  }
};

namespace {

// All sessions that have places.
struct places {
  std::mutex lock;
  std::vector<run_session *> holder;
  uint64_t clock = 0;
};

places &all_places() {
  static places &all = *new places; // calls may come while the process ends
  return all;
}

constexpr size_t kept_places = 4;

// Under the lock.  False: all that have one are busy.
bool give_up_oldest(places &all) {
  run_session **oldest = nullptr;
  for (run_session *&s : all.holder)
    if (!s->busy && (!oldest || s->last_use < (*oldest)->last_use))
      oldest = &s;
  if (!oldest)
    return false;
  (*oldest)->place.reset();
  (*oldest)->configured = false;
  *oldest = all.holder.back();
  all.holder.pop_back();
  return true;
}

// Afterwards the session has a place, and is busy.
void acquire_place(run_session *s) {
  places &all = all_places();
  std::lock_guard<std::mutex> guard(all.lock);
  all.holder.reserve(all.holder.size() + 1);
  while (!s->place) {
    if (all.holder.size() >= kept_places && give_up_oldest(all))
      continue;
    try {
      s->place = std::make_unique<loaded>(s->device, s->xclbin);
      all.holder.push_back(s);
    } catch (const std::exception &) {
      if (!give_up_oldest(all))
        throw;
    }
  }
  s->busy = true;
  s->last_use = ++all.clock;
}

void release_place(run_session *s) {
  std::lock_guard<std::mutex> guard(all_places().lock);
  s->busy = false;
}

void forget_place(run_session *s) {
  places &all = all_places();
  std::lock_guard<std::mutex> guard(all.lock);
  for (run_session *&other : all.holder)
    if (other == s) {
      other = all.holder.back();
      all.holder.pop_back();
      return;
    }
}

struct run_session *open_session(const struct run_plan *plan,
                                 const struct run_options *, struct diag *d) {
  try {
    auto s = std::make_unique<run_session>(*plan);
    acquire_place(s.get());
    try {
      s->make_buffers(*plan);
    } catch (const std::exception &) {
      forget_place(s.get());
      throw;
    }
    release_place(s.get());
    return s.release();
  } catch (const std::exception &e) {
    diag_declined(d, loc_none(), "XRT: %s", e.what());
    return nullptr;
  }
}

void *buffer(struct run_session *s, int i, int) {
  return s->buffer[i].map<void *>();
}

void start(struct run_session *s) {
  for (xrt::bo &b : s->buffer) // a line of out must not go over results
    b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  s->run = std::make_unique<xrt::run>(s->place->kernel(
      opcode_transaction, s->instructions, s->instruction_words, s->buffer[IN0],
      s->buffer[IN1], s->buffer[OUT]));
}

bool launch(struct run_session *s, struct run_context *,
            const struct run_code *, struct run_counts *counts,
            struct diag *d) {
  if (!present(d))
    return false;
  try {
    acquire_place(s);
  } catch (const std::exception &e) { // others have all places: for now
    return diag_declined(d, loc_none(), "XRT: %s", e.what());
  }
  counts->configured |= !s->configured;
  s->configured = true;
  try {
    start(s);
    ert_cmd_state state = s->run->wait(launch_timeout);
    if (state == ERT_CMD_STATE_COMPLETED) {
      s->run.reset();
      release_place(s);
      s->buffer[OUT].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
      return true;
    }
    diag_error(d, loc_none(), "XRT: the launch ended in command state %d",
               static_cast<int>(state));
  } catch (const std::exception &e) {
    diag_error(d, loc_none(), "XRT: %s", e.what());
  }
  device_found().dead = true;
  return false;
}

std::atomic<run_session *> lost;

void close_session(struct run_session *s) {
  if (s->run) {
    s->next = lost;
    while (!lost.compare_exchange_weak(s->next, s))
      ;
  } else if (device_found().owner == getpid()) {
    forget_place(s);
    delete s;
  }
}

const struct run_device device = [] {
  struct run_device d = {};
  d.name = "xrt";
  d.real = true;
  d.present = present;
  d.target = target;
  d.open = open_session;
  d.buffer = buffer;
  d.launch = launch;
  d.close = close_session;
  return d;
}();

} // namespace

extern "C" const struct run_device run_xrt = device;
