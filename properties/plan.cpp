// Filters, case files and generated cases; see plan.hpp.
#include "properties/plan.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <rapidcheck/Random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "properties/assert.hpp"
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

// Does the line have a word that starts with "backend="?
bool names_backend(const std::string& line) {
  const std::size_t at = line.find("backend=");
  return at != std::string::npos && at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t');
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

std::vector<Case> read_cases(const std::string& file, const std::vector<gpu::Backend>& backends,
                             std::string& error) {
  std::vector<Case> cases;
  std::ifstream stream(file);
  const bool folder = std::filesystem::is_directory(file);
  if (!stream || folder) {
    error = fmt::format("{}: {}", file, folder ? "is a folder" : std::strerror(errno));
    return cases;
  }
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos || line[start] == '#') continue;
    const Parsed parsed = parse(line);
    if (parsed.error) {
      error = fmt::format("{}:{}: {}", file, number, parsed.error.what);
      return {};
    }
    if (names_backend(line)) {
      cases.push_back(parsed.value);
      continue;
    }
    const gpu::Kernel* kernel = gpu::find_kernel(parsed.value.operation, parsed.value.kernel);
    for (const gpu::Backend backend : backends) {
      if (!built_for(*kernel, backend)) continue;
      cases.push_back(parsed.value);
      cases.back().set("backend", std::string(gpu::name(backend)));
    }
  }
  return cases;
}

std::string fixtures_folder() {
  const char* folder = std::getenv("HALFULP_FIXTURES");
  if (folder != nullptr && *folder != '\0') return folder;
  std::error_code ignored;
  return std::filesystem::is_directory(HALFULP_SOURCE_FIXTURES, ignored) ? HALFULP_SOURCE_FIXTURES
                                                                         : "fixtures";
}

std::vector<std::string> fixture_files() {
  namespace fs = std::filesystem;
  const fs::path root = fixtures_folder();
  std::vector<std::string> files;
  std::error_code ignored;
  if (fs::exists(root / "regressions.cases", ignored)) {
    files.push_back((root / "regressions.cases").string());
  }
  std::vector<std::string> named;
  for (const auto& entry : fs::directory_iterator(root / "cases", ignored)) {
    if (entry.path().extension() == ".cases") named.push_back(entry.path().string());
  }
  std::ranges::sort(named);
  files.insert(files.end(), named.begin(), named.end());
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
