// halfulp calibrate: what the device does beside what is declared of it.
#include "properties/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/output_file.hpp"
#include "apps/standard_output.hpp"
#include "gpu/backend.hpp"
#include "properties/setup.hpp"

namespace halfulp::apps {

namespace {

struct Options {
  std::string backend;
  std::string json;
  bool quick = false;
};

int calibrate(const Options& options) {
  gpu::Backend backend =
      gpu::available(gpu::Backend::cuda) ? gpu::Backend::cuda : gpu::Backend::host;
  if (!options.backend.empty()) backend = properties::backend_of(options.backend);
  const OutputFile json("--json", options.json);
  const std::string unavailable = gpu::unavailable_reason(backend);
  if (!unavailable.empty()) {
    say("{}: unavailable: {}\n", gpu::name(backend), unavailable);
    return kExitPowerless;
  }
  const auto settings = properties::calibrate_options(backend, options.quick);
  say("{}: {}\n{}\n", gpu::name(backend), gpu::device_name(backend),
      properties::calibration_header());
  const auto print = [&](const properties::CalibrationLine& line) {
    say("{}\n", properties::calibration_text(line));
    if (!flush_output() && !json.asked()) require_output();
  };
  const auto lines = properties::calibrate(settings, properties::declared_on(backend), print);
  say("{}\n", properties::calibration_summary(lines));
  json.write(properties::calibration_json(settings, lines));
  return properties::any_optimistic(lines) ? kExitFailed : kExitPassed;
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "calibrate",
      "measure the arithmetic of the device beside what bounds take it to be\n\n"
      "Exit code 1 when a declaration is optimistic: the device is further off than declared, or "
      "differs\n"
      "from the model; 3 when the backend is absent.");
  command->add_option("--backend", options->backend, "host or cuda; default: cuda where present")
      ->check(CLI::IsMember({"host", "cuda"}));
  command->add_option("--json", options->json, "write the lines to this file as JSON")
      ->check(not_empty());
  command->add_flag("--quick", options->quick, "a tenth of the products, a sample of the arguments")
      ->disable_flag_override();
  command->callback([options, &exit_code] { exit_code = calibrate(*options); });
}

}  // namespace halfulp::apps
