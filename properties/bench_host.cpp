// How many cases a campaign judges on the host; see bench.hpp.
#include <fmt/format.h>

#include "properties/bench.hpp"
#include "properties/campaign.hpp"
#include "properties/report.hpp"

namespace halfulp::properties {

void bench_host(const Say& say, int jobs, double seconds) {
  for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::host_checked}) {
    CampaignOptions options;
    options.filters = {"scatter_normalize", "graph_attention"};
    options.backends = {backend};
    options.seconds = seconds;
    options.jobs = jobs;
    options.size_max = 20;
    options.fixtures = false;
    options.shrink = false;
    const std::string error = complete(options);
    if (!error.empty()) {
      say(error);
      return;
    }
    const CampaignResult result = run_campaign(options, [](const Progress&) {});
    const std::int64_t judged = result.total.cases - result.total[Verdict::skipped];
    say(fmt::format(
        "{:<13} {:.0f} judged cases/s, smoke sizes of the graph families: {} cases, {} "
        "elements in {:.1f} s; {:.0f}% of the time of workers in kernels; worst error/bound {}",
        gpu::name(backend), static_cast<double>(judged) / result.seconds, judged, result.elements,
        result.seconds, 100 * result.total.seconds / (result.seconds * result.jobs),
        ratio_text(result.total.worst)));
  }
}

}  // namespace halfulp::properties
