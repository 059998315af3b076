#include "tests/reference/golden_file.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace halfulp::reference {
namespace {

std::string folder() {
  const char* fixtures = std::getenv("HALFULP_FIXTURES");
  return (fixtures != nullptr ? std::string(fixtures) : HALFULP_SOURCE_FIXTURES) + "/golden/";
}

Format format_named(const std::string& name) {
  for (const Format format :
       {Format::fp64, Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
    if (traits(format).name == name) return format;
  }
  throw std::runtime_error("no format is named " + name);
}

}  // namespace

std::int64_t GoldenCase::integer(const std::string& field) const {
  return std::stoll(fields_.at(field));
}

double GoldenCase::epsilon() const {
  return decode(Format::fp32, std::stoull(fields_.at("epsilon"), nullptr, 16));
}

std::vector<std::int32_t> GoldenCase::indices(const std::string& name) const {
  std::vector<std::int32_t> result;
  for (const std::string& word : words(name)) result.push_back(std::stoi(word));
  return result;
}

const std::vector<std::string>& GoldenCase::words(const std::string& name) const {
  const auto found = words_.find(name);
  if (found == words_.end()) throw std::runtime_error(title + ": no line " + name);
  return found->second;
}

Stored GoldenCase::stored(const std::string& name,
                          std::initializer_list<std::int64_t> extents) const {
  const std::vector<std::string>& patterns = words(name);
  const auto size = static_cast<std::size_t>(traits(format).storage_bits / 8);
  Stored result;
  result.bytes.resize(patterns.size() * size);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::uint64_t bits = std::stoull(patterns[i], nullptr, 16);
    std::memcpy(result.bytes.data() + i * size, &bits, size);
  }
  result.view.data = result.bytes.data();
  result.view.format = format;
  std::int64_t elements = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    result.view.extent[axis] = extents.begin()[axis];
    result.view.stride[axis] = elements;
    elements *= result.view.extent[axis];
  }
  if (static_cast<std::size_t>(elements) != patterns.size()) {
    throw std::runtime_error(title + ": wrong number of elements in " + name);
  }
  return result;
}

std::vector<GoldenCase> read_golden(const std::string& name) {
  std::ifstream file(folder() + name);
  if (!file) throw std::runtime_error("cannot read " + folder() + name);
  std::vector<GoldenCase> cases;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string head, word;
    in >> head;
    if (head == "case") {
      GoldenCase& golden = cases.emplace_back();
      in >> golden.title;
      while (in >> word)
        golden.fields_[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      golden.format = format_named(golden.fields_.at("format"));
      golden.title += " (" + golden.fields_.at("format") + ")";
      continue;
    }
    std::vector<std::string>& words = cases.at(cases.size() - 1).words_[head];
    while (in >> word) words.push_back(word);
  }
  return cases;
}

}  // namespace halfulp::reference
