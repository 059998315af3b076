// Worker processes and the queue in front of them; see worker.hpp.
#include "properties/worker.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "properties/assert.hpp"
#include "properties/deadline.hpp"
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

Judgement skipped(std::string reason) {
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.reason = std::move(reason);
  return judgement;
}

// After these the process is not to be trusted with another case.
bool spoils_worker(const Case& c, const Judgement& judgement) {
  switch (judgement.fault.kind) {
    case gpu::FaultKind::none:
    case gpu::FaultKind::refused:
      return false;
    case gpu::FaultKind::launch_error:
    case gpu::FaultKind::timed_out:
    case gpu::FaultKind::crashed:
      return true;
    default:
      return c.text("backend") == gpu::name(gpu::Backend::cuda);
  }
}

}  // namespace

struct WorkerPool::Work {
  Case c;
  std::optional<Judgement> judgement;
  Attempt attempt = Attempt::first;
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
    worker.process.start([options](int socket) { serve(socket, options); });
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
        return skipped(fmt::format(
            "its inputs and its true answer take longer than {:g} s here; --watchdog gives them "
            "more",
            options_.watchdog_s));
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

void WorkerPool::settle(Worker& worker, const Judgement& judgement) {
  const Case& c = worker.work->c;
  if (worker.process.running() && spoils_worker(c, judgement)) retire(worker);
  worker.work->judgement = judgement;
  worker.work->judgement->seconds =
      std::chrono::duration<double>(Clock::now() - worker.given).count();
  worker.work = nullptr;
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
        settle(worker, post_mortem(worker, Death::gone));
        break;
      case LineReader::State::line:
        take_answer(worker, line);
        break;
    }
  }
}

Judgement WorkerPool::judge(const Case& c) {
  Work work{c, std::nullopt};
  give(*workers_.front(), work);
  while (!work.judgement) wait();
  return *work.judgement;
}

void WorkerPool::run(const Next& next, const Done& done, const Known& known) {
  const std::size_t ahead_max = workers_.size() * 64;
  std::deque<Work> queue;  // in case order; addresses stay valid while only the ends change
  bool more = true;
  for (;;) {
    for (const auto& worker : workers_) {
      while (worker->work == nullptr && more && queue.size() < ahead_max) {
        std::optional<Case> c = next();
        more = c.has_value();
        if (!more) break;
        Work& work = queue.emplace_back(Work{std::move(*c), std::nullopt});
        if (known) work.judgement = known(work.c);
        if (!work.judgement) give(*worker, work);
      }
    }
    while (!queue.empty() && queue.front().judgement) {
      done(queue.front().c, *queue.front().judgement);
      queue.pop_front();
    }
    if (queue.empty() && !more) return;
    wait();
  }
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
