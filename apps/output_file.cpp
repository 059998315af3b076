// Output files; see output_file.hpp.
#include "apps/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "apps/command.hpp"

namespace halfulp::apps {

namespace {

namespace fs = std::filesystem;

constexpr int kCreate = O_WRONLY | O_CREAT | O_CLOEXEC;
constexpr mode_t kMode = 0666;

[[noreturn]] void refuse(const std::string& option, const std::string& path,
                         const std::string& why) {
  throw UsageError(fmt::format("{} {}: {}", option, shortened(path), why));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Where links end: at a file that need not be there.
fs::path target_of(fs::path path) {
  constexpr int kLinksMost = 40;
  std::error_code ignored;
  for (int i = 0; i < kLinksMost && fs::is_symlink(fs::symlink_status(path, ignored)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  return path;
}

bool writable(const fs::path& path) { return access(path.c_str(), W_OK) == 0; }

// The number of an open stream that the path names.
std::optional<int> stream_of(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int stream = -1;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + folder.size(), end, stream);
    if (error == std::errc{} && rest == end && stream >= 0) return stream;
  }
  return std::nullopt;
}

bool takes_output(int stream) {
  const int flags = fcntl(stream, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// Is it a regular file that the stream goes to? One that is replaced, or written in two places.
bool same_file(const std::string& path, int stream) {
  struct stat file {};
  struct stat opened {};
  return stat(path.c_str(), &file) == 0 && fstat(stream, &opened) == 0 && S_ISREG(file.st_mode) &&
         file.st_dev == opened.st_dev && file.st_ino == opened.st_ino;
}

// A reader that goes away is an error of this file's, and the report is still printed.
class NoBrokenPipe {
 public:
  NoBrokenPipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~NoBrokenPipe() { std::signal(SIGPIPE, before_); }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  void (*before_)(int);
};

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// The text in the file, which is opened with the flags, or errno. Opening a pipe that is open
// already would wait for a reader.
int put(const fs::path& file, int flags, const std::string& text) {
  const NoBrokenPipe ignored;
  const std::optional<int> stream = stream_of(file);
  const int descriptor = stream ? dup(*stream) : open(file.c_str(), kCreate | flags, kMode);
  if (descriptor < 0) return errno;
  const int error = write_all(descriptor, text);
  if (close(descriptor) != 0 && error == 0) return errno;
  return error;
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::is_directory(status)) refuse(option_, path_, "is a folder");
  if (const auto stream = stream_of(path_); stream && !takes_output(*stream)) {
    refuse(option_, path_, "is closed, or open for reading only");
  }
  if (same_file(path_, STDOUT_FILENO)) refuse(option_, path_, "is standard output too");
  if (same_file(path_, STDERR_FILENO)) refuse(option_, path_, "is standard error too");
  if (fs::exists(status)) {
    if (!writable(path_)) refuse(option_, path_, std::strerror(errno));
    return;
  }
  const fs::path target = target_of(path_);
  const int created = open(target.c_str(), kCreate | O_EXCL, kMode);
  if (created < 0) refuse(option_, path_, std::strerror(errno));
  close(created);
  fs::remove(target, ignored);
}

void OutputFile::write(const std::string& text) const {
  if (path_.empty()) return;
  std::error_code failed, ignored;
  const fs::file_status status = fs::status(path_, ignored);
  const fs::path target = target_of(path_);  // a link stays a link
  const bool replaced = !stream_of(path_) && (!fs::exists(status) || fs::is_regular_file(status));
  if (!replaced || !writable(folder_of(target))) {
    const int error = put(replaced ? target : fs::path(path_), O_TRUNC, text);
    if (error != 0) refuse(option_, path_, std::strerror(error));
    return;
  }
  const fs::path finished = folder_of(target) / fmt::format(".halfulp.{}", getpid());
  fs::remove(finished, ignored);  // of a process that was killed
  const int error = put(finished, O_EXCL, text);
  failed = std::error_code(error, std::generic_category());
  if (error == 0 && fs::exists(status)) fs::permissions(finished, status.permissions(), failed);
  if (!failed) fs::rename(finished, target, failed);
  if (!failed) return;
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
