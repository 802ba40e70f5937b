// fake_xrt.h -- XRT's classes as far as npu/run/xrt.cpp uses them, for tests: a
// kernel computes the product of fake.h's plan, which comes as instructions.
//
// Host and device see a buffer apart until it is synchronised, as they do on
// silicon where nobody flushes caches.  The real run object ends the program
// when it is destroyed while its command runs; this one counts.
#ifndef FAKE_XRT_H
#define FAKE_XRT_H

extern "C" {
#include "fake.h"
}

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

enum ert_cmd_state {
  ERT_CMD_STATE_RUNNING = 3,
  ERT_CMD_STATE_COMPLETED = 4,
  ERT_CMD_STATE_TIMEOUT = 8
};
enum xclBOSyncDirection {
  XCL_BO_SYNC_BO_TO_DEVICE,
  XCL_BO_SYNC_BO_FROM_DEVICE
};
enum { XCL_BO_FLAGS_CACHEABLE = 1, XRT_BO_FLAGS_HOST_ONLY = 2 };

namespace xrt {

namespace info {
enum class device { name };
}

class xclbin {
public:
  class kernel {
  public:
    std::string get_name() const { return "NPUTEIR"; }
  };
  xclbin(const std::vector<char> &) {}
  std::vector<kernel> get_kernels() const { return {kernel()}; }
};

class uuid {};

class device {
public:
  explicit device(unsigned) {}
  template <info::device> std::string get_info() const { return "NPU Phoenix"; }
  uuid register_xclbin(const xclbin &) { return {}; }
};

// A handle, as XRT's classes are: a context ends with its last one.
class hw_context {
  struct place {
    place() {
      if (fake_xrt.fail_context || fake_xrt.contexts >= fake_xrt.contexts_max)
        throw std::runtime_error("no context");
      fake_xrt.contexts++;
      fake_xrt.contexts_made++;
    }
    ~place() { fake_xrt.contexts--; }
  };
  std::shared_ptr<place> held;

public:
  hw_context(const device &, const uuid &) : held(new place) {}
};

class bo {
public:
  struct memory {
    std::vector<char> host, device;
    explicit memory(size_t n) : host(n), device(n, 0x7f) {}
    bool in_use = false; // by a command that never completes
    ~memory() { fake_xrt.freed_while_running += in_use; }
  };
  std::shared_ptr<memory> bytes;
  bo() = default;
  bo(const device &, size_t n, int, int) : bytes(new memory(n)) {}
  template <class T> T map() const { return (T)bytes->host.data(); }
  void sync(xclBOSyncDirection to) {
    (to == XCL_BO_SYNC_BO_TO_DEVICE ? bytes->device : bytes->host) =
        to == XCL_BO_SYNC_BO_TO_DEVICE ? bytes->host : bytes->device;
  }
};

class run {
  bool completes;
  int number;

public:
  run(bool completes, int number) : completes(completes), number(number) {}
  run(run &&other) : completes(other.completes), number(other.number) {
    other.completes = true;
  }
  ~run() { fake_xrt.destroyed_while_running += !completes; }
  ert_cmd_state wait(std::chrono::milliseconds most) {
    if (most < std::chrono::seconds(61))
      fake_xrt.short_waits++;
    if (number == fake_xrt.throw_at)
      throw std::runtime_error("wait failed");
    return completes ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_TIMEOUT;
  }
};

class kernel {
  hw_context context;

public:
  kernel(const hw_context &c, const std::string &) : context(c) {}
  int group_id(int) const { return 0; }
  run operator()(uint64_t opcode, const bo &code, uint32_t words, const bo &in0,
                 const bo &in1, const bo &out) {
    int number = ++fake_xrt.commands;
    if (opcode != 3 || words != code.bytes->device.size() / 4)
      throw std::runtime_error("no such command");
    struct run_plan plan;
    std::memcpy(&plan, code.bytes->device.data(), sizeof plan);
    char *tensor[] = {in0.bytes->device.data(), in1.bytes->device.data(),
                      out.bytes->device.data()};
    bool good = number != fake_xrt.hang_at && number != fake_xrt.throw_at;
    for (const bo *b : {&code, &in0, &in1, &out})
      b->bytes->in_use |= !good;
    if (good)
      fake_compute(&plan, tensor);
    return run(good, number);
  }
};

} // namespace xrt

#endif
