// Judgements to and from JSON; see record.hpp.
#include "properties/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace halfulp::properties {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string pattern(std::uint64_t bits) { return fmt::format("{:#x}", bits); }
std::uint64_t pattern(const Json& json) {
  return std::stoull(json.get<std::string>(), nullptr, 16);
}

Json record(const Suspect& s) {
  return {{"output", s.output},
          {"name", s.output_name},
          {"index", s.index},
          {"bits", pattern(s.bits)},
          {"got", number(s.got)},
          {"lo", number(s.lo)},
          {"hi", number(s.hi)},
          {"bound", number(s.bound)},
          {"error_over_bound", number(s.error_over_bound)},
          {"accept_lo", pattern(s.accept_lo)},
          {"accept_hi", pattern(s.accept_hi)}};
}

Suspect suspect(const Json& json) {
  Suspect s;
  s.output = json.at("output").get<int>();
  s.output_name = json.at("name").get<std::string>();
  s.index = json.at("index").get<std::vector<std::int64_t>>();
  s.bits = pattern(json.at("bits"));
  s.got = number(json.at("got"));
  s.lo = number(json.at("lo"));
  s.hi = number(json.at("hi"));
  s.bound = number(json.at("bound"));
  s.error_over_bound = number(json.at("error_over_bound"));
  s.accept_lo = pattern(json.at("accept_lo"));
  s.accept_hi = pattern(json.at("accept_hi"));
  return s;
}

template <class Enum>
Enum named(const std::string& text, int count) {
  for (int i = 0; i < count; ++i) {
    if (name(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  }
  throw std::invalid_argument(text);
}

constexpr int kVerdicts = static_cast<int>(Verdict::powerless) + 1;
constexpr int kFaultKinds = static_cast<int>(gpu::FaultKind::crashed) + 1;

}  // namespace

std::string to_record(const Judgement& judgement) {
  Json worst = Json::array();
  for (const Suspect& s : judgement.worst) worst.push_back(record(s));
  const Json json = {{"verdict", name(judgement.verdict)},
                     {"reason", judgement.reason},
                     {"fault", gpu::name(judgement.fault.kind)},
                     {"fault_text", judgement.fault.text},
                     {"notes", judgement.notes},
                     {"worst_error_over_bound", number(judgement.worst_error_over_bound)},
                     {"elements", judgement.elements},
                     {"failed", judgement.failed},
                     {"unbounded", judgement.unbounded},
                     {"exact_checked", judgement.exact_checked},
                     {"advice",
                      {{"elements", judgement.advice.elements},
                       {"beyond", judgement.advice.beyond},
                       {"worst", number(judgement.advice.worst)},
                       {"where", judgement.advice.where}}},
                     {"launches", judgement.launches},
                     {"kernel_seconds", judgement.kernel_seconds},
                     {"worst", worst}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool from_record(std::string_view text, Judgement& judgement) try {
  const Json json = Json::parse(text);
  Judgement j;
  j.verdict = named<Verdict>(json.at("verdict").get<std::string>(), kVerdicts);
  j.reason = json.at("reason").get<std::string>();
  j.fault.kind = named<gpu::FaultKind>(json.at("fault").get<std::string>(), kFaultKinds);
  j.fault.text = json.at("fault_text").get<std::string>();
  j.notes = json.at("notes").get<std::vector<std::string>>();
  j.worst_error_over_bound = number(json.at("worst_error_over_bound"));
  j.elements = json.at("elements").get<std::int64_t>();
  j.failed = json.at("failed").get<std::int64_t>();
  j.unbounded = json.at("unbounded").get<std::int64_t>();
  j.exact_checked = json.at("exact_checked").get<std::int64_t>();
  const Json& advice = json.at("advice");
  j.advice.elements = advice.at("elements").get<std::int64_t>();
  j.advice.beyond = advice.at("beyond").get<std::int64_t>();
  j.advice.worst = number(advice.at("worst"));
  j.advice.where = advice.at("where").get<std::string>();
  j.launches = json.at("launches").get<std::int64_t>();
  j.kernel_seconds = json.at("kernel_seconds").get<double>();
  for (const Json& each : json.at("worst")) j.worst.push_back(suspect(each));
  judgement = std::move(j);
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace halfulp::properties
