// Sessions and the search over schedules.
#include "gpu/simt/session.hpp"

#include "gpu/simt/checker.hpp"

namespace halfulp::gpu::simt {

std::size_t Explorer::choose(std::size_t count, bool stay) {
  if (stay && preemptions_ >= bound_) {
    bounded_ = true;
    return 0;
  }
  // A kernel whose own steps are not repeatable can offer other choices than the run before did.
  if (position_ < path_.size() && path_[position_].count != count) path_.resize(position_);
  if (position_ == path_.size()) path_.push_back({0, count});
  const std::size_t taken = path_[position_++].taken;
  if (stay && taken != 0) ++preemptions_;
  return taken;
}

bool Explorer::next() {
  ++schedules_;
  path_.resize(position_);
  position_ = 0;
  preemptions_ = 0;
  while (!path_.empty()) {
    if (++path_.back().taken < path_.back().count) return true;
    path_.pop_back();
  }
  // Another preemption, if any would have been possible.
  if (!bounded_ || bound_ >= preemption_bound_) return false;
  bounded_ = false;
  ++bound_;
  return true;
}

const char* name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::launch_error:
      return "launch error";
    case FaultKind::out_of_bounds:
      return "out of bounds";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::uninitialised:
      return "uninitialised";
    case FaultKind::input_written:
      return "input written";
    case FaultKind::race:
      return "race";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::divergence:
      return "divergence";
    case FaultKind::async_copy:
      return "async copy";
    case FaultKind::budget:
      return "budget";
    case FaultKind::no_memory:
      return "no memory";
  }
  return "";
}

#if defined(HALFULP_SIMT_UNCHECKED)
bool checker_available() { return false; }
#else
bool checker_available() { return true; }
#endif

Session::Session(const Config& config) : config_(config) {
  if (config_.checked && checker_available()) checker_ = std::make_unique<Checker>(*this);
}

Session::~Session() = default;

void Session::watch(const void* data, std::size_t bytes, std::string name, Contents contents,
                    std::size_t element_bytes) {
  if (checker_ != nullptr) checker_->watch(data, bytes, std::move(name), contents, element_bytes);
}

}  // namespace halfulp::gpu::simt
