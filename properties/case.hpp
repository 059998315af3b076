// Case: everything one test needs, and one line of text.
//
//   graph_attention fused_csc backend=host in=f32 nodes=7 heads=3 dim=5 graph=hub:4 fill=normal
//   seed=0x51f2
//
// The waist of the project: generators, the command line, fixtures and the shrinker make cases; the
// pipeline consumes one. parse(print(c)) == c always. The fields an operation knows are rows of its
// table (properties/operation.hpp), so a new operation adds rows, not code here.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace halfulp::properties {

enum class FieldKind : std::uint8_t {
  integer,  // decimal, low <= value <= high
  real,     // decimal, held as the float nearest to it, low <= value <= high
  word,     // one of `words`
  spec,     // family[:argument]..., checked by the operation (graph=hub:4:sorted, layout=gap:3)
  seed,     // 0x hexadecimal, 64 bits (decimal is read too)
};

struct Field {
  std::string_view name;
  FieldKind kind = FieldKind::integer;
  std::string_view fallback{};  // value when absent; also what `print` omits unless `always`
  double low = 0;
  double high = 0;
  std::string_view words{};  // "f32|f16|bf16"
  bool always = false;       // printed even when it has its fallback value
  bool parameter = false;    // a launch parameter (properties/parameters.hpp)
  std::string_view help{};
};

class Case {
 public:
  std::string operation;
  std::string kernel;

  std::int64_t integer(std::string_view field) const;
  double real(std::string_view field) const;
  std::string_view text(std::string_view field) const;
  std::uint64_t seed() const;

  void set(std::string_view field, std::int64_t value);
  void set(std::string_view field, std::string value);

  bool operator==(const Case&) const = default;

 private:
  friend struct CaseAccess;
  std::vector<std::string> values_;  // canonical text, in the order of the operation's fields
};

// A case with every field at its fallback.
Case make_case(std::string_view operation, std::string_view kernel);

std::string print(const Case& c);

// What was wrong with a text, or empty. `what` names the field, its value and what would be
// accepted.
struct ParseError {
  std::string what;
  explicit operator bool() const { return !what.empty(); }
};
struct Parsed {
  Case value;
  ParseError error;
};
Parsed parse(std::string_view line);

}  // namespace halfulp::properties
