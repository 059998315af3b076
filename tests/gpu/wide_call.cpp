// Operands apart from each other, and calls on the executor.
#include "tests/gpu/wide_call.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>

#include "gpu/simt/session.hpp"

namespace halfulp::gpu::test {
namespace {

constexpr std::byte kUnwritten{0xff};

std::size_t element_bytes(const Operand& operand) {
  return static_cast<std::size_t>(size_bytes(operand.format));
}

// Unwritten at every take, and watched; locks are zero.
class PlainWorkspaces : public Workspaces {
 public:
  explicit PlainWorkspaces(simt::Session& session) : session_(session) {}

  void* take(std::string_view name, std::int64_t bytes) override {
    return watched(name, bytes, kUnwritten, simt::Contents::uninitialised);
  }
  std::uint32_t* locks(std::string_view name, std::int64_t count) override {
    void*& words = locks_[std::string(name)];
    if (words == nullptr) words = watched(name, 4 * count, {}, simt::Contents::initialised);
    return static_cast<std::uint32_t*>(words);
  }

 private:
  void* watched(std::string_view name, std::int64_t bytes, std::byte fill,
                simt::Contents contents) {
    constexpr std::size_t kAlignment = 256;
    const auto size = static_cast<std::size_t>(bytes);
    blocks_.emplace_back(size + 2 * kAlignment, fill);
    std::byte* data = blocks_.back().data();
    data += kAlignment - reinterpret_cast<std::uintptr_t>(data) % kAlignment;
    session_.watch(data, size, std::string(name), contents, 4);
    return data;
  }

  simt::Session& session_;
  std::list<std::vector<std::byte>> blocks_;
  std::map<std::string, void*> locks_;
};

void watch(simt::Session& session, const Argument& argument) {
  const Operand& operand = *argument.operand;
  const auto contents =
      operand.role == Role::input ? simt::Contents::read_only : simt::Contents::uninitialised;
  const std::size_t bytes = element_bytes(operand);
  for (const Run& run : runs_of(operand)) {
    session.watch(argument.as<std::byte>() + run.offset * static_cast<std::int64_t>(bytes),
                  static_cast<std::size_t>(run.count) * bytes, operand.name, contents, bytes);
  }
}

}  // namespace

WideOperands::WideOperands(WideMemory& memory, const Problem& problem,
                           std::span<const WideLayout> layouts)
    : memory_(memory), operands_(problem.operands) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    Operand& operand = operands_[i];
    operand.stride = wide_strides(operand.extent, layouts[i]);
    operand.base_offset = layouts[i].odd;
    const std::int64_t elements = operand.base_offset + operand.span_elements();
    std::byte* base = memory.take(elements * size_bytes(operand.format));
    if (base == nullptr) {
      arguments_.clear();
      return;
    }
    base += operand.base_offset * size_bytes(operand.format);
    arguments_.push_back({base, &operand});
    std::vector<std::byte> elements_of = std::move(operand.storage);
    const auto bytes = static_cast<std::size_t>(operand.count()) * element_bytes(operand);
    if (operand.role == Role::output) elements_of.assign(bytes, kUnwritten);
    write(arguments_.back(), elements_of);
  }
}

void WideOperands::write(const Argument& argument, const std::vector<std::byte>& elements) {
  const std::size_t bytes = element_bytes(*argument.operand);
  for (const Run& run : runs_of(*argument.operand)) {
    std::vector<std::byte> part(static_cast<std::size_t>(run.count) * bytes);
    for (std::int64_t i = 0; i < run.count; ++i) {
      const auto from = static_cast<std::size_t>(run.first + i * run.step) * bytes;
      std::memcpy(part.data() + static_cast<std::size_t>(i) * bytes, elements.data() + from, bytes);
    }
    memory_.write(argument.as<std::byte>() + run.offset * static_cast<std::int64_t>(bytes), part);
  }
}

Outputs WideOperands::outputs() const {
  Outputs outputs;
  for (const Argument& argument : arguments_) {
    const Operand& operand = *argument.operand;
    if (operand.role != Role::output) continue;
    const std::size_t bytes = element_bytes(operand);
    std::vector<std::byte> elements(static_cast<std::size_t>(operand.count()) * bytes);
    for (const Run& run : runs_of(operand)) {
      std::vector<std::byte> part(static_cast<std::size_t>(run.count) * bytes);
      memory_.read(part, argument.as<std::byte>() + run.offset * static_cast<std::int64_t>(bytes));
      for (std::int64_t i = 0; i < run.count; ++i) {
        const auto to = static_cast<std::size_t>(run.first + i * run.step) * bytes;
        std::memcpy(elements.data() + to, part.data() + static_cast<std::size_t>(i) * bytes, bytes);
      }
    }
    outputs.push_back(std::move(elements));
  }
  return outputs;
}

WideResult call_on_host(EntryPoint entry, bool checked, const Problem& problem,
                        std::span<const WideLayout> layouts) {
  const std::unique_ptr<WideMemory> memory = wide_memory_host();
  const WideOperands operands(*memory, problem, layouts);
  if (operands.arguments().empty()) return {.no_memory = memory->failure()};
  simt::Config config;
  config.checked = checked;
  config.tensor_core = simt::kTensorCoreHopper;
  simt::Session session(config);
  for (const Argument& argument : operands.arguments()) watch(session, argument);
  PlainWorkspaces workspaces(session);
  const Status status = entry({operands.arguments(), problem.epsilon, &workspaces, session.stream(),
                               problem.settings, problem.scale});
  if (session.fault()) return {.wrong = session.fault().text};
  return {.wrong = status.refused + status.launch_error, .outputs = operands.outputs()};
}

std::string first_difference(const Problem& problem, const WideResult& wide,
                             const WideResult& near) {
  for (const WideResult* result : {&near, &wide}) {
    if (!result->wrong.empty()) return result->wrong;
  }
  std::size_t output = 0;
  for (const Operand& operand : problem.operands) {
    if (operand.role != Role::output) continue;
    const std::vector<std::byte>& left = wide.outputs.at(output);
    const std::vector<std::byte>& right = near.outputs.at(output++);
    const std::size_t bytes = element_bytes(operand);
    const std::vector<std::byte> unwritten(bytes, kUnwritten);
    for (std::size_t at = 0; at < left.size(); at += bytes) {
      const std::string element = operand.name + ", element " + std::to_string(at / bytes);
      if (std::memcmp(&left[at], unwritten.data(), bytes) == 0) return element + " is not written";
      if (std::memcmp(&left[at], &right[at], bytes) != 0) return element + " differs";
    }
  }
  return {};
}

}  // namespace halfulp::gpu::test
