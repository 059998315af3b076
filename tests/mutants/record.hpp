// Record: one mutant as text, a small wrong change to one kernel and how it must be found out.
//
// Files tests/mutants/<operation>.mutants; a line that starts with # is a comment. A record is
//
//   mutant last_edge_dropped of fused_csc
//     kind          last segment cut short
//     killer        fill=ones
//     host          fail
//     host-checked  fail | faulted out_of_bounds
//     shrinks       nodes=2 edges=2
//     - step < end; step += spread.slots
//     + step < end - 1; step += spread.slots
//
//   kind      the kind of fault, in words
//   killer    words of case lines: among generated cases that have them all, one must kill. A value
//             may be a pattern (graph=hub:*).
//   host, host-checked
//             verdicts, separated by |, one of which the first killing case on that backend must
//             have: `fail` or `faulted <kind>`. A backend that is not named cannot show the fault.
//   shrinks   the most that fields of the shrunk case may say; optional. nodes and edges are those
//             of a graph, whatever describes it.
//   - and +   the kernel's source is searched for the lines with -, which are replaced by those
//             with +. Blanks and line breaks do not count. The search text must occur exactly once,
//             in the kernel or in a header of gpu/kernels that it includes; after a line
//             `occurrence 2 of 3` it must occur three times, and the second one is replaced.
//             Further - and + lines make further edits.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halfulp::mutants {

struct Edit {
  std::string search;
  std::string replacement;
  int occurrence = 1;
  int occurrences = 1;
  int line = 0;  // of the record file
};

struct Record {
  std::string operation;
  std::string kernel;
  std::string name;
  std::string kind;
  std::string killer;
  std::string host;          // verdicts, empty: the backend cannot show the fault
  std::string host_checked;  // likewise
  std::string shrinks;       // "nodes=2 edges=1", or empty
  std::vector<Edit> edits;
  std::string file;
  int line = 0;

  std::string entry() const { return operation + "_" + kernel; }  // its entry point
  std::string stem;  // of gpu/kernels/<stem>.cuh, which defines it: the planter's to find
};

struct Records {
  std::vector<Record> records;
  std::string error;  // "file:line: what is wrong", or empty
};
// `operation` is the stem of `file`.
Records parse_records(std::string_view text, const std::string& operation, const std::string& file);

}  // namespace halfulp::mutants
