// Hunting a mutant: generated cases until one kills it.
//
//   Kill kill = hunt(pool, {&kernel, gpu::Backend::host}, {.rounds = 300});
//   Kill kill = hunt(pool, pairing, {.rounds = 5000, .judged = 100, .words = "fill=G5"});
//
// The cases are those of a campaign (properties::generated_case) with one seed for all mutants; the
// words only leave out cases.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "properties/check.hpp"
#include "properties/plan.hpp"
#include "properties/worker.hpp"

namespace halfulp::mutants {

struct HuntOptions {
  std::int64_t rounds = 0;          // generated cases at most
  std::int64_t judged = INT64_MAX;  // of those that have the words, at most
  std::string_view words{};         // "fill=G5 graph=hub:*"
};

struct Kill {
  bool found = false;
  properties::Case killer;  // valid when found
  properties::Judgement judgement;
  std::int64_t round = 0;    // of the killing case
  std::int64_t judged = 0;   // cases that were run
  std::int64_t refused = 0;  // of them by the launcher, which kills nothing
};

Kill hunt(properties::WorkerPool& pool, const properties::Pairing& pairing,
          const HuntOptions& options);

// Whether the case has all of them.
bool has_words(const properties::Case& c, std::string_view words);

// "pass", "fail", "faulted race"
std::string verdict_words(const properties::Judgement& judgement);
// Is the verdict one of those in "fail | faulted race"?
bool expected(std::string_view verdicts, const properties::Judgement& judgement);

// The most that the fields of a shrunk case may say: "nodes=2 edges=1". Nodes and edges are those
// of its graph. The first limit that the case breaks, or empty.
std::string limit_broken(std::string_view limits, const properties::Case& c);

// What is wrong with the words of a killer for this operation, or empty.
std::string words_error(std::string_view operation, std::string_view words);

// Rows of the node and the edge operands of a graph case.
struct GraphSize {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
};
GraphSize graph_size(const properties::Case& c);

}  // namespace halfulp::mutants
