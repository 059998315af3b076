// halfulp list: operations, kernels, what they declare, backends.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/standard_output.hpp"
#include "properties/fields.hpp"
#include "properties/graph_spec.hpp"
#include "properties/operation.hpp"
#include "properties/plan.hpp"
#include "properties/setup.hpp"
#include "properties/worker.hpp"

namespace halfulp::apps {

namespace {

void print_fields(const properties::Operation& operation) {
  for (const properties::Field& field : operation.fields) {
    std::string accepted(field.words);
    if (field.kind == properties::FieldKind::integer || field.kind == properties::FieldKind::real) {
      accepted = properties::range_text(field);
    }
    say("    {:<9} {}{}; default {}\n", field.name, field.help,
        accepted.empty() ? "" : " (" + accepted + ")",
        field.fallback.empty() ? "''" : field.fallback);
  }
}

void print_kernel(const gpu::Kernel& kernel) {
  std::string storage, backends;
  for (const gpu::Format format : kernel.storage) storage += fmt::format(" {}", gpu::name(format));
  for (int i = 0; i < gpu::kBackends; ++i) {
    const auto backend = static_cast<gpu::Backend>(i);
    if (properties::built_for(kernel, backend)) backends += fmt::format(" {}", gpu::name(backend));
  }
  say("  {:<19} {}\n", kernel.name, kernel.summary);
  say("  {:<19} {}; in{}; on{}\n", "", gpu::describe(kernel.numerics), storage,
      backends.empty() ? " no backend" : backends);
}

void list(const std::vector<std::string>& filters, bool fields) {
  const std::string filter = properties::unmatched(filters);
  if (!filter.empty())
    throw UsageError(fmt::format("filter '{}' matches no kernel", shortened(filter)));
  for (const properties::Operation& operation : properties::operations()) {
    bool headed = false;
    for (const gpu::Kernel& kernel : gpu::kernels()) {
      if (kernel.operation != operation.name) continue;
      if (!properties::matches(filters, kernel.operation, kernel.name)) continue;
      if (!headed) say("{}: {}\n", operation.name, operation.summary);
      headed = true;
      print_kernel(kernel);
    }
    if (!headed) continue;
    if (!operation.laws.empty()) say("  laws\n");
    for (const properties::Law& law : operation.laws) {
      say("    {:<19} {}\n", law.name, law.statement);
    }
    if (fields) say("  fields\n");
    if (fields) print_fields(operation);
    say("\n");
  }
  say("graphs (graph=... of the graph operations)\n");
  for (const properties::GraphFamily& family : properties::graph_families()) {
    say("  {:<20} {}\n", family.form, family.help);
  }
  say("\nbackends\n");
  for (const properties::BackendState& state : properties::backend_states()) {
    say("  {:<13} {}\n", gpu::name(state.backend),
        state.unavailable.empty() ? state.device : "unavailable: " + state.unavailable);
  }
}

}  // namespace

void add_list(CLI::App& app, int&) {
  struct Options {
    std::vector<std::string> filters;
    bool fields = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "list", "operations, their kernels and what these declare, laws, and the backends present");
  add_words(*command, "filters", options->filters, "operations or operation/kernel; globs allowed")
      ->check(not_empty());
  command->add_flag("--fields", options->fields, "also the fields of a case line")
      ->disable_flag_override();
  command->callback([options] { list(options->filters, options->fields); });
}

}  // namespace halfulp::apps
