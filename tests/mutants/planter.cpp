// The planter: writes the mutants' sources before they are compiled.
//
//   planter <repository root> <output folder> <host build> <host-checked build>
//           <stem>[:<count>]... -- <file.mutants>...
//
// Writes <output folder>/<stem>.cuh for every stem, with or without mutants, and mutant_table.cpp;
// files whose text does not change are not touched. With a count above 1 the mutants are dealt out
// to <stem>_1.cuh, <stem>_2.cuh and so on in place of the former. Exit 1 with one line for each
// record that does not apply.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "tests/mutants/plant.hpp"

namespace {

namespace fs = std::filesystem;
using halfulp::mutants::Record;
using halfulp::mutants::Text;

std::string read_file(const fs::path& path) {
  const std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// A kernel's source, and how many translation units its mutants are dealt out to.
struct Stem {
  std::string name;
  int batches = 1;
};
Stem read_stem(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) return {word, 1};
  return {word.substr(0, colon), std::max(1, std::atoi(word.c_str() + colon + 1))};
}

int complain(const std::string& what) {
  std::cerr << what << "\n";
  return 1;
}

// Writes unless the file holds the text already, so that nothing is compiled again for nothing.
void write_file(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read_file(path) == text) return;
  std::ofstream(path) << text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 5) return complain("planter: see the comment at the top of planter.cpp");
  const fs::path root = words[0];
  const fs::path out = words[1];
  std::vector<Stem> stems;
  std::vector<Record> records;
  std::size_t at = 4;
  for (; at < words.size() && words[at] != "--"; ++at) stems.push_back(read_stem(words[at]));
  for (++at; at < words.size(); ++at) {
    const fs::path file = words[at];
    auto parsed = halfulp::mutants::parse_records(read_file(file), file.stem(), file);
    if (!parsed.error.empty()) return complain(parsed.error);
    records.insert(records.end(), parsed.records.begin(), parsed.records.end());
  }
  const auto read = [&](const std::string& path) { return read_file(root / path); };
  for (Record& record : records) {
    const auto stem = std::ranges::find_if(stems, [&](const Stem& candidate) {
      return halfulp::mutants::defines(read("gpu/kernels/" + candidate.name + ".cuh"),
                                       record.entry());
    });
    if (stem == stems.end()) {
      return complain(record.file + ":" + std::to_string(record.line) + ": there is no kernel " +
                      record.kernel + " of " + record.operation);
    }
    record.stem = stem->name;
  }
  fs::create_directories(out);
  std::string errors;
  for (const Stem& stem : stems) {
    for (int i = 0; i < stem.batches; ++i) {
      const Text batch =
          halfulp::mutants::batch_source(stem.name, records, read, {i, stem.batches});
      if (!batch.error.empty()) {
        errors += (errors.empty() ? "" : "\n") + batch.error;
        continue;
      }
      const std::string number = stem.batches > 1 ? "_" + std::to_string(i + 1) : "";
      write_file(out / (stem.name + number + ".cuh"), batch.text);
    }
  }
  if (!errors.empty()) return complain(errors);
  const Text table = halfulp::mutants::table_source(records, words[2], words[3]);
  if (!table.error.empty()) return complain(table.error);
  write_file(out / "mutant_table.cpp", table.text);
  return 0;
}
