// Reading records; see record.hpp.
#include "tests/mutants/record.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

namespace halfulp::mutants {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool identifier(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0 ||
           std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

template <class Integer>
bool read_number(const std::string& text, Integer& number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end && number >= 0;
}

class Parser {
 public:
  Parser(const std::string& operation, const std::string& file)
      : operation_(operation), file_(file) {}

  Records run(std::string_view text);

 private:
  void read_line(const std::string& line);
  void begin(const std::vector<std::string>& words);
  void end();
  void read_edit(const std::string& line);
  void read_occurrence(const std::vector<std::string>& words);
  void read_shrinks(const std::vector<std::string>& words);
  void set(std::string& value, const std::string& word, const std::string& rest);
  void fail(const std::string& what) { fail_at(line_, what); }
  void fail_at(int line, const std::string& what) {
    if (!result_.error.empty()) return;
    result_.error = file_ + ":" + std::to_string(line) + ": " + what;
  }

  const std::string& operation_;
  const std::string& file_;
  Records result_;
  Record record_;
  bool open_ = false;       // inside a record
  bool replacing_ = false;  // the last line was one with +
  Edit placed_;             // what an `occurrence` line said of the next edit
  int line_ = 0;
};

void Parser::begin(const std::vector<std::string>& words) {
  end();
  if (words.size() != 4 || words[2] != "of" || !identifier(words[1]) || !identifier(words[3])) {
    fail("expected: mutant <name> of <kernel>, in lower case, digits and _");
    return;
  }
  for (const Record& other : result_.records) {
    if (other.name == words[1] && other.kernel == words[3]) {
      fail("a second " + words[1] + " of " + words[3]);
    }
  }
  record_ = Record{};
  record_.operation = operation_;
  record_.name = words[1];
  record_.kernel = words[3];
  record_.file = file_;
  record_.line = line_;
  open_ = true;
  replacing_ = true;
  placed_ = Edit{};
}

void Parser::end() {
  if (!open_) return;
  open_ = false;
  const char* missing = nullptr;
  if (record_.kind.empty()) missing = "kind";
  if (record_.killer.empty()) missing = "killer";
  if (record_.host.empty() && record_.host_checked.empty()) missing = "host or host-checked";
  if (record_.edits.empty()) missing = "-";
  if (missing != nullptr) {
    fail_at(record_.line, record_.name + ": needs a line `" + std::string(missing) + "`");
  }
  result_.records.push_back(record_);
}

void Parser::set(std::string& value, const std::string& word, const std::string& rest) {
  if (!value.empty()) fail("a second line `" + word + "`");
  if (rest.empty()) fail("`" + word + "` says nothing");
  value = rest;
}

void Parser::read_edit(const std::string& line) {
  const std::string text = line.size() > 1 ? line.substr(1) : std::string();
  if (line[0] == '-') {
    if (replacing_ || record_.edits.empty()) {
      record_.edits.push_back(placed_);
      record_.edits.back().line = line_;
      placed_ = Edit{};
    }
    record_.edits.back().search += text + "\n";
    replacing_ = false;
    return;
  }
  if (record_.edits.empty()) return fail("a + line without - lines before it");
  record_.edits.back().replacement += text + "\n";
  replacing_ = true;
}

void Parser::read_occurrence(const std::vector<std::string>& words) {
  Edit edit;
  const bool read = words.size() == 4 && words[2] == "of" &&
                    read_number(words[1], edit.occurrence) &&
                    read_number(words[3], edit.occurrences);
  if (!read || edit.occurrence < 1 || edit.occurrence > edit.occurrences) {
    return fail("expected: occurrence 2 of 3");
  }
  placed_ = edit;
  replacing_ = true;
}

void Parser::read_shrinks(const std::vector<std::string>& words) {
  std::string limits;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    std::int64_t most = 0;
    const bool read = equals != std::string::npos && identifier(words[i].substr(0, equals)) &&
                      read_number(words[i].substr(equals + 1), most);
    if (!read) return fail("expected: shrinks nodes=3 edges=3");
    limits += (i > 1 ? " " : "") + words[i];
  }
  set(record_.shrinks, words[0], limits);
}

void Parser::read_line(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words[0] == "mutant") return begin(words);
  if (!open_) return fail("expected: mutant <name> of <kernel>");
  if (line[0] == '-' || line[0] == '+') return read_edit(line);
  const std::string rest = trimmed(line.substr(words[0].size()));
  if (words[0] == "kind") return set(record_.kind, words[0], rest);
  if (words[0] == "killer") return set(record_.killer, words[0], rest);
  if (words[0] == "host") return set(record_.host, words[0], rest);
  if (words[0] == "host-checked") return set(record_.host_checked, words[0], rest);
  if (words[0] == "occurrence") return read_occurrence(words);
  if (words[0] == "shrinks") return read_shrinks(words);
  fail("'" + words[0] +
       "' is none of mutant, kind, killer, host, host-checked, shrinks, occurrence, -, +, #");
}

Records Parser::run(std::string_view text) {
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    ++line_;
    const std::string content = trimmed(line);
    if (!content.empty() && content[0] != '#') read_line(content);
  }
  end();
  return std::move(result_);
}

}  // namespace

Records parse_records(std::string_view text, const std::string& operation,
                      const std::string& file) {
  return Parser(operation, file).run(text);
}

}  // namespace halfulp::mutants
