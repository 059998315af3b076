// `calibrate` on a device. Skips where there is none; fails there under HALFULP_REQUIRE_GPU=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gpu/backend.hpp"
#include "properties/calibrate.hpp"
#include "tests/device.hpp"

namespace halfulp::properties {
namespace {

class CalibrateGpu : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(gpu::unavailable_reason(gpu::Backend::cuda)); }
  static std::vector<CalibrationLine> lines(bool quick, const Declarations& declarations) {
    return calibrate(calibrate_options(gpu::Backend::cuda, quick), declarations,
                     [](const CalibrationLine&) {});
  }
};

TEST_F(CalibrateGpu, TheDeviceKeepsWhatIsDeclaredOfIt) {
  for (const CalibrationLine& line : lines(false, declared_on(gpu::Backend::cuda))) {
    EXPECT_TRUE(line.standing == Standing::agrees || line.standing == Standing::safe)
        << calibration_text(line);
  }
}

TEST_F(CalibrateGpu, DeclarationsThatPromiseMoreAreFlagged) {
  Declarations declarations = declared_on(gpu::Backend::cuda);
  declarations.tensor_core.alignment_bits += 3;
  for (gpu::UlpLimit& limit : declarations.functions) limit = {0.1, 0};
  for (const CalibrationLine& line : lines(true, declarations)) {
    const bool wrong = line.property.ends_with(": alignment bits") ||
                       line.property.ends_with(": random products") ||
                       line.property.ends_with(": largest error");
    EXPECT_EQ(line.standing == Standing::optimistic, wrong) << calibration_text(line);
  }
}

}  // namespace
}  // namespace halfulp::properties
