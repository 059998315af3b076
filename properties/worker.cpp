// Worker processes and the queue in front of them; see worker.hpp.
#include "properties/worker.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "properties/assert.hpp"
#include "properties/deadline.hpp"
#include "properties/parallel.hpp"
#include "properties/process.hpp"
#include "properties/record.hpp"
#include "properties/serve.hpp"

namespace halfulp::properties {

namespace {

// Longer than poll() oversleeps on a busy machine: this process was stopped, or had other work.
constexpr Clock::duration kUnseen = std::chrono::milliseconds(100);
// Slept at once: what a stop hides from the watchdog is known to this.
constexpr Clock::duration kSlice = std::chrono::milliseconds(100);

Judgement faulted(gpu::FaultKind kind, std::string text) {
  Judgement judgement;
  judgement.verdict = Verdict::faulted;
  judgement.fault = {kind, std::move(text)};
  judgement.reason = fmt::format("{}: {}", gpu::name(kind), judgement.fault.text);
  return judgement;
}

Judgement too_slow(double watchdog_s) {
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.fault.kind = gpu::FaultKind::timed_out;
  judgement.reason = fmt::format(
      "its inputs and its true answer take longer than {:g} s here; --watchdog gives them more",
      watchdog_s);
  return judgement;
}

// After these the process is not to be trusted with another case.
bool spoils_worker(const Case& c, const Judgement& judgement) {
  const auto runs_on = [&](gpu::Backend backend) { return c.text("backend") == name(backend); };
  switch (judgement.fault.kind) {
    case gpu::FaultKind::none:
      // What a wrong kernel wrote elsewhere, on its stack or through a pointer of its own making,
      // is of no guard's concern; a device has no memory of ours.
      return judgement.verdict == Verdict::fail && runs_on(gpu::Backend::host);
    case gpu::FaultKind::refused:
    case gpu::FaultKind::no_memory:
      return false;
    case gpu::FaultKind::launch_error:
    case gpu::FaultKind::timed_out:
    case gpu::FaultKind::crashed:
      return true;
    default:
      // Found once done; the checked executor stops before.
      return !runs_on(gpu::Backend::host_checked);
  }
}

}  // namespace

struct WorkerPool::Work {
  Case c;
  std::optional<Judgement> judgement;
  Attempt attempt = Attempt::first;
  bool killed = false;  // its worker was, once
  enum class Company : std::uint8_t { any, to_be_alone, alone } company = Company::any;

  bool waits_for_solitude() const { return company == Company::to_be_alone; }
};

struct WorkerPool::Stream {
  std::deque<Work> queue;  // in case order; addresses stay valid while only the ends change
  bool more = true;

  void report(const Done& done) {
    for (; !queue.empty() && queue.front().judgement; queue.pop_front()) {
      done(queue.front().c, *queue.front().judgement);
    }
  }
  Work* first_alone() {
    const auto found = std::ranges::find_if(queue, &Work::waits_for_solitude);
    return found == queue.end() ? nullptr : &*found;
  }
  // Reports what has been judged; the rest, whose number is returned, is left.
  std::int64_t drop(const Done& done) {
    std::int64_t dropped = 0;
    for (const Work& work : queue) {
      if (work.judgement) done(work.c, *work.judgement);
      dropped += !work.judgement;
    }
    return dropped;
  }
};

struct WorkerPool::Worker {
  Process process;
  LineReader reader;
  StageBoard board;
  std::uint32_t stages = 0;  // of the board, when this process last looked
  Work* work = nullptr;      // in hand; null when idle
  Clock::time_point given;
  Clock::time_point deadline;
  Clock::time_point seen;  // when this process last looked

  // Leaves out what passed unseen, beyond the time that was to be slept.
  void look(Clock::time_point now, Clock::duration slept) {
    const Clock::duration unseen = now - seen - slept;
    if (unseen > kUnseen) {
      deadline += unseen;
      given += unseen;
    }
    seen = now;
  }
  // A stage that began since the last look has the watchdog's whole term.
  void follow(Clock::duration term) {
    if (board.entered() == stages) return;
    stages = board.entered();
    deadline = seen + term;
  }
};

WorkerPool::WorkerPool(WorkerOptions options) : options_(options) {
  HALFULP_ASSERT(options.jobs >= 1, "no workers");
  for (int i = 0; i < options.jobs; ++i) workers_.push_back(std::make_unique<Worker>());
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::give(Worker& worker, Work& work) {
  worker.work = &work;
  const std::string line = request(work.c, work.attempt);
  worker.process.forget_output();
  if (!worker.process.running() || !send_line(worker.process.socket(), line)) {
    // Not started yet, or it died while idle, of nothing that this case did.
    worker.process.end();
    worker.reader.clear();
    // Each problem of a case, its own and a law's, may be searched: half of the time at most.
    const JudgeOptions options{.search_s = options_.watchdog_s / 4,
                               .board = &worker.board,
                               .advise_always = options_.advise_always};
    worker.board.enter(Stage::ours);
    // All workers together keep the cores busy, a single one by threads.
    const int threads = std::max(1, threads_most() / options_.jobs);
    worker.process.start([options, threads](int socket) {
      set_threads_most(threads);
      serve(socket, options);
    });
    send_line(worker.process.socket(), line);
  }
  worker.given = worker.seen = Clock::now();
  worker.deadline = worker.given + limit(options_.watchdog_s);
}

void WorkerPool::retire(Worker& worker) {
  worker.process.kill();
  worker.process.end();
  worker.reader.clear();
  ++restarts_;
}

Judgement WorkerPool::post_mortem(Worker& worker, Death death) {
  if (death != Death::gone) worker.process.kill();
  const std::string how = worker.process.end();
  const std::string said = worker.process.output_tail(400);
  worker.reader.clear();
  ++restarts_;
  const std::string quoted = said.empty() ? "" : fmt::format("; it said: {}", said);
  switch (death) {
    case Death::timed_out:
      if (worker.board.stage() == Stage::ours) {
        return too_slow(options_.watchdog_s);
      }
      return faulted(gpu::FaultKind::timed_out,
                     fmt::format("no verdict within {:g} s{}", options_.watchdog_s, quoted));
    case Death::garbled:
      return faulted(gpu::FaultKind::crashed,
                     "the worker's answer is no judgement: its memory was written over" + quoted);
    case Death::gone:
      break;
  }
  return faulted(gpu::FaultKind::crashed,
                 fmt::format("{}{}", how.empty() ? "the kernel ended its process" : how, quoted));
}

bool WorkerPool::lacked_by_company(const Work& work, const Judgement& judgement) const {
  if (workers_.size() == 1 || work.company == Work::Company::alone) return false;
  switch (judgement.fault.kind) {
    case gpu::FaultKind::no_memory:
      return true;
    case gpu::FaultKind::timed_out:
      return options_.one_device || judgement.verdict == Verdict::skipped;
    default:
      return false;
  }
}

void WorkerPool::settle(Worker& worker, const Judgement& judgement) {
  Work& work = *worker.work;
  worker.work = nullptr;
  if (worker.process.running() && spoils_worker(work.c, judgement)) retire(worker);
  if (lacked_by_company(work, judgement)) {
    work.company = Work::Company::to_be_alone;
    return;
  }
  work.judgement = judgement;
  work.judgement->seconds = std::chrono::duration<double>(Clock::now() - worker.given).count();
}

void WorkerPool::bury(Worker& worker) {
  Work& work = *worker.work;
  Judgement judgement = post_mortem(worker, Death::gone);
  if (worker.process.signal() != SIGKILL) return settle(worker, judgement);
  if (work.killed) {
    judgement =
        faulted(gpu::FaultKind::crashed,
                judgement.fault.text + ", and so it was when the case was judged again, alone");
    return settle(worker, judgement);
  }
  work.killed = true;
  if (workers_.size() == 1 || work.company == Work::Company::alone) return give(worker, work);
  worker.work = nullptr;
  work.company = Work::Company::to_be_alone;
}

void WorkerPool::take_answer(Worker& worker, const std::string& line) {
  Judgement judgement;
  if (line == kNoMemory && worker.work->attempt == Attempt::first) {
    retire(worker);
    worker.work->attempt = Attempt::second;
    give(worker, *worker.work);
    return;
  }
  if (!from_record(line, judgement)) judgement = post_mortem(worker, Death::garbled);
  settle(worker, judgement);
}

void WorkerPool::wait() {
  std::vector<pollfd> sockets;
  std::vector<Worker*> busy;
  Clock::time_point first = Clock::time_point::max();
  const Clock::time_point before = Clock::now();
  for (const auto& worker : workers_) {
    if (worker->work == nullptr) continue;
    worker->look(before, {});
    worker->follow(limit(options_.watchdog_s));
    busy.push_back(worker.get());
    sockets.push_back({worker->process.socket(), POLLIN, 0});
    first = std::min(first, worker->deadline);
  }
  if (busy.empty()) return;
  const auto patience = std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Clock::duration>(
      first - before, {}, std::min(kSlice, limit(options_.watchdog_s) / 4)));
  poll(sockets.data(), sockets.size(), static_cast<int>(patience.count()));
  const Clock::time_point after = Clock::now();
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Worker& worker = *busy[i];
    worker.look(after, patience);
    worker.follow(limit(options_.watchdog_s));
    if (sockets[i].revents == 0) {
      if (after >= worker.deadline) settle(worker, post_mortem(worker, Death::timed_out));
      continue;
    }
    std::string line;
    switch (worker.reader.read(worker.process.socket(), line)) {
      case LineReader::State::pending:
        break;
      case LineReader::State::closed:
        bury(worker);
        break;
      case LineReader::State::line:
        take_answer(worker, line);
        break;
    }
  }
}

Judgement WorkerPool::judge(const Case& c) {
  Work work;
  work.c = c;
  work.company = Work::Company::alone;
  give(*workers_.front(), work);
  while (!work.judgement) wait();
  return *work.judgement;
}

Judgement WorkerPool::judge_fresh(const Case& c) {
  end_workers();
  return judge(c);
}

bool WorkerPool::idle() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->work == nullptr; });
}

void WorkerPool::end_workers() {
  for (const auto& worker : workers_) {
    worker->process.kill();
    worker->process.end();
    worker->reader.clear();
    worker->work = nullptr;
  }
}

void WorkerPool::deal(Stream& stream, const Next& next, const Known& known) {
  const std::size_t ahead_max = workers_.size() * 64;
  for (const auto& worker : workers_) {
    while (worker->work == nullptr && stream.more && stream.queue.size() < ahead_max) {
      std::optional<Case> c = next();
      stream.more = c.has_value();
      if (!stream.more) return;
      Work& work = stream.queue.emplace_back();
      work.c = std::move(*c);
      if (known) work.judgement = known(work.c);
      if (!work.judgement) give(*worker, work);
    }
  }
}

void WorkerPool::judge_alone(Work& work, const Known& known) {
  work.company = Work::Company::alone;
  work.attempt = Attempt::first;
  if (known) work.judgement = known(work.c);
  if (work.judgement) return;
  end_workers();  // also for the memory that they hold
  give(*workers_.front(), work);
}

std::int64_t WorkerPool::run(const Next& next, const Done& done, const Known& known) {
  Stream stream;
  std::optional<Clock::time_point> stopping;  // when what is in hand is dropped
  for (;;) {
    const bool stop = options_.stop != nullptr && *options_.stop != 0;
    if (stop && !stopping) stopping = Clock::now() + limit(kStopGrace_s);
    Work* const alone = stream.first_alone();
    if (!stop && alone == nullptr) deal(stream, next, known);
    stream.report(done);
    if (!stop && alone != nullptr && idle()) judge_alone(*alone, known);
    const bool ended =
        stop ? idle() || Clock::now() >= *stopping : stream.queue.empty() && !stream.more;
    if (ended) break;
    wait();
  }
  const std::int64_t dropped = stream.drop(done);
  if (!idle()) end_workers();
  return dropped;
}

std::vector<BackendState> backend_states() {
  Process process;
  process.start([](int socket) {
    for (int i = 0; i < gpu::kBackends; ++i) {
      const auto backend = static_cast<gpu::Backend>(i);
      std::string unavailable = gpu::unavailable_reason(backend);
      std::ranges::replace(unavailable, '\n', ' ');
      send_line(socket, unavailable);
      send_line(socket, unavailable.empty() ? gpu::device_name(backend) : "");
    }
  });
  LineReader reader;
  std::vector<BackendState> states;
  const auto line = [&]() -> std::optional<std::string> {
    std::string text;
    LineReader::State state = LineReader::State::pending;
    while (state == LineReader::State::pending) state = reader.read(process.socket(), text);
    return state == LineReader::State::line ? std::optional(text) : std::nullopt;
  };
  for (int i = 0; i < gpu::kBackends; ++i) {
    const auto unavailable = line();
    const auto device = line();
    states.push_back({static_cast<gpu::Backend>(i),
                      unavailable.value_or("asking for it ended the process that asked"),
                      device.value_or("")});
  }
  process.end();
  return states;
}

}  // namespace halfulp::properties
