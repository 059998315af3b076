// Reads fixtures/golden/*.golden: cases of inputs as stored patterns and answers as decimals.
//
//   for (const GoldenCase& golden : read_golden("vector_add.golden")) {
//     const Stored x = golden.stored("x", {golden.integer("n")});   // x.view: a View
//     for (const std::string& answer : golden.words("z")) ...
//   }
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "reference/answer.hpp"

namespace halfulp::reference {

// A dense row-major tensor of stored patterns, and the view of it.
struct Stored {
  std::vector<unsigned char> bytes;
  View view;
};

class GoldenCase {
 public:
  std::string title;  // "hub (fp32)"
  Format format = Format::fp32;

  std::int64_t integer(const std::string& field) const;  // nodes=5
  double epsilon() const;                                // epsilon=358637bd, a pattern of fp32
  std::vector<std::int32_t> indices(const std::string& name) const;
  const std::vector<std::string>& words(const std::string& name) const;
  Stored stored(const std::string& name, std::initializer_list<std::int64_t> extents) const;

 private:
  friend std::vector<GoldenCase> read_golden(const std::string& name);

  std::map<std::string, std::string> fields_;
  std::map<std::string, std::vector<std::string>> words_;
};

// From the folder golden/ of HALFULP_FIXTURES, or of the source tree. Throws std::runtime_error.
std::vector<GoldenCase> read_golden(const std::string& name);

}  // namespace halfulp::reference
