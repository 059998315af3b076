// Asks for the product of the rows alone; see matmul_rows.hpp.
#include "properties/matmul_rows.hpp"

#include "properties/assert.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

void evaluate_rows(const reference::Matmul& op, const RowSet& set, const reference::Sink& sink) {
  if (set.count == 0) return;
  reference::Matmul part = op;
  part.m = part.a.extent[0] = set.count;
  part.a.data = static_cast<const char*>(op.a.data) +
                set.first * op.a.stride[0] * (reference::traits(op.a.format).storage_bits / 8);
  part.a.stride[0] = set.step * op.a.stride[0];
  evaluate(part, [&](const reference::Rows& rows) {
    HALFULP_ASSERT(std::ssize(rows.value) == op.n, "matmul streams whole rows");
    reference::Rows moved = rows;
    moved.first = (set.first + rows.first / op.n * set.step) * op.n;
    sink(moved);
  });
}

}  // namespace halfulp::properties
