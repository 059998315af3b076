// flash_attention's questions to the reference; see flash_problem.hpp. Runs of documents, and masks
// of a user's own, are no closed form of the reference: it gets them as a mask of 0 and -infinity.
#include <algorithm>
#include <memory>

#include "properties/assert.hpp"
#include "properties/flash_problem.hpp"
#include "properties/translate.hpp"
#include "reference/ops/flash_attention.hpp"

namespace halfulp::properties {
namespace {

const gpu::Setting* find_setting(const gpu::Problem& problem, std::string_view name) {
  const auto found = std::ranges::find(problem.settings, name, &gpu::Setting::name);
  return found == problem.settings.end() ? nullptr : &*found;
}
std::int64_t value_of(const gpu::Problem& problem, std::string_view name) {
  const gpu::Setting* setting = find_setting(problem, name);
  HALFULP_ASSERT(setting != nullptr, "no setting " + std::string(name));
  return setting->value;
}

// The description, and the numbers that it alone points to.
struct Question {
  reference::FlashAttention op;
  std::vector<float> mask;  // (queries, keys)
};

// The setting `mask` as the family of a case line.
Mask mask_of(const gpu::Problem& problem) {
  const gpu::Setting* setting = find_setting(problem, "mask");
  if (setting == nullptr || setting->word == "additive") return {};
  std::string text = setting->word;
  if (text == name(MaskFamily::prefix_lm) || text == name(MaskFamily::documents)) {
    text += ":" + std::to_string(value_of(problem, "prefix"));
  } else if (text == name(MaskFamily::window)) {
    text += ":" + std::to_string(value_of(problem, "window_left")) + ":" +
            std::to_string(value_of(problem, "window_right"));
  }
  return parse_mask(text);
}

void set_open_keys(const Mask& mask, Question& question) {
  reference::FlashAttention& op = question.op;
  switch (mask.family) {
    case MaskFamily::none:
      return;
    case MaskFamily::causal_top_left:
      op.open = reference::OpenKeys::causal;
      return;
    case MaskFamily::causal_bottom_right:
      op.open = reference::OpenKeys::causal;
      op.shift = op.keys - op.queries;
      return;
    case MaskFamily::prefix_lm:
      op.open = reference::OpenKeys::prefix;
      op.prefix = mask.arguments[0];
      return;
    case MaskFamily::window:
      op.open = reference::OpenKeys::window;
      op.shift = op.keys - op.queries;
      op.left = mask.arguments[0];
      op.right = mask.arguments[1];
      return;
    default:
      break;
  }
  question.mask.resize(static_cast<std::size_t>(op.queries * op.keys));
  std::vector<double> row(static_cast<std::size_t>(op.keys));
  for (std::int64_t i = 0; i < op.queries; ++i) {
    mask_row(mask, {1, 1, op.queries, op.keys}, {.query = i}, row);
    std::ranges::copy(row, question.mask.begin() + i * op.keys);
  }
  op.mask.data = question.mask.data();
  op.mask.format = reference::Format::fp32;
  const std::int64_t extent[4] = {op.batches, op.heads, op.queries, op.keys};
  std::ranges::copy(extent, op.mask.extent);
  op.mask.stride[2] = op.keys;
  op.mask.stride[3] = 1;
}

// Shared, since what the reference keeps of it points into it.
std::shared_ptr<const Question> translate(const gpu::Problem& problem,
                                          const gpu::Numerics& numerics) {
  auto question = std::make_shared<Question>();
  reference::FlashAttention& op = question->op;
  const gpu::Operand &q = problem.operand("q"), &k = problem.operand("k");
  op.batches = q.extent[0];
  op.heads = q.extent[1];
  op.queries = q.extent[2];
  op.keys = k.extent[2];
  op.dim = q.extent[3];
  op.arithmetic = arithmetic(numerics, q.format, problem.operand("out").format);
  op.scale = problem.scale;
  const auto input = [&](std::string_view name) {
    reference::View result = view(problem.operand(name));
    // What is stored as tf32 but rounded by the kernel may be any fp32 number.
    if (op.arithmetic.operand_roundoff > 0) result.format = reference::Format::fp32;
    return result;
  };
  op.q = input("q");
  op.k = input("k");
  op.v = input("v");
  const auto mask = std::ranges::find(problem.operands, "mask", &gpu::Operand::name);
  if (mask != problem.operands.end()) op.mask = view(*mask);
  set_open_keys(mask_of(problem), *question);
  // A kernel without tiles of its own rescales once a key at most.
  const gpu::Setting* tile = find_setting(problem, "tile");
  const std::int64_t keys = tile == nullptr ? 1 : flash_tile(tile->word).keys;
  if (numerics.rescaled) op.arithmetic.rescales = (op.keys + keys - 1) / keys;
  return question;
}

}  // namespace

void evaluate_flash(const gpu::Problem& problem, const gpu::Numerics& numerics,
                    const reference::Sink& sink) {
  evaluate(translate(problem, numerics)->op, sink);
}

reference::ExactAnswers exact_flash(const gpu::Problem& problem, const gpu::Numerics& numerics) {
  const auto question = translate(problem, numerics);
  return [question, answers = exact_answers(question->op)](reference::Element element) {
    return answers(element);
  };
}

std::vector<reference::BoundTerm> explain_flash(const gpu::Problem& problem,
                                                const gpu::Numerics& numerics,
                                                reference::Element element) {
  return explain(translate(problem, numerics)->op, element);
}

}  // namespace halfulp::properties
