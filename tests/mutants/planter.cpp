// The planter: writes the mutants' sources before they are compiled.
//
//   planter <repository root> <output folder> <host build> <host-checked build>
//           <stem>... -- <file.mutants>...
//
// Writes <output folder>/<stem>.cuh for every stem, with or without mutants, and mutant_table.cpp;
// files whose text does not change are not touched. Exit 1 with one line that names the record when
// one does not apply.
#include <algorithm>
#include <cstdio>
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
  std::vector<std::string> stems;
  std::vector<Record> records;
  std::size_t at = 4;
  for (; at < words.size() && words[at] != "--"; ++at) stems.push_back(words[at]);
  for (++at; at < words.size(); ++at) {
    const fs::path file = words[at];
    auto parsed = halfulp::mutants::parse_records(read_file(file), file.stem(), file);
    if (!parsed.error.empty()) return complain(parsed.error);
    records.insert(records.end(), parsed.records.begin(), parsed.records.end());
  }
  const auto read = [&](const std::string& path) { return read_file(root / path); };
  for (Record& record : records) {
    const auto stem = std::ranges::find_if(stems, [&](const std::string& name) {
      return halfulp::mutants::defines(read("gpu/kernels/" + name + ".cuh"), record.entry());
    });
    if (stem == stems.end()) {
      return complain(record.file + ":" + std::to_string(record.line) + ": there is no kernel " +
                      record.kernel + " of " + record.operation);
    }
    record.stem = *stem;
  }
  fs::create_directories(out);
  for (const std::string& stem : stems) {
    const Text batch = halfulp::mutants::batch_source(stem, records, read);
    if (!batch.error.empty()) return complain(batch.error);
    write_file(out / (stem + ".cuh"), batch.text);
  }
  const Text table = halfulp::mutants::table_source(records, words[2], words[3]);
  if (!table.error.empty()) return complain(table.error);
  write_file(out / "mutant_table.cpp", table.text);
  return 0;
}
