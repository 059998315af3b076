// Worker processes: a kernel that crashes, hangs or poisons its CUDA context costs one case.
//
//   WorkerPool pool({.jobs = 2});
//   Judgement j = pool.judge(c);
//   pool.run(next, done);   // many cases; `done` is called in their order, whatever the jobs
//
// A worker is a fork of this process that reads case lines and answers judgements, one line of JSON
// each (properties/serve.hpp). The parent must have no threads and must not have touched CUDA. When
// a worker dies or outruns the watchdog, the case it had in hand is faulted (crashed with the
// signal's name, or timed_out) and a fresh worker takes over. So does one after every case that a
// plain host or a device shows to be wrong: who knows what else its kernel hit (on a device, after
// a fault: answers that are only wrong leave nothing). The watchdog gives a whole term to each
// call of the kernel, and to our own work before, between and after: a case whose inputs or answer
// take longer is skipped, and charged to no kernel. Time in which this process was stopped
// does not count.
//
// What a machine or a device that is shared among the workers makes of a case is not its verdict:
// where memory or time ran out while there were several, it is judged again alone, the other
// workers ended. So is a case whose worker was killed by SIGKILL, which the system's out-of-memory
// killer and other people send; a kernel is charged with it where its worker is killed again.
#pragma once
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/check.hpp"

namespace halfulp::properties {

inline constexpr double kWatchdog_s = 20;  // unless told otherwise

struct WorkerOptions {
  int jobs = 1;
  double watchdog_s = kWatchdog_s;  // of wall clock, for one call of the kernel; any size
  bool advise_always = false;       // JudgeOptions
  bool one_device = false;          // calls of kernels wait for each other: also where one hangs
  // Not 0: run() ends, and cases still in hand after kStopGrace_s are dropped.
  const volatile std::sig_atomic_t* stop = nullptr;
};
inline constexpr double kStopGrace_s = 2;

class WorkerPool {
 public:
  explicit WorkerPool(WorkerOptions options);
  ~WorkerPool();  // ends the workers
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  Judgement judge(const Case& c);
  // In a process that has judged nothing else: what earlier cases leave behind is not there.
  Judgement judge_fresh(const Case& c);

  using Next = std::function<std::optional<Case>()>;  // nullopt: no more cases
  using Done = std::function<void(const Case&, const Judgement&)>;
  // The verdict of a case that needs no worker; nullopt: judge it.
  using Known = std::function<std::optional<Judgement>(const Case&)>;
  // How many cases were dropped.
  std::int64_t run(const Next& next, const Done& done, const Known& known = {});

  const WorkerOptions& options() const { return options_; }
  std::int64_t restarts() const { return restarts_; }

 private:
  struct Work;    // a case and, in time, its judgement
  struct Worker;  // a process and the work it has in hand
  struct Stream;  // cases of one run()
  enum class Death : std::uint8_t { gone, timed_out, garbled };

  void give(Worker& worker, Work& work);
  void retire(Worker& worker);
  void take_answer(Worker& worker, const std::string& line);
  // Waits until some worker has answered, died or outrun the watchdog; its judgement goes where it
  // belongs.
  void wait();
  void settle(Worker& worker, const Judgement& judgement);
  Judgement post_mortem(Worker& worker, Death death);
  void bury(Worker& worker);  // one that is gone
  bool lacked_by_company(const Work& work, const Judgement& judgement) const;
  bool idle() const;
  void end_workers();
  void deal(Stream& stream, const Next& next, const Known& known);
  void judge_alone(Work& work, const Known& known);

  WorkerOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t restarts_ = 0;
};

// What a short-lived worker says of the backends, so that this process stays clear of CUDA.
struct BackendState {
  gpu::Backend backend = gpu::Backend::host;
  std::string unavailable;  // empty when it can be used
  std::string device;       // name of what it runs on
};
std::vector<BackendState> backend_states();

}  // namespace halfulp::properties
