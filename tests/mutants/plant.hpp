// Planting: a kernel's source with a record's change, and the generated files that the build
// compiles.
//
//   gpu/kernels/<stem>.cuh + records -> <stem>.cuh: mutants of its kernels, one after the other
//   all records                      -> mutant_table.cpp (tests/mutants/mutant.hpp)
//
// A mutant's copy holds the kernel and the headers of gpu/kernels that are compiled anew for every
// build, in a namespace of its own inside that of the build, so that many mutants share one
// translation unit. Where these take too long to compile, they are dealt out to several.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tests/mutants/record.hpp"

namespace halfulp::mutants {

struct Text {
  std::string text;
  std::string error;  // lines "file:line: what is wrong", or empty; `text` is then empty
};

// The text of a file by its path from the repository root; empty when there is none.
using ReadFile = std::function<std::string(const std::string& path)>;

// `path` with each header it includes that is part of every build's copy in place of its include.
std::string expand(const std::string& path, const ReadFile& read);

// `source` with the record's edits made, each at the one place that it describes.
Text plant(const std::string& source, const Record& record);

// The name of a mutant's namespace inside the namespace of a build.
std::string name_space(const Record& record);

// Whether a kernel's source defines the entry point.
bool defines(const std::string& source, const std::string& entry);

// `source` without the definitions of all entry points but this one.
std::string only_entry(const std::string& source, const std::string& entry);

// Number `index` of `count` translation units that share the mutants of a source.
struct Batch {
  int index = 0;
  int count = 1;
};
// Its mutants, in the records' order; a comment when there is none.
Text batch_source(const std::string& stem, std::span<const Record> records, const ReadFile& read,
                  const Batch& batch = {});

// Declares every mutant's entry points and lists the records as rows of struct Mutant.
Text table_source(std::span<const Record> records, std::string_view host_build,
                  std::string_view host_checked_build);

}  // namespace halfulp::mutants
