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
// Sessions whose configurations are equal, byte by byte, share a context.  A
// device has few places for contexts, for all processes: the one that was used
// longest ago is given up when others of ours need one, and its configuration
// is loaded again for the next launch; buffers stay.
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
#include <stdexcept>
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

// Of all sessions that have it.
struct configuration {
  const std::vector<char> bytes;
  const xrt::xclbin xclbin;
  // Under the lock of all:
  std::unique_ptr<loaded> place; // nothing: it has none now
  int users = 0;                 // launches of it
  uint64_t last_use = 0;
  bool configured = false; // by a launch, since it has its place

  configuration(const std::vector<char> &cdo, const std::vector<char> &file)
      : bytes(cdo), xclbin(file) {}
};

struct run_session {
  xrt::device device{first_device};
  std::shared_ptr<configuration> shared;
  xrt::bo instructions, buffer[TENSORS];
  uint32_t instruction_words;
  std::unique_ptr<xrt::run> run; // one that did not complete
  run_session *next = nullptr;   // of the lost ones

  run_session(const struct run_plan &plan, std::shared_ptr<configuration> of)
      : shared(std::move(of)),
        instruction_words(static_cast<uint32_t>(plan.txn_bytes / 4)) {}

  // With a place, which knows where buffers have to lie.
  void make_buffers(const struct run_plan &plan) {
    const xrt::kernel &kernel = shared->place->kernel;
    instructions = xrt::bo(device, plan.txn_bytes, XCL_BO_FLAGS_CACHEABLE,
                           kernel.group_id(instruction_argument));
    std::memcpy(instructions.map<void *>(), plan.txn, plan.txn_bytes);
    instructions.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    for (int i = 0; i < TENSORS; i++)
      buffer[i] = xrt::bo(device, plan.tensor[i].bytes, XRT_BO_FLAGS_HOST_ONLY,
                          kernel.group_id(first_buffer_argument + i));
  }
};

namespace {

struct configurations {
  std::mutex lock;
  std::vector<std::weak_ptr<configuration>> all; // of sessions that are open
  uint64_t clock = 0;
};

configurations &known() {
  static configurations &all = *new configurations; // calls may come while
  return all;                                       // the process ends
}

constexpr int kept_places = 4;

std::vector<char> xclbin_of(const struct run_plan &plan) {
  struct text file = {};
  struct diag d = {};
  bool good = plan_xclbin(&plan, &file, &d);
  std::vector<char> bytes(file.data, file.data + file.length);
  text_free(&file);
  if (!good)
    throw std::runtime_error(d.text);
  return bytes;
}

// That of the plan, of another session if there is one.
std::shared_ptr<configuration> find_configuration(const struct run_plan &plan) {
  const char *from = static_cast<const char *>(plan.configuration);
  std::vector<char> bytes(from, from + plan.configuration_bytes);
  configurations &k = known();
  std::lock_guard<std::mutex> guard(k.lock);
  for (size_t i = 0; i < k.all.size();) {
    auto other = k.all[i].lock();
    if (other && other->bytes == bytes)
      return other;
    if (other) {
      i++;
    } else { // its sessions are closed
      k.all[i] = k.all.back();
      k.all.pop_back();
    }
  }
  auto made = std::make_shared<configuration>(bytes, xclbin_of(plan));
  k.all.push_back(made);
  return made;
}

// Under the lock.  False: all that have a place are in use.
bool give_up_oldest(configurations &k) {
  std::shared_ptr<configuration> oldest;
  for (auto &weak : k.all) {
    auto c = weak.lock();
    if (c && c->place && !c->users &&
        (!oldest || c->last_use < oldest->last_use))
      oldest = c;
  }
  if (!oldest)
    return false;
  oldest->place.reset();
  oldest->configured = false;
  return true;
}

int places_taken(configurations &k) {
  int count = 0;
  for (auto &weak : k.all) {
    auto c = weak.lock();
    count += c && c->place;
  }
  return count;
}

// Afterwards the session's configuration has a place, and is in use; whether a
// launch must load it.
bool acquire_place(run_session *s) {
  configurations &k = known();
  configuration &c = *s->shared;
  std::lock_guard<std::mutex> guard(k.lock);
  while (!c.place) {
    if (places_taken(k) >= kept_places && give_up_oldest(k))
      continue;
    try {
      c.place = std::make_unique<loaded>(s->device, c.xclbin);
    } catch (const std::exception &) {
      if (!give_up_oldest(k))
        throw;
    }
  }
  c.users++;
  c.last_use = ++k.clock;
  return !c.configured;
}

void release_place(run_session *s, bool launched) {
  std::lock_guard<std::mutex> guard(known().lock);
  s->shared->users--;
  s->shared->configured |= launched;
}

struct run_session *open_session(const struct run_plan *plan,
                                 const struct run_options *, struct diag *d) {
  try {
    auto s = std::make_unique<run_session>(*plan, find_configuration(*plan));
    acquire_place(s.get());
    try {
      s->make_buffers(*plan);
    } catch (const std::exception &) {
      release_place(s.get(), false);
      throw;
    }
    release_place(s.get(), false);
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
  s->run = std::make_unique<xrt::run>(s->shared->place->kernel(
      opcode_transaction, s->instructions, s->instruction_words, s->buffer[IN0],
      s->buffer[IN1], s->buffer[OUT]));
}

bool launch(struct run_session *s, struct run_context *,
            const struct run_code *, struct run_counts *counts,
            struct diag *d) {
  if (!present(d))
    return false;
  bool loads = false;
  try {
    loads = acquire_place(s);
  } catch (const std::exception &e) { // others have all places: for now
    return diag_declined(d, loc_none(), "XRT: %s", e.what());
  }
  counts->configured |= loads;
  try {
    start(s);
    ert_cmd_state state = s->run->wait(launch_timeout);
    if (state == ERT_CMD_STATE_COMPLETED) {
      s->run.reset();
      release_place(s, true);
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
