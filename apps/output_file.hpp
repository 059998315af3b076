// A file that a command writes at its end, whole or not at all.
//
//   const OutputFile file("--json", path);   // throws UsageError when it could not be written
//   file.write(text);                        // the same
#pragma once
#include <string>

namespace halfulp::apps {

class OutputFile {
 public:
  // Looks whether the file can be written, and leaves it as it is, or absent. An empty path stands
  // for no file. A file that standard output or standard error goes to is refused: one would
  // replace the other.
  OutputFile(std::string option, std::string path);

  bool asked() const { return !path_.empty(); }

  // A regular file is replaced at once by a finished one.
  void write(const std::string& text) const;

 private:
  std::string option_;
  std::string path_;
};

// Throws UsageError when both paths name one file, so that one would overwrite the other. Devices
// such as /dev/null may be named twice, empty paths too.
void require_distinct(const char* option, const std::string& path, const char* other_option,
                      const std::string& other_path);

}  // namespace halfulp::apps
