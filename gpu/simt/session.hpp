// How a backend runs kernels on the executor: it makes a Session, names the memory that the kernels
// may touch, calls the kernel's entry point with stream() as its stream, and reads the fault.
//
//   simt::Config config;
//   config.order = simt::Order::burst;
//   config.checked = true;               // effective for kernels compiled with the checked options
//   simt::Session session(config);
//   session.watch(q, q_bytes, "q", simt::Contents::read_only, 4);
//   session.watch(out, out_bytes, "out", simt::Contents::uninitialised, 4);
//   entry(..., session.stream());
//   if (session.fault()) ...
//
// One session is one run of an entry point, however many launches it makes; what one launch wrote
// the next may read. Exhaustive search makes a new session for each schedule, all with the same
// Explorer:
//   simt::Explorer explorer;
//   do { config.explorer = &explorer; Session session(config); ... } while (explorer.next());
// Sessions on different OS threads are independent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace halfulp::gpu::simt {

enum class Order : std::uint8_t {
  round_robin,  // blocks and threads in ascending order; switches only where a thread must wait or
                // polls
  reverse,      // descending order, and a switch at every atomic
  burst,        // random, but staying with one warp for long: warps drift far apart
  exhaustive,   // every choice of block at atomics, through Config::explorer
};
enum class Landing : std::uint8_t { at_wait, at_issue, random };  // when a cp.async lands

// How mma adds up. Exact products are aligned to the largest exponent of a block of `block`
// products and the accumulator, truncated to `fraction_bits` below it, added, and truncated to
// float. fraction_bits 0: summed in double and rounded once instead.
struct TensorCore {
  int fraction_bits = 0;
  int block_16_bit = 0;  // products a block for f16 and bf16
  int block_tf32 = 0;
};
inline constexpr TensorCore kTensorCoreRounded{};
inline constexpr TensorCore kTensorCoreAmpere{24, 8, 4};
inline constexpr TensorCore kTensorCoreHopper{25, 16, 8};

// Depth-first search over choices, without memory of states: the path of choices is the schedule.
// First all schedules without a preemption, then all with up to one, and so on to the bound: what
// needs few of them is found early, also where a limit ends the search.
class Explorer {
 public:
  explicit Explorer(int preemption_bound = 2) : preemption_bound_(preemption_bound) {}
  // Used by the executor. `stay`: choice 0 continues the running block, the others preempt it.
  std::size_t choose(std::size_t count, bool stay);
  // Moves on to the next schedule; false when all have been run.
  bool next();
  std::int64_t schedules() const { return schedules_; }  // finished so far

 private:
  struct Choice {
    std::size_t taken, count;
  };
  std::vector<Choice> path_;
  std::size_t position_ = 0;
  int preemption_bound_ = 2;
  int bound_ = 0;         // of the schedules being run
  bool bounded_ = false;  // whether it has kept any of them from a choice
  int preemptions_ = 0;
  std::int64_t schedules_ = 0;
};

struct Config {
  Order order = Order::round_robin;
  std::uint64_t seed = 1;  // burst, Landing::random
  int resident = 4;        // blocks resident at once, 1 to 64
  bool checked = false;    // bounds, uninitialised reads, races
  Landing landing = Landing::at_wait;
  TensorCore tensor_core = kTensorCoreRounded;
  Explorer* explorer = nullptr;  // needed by Order::exhaustive, ignored by the others
  int polls_max = 512;           // polls in vain, by every thread that could run: a deadlock
  std::int64_t switches_max =
      20'000'000'000;                         // thread switches in one launch; watchdogs are sooner
  std::int64_t accesses_max = 4'000'000'000;  // checked accesses in one launch
};

enum class FaultKind : std::uint8_t {
  none,
  launch_error,   // a launch CUDA would refuse
  out_of_bounds,  // outside every watched region, shared variable, argument and the thread's own
                  // stack
  misaligned,     // a vector access, cp.async or ldmatrix row below its natural alignment
  uninitialised,  // a read of memory that nothing wrote
  input_written,  // a write to a read_only region
  race,           // two accesses, one of them a plain write or plain with an atomic, not ordered
  deadlock,    // every thread waits or polls in vain; also for a block that never became resident
  divergence,  // a barrier or warp operation reached by the wrong threads, or a wrong mask
  async_copy,  // cp.async data used before its wait, or copies still pending at exit
  budget,      // Config's limits on switches or accesses
  no_memory,   // for the executor's own needs: says nothing of the kernel
};
const char* name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string text;  // what, where (region, element, kernel file:line), which block and thread
  explicit operator bool() const { return kind != FaultKind::none; }
};

// Over all launches of the session.
struct Report {
  std::int64_t launches = 0;
  std::int64_t threads = 0;
  std::int64_t switches = 0;
  std::int64_t barriers = 0;
  std::int64_t collectives = 0;
  std::int64_t accesses = 0;  // seen by the checker
};

enum class Contents : std::uint8_t { read_only, initialised, uninitialised };

// False in builds where kernels cannot be instrumented (HALFULP_SANITIZE): Config::checked has no
// effect there.
bool checker_available();

class Checker;

class Session {
 public:
  explicit Session(const Config& config);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Memory that kernels may access. Regions must not overlap; leave a gap between them, or an
  // access past the end of one hits the next. `element_bytes` is for texts: "out, element 5 (byte
  // 20)".
  void watch(const void* data, std::size_t bytes, std::string name, Contents contents,
             std::size_t element_bytes);

  void* stream() { return this; }
  const Config& config() const { return config_; }
  const Fault& fault() const { return fault_; }
  const Report& report() const { return report_; }

  // For the executor.
  Checker* checker() { return checker_.get(); }  // nullptr: not checked
  void record(Fault fault) {
    if (!fault_) fault_ = std::move(fault);
  }
  Report& counters() { return report_; }

 private:
  Config config_;
  Fault fault_;
  Report report_;
  std::unique_ptr<Checker> checker_;
};

}  // namespace halfulp::gpu::simt
