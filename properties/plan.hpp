// Which cases a campaign judges: lines of case files, and generated cases spread over kernels and
// backends.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.hpp"
#include "properties/case.hpp"

namespace halfulp::properties {

// A kernel on a backend: one row of the campaign's table.
struct Pairing {
  const gpu::Kernel* kernel = nullptr;
  gpu::Backend backend = gpu::Backend::host;
};

// "graph_attention", "graph_attention/fused_csc", "*/gather_*": a filter names operations, or
// kernels once it has a slash; * and ? match as in a shell. No filters: everything.
bool matches(const std::vector<std::string>& filters, std::string_view operation,
             std::string_view kernel);
// The filter that matches no kernel of the registry, or empty.
std::string unmatched(const std::vector<std::string>& filters);

// Kernels that pass the filters, on those of the backends they are built for; in the registry's
// order.
std::vector<Pairing> pairings(const std::vector<std::string>& filters,
                              const std::vector<gpu::Backend>& backends);

// The case lines of a file, read once (it may be a pipe): one a line of at most 1 MiB, '#' starts a
// comment line; "operation * ..." stands for every kernel of the operation; a line may stand in the
// command that replays it. `error` is "file:line: what is wrong", and the result is then empty.
struct CaseLine {
  Case value;
  bool names_backend = false;
};
std::vector<CaseLine> read_case_lines(const std::string& file, std::string& error);
// The case line in "halfulp replay 'LINE'" as reports print it, with a watchdog or without; any
// other text as it is.
std::string_view without_command(std::string_view text);
// What is wrong with a user's file that has none.
std::string no_case_line(const std::string& file);
// A line that names no backend stands for one case on each of `backends` that its kernel is built
// for. Where it is built for none of them the line is left out, or kept as a case on the first of
// them, which is then skipped with its reason.
enum class Unbuilt : std::uint8_t { left_out, kept };
std::vector<Case> on_backends(const std::vector<CaseLine>& lines,
                              const std::vector<gpu::Backend>& backends, Unbuilt unbuilt);
// Both, every line kept. A file without any line is an error.
std::vector<Case> read_cases(const std::string& file, const std::vector<gpu::Backend>& backends,
                             std::string& error);

// Where the case files are: $HALFULP_FIXTURES, else fixtures/ of the source tree this was built
// from, else (a binary carried elsewhere) of the folder it runs in.
std::string fixtures_folder();
// $HALFULP_FIXTURES, or null where it is unset or empty.
const char* fixtures_asked();
// regressions.cases, then cases/*.cases in the order of their names. Missing files are no error
// unless $HALFULP_FIXTURES asked for them; a folder that cannot be read always is.
std::vector<std::string> fixture_files(std::string& error);

// Case number `round` of a pairing: depends on seed, pairing and round alone, so that filters, jobs
// and the other kernels change nothing. Sizes go up and down between 0 and `size_max` from round to
// round.
Case generated_case(const Pairing& pairing, std::uint64_t seed, std::int64_t round,
                    int size_max = 100);

}  // namespace halfulp::properties
