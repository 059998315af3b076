// What people read: the report of one case, the table of a campaign, and the same for machines
// (JSON, JUnit).
#pragma once
#include <string>

#include "properties/campaign.hpp"
#include "reference/answer.hpp"

namespace halfulp::properties {

// "halfulp replay '<case line>'".
std::string repro_line(const Case& c);

// The repro line (of a case that timed out with its watchdog, where that is not kWatchdog_s), the
// verdict, the worst elements (index, value, bits, enclosure, bound, error/bound), the kernel's
// declared arithmetic. Ends with a newline.
std::string case_report(const Case& c, const Judgement& judgement, double watchdog_s = kWatchdog_s);
// The smallest failing case first, then where it came from. `again` is a command that runs the
// cases before it too: said of a case that passes alone.
std::string failure_report(const Failure& failure, const std::string& again = {});
// "halfulp check ...", which judges the same cases again; of `failure`, with as many workers.
std::string campaign_again(const CampaignOptions& options, const CampaignResult& result,
                           const Failure* failure = nullptr);

// One row for each kernel and backend: cases, verdict counts, worst error/bound.
std::string campaign_table(const CampaignResult& result);
// A line for each kernel and backend with results beyond the statistical bound (advice.hpp): no
// failures, and no reason for another exit code.
std::string campaign_advice(const CampaignResult& result);
// One line: seed, counts, rate; and the command that repeats the run.
std::string campaign_summary(const CampaignOptions& options, const CampaignResult& result);

// What a signal cut short.
std::string interruption(const CampaignResult& result);

std::string campaign_json(const CampaignOptions& options, const CampaignResult& result);
// One test suite for each operation, one test case for each kernel and backend; an error in a suite
// of its own where the campaign was interrupted.
std::string campaign_junit(const CampaignOptions& options, const CampaignResult& result);

// "[lo, hi]", the number itself where it is known exactly, or "NaN".
std::string truth_text(reference::Enclosure truth);
// An error/bound ratio, in five characters where it fits.
std::string ratio_text(double ratio);
// A table of left-aligned text columns and right-aligned number columns, two spaces between them.
std::string align(const std::vector<std::vector<std::string>>& rows, std::size_t left_columns);

}  // namespace halfulp::properties
