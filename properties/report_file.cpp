// Reports for machines: JSON and JUnit; see report.hpp.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "properties/record.hpp"
#include "properties/report.hpp"

namespace halfulp::properties {

namespace {

using Json = nlohmann::ordered_json;

Json counts(const Row& row) {
  Json json = {{"cases", row.cases}};
  for (int i = 0; i < kVerdicts; ++i) {
    json[std::string(name(static_cast<Verdict>(i)))] = row.count[static_cast<std::size_t>(i)];
  }
  json["worst_error_over_bound"] = std::isinf(row.worst) ? Json("inf") : Json(row.worst);
  json["kernel_seconds"] = row.seconds;
  return json;
}

Json advice_json(const RowAdvice& advice) {
  Json json = {{"cases", advice.cases},
               {"cases_beyond_statistical_bound", advice.beyond_cases},
               {"elements_beyond_statistical_bound", advice.beyond},
               {"worst_error_over_statistical_bound",
                std::isinf(advice.worst) ? Json("inf") : Json(advice.worst)}};
  if (advice.worst_case) json["worst_case"] = print(*advice.worst_case);
  return json;
}

Json row_json(const Row& row) {
  Json json = {
      {"operation", row.operation}, {"kernel", row.kernel}, {"backend", gpu::name(row.backend)}};
  json.update(counts(row));
  if (!row.skip_reason.empty()) json["skip_reason"] = row.skip_reason;
  if (row.advice.cases > 0) json["advice"] = advice_json(row.advice);
  return json;
}

Json failure_json(const Failure& failure) {
  return {{"case", print(failure.shrunk.smallest)},
          {"judgement", Json::parse(to_record(failure.shrunk.judgement))},
          {"found", print(failure.found)},
          {"found_judgement", Json::parse(to_record(failure.judgement))},
          {"shrink_steps", failure.shrunk.steps},
          {"shrink_judgements", failure.shrunk.judgements},
          {"shrink_exhausted", failure.shrunk.exhausted},
          {"fails_alone", failure.shrunk.alone}};
}

// XML 1.0 text: markup escaped, characters that XML cannot hold replaced.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += code < 0x20 || code >= 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string test_case(const Row& row, const Failure* failure, const std::string& again) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{} {}\" time=\"{:.3f}\"",
                  escaped(row.operation), escaped(row.kernel), gpu::name(row.backend), row.seconds);
  std::string body;
  const std::int64_t troubles = row[Verdict::fail] + row[Verdict::faulted];
  if (troubles > 0) {
    const char* element = row[Verdict::fail] > 0 ? "failure" : "error";
    const std::string message = fmt::format("{} fail, {} faulted of {} cases", row[Verdict::fail],
                                            row[Verdict::faulted], row.cases);
    const std::string report = failure == nullptr ? std::string() : failure_report(*failure, again);
    body = fmt::format("      <{0} message=\"{1}\">{2}</{0}>\n", element, escaped(message),
                       escaped(report));
  } else if (row[Verdict::pass] == 0) {
    const std::string why = row.skip_reason.empty() ? "no case had power" : row.skip_reason;
    body = fmt::format("      <skipped message=\"{}\"/>\n", escaped(why));
  }
  const std::string out = fmt::format(
      "{} cases, {} pass, {} skipped, {} powerless, worst error/bound {}", row.cases,
      row[Verdict::pass], row[Verdict::skipped], row[Verdict::powerless], ratio_text(row.worst));
  body += fmt::format("      <system-out>{}</system-out>\n", escaped(out));
  return head + ">\n" + body + "    </testcase>\n";
}

struct Suite {
  std::string cases;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
};

void add(Suite& suite, const Row& row, const Failure* failure, const std::string& again) {
  suite.cases += test_case(row, failure, again);
  ++suite.tests;
  suite.seconds += row.seconds;
  if (row[Verdict::fail] > 0) {
    ++suite.failures;
  } else if (row[Verdict::faulted] > 0) {
    ++suite.errors;
  } else if (row[Verdict::pass] == 0) {
    ++suite.skipped;
  }
}

}  // namespace

std::string campaign_json(const CampaignOptions& options, const CampaignResult& result) {
  Json json = {{"halfulp", HALFULP_VERSION},
               {"seed", fmt::format("{:#x}", options.seed)},
               {"generated", result.generated},
               {"seconds", result.seconds},
               {"shrink_seconds", result.shrink_seconds},
               {"elements", result.elements},
               {"exact_checked", result.exact_checked},
               {"exit_code", result.exit_code()},
               {"interrupted", result.interrupted},
               {"stop_signal", result.stop_signal},
               {"total", counts(result.total)},
               {"backends", Json::array()},
               {"rows", Json::array()},
               {"failures", Json::array()}};
  for (const BackendState& state : options.states) {
    json["backends"].push_back({{"name", gpu::name(state.backend)},
                                {"device", state.device},
                                {"unavailable", state.unavailable}});
  }
  for (const Row& row : result.rows) json["rows"].push_back(row_json(row));
  for (const Failure& failure : result.failures) json["failures"].push_back(failure_json(failure));
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string campaign_junit(const CampaignOptions& options, const CampaignResult& result) {
  std::vector<std::pair<std::string, Suite>> suites;
  for (const Row& row : result.rows) {
    const Failure* failure = nullptr;
    for (const Failure& each : result.failures) {
      if (each.found.operation == row.operation && each.found.kernel == row.kernel) failure = &each;
    }
    if (suites.empty() || suites.back().first != row.operation)
      suites.push_back({row.operation, {}});
    add(suites.back().second, row, failure, campaign_again(options, result, failure));
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halfulp check\" "
      "time=\"{:.3f}\">\n",
      result.seconds + result.shrink_seconds);
  for (const auto& [operation, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n    <properties><property name=\"seed\" "
        "value=\"{:#x}\"/></properties>\n",
        escaped(operation), suite.tests, suite.failures, suite.errors, suite.skipped, suite.seconds,
        options.seed);
    text += suite.cases + "  </testsuite>\n";
  }
  if (result.stop_signal != 0) {
    text += fmt::format(
        "  <testsuite name=\"halfulp check\" tests=\"1\" failures=\"0\" errors=\"1\" "
        "skipped=\"0\">\n    <testcase classname=\"halfulp check\" name=\"interrupted\">\n"
        "      <error message=\"{}\"/>\n    </testcase>\n  </testsuite>\n",
        escaped(interruption(result)));
  }
  return text + "</testsuites>\n";
}

}  // namespace halfulp::properties
