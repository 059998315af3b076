// Planting and the generated sources; see plant.hpp.
#include "tests/mutants/plant.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <vector>

namespace halfulp::mutants {
namespace {

constexpr std::string_view kBuildNamespace = "namespace halfulp::gpu::HALFULP_BUILD {";
constexpr std::string_view kFolder = "gpu/kernels/";

// The path of `#include "..."`, or empty.
std::string included(const std::string& line) {
  const std::string_view kStart = "#include \"";
  if (!line.starts_with(kStart)) return {};
  const std::size_t end = line.find('"', kStart.size());
  return end == std::string::npos ? std::string() : line.substr(kStart.size(), end - kStart.size());
}

void expand_into(std::string& out, const std::string& path, const ReadFile& read,
                 std::set<std::string>& seen) {
  seen.insert(path);
  std::istringstream stream(read(path));
  out += "#line 1 \"" + path + "\"\n";
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::string header = included(line);
    const bool ours =
        header.starts_with(kFolder) && read(header).find(kBuildNamespace) != std::string::npos;
    if (line.starts_with("#pragma once")) {
      out += "\n";
    } else if (!ours) {
      out += line + "\n";
    } else if (!seen.contains(header)) {
      expand_into(out, header, read, seen);
      out += "#line " + std::to_string(number + 1) + " \"" + path + "\"\n";
    } else {
      out += "\n";
    }
  }
}

// Text without blanks, and where each of its characters was.
struct Dense {
  std::string text;
  std::vector<std::size_t> place;
};
Dense dense(const std::string& text) {
  Dense result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) continue;
    result.text += text[i];
    result.place.push_back(i);
  }
  return result;
}

std::string apply(std::string& source, const Edit& edit) {
  const Dense in = dense(source);
  const std::string search = dense(edit.search).text;
  if (search.empty()) return "the search text is empty";
  if (search == dense(edit.replacement).text) return "the replacement changes nothing";
  std::vector<std::size_t> found;
  for (std::size_t at = in.text.find(search); at != std::string::npos;
       at = in.text.find(search, at + 1)) {
    found.push_back(at);
  }
  if (found.empty()) return "no longer applies: the search text is not in the kernel's source";
  if (found.size() != static_cast<std::size_t>(edit.occurrences)) {
    return "the search text occurs " + std::to_string(found.size()) + " times, the record says " +
           std::to_string(edit.occurrences);
  }
  const std::size_t first = found[static_cast<std::size_t>(edit.occurrence - 1)];
  const std::size_t begin = in.place[first];
  const std::size_t end = in.place[first + search.size() - 1] + 1;
  source.replace(begin, end - begin, edit.replacement);
  return {};
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string literal(const std::string& text) { return "R\"__(" + text + ")__\""; }

}  // namespace

std::string expand(const std::string& path, const ReadFile& read) {
  std::string text;
  std::set<std::string> seen;
  expand_into(text, path, read, seen);
  return text;
}

Text plant(const std::string& source, const Record& record) {
  Text result{source, {}};
  for (const Edit& edit : record.edits) {
    const std::string error = apply(result.text, edit);
    if (error.empty()) continue;
    return {{},
            record.file + ":" + std::to_string(edit.line) + ": " + record.name + " of " +
                record.kernel + ": " + error};
  }
  return result;
}

std::string name_space(const Record& record) { return record.entry() + "_" + record.name; }

bool defines(const std::string& source, const std::string& entry) {
  return source.find("\nStatus " + entry + "(const Arguments& arguments)") != std::string::npos;
}

std::string only_entry(const std::string& source, const std::string& entry) {
  constexpr std::string_view kBegin = "\nStatus ", kArguments = "(const Arguments& arguments) {",
                             kEnd = "\n}\n";
  std::string result = source;
  for (std::size_t at = result.find(kBegin); at != std::string::npos;) {
    const std::size_t name = at + kBegin.size();
    const std::size_t arguments = result.find('(', name);
    const std::size_t end = result.find(kEnd, name);
    const bool other = arguments != std::string::npos && end != std::string::npos &&
                       result.compare(arguments, kArguments.size(), kArguments) == 0 &&
                       result.substr(name, arguments - name) != entry;
    if (other) {  // the lines stay, so that those after them keep their numbers
      const std::string gone = result.substr(at + 1, end + 3 - (at + 1));
      const auto lines = static_cast<std::size_t>(std::ranges::count(gone, '\n'));
      result.replace(at + 1, gone.size(), std::string(lines, '\n'));
    }
    at = result.find(kBegin, at + 1);
  }
  return result;
}

Text batch_source(const std::string& stem, std::span<const Record> records, const ReadFile& read,
                  const Batch& batch) {
  const std::string path = std::string(kFolder) + stem + ".cuh";
  int number = 0;
  Text result;
  result.text = "// Generated by tests/mutants: the mutants of " + path + ".\n";
  const std::string source = expand(path, read);
  for (const Record& record : records) {
    if (record.stem != stem || number++ % batch.count != batch.index) continue;
    Text copy = plant(source, record);
    if (!copy.error.empty()) {
      result.error += (result.error.empty() ? "" : "\n") + copy.error;
      continue;
    }
    copy.text = only_entry(copy.text, record.entry());
    replace_all(copy.text, kBuildNamespace,
                "namespace halfulp::gpu::HALFULP_BUILD::" + name_space(record) + " {");
    replace_all(copy.text, "#line 1 \"", "#line 1 \"" + record.name + "/");
    result.text += "\n// " + record.kernel + "~" + record.name + ": " + record.kind + "\n";
    result.text += copy.text;
  }
  if (!result.error.empty()) result.text.clear();
  return result;
}

Text table_source(std::span<const Record> records, std::string_view host_build,
                  std::string_view host_checked_build) {
  std::set<std::string> names;
  std::string declarations, rows;
  for (const Record& r : records) {
    const std::string inner = name_space(r);
    if (!names.insert(inner).second) {
      return {{}, r.file + ":" + std::to_string(r.line) + ": another record is called " + inner};
    }
    std::string entries;
    for (const std::string_view build : {host_build, host_checked_build}) {
      const std::string outer = std::string(build) + "::" + inner;
      declarations += "namespace halfulp::gpu::" + outer + " {\nStatus " + r.entry() +
                      "(const Arguments& arguments);\n}\n";
      entries += ", gpu::" + outer + "::" + r.entry();
    }
    const std::string full_name = r.kernel + "~" + r.name;
    rows += "    {" + literal(r.operation) + ", " + literal(r.kernel) + ", " + literal(r.name) +
            ", " + literal(full_name) + ",\n     " + literal(r.kind) + ", " + literal(r.killer) +
            ", " + literal(r.host) + ", " + literal(r.host_checked) + ", " + literal(r.shrinks) +
            entries + "},\n";
  }
  return {
      "// Generated by tests/mutants from the records.\n"
      "#include \"tests/mutants/mutant.hpp\"\n\n" +
          declarations + "\nnamespace halfulp::mutants {\n\n" +
          "std::vector<Mutant> mutant_table() {\n  return {\n" + rows +
          "  };\n}\n\n}  // namespace halfulp::mutants\n",
      {}};
}

}  // namespace halfulp::mutants
