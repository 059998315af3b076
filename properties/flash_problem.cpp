// Operands and settings of flash_attention; see flash_problem.hpp.
#include "properties/flash_problem.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/fill.hpp"
#include "properties/layout.hpp"
#include "properties/operands.hpp"
#include "properties/parameters.hpp"
#include "properties/spec.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

constexpr std::size_t kMaskNumber = 3;  // its place among the operands
constexpr std::string_view kAxes = "bhqk";

const gpu::Kernel& kernel_of(const Case& c) {
  const gpu::Kernel* kernel = gpu::find_kernel(c.operation, c.kernel);
  HALFULP_ASSERT(kernel != nullptr, "no kernel " + c.kernel);
  return *kernel;
}

// floor(log2(|scale|)); of 1/sqrt(dim) where scale is 0.
int scale_exponent(double scale, std::int64_t dim) {
  if (scale != 0) return std::ilogb(scale);
  return -(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(dim - 1))) + 1) / 2;
}

// Sets stride and base of the mask, which has its extent and format.
void lay_out_mask(gpu::Operand& mask, std::string_view layout) {
  const Spec spec = split_spec(layout);
  const auto argument = [&] { return parse_integer(spec.arguments[0]).value(); };
  lay_out(mask, "packed", 1, kMaskNumber);
  if (spec.family == "transposed") {
    mask.stride[2] = 1;
    mask.stride[3] = mask.extent[2];
  } else if (spec.family == "apart") {
    mask.stride[1] += argument();
    mask.stride[0] = mask.extent[1] * mask.stride[1] + argument();
  } else if (spec.family == "pitch") {
    for (std::int64_t axis = 2, stride = mask.extent[3] + argument(); axis >= 0; --axis) {
      mask.stride[static_cast<std::size_t>(axis)] = stride;
      stride *= mask.extent[static_cast<std::size_t>(axis)];
    }
  } else if (spec.family == "offset") {
    mask.base_offset = argument();
  } else if (spec.family == "broadcast") {
    for (std::size_t axis = 4, stride = 1; axis-- > 0;) {
      const bool repeated = spec.arguments[0].find(kAxes[axis]) != std::string::npos;
      mask.stride[axis] = repeated ? 0 : static_cast<std::int64_t>(stride);
      if (!repeated) stride *= static_cast<std::size_t>(mask.extent[axis]);
    }
  }
}

// Writes one cell for each place that the mask has: cell 0 along a stride of 0.
void fill_mask(gpu::Operand& operand, const Mask& mask, std::uint64_t seed) {
  const reference::Format format = reference_format(operand.format);
  const MaskShape shape{operand.extent[0], operand.extent[1], operand.extent[2], operand.extent[3]};
  if (operand.count() == 0) return;
  const auto copies = [&](std::size_t axis) {
    return operand.stride[axis] == 0 ? 1 : operand.extent[axis];
  };
  std::vector<double> row(static_cast<std::size_t>(shape.keys));
  MaskRow place{.seed = seed, .lowest = -reference::largest_finite(format)};
  for (place.batch = 0; place.batch < copies(0); ++place.batch) {
    for (place.head = 0; place.head < copies(1); ++place.head) {
      for (place.query = 0; place.query < copies(2); ++place.query) {
        mask_row(mask, shape, place, row);
        const std::int64_t begin = place.batch * operand.stride[0] +
                                   place.head * operand.stride[1] + place.query * operand.stride[2];
        for (std::int64_t j = 0; j < copies(3); ++j) {
          put(operand, begin + j * operand.stride[3],
              reference::encode(format, row[static_cast<std::size_t>(j)]));
        }
      }
    }
  }
}

std::int64_t word_index(const gpu::Parameter& parameter, std::string_view word) {
  const auto found = std::ranges::find(parameter.words, word);
  HALFULP_ASSERT(found != parameter.words.end(), "no mask word " + std::string(word));
  return found - parameter.words.begin();
}

// The settings that say which keys are open, where the kernel has them.
void add_mask_settings(gpu::Problem& problem, const gpu::Kernel& kernel, const Mask& mask) {
  const gpu::Parameter* parameter = find_parameter(kernel, "mask");
  if (parameter == nullptr) return;
  const bool dense = passing(kernel, mask) == MaskPassing::operand;
  const std::string word(dense ? "additive" : name(mask.family));
  problem.settings.push_back({"mask", word_index(*parameter, word), word});
  const auto add = [&](std::string_view setting, std::int64_t value) {
    if (find_parameter(kernel, setting) == nullptr) return;
    problem.settings.push_back({std::string(setting), value, {}});
  };
  if (dense) return;
  if (mask.family == MaskFamily::prefix_lm || mask.family == MaskFamily::documents) {
    add("prefix", mask.arguments[0]);
  } else if (mask.family == MaskFamily::window) {
    add("window_left", mask.arguments[0]);
    add("window_right", mask.arguments[1]);
  }
}

Scene scene_of(const Case& c) {
  Scene scene = make_scene(c.seed(), reference_format(storage_format(c)), nullptr);
  scene.flash = true;
  scene.heads = c.integer("heads");
  scene.dim = c.integer("dim");
  scene.queries = c.integer("queries");
  scene.keys = c.integer("keys");
  scene.tile_keys = flash_tile(c).keys;
  scene.scale_exponent = scale_exponent(c.real("scale"), scene.dim);
  scene.scale_negative = c.real("scale") < 0;
  scene.quantities = {Quantity::q, Quantity::k, Quantity::v};
  scene.outer.assign(3, c.integer("batches"));
  return scene;
}

}  // namespace

FlashTile flash_tile(std::string_view word) {
  const auto parts = split(word, 'x');
  HALFULP_ASSERT(parts.size() == 2, "a tile is BMxBN, not " + std::string(word));
  const auto queries = parse_integer(parts[0]), keys = parse_integer(parts[1]);
  HALFULP_ASSERT(queries && keys && *queries > 0 && *keys > 0,
                 "a tile is BMxBN, not " + std::string(word));
  return {*queries, *keys};
}

FlashTile flash_tile(const Case& c) {
  if (c.text("tile") != kDefaultWord) return flash_tile(c.text("tile"));
  const gpu::Parameter* parameter = find_parameter(kernel_of(c), "tile");
  return parameter == nullptr || parameter->words.empty() ? FlashTile{}
                                                          : flash_tile(parameter->words.front());
}

const gpu::Parameter* find_parameter(const gpu::Kernel& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.parameters, name, &gpu::Parameter::name);
  return found == kernel.parameters.end() ? nullptr : &*found;
}

std::vector<std::string_view> mask_words(const gpu::Kernel& kernel) {
  const gpu::Parameter* parameter = find_parameter(kernel, "mask");
  return parameter == nullptr ? std::vector<std::string_view>{"none"} : parameter->words;
}

MaskPassing passing(const gpu::Kernel& kernel, const Mask& mask) {
  const auto words = mask_words(kernel);
  const auto has = [&](std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (closed_form(mask) && has(name(mask.family))) return MaskPassing::settings;
  return has("additive") ? MaskPassing::operand : MaskPassing::none;
}

std::string mask_layout_error(std::string_view text, MaskFamily family) {
  const Spec spec = split_spec(text);
  const std::string start = "mask_layout=" + shown(text) + ": ";
  if ((spec.family == "dense" || spec.family == "transposed") && spec.arguments.empty()) return {};
  const bool one = spec.arguments.size() == 1;
  if (spec.family == "pitch" || spec.family == "apart" || spec.family == "offset") {
    const auto value = one ? parse_integer(spec.arguments[0]) : std::nullopt;
    if (value && *value >= 1 && *value <= 63) return {};
    return start + spec.family + " takes one number from 1 to 63";
  }
  if (spec.family != "broadcast" || !one) {
    return start +
           "expected dense, transposed, pitch:G, apart:G, offset:K or broadcast:AXES, some of bhqk";
  }
  const std::string& axes = spec.arguments[0];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t at = kAxes.find(axes[i]);
    const bool order = at != std::string_view::npos && (i == 0 || kAxes.find(axes[i - 1]) < at);
    if (!order) return start + "broadcast takes some of bhqk, in this order";
    if (broadcast_axes(family).find(axes[i]) == std::string_view::npos) {
      return start + "mask=" + std::string(name(family)) + " differs along " + axes[i];
    }
  }
  return axes.empty() ? start + "broadcast takes some of bhqk" : std::string();
}

gpu::Format mask_format(const Case& c) {
  const gpu::Format storage = storage_format(c);
  const bool plain = c.text("mask_in") == "f32" || storage == gpu::Format::tf32;
  return plain ? gpu::Format::f32 : storage;
}

gpu::Format flash_output_format(const Case& c) {
  const gpu::Format format = storage_format(c);
  return format == gpu::Format::tf32 ? gpu::Format::f32 : format;
}

double flash_bytes(const Case& c) {
  const auto number = [&c](std::string_view field) {
    return static_cast<double>(c.integer(field));
  };
  const double outer = number("batches") * number("heads");
  const double row = number("dim") * static_cast<double>(gpu::size_bytes(storage_format(c)));
  const double rows = 2 * outer * (number("queries") + number("keys")) * row;
  if (passing(kernel_of(c), parse_mask(c.text("mask"))) != MaskPassing::operand) return rows;
  const Spec layout = split_spec(c.text("mask_layout"));
  const auto cells = [&](char axis, std::string_view field) {
    const bool repeated =
        layout.family == "broadcast" && layout.arguments[0].find(axis) != std::string::npos;
    return repeated ? 1 : number(field);
  };
  return rows + cells('b', "batches") * cells('h', "heads") * cells('q', "queries") *
                    cells('k', "keys") * static_cast<double>(gpu::size_bytes(mask_format(c)));
}

gpu::Problem materialise_flash(const Case& c) {
  const Scene scene = scene_of(c);
  const gpu::Kernel& kernel = kernel_of(c);
  const Mask mask = parse_mask(c.text("mask"));
  const Fill& fill = find_fill(c.text("fill"));
  const std::int64_t batches = c.integer("batches");
  gpu::Problem problem;
  problem.operation = c.operation;
  problem.scale = static_cast<float>(c.real("scale"));
  problem.operands.reserve(5);
  const auto add = [&](std::string_view operand, Quantity quantity, std::int64_t rows) {
    fill_operand(add_operand(problem, c, operand, storage_format(c), gpu::Role::input,
                             {batches, scene.heads, rows, scene.dim}),
                 fill, scene, quantity);
  };
  add("q", Quantity::q, scene.queries);
  add("k", Quantity::k, scene.keys);
  add("v", Quantity::v, scene.keys);
  if (passing(kernel, mask) == MaskPassing::operand) {
    gpu::Operand& operand = problem.operands.emplace_back();
    operand.name = "mask";
    operand.format = mask_format(c);
    operand.extent = {batches, scene.heads, scene.queries, scene.keys};
    lay_out_mask(operand, c.text("mask_layout"));
    fill_gaps(operand);
    fill_mask(operand, mask, c.seed());
  }
  add_operand(problem, c, "out", flash_output_format(c), gpu::Role::output,
              {batches, scene.heads, scene.queries, scene.dim});
  problem.settings = settings(c);
  add_mask_settings(problem, kernel, mask);
  return problem;
}

}  // namespace halfulp::properties
