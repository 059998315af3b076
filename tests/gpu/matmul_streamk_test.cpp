// The Stream-K variants of matmul on the host backends: small integers, whose sums are exact in
// every format and order, against a plain loop, under schedules, residency limits and repeated
// calls that a fix-up protocol has to survive.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu {
namespace {

constexpr std::int64_t kTile = 32;  // of the cheapest tile, in every direction
constexpr Format kFormats[] = {Format::f16, Format::bf16, Format::f32, Format::tf32};
constexpr std::string_view kVariants[] = {"streamk_atomic", "streamk_atomic_half", "streamk_lock3",
                                          "streamk_lock", "streamk_workspace"};

struct Shape {
  std::int64_t m, n, k;
};
struct Asked {
  std::int64_t programs = 0, group = 1, two_tile = 0;
};

const Kernel& kernel(std::string_view variant) {
  const Kernel* found = find_kernel("matmul", variant);
  if (found == nullptr) throw std::invalid_argument("no kernel " + std::string(variant));
  return *found;
}

bool accepts(std::string_view variant, Format format) {
  const std::vector<Format>& storage = kernel(variant).storage;
  return std::find(storage.begin(), storage.end(), format) != storage.end();
}

void encode(Format format, float value, std::byte* to) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (format == Format::f16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(to, &half, sizeof half);
  } else if (format == Format::bf16) {
    const auto upper = static_cast<std::uint16_t>(bits >> 16);  // exact: few bits are in use
    std::memcpy(to, &upper, sizeof upper);
  } else {
    std::memcpy(to, &value, sizeof value);
  }
}

float decode(Format format, const std::byte* from) {
  std::uint32_t bits = 0;
  float value = 0;
  if (format == Format::f16) {
    _Float16 half = 0;
    std::memcpy(&half, from, sizeof half);
    return static_cast<float>(half);
  }
  if (format == Format::bf16) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, from, sizeof upper);
    bits = std::uint32_t{upper} << 16;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  }
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Element i of a: -1, 0 or 1, so that 256 products are exact even in bf16.
int value_at(char operand, std::int64_t i) {
  const auto mixed =
      static_cast<std::uint32_t>(i + 1) * 2654435761u + 977u * static_cast<unsigned char>(operand);
  return static_cast<int>((mixed >> 16) % 3) - 1;
}

Operand matrix(const char* name, Role role, Format format, std::int64_t rows,
               std::int64_t columns) {
  Operand operand;
  operand.name = name;
  operand.format = format;
  operand.role = role;
  operand.extent = {rows, columns};
  operand.stride = {columns + (role == Role::output ? 3 : 0), 1};
  if (role == Role::output) return operand;
  const auto element = static_cast<std::size_t>(size_bytes(format));
  operand.storage.resize(static_cast<std::size_t>(operand.span_elements()) * element);
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    encode(format, static_cast<float>(value_at(name[0], i)),
           operand.storage.data() + static_cast<std::size_t>(storage_index(operand, i)) * element);
  }
  return operand;
}

Problem problem_of(const Shape& shape, Format format, const Asked& asked) {
  const Format output = format == Format::tf32 ? Format::f32 : format;
  Problem problem;
  problem.operation = "matmul";
  problem.operands.push_back(matrix("a", Role::input, format, shape.m, shape.k));
  problem.operands.push_back(matrix("b", Role::input, format, shape.k, shape.n));
  problem.operands.push_back(matrix("c", Role::output, output, shape.m, shape.n));
  std::int64_t tile = -1;
  for (const Parameter& parameter : kernel("streamk_lock").parameters) {
    if (parameter.name != "tile") continue;
    const auto& words = parameter.words;
    tile = std::find(words.begin(), words.end(), "32x32x32") - words.begin();
  }
  problem.settings = {{"tile", tile, "32x32x32"},
                      {"group", asked.group, ""},
                      {"programs", asked.programs, ""},
                      {"two_tile", asked.two_tile, ""}};
  return problem;
}

std::string first_wrong(const Problem& problem, const Outputs& outputs) {
  const Operand& c = problem.operand("c");
  const std::int64_t k = problem.operand("a").extent[1];
  const std::int64_t n = c.extent[1];
  for (std::int64_t i = 0; i < c.count(); ++i) {
    int want = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      want += value_at('a', i / n * k + j) * value_at('b', j * n + i % n);
    }
    const float got =
        decode(c.format, outputs[0].data() + storage_index(c, i) * size_bytes(c.format));
    if (got == static_cast<float>(want)) continue;
    return "(" + std::to_string(i / n) + ", " + std::to_string(i % n) + ") is " +
           std::to_string(got) + ", want " + std::to_string(want);
  }
  return {};
}

// Runs one case; true where every output of every schedule is right.
testing::AssertionResult right(std::string_view variant, const Problem& problem,
                               const Schedule& schedule, Backend backend = Backend::host) {
  const Outcome outcome = run(kernel(variant), backend, problem, schedule);
  std::string wrong = outcome.fault
                          ? std::string(name(outcome.fault.kind)) + ": " + outcome.fault.text
                          : std::string();
  for (const Outputs& outputs : outcome.outputs) {
    if (wrong.empty()) wrong = first_wrong(problem, outputs);
  }
  if (wrong.empty() && schedule.order == Order::exhaustive && !outcome.schedules_exhausted) {
    wrong = "not all schedules in " + std::to_string(outcome.launches) + " launches";
  }
  if (wrong.empty() && outcome.launches >= 2) return testing::AssertionSuccess();
  const Operand& a = problem.operand("a");
  std::string text = std::string(variant) + " " + std::string(name(a.format)) +
                     " m=" + std::to_string(a.extent[0]) +
                     " n=" + std::to_string(problem.operand("b").extent[1]) +
                     " k=" + std::to_string(a.extent[1]);
  for (const Setting& setting : problem.settings) {
    text += " " + setting.name + "=" + std::to_string(setting.value);
  }
  return testing::AssertionFailure() << text << " resident=" << schedule.resident << ": " << wrong;
}

// Enough resident blocks for the variant that needs them all.
Schedule roomy(std::int64_t programs) {
  Schedule schedule;
  schedule.resident = static_cast<int>(std::max<std::int64_t>(programs, 1));
  return schedule;
}

std::int64_t iterations_of(const Shape& s) {
  const auto count = [](std::int64_t size) { return (size + kTile - 1) / kTile; };
  return count(s.m) * count(s.n) * std::max<std::int64_t>(count(s.k), 1);
}

class MatmulStreamk : public testing::TestWithParam<std::string_view> {};

TEST_P(MatmulStreamk, EveryNumberOfPrograms) {
  const Shape shapes[] = {{1, 1, 1}, {1, 2, 70}, {33, 1, 65}, {3, 70, 100}, {64, 33, 31}};
  for (const Shape& shape : shapes) {
    for (std::int64_t programs = 1; programs <= iterations_of(shape) + 3; ++programs) {
      for (const std::int64_t two_tile : {0, 1}) {
        const Problem problem = problem_of(shape, Format::f16, {programs, 2, two_tile});
        EXPECT_TRUE(right(GetParam(), problem, roomy(programs)));
      }
    }
  }
}

TEST_P(MatmulStreamk, EveryFormat) {
  for (const Format format : kFormats) {
    if (!accepts(GetParam(), format)) continue;
    for (const std::int64_t programs : {1, 2, 5, 7, 31}) {
      for (const std::int64_t group : {1, 3}) {
        const Problem problem = problem_of({70, 65, 97}, format, {programs, group, programs % 2});
        EXPECT_TRUE(right(GetParam(), problem, roomy(programs)));
      }
    }
  }
}

// tiles mod P = 0, 1 and P - 1; one round, and several.
TEST_P(MatmulStreamk, EdgesOfWaves) {
  for (const std::int64_t programs : {2, 3, 4}) {
    for (const std::int64_t rounds : {1, 2, 3}) {
      for (const std::int64_t more : {std::int64_t{0}, std::int64_t{1}, programs - 1}) {
        const Shape shape{1, kTile * (programs * rounds + more) - 5, 40};
        for (const std::int64_t two_tile : {0, 1}) {
          const Problem problem = problem_of(shape, Format::f16, {programs, 1, two_tile});
          EXPECT_TRUE(right(GetParam(), problem, roomy(programs)));
        }
      }
    }
  }
}

TEST_P(MatmulStreamk, EmptySizes) {
  for (const Shape& shape : {Shape{0, 5, 7}, Shape{5, 0, 7}, Shape{0, 0, 0}, Shape{40, 33, 0}}) {
    for (const std::int64_t programs : {0, 1, 3}) {
      const Problem problem = problem_of(shape, Format::f16, {programs, 1, 0});
      EXPECT_TRUE(right(GetParam(), problem, roomy(3)));
    }
  }
}

// One row, two columns: few atomics, so that the choices left are those of the protocol.
TEST_P(MatmulStreamk, AllSchedulesOfFewPrograms) {
  const Format format = Format::f16;
  for (const std::int64_t programs : {2, 3}) {
    for (const std::int64_t k : {40, 96, 130}) {
      Schedule schedule = roomy(programs);
      schedule.order = Order::exhaustive;
      schedule.schedules_max = 3000;
      const Problem problem = problem_of({1, 2, k}, format, {programs, 1, 0});
      EXPECT_TRUE(right(GetParam(), problem, schedule, Backend::host_checked));
    }
  }
}

TEST_P(MatmulStreamk, SeededSchedulesOfManyPrograms) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto programs = static_cast<std::int64_t>(4 + seed);
    Schedule schedule = roomy(programs);
    schedule.order = Order::burst;
    schedule.seed = seed;
    const Problem problem = problem_of({35, 40, 100}, Format::f16, {programs, 1, 0});
    EXPECT_TRUE(right(GetParam(), problem, schedule, Backend::host_checked));
  }
}

// Any residency is enough for a variant that waits for nobody, or only for blocks that run.
TEST_P(MatmulStreamk, Residency) {
  constexpr std::int64_t kPrograms = 5;
  const Problem problem = problem_of({35, 40, 70}, Format::f16, {kPrograms, 1, 0});
  for (const int resident : {1, 2, 4, 5, 9}) {
    for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
      Schedule schedule;
      schedule.resident = resident;
      schedule.order = order;
      if (GetParam() != "streamk_lock" || resident >= kPrograms) {
        EXPECT_TRUE(right(GetParam(), problem, schedule, Backend::host_checked));
        continue;
      }
      const Outcome outcome = run(kernel(GetParam()), Backend::host, problem, schedule);
      EXPECT_EQ(outcome.fault.kind, FaultKind::refused) << outcome.fault.text;
      EXPECT_EQ(outcome.fault.text.find("programs: 5"), 0u) << outcome.fault.text;
    }
  }
}

TEST_P(MatmulStreamk, ByDefaultAsManyAsAreResident) {
  for (const int resident : {1, 3}) {
    Schedule schedule;
    schedule.resident = resident;
    const Problem problem = problem_of({35, 40, 70}, Format::f16, {});
    EXPECT_TRUE(right(GetParam(), problem, schedule));
  }
}

TEST_P(MatmulStreamk, SettingsOutsideOfTheirRangeAreRefused) {
  for (const Parameter& parameter : kernel(GetParam()).parameters) {
    const std::int64_t high =
        parameter.words.empty() ? parameter.high : std::ssize(parameter.words) - 1;
    for (const std::int64_t value : {parameter.low - 1, high + 1}) {
      Problem problem = problem_of({3, 4, 5}, Format::f16, {1, 1, 0});
      for (Setting& setting : problem.settings) {
        if (setting.name == parameter.name) setting.value = value;
      }
      const Outcome outcome = run(kernel(GetParam()), Backend::host, problem, {});
      EXPECT_EQ(outcome.fault.kind, FaultKind::refused) << parameter.name << "=" << value;
      EXPECT_EQ(outcome.fault.text.find(parameter.name), 0u) << outcome.fault.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, MatmulStreamk, testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param); });

// Sums that depend on their order, whichever program stores first: one addend a program.
std::size_t distinct_outputs(std::string_view variant) {
  Problem problem = problem_of({1, 1, 3 * kTile}, Format::f32, {3, 1, 0});
  for (const char* operand : {"a", "b"}) {
    for (std::int64_t i = 0; i < 3 * kTile; ++i) {
      const float addend[] = {1.0f, -0x1p24f, 0x1p24f};
      const float value = operand[0] == 'b' ? 1.0f : i % kTile == 0 ? addend[i / kTile] : 0.0f;
      encode(Format::f32, value,
             problem.operands[operand[0] == 'a' ? 0 : 1].storage.data() + i * 4);
    }
  }
  Schedule schedule = roomy(3);
  schedule.order = Order::exhaustive;
  const Outcome outcome = run(kernel(variant), Backend::host, problem, schedule);
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_TRUE(outcome.schedules_exhausted);
  return outcome.outputs.size();
}

TEST(MatmulStreamkRepeatable, AsDeclared) {
  for (const std::string_view variant : kVariants) {
    if (!accepts(variant, Format::f32)) continue;
    EXPECT_EQ(distinct_outputs(variant) == 1, kernel(variant).numerics.repeatable) << variant;
  }
}

TEST(MatmulStreamkAtomicHalf, RefusesWideFormats) {
  const Outcome outcome =
      run(kernel("streamk_atomic_half"), Backend::host, problem_of({3, 4, 5}, Format::f32, {}), {});
  EXPECT_EQ(outcome.fault.kind, FaultKind::refused);
  EXPECT_EQ(outcome.fault.text, "c: format f32, needs f16 or bf16");
}

}  // namespace
}  // namespace halfulp::gpu
