// Filters, case files and generated cases; see plan.hpp.
#include "properties/plan.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <rapidcheck/Random.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/operation.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {

namespace {

bool matches_one(const std::string& filter, std::string_view operation, std::string_view kernel) {
  std::string subject(operation);
  if (filter.find('/') != std::string::npos) subject += fmt::format("/{}", kernel);
  return fnmatch(filter.c_str(), subject.c_str(), 0) == 0;
}

// FNV-1a, 64 bits.
std::uint64_t hashed(std::string_view text, std::uint64_t hash) {
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Reads up to the end of a line, or one byte more than a line may have; false at the end of the
// file.
bool next_line(std::FILE* stream, std::string& line) {
  line.clear();
  int c = std::getc(stream);
  if (c == EOF) return false;
  for (; c != EOF && c != '\n' && line.size() <= kLineBytesMax; c = std::getc(stream)) {
    line.push_back(static_cast<char>(c));
  }
  return std::ferror(stream) == 0;
}

// Does the line have a word that starts with "backend="?
bool names_backend(std::string_view line) {
  const std::size_t at = line.find("backend=");
  return at != std::string_view::npos && at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t');
}

// "operation * fields" stands for one line for each kernel of the operation, in the registry's
// order. Other lines, and an operation that nobody knows, stay as they are.
std::vector<std::string> spelled_out(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t start = text.find_first_not_of(kBlank);
  const std::size_t end = std::min(text.find_first_of(kBlank, start), text.size());
  const std::size_t star = std::min(text.find_first_not_of(kBlank, end), text.size());
  const std::size_t rest = std::min(text.find_first_of(kBlank, star), text.size());
  std::vector<std::string> lines;
  if (text.substr(star, rest - star) == "*") {
    const std::string_view operation = text.substr(start, end - start);
    for (const gpu::Kernel& kernel : gpu::kernels()) {
      if (kernel.operation != operation) continue;
      lines.push_back(fmt::format("{} {}{}", operation, kernel.name, text.substr(rest)));
    }
  }
  if (lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace

bool matches(const std::vector<std::string>& filters, std::string_view operation,
             std::string_view kernel) {
  return filters.empty() || std::ranges::any_of(filters, [&](const std::string& filter) {
           return matches_one(filter, operation, kernel);
         });
}

std::string unmatched(const std::vector<std::string>& filters) {
  for (const std::string& filter : filters) {
    const bool any = std::ranges::any_of(gpu::kernels(), [&](const gpu::Kernel& kernel) {
      return matches_one(filter, kernel.operation, kernel.name);
    });
    if (!any) return filter;
  }
  return {};
}

std::vector<Pairing> pairings(const std::vector<std::string>& filters,
                              const std::vector<gpu::Backend>& backends) {
  std::vector<Pairing> result;
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (!matches(filters, kernel.operation, kernel.name)) continue;
    for (const gpu::Backend backend : backends) {
      if (built_for(kernel, backend)) result.push_back({&kernel, backend});
    }
  }
  return result;
}

std::vector<CaseLine> read_case_lines(const std::string& file, std::string& error) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    error = fmt::format("{}: is a folder", file);
    return {};
  }
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "r"));
  if (!stream) {
    error = fmt::format("{}: {}", file, std::strerror(errno));
    return {};
  }
  std::vector<CaseLine> lines;
  std::string line;
  for (int number = 1; next_line(stream.get(), line); ++number) {
    if (line.size() > kLineBytesMax) {
      error = fmt::format("{}:{}: longer than {} bytes", file, number, kLineBytesMax);
      return {};
    }
    std::string_view text = line;
    if (number == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const std::size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || text[start] == '#') continue;
    text = without_command(text);
    // A kernel that does not take the line (its storage, say) is passed over while another does.
    std::string wrong;
    const std::size_t before = lines.size();
    for (const std::string& each : spelled_out(text)) {
      Parsed parsed = parse(each);
      if (parsed.error) {
        wrong = parsed.error.what;
        continue;
      }
      lines.push_back({std::move(parsed.value), names_backend(each)});
    }
    if (lines.size() == before) {
      error = fmt::format("{}:{}: {}", file, number, wrong);
      return {};
    }
  }
  if (std::ferror(stream.get()) != 0) {
    error = fmt::format("{}: {}", file, std::strerror(errno));
    return {};
  }
  return lines;
}

std::string_view without_command(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r", kCommand = "halfulp replay '";
  constexpr std::string_view kWatchdog = " --watchdog ";
  std::string_view inner = text.substr(std::min(text.find_first_not_of(kBlank), text.size()));
  if (!inner.starts_with(kCommand)) return text;
  inner.remove_prefix(kCommand.size());
  const std::size_t quote = inner.find('\'');
  if (quote == std::string_view::npos) return text;
  std::string_view rest = inner.substr(quote + 1);
  rest = rest.substr(0, rest.find_last_not_of(kBlank) + 1);
  if (rest.starts_with(kWatchdog)) {
    const std::size_t number = rest.find_first_not_of("0123456789.e+-", kWatchdog.size());
    if (rest.size() > kWatchdog.size() && number == std::string_view::npos) rest = {};
  }
  return rest.empty() ? inner.substr(0, quote) : text;
}

std::string no_case_line(const std::string& file) {
  return fmt::format("{}: holds no case line", shown(file));
}

std::vector<Case> on_backends(const std::vector<CaseLine>& lines,
                              const std::vector<gpu::Backend>& backends, Unbuilt unbuilt) {
  std::vector<Case> cases;
  const auto add = [&cases](const Case& c, gpu::Backend backend) {
    cases.push_back(c);
    cases.back().set("backend", std::string(gpu::name(backend)));
  };
  for (const CaseLine& line : lines) {
    if (line.names_backend) {
      cases.push_back(line.value);
      continue;
    }
    const gpu::Kernel* kernel = gpu::find_kernel(line.value.operation, line.value.kernel);
    const std::size_t before = cases.size();
    for (const gpu::Backend backend : backends) {
      if (built_for(*kernel, backend)) add(line.value, backend);
    }
    const bool none = cases.size() == before && !backends.empty();
    if (none && unbuilt == Unbuilt::kept) add(line.value, backends.front());
  }
  return cases;
}

std::vector<Case> read_cases(const std::string& file, const std::vector<gpu::Backend>& backends,
                             std::string& error) {
  const std::vector<CaseLine> lines = read_case_lines(file, error);
  if (error.empty() && lines.empty()) error = no_case_line(file);
  return on_backends(lines, backends, Unbuilt::kept);
}

const char* fixtures_asked() {
  const char* folder = std::getenv("HALFULP_FIXTURES");
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

std::string fixtures_folder() {
  if (const char* folder = fixtures_asked()) return folder;
  std::error_code ignored;
  return std::filesystem::is_directory(HALFULP_SOURCE_FIXTURES, ignored) ? HALFULP_SOURCE_FIXTURES
                                                                         : "fixtures";
}

std::vector<std::string> fixture_files(std::string& error) {
  namespace fs = std::filesystem;
  const fs::path root = fixtures_folder();
  std::vector<std::string> files;
  std::error_code trouble;
  if (fs::exists(root / "regressions.cases", trouble)) {
    files.push_back((root / "regressions.cases").string());
  }
  std::vector<std::string> named;
  if (!trouble) {
    fs::directory_iterator entry(root / "cases", trouble);
    for (; !trouble && entry != fs::directory_iterator(); entry.increment(trouble)) {
      if (entry->path().extension() == ".cases") named.push_back(entry->path().string());
    }
  }
  std::ranges::sort(named);
  files.insert(files.end(), named.begin(), named.end());
  const bool missing =
      trouble == std::errc::no_such_file_or_directory || trouble == std::errc::not_a_directory;
  if (trouble && !missing) {
    error = fmt::format("{}: {}", root.string(), trouble.message());
  } else if (files.empty() && fixtures_asked() != nullptr) {
    error = fmt::format("HALFULP_FIXTURES={}: holds no case file", root.string());
  }
  return files;
}

Case generated_case(const Pairing& pairing, std::uint64_t seed, std::int64_t round, int size_max) {
  const gpu::Kernel& kernel = *pairing.kernel;
  const Operation* operation = find_operation(kernel.operation);
  HALFULP_ASSERT(operation != nullptr, kernel.operation);
  std::uint64_t key = hashed(kernel.operation, 0xcbf29ce484222325u ^ seed);
  key = hashed(kernel.name, hashed("/", key));
  key = hashed(gpu::name(pairing.backend), hashed("/", key));
  const rc::Random random(rc::Random::Key{seed, key, static_cast<std::uint64_t>(round), 0});
  constexpr std::int64_t kSizes = 101;
  constexpr std::int64_t kStride =
      37;  // coprime to 101: visits every size, small and large from the start
  const int size = static_cast<int>(round * kStride % kSizes) * size_max / 100;
  return operation->generate(kernel, pairing.backend, random, size);
}

}  // namespace halfulp::properties
