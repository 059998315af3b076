// Output files; see output_file.hpp.
#include "apps/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/command.hpp"

namespace halfulp::apps {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& option, const std::string& path,
                         const std::string& why) {
  throw UsageError(fmt::format("{} {}: {}", option, shortened(path), why));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool writable(const fs::path& path) { return access(path.c_str(), W_OK) == 0; }

// The text in the file, or errno.
int put(const fs::path& file, const std::string& text) {
  errno = 0;
  std::ofstream stream(file, std::ios::trunc);
  stream << text;
  stream.close();
  if (stream) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::is_directory(status)) refuse(option_, path_, "is a folder");
  if (!writable(fs::exists(status) ? fs::path(path_) : folder_of(path_))) {
    refuse(option_, path_, std::strerror(errno));
  }
}

void OutputFile::write(const std::string& text) const {
  if (path_.empty()) return;
  std::error_code failed;
  const fs::file_status status = fs::status(path_, failed);
  fs::path target = fs::canonical(path_, failed);  // a link stays a link
  if (failed) target = path_;
  const bool replaced = !fs::exists(status) || fs::is_regular_file(status);
  if (!replaced || !writable(folder_of(target))) {
    const int error = put(target, text);
    if (error != 0) refuse(option_, path_, std::strerror(error));
    return;
  }
  const fs::path finished = target.string() + fmt::format(".{}", getpid());
  const int error = put(finished, text);
  failed = std::error_code(error, std::generic_category());
  if (error == 0 && fs::exists(status)) fs::permissions(finished, status.permissions(), failed);
  if (!failed) fs::rename(finished, target, failed);
  if (!failed) return;
  std::error_code ignored;
  fs::remove(finished, ignored);
  refuse(option_, path_, failed.message());
}

void require_distinct(const char* option, const std::string& path, const char* other_option,
                      const std::string& other_path) {
  if (path.empty() || other_path.empty()) return;
  std::error_code ignored;
  if (fs::is_other(path, ignored)) return;
  const auto whole = [&](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name, ignored), ignored);
  };
  if (fs::equivalent(path, other_path, ignored) || whole(path) == whole(other_path)) {
    refuse(option, path, fmt::format("is the file of {} too", other_option));
  }
}

}  // namespace halfulp::apps
