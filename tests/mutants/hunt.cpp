// Hunting; see hunt.hpp.
#include "tests/mutants/hunt.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "properties/operation.hpp"
#include "tests/mutants/mutant.hpp"

namespace halfulp::mutants {
namespace {

constexpr std::uint64_t kSeed = 1;

struct Word {
  std::string field;
  std::string pattern;
};
std::vector<Word> split_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<Word> words;
  for (std::string word; stream >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    words.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return words;
}

bool has_words(const properties::Case& c, const std::vector<Word>& words) {
  return std::ranges::all_of(words, [&](const Word& word) {
    return fnmatch(word.pattern.c_str(), std::string(c.text(word.field)).c_str(), 0) == 0;
  });
}

}  // namespace

Kill hunt(properties::WorkerPool& pool, const properties::Pairing& pairing,
          const HuntOptions& options) {
  const std::vector<Word> words = split_words(options.words);
  Kill kill;
  for (; kill.round < options.rounds && kill.judged < options.judged; ++kill.round) {
    const properties::Case c = properties::generated_case(pairing, kSeed, kill.round);
    if (!is_built(c) || !has_words(c, words)) continue;
    kill.judgement = pool.judge(c);
    ++kill.judged;
    const bool refused = kill.judgement.fault.kind == gpu::FaultKind::refused;
    if (refused) ++kill.refused;
    const bool killed = kill.judgement.verdict == properties::Verdict::fail ||
                        kill.judgement.verdict == properties::Verdict::faulted;
    if (refused || !killed) continue;
    kill.found = true;
    kill.killer = c;
    return kill;
  }
  return kill;
}

bool has_words(const properties::Case& c, std::string_view words) {
  return has_words(c, split_words(words));
}

std::string verdict_words(const properties::Judgement& judgement) {
  std::string words(properties::name(judgement.verdict));
  if (judgement.verdict == properties::Verdict::faulted) {
    words += " " + std::string(gpu::name(judgement.fault.kind));
  }
  return words;
}

bool expected(std::string_view verdicts, const properties::Judgement& judgement) {
  const std::string got = verdict_words(judgement);
  std::istringstream stream{std::string(verdicts)};
  for (std::string part; std::getline(stream, part, '|');) {
    const std::size_t first = part.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    if (part.substr(first, part.find_last_not_of(' ') - first + 1) == got) return true;
  }
  return false;
}

std::string words_error(std::string_view operation, std::string_view words) {
  const properties::Operation* row = properties::find_operation(operation);
  if (row == nullptr) return "no operation " + std::string(operation);
  for (const Word& word : split_words(words)) {
    const bool known = std::ranges::any_of(
        row->fields, [&](const properties::Field& field) { return field.name == word.field; });
    if (!known) return "no field " + word.field;
  }
  return {};
}

std::string limit_broken(std::string_view limits, const properties::Case& c) {
  for (const Word& limit : split_words(limits)) {
    const std::int64_t most = std::stoll(limit.pattern);
    std::int64_t is = 0;
    if (limit.field == "nodes") {
      is = graph_size(c).nodes;
    } else if (limit.field == "edges") {
      is = graph_size(c).edges;
    } else {
      is = c.integer(limit.field);
    }
    if (is > most) return limit.field + "=" + std::to_string(is);
  }
  return {};
}

GraphSize graph_size(const properties::Case& c) {
  const gpu::Problem problem = properties::find_operation(c.operation)->materialise(c);
  return {problem.operand("out").extent[0], problem.operand("destination").extent[0]};
}

}  // namespace halfulp::mutants
