// Worker processes and the queue in front of them; see worker.hpp.
#include "properties/worker.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <new>

#include "properties/assert.hpp"
#include "properties/process.hpp"
#include "properties/record.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {

namespace {

using Clock = std::chrono::steady_clock;

Judgement faulted(gpu::FaultKind kind, std::string text) {
  Judgement judgement;
  judgement.verdict = Verdict::faulted;
  judgement.fault = {kind, std::move(text)};
  judgement.reason = fmt::format("{}: {}", gpu::name(kind), judgement.fault.text);
  return judgement;
}

Judgement judge_line(const std::string& line) try {
  const Parsed parsed = parse(line);
  HALFULP_ASSERT(!parsed.error, parsed.error.what);
  return judge(parsed.value);
} catch (const std::bad_alloc&) {
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.reason = "not enough memory for this case here";
  return judgement;
} catch (const std::exception& error) {
  return faulted(gpu::FaultKind::crashed, fmt::format("exception: {}", error.what()));
}

void serve(int socket) {
  LineReader reader;
  std::string line;
  for (;;) {
    const LineReader::State state = reader.read(socket, line);
    if (state == LineReader::State::closed) return;
    if (state == LineReader::State::pending) continue;
    if (!send_line(socket, to_record(judge_line(line)))) return;
  }
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
};

struct WorkerPool::Worker {
  Process process;
  LineReader reader;
  Work* work = nullptr;  // in hand; null when idle
  Clock::time_point deadline;
};

WorkerPool::WorkerPool(WorkerOptions options) : options_(options) {
  HALFULP_ASSERT(options.jobs >= 1, "no workers");
  for (int i = 0; i < options.jobs; ++i) workers_.push_back(std::make_unique<Worker>());
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::give(Worker& worker, Work& work) {
  worker.work = &work;
  const std::string line = print(work.c);
  worker.process.forget_output();
  bool sent = worker.process.running() && send_line(worker.process.socket(), line);
  if (!sent) {  // not started yet, or it died while idle, of nothing that this case did
    worker.process.end();
    worker.reader.clear();
    worker.process.start(serve);
    sent = send_line(worker.process.socket(), line);
  }
  const auto patience = std::chrono::duration<double>(options_.watchdog_s);
  worker.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
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
  if (worker.process.running() && spoils_worker(c, judgement)) {
    worker.process.kill();
    worker.process.end();
    worker.reader.clear();
    ++restarts_;
  }
  worker.work->judgement = judgement;
  worker.work = nullptr;
}

void WorkerPool::wait() {
  std::vector<pollfd> sockets;
  std::vector<Worker*> busy;
  Clock::time_point first = Clock::time_point::max();
  for (const auto& worker : workers_) {
    if (worker->work == nullptr) continue;
    busy.push_back(worker.get());
    sockets.push_back({worker->process.socket(), POLLIN, 0});
    first = std::min(first, worker->deadline);
  }
  if (busy.empty()) return;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
  const int patience_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000000));
  poll(sockets.data(), sockets.size(), patience_ms);
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Worker& worker = *busy[i];
    if (sockets[i].revents == 0) {
      if (Clock::now() >= worker.deadline) settle(worker, post_mortem(worker, Death::timed_out));
      continue;
    }
    std::string line;
    Judgement judgement;
    switch (worker.reader.read(worker.process.socket(), line)) {
      case LineReader::State::pending:
        break;
      case LineReader::State::closed:
        settle(worker, post_mortem(worker, Death::gone));
        break;
      case LineReader::State::line:
        if (!from_record(line, judgement)) judgement = post_mortem(worker, Death::garbled);
        settle(worker, judgement);
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

void WorkerPool::run(const Next& next, const Done& done) {
  const std::size_t ahead_max = workers_.size() * 64;
  std::deque<Work> queue;  // in case order; addresses stay valid while only the ends change
  bool more = true;
  for (;;) {
    for (const auto& worker : workers_) {
      if (worker->work != nullptr || !more || queue.size() >= ahead_max) continue;
      std::optional<Case> c = next();
      more = c.has_value();
      if (more) give(*worker, queue.emplace_back(Work{std::move(*c), std::nullopt}));
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
