#!/usr/bin/env bash
# The one call for a GPU runner, through `ci/run.sh gpu`: what needs a device is tested, a campaign
# runs on it, the benchmarks are timed, and a table closes the output. Exit 1 when a step failed.
#
#   ci/gpu.sh                      build here, then run
#   ci/gpu.sh --prebuilt FOLDER    run what `ci/run.sh carry` built elsewhere: needs no compiler
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_folder=${HALFULP_BUILD:-$root/build}
campaign=${HALFULP_CAMPAIGN:-60s}
# shellcheck source=ci/setup.sh
source "$root/ci/setup.sh"

# step NAME PATTERN COMMAND...: output goes to the terminal and to a log; the result and the last
# line that matches the pattern become a row of the table.
rows=()
failed=0
step() {
  local name=$1 pattern=$2 started=$SECONDS status=0 result=pass
  shift 2
  say "$name: $*"
  "$@" </dev/null 2>&1 | tee "$logs/$name.log" || status=$?
  if ((status != 0)); then
    result="exit $status"
    failed=1
  fi
  local told
  told=$(grep -E "$pattern" "$logs/$name.log" | tail -n 1 || true)
  rows+=("$(printf '%-10s %-8s %5d s  %s' "$name" "$result" $((SECONDS - started)) \
    "${told:0:120}")")
}

# shellcheck disable=SC2317  # called through step
prebuilt_tests() {
  local program filter count=0 failures=0
  while IFS=$'\t' read -r program filter; do
    count=$((count + 1))
    "$bin/$program" "--gtest_filter=$filter" --gtest_brief=1 </dev/null ||
      failures=$((failures + 1))
  done <"$prebuilt/gpu_tests"
  echo "$((count - failures)) of $count test programs passed"
  return "$((failures > 0))"
}

prebuilt=''
case ${1:-} in
  '') ;;
  --prebuilt)
    prebuilt=$(cd "${2:?--prebuilt needs a folder}" && pwd) ||
      die "no folder $2" "make it with: ci/run.sh carry"
    [[ ! -s $prebuilt/bin.tar.gz ]] || tar -C "$prebuilt" -xzf "$prebuilt/bin.tar.gz"
    [[ -s $prebuilt/gpu_tests && -x $prebuilt/bin/halfulp ]] ||
      die "$prebuilt is not what carry makes" "make it with: ci/run.sh carry"
    ;;
  *) die "unknown option '$1'" "ci/run.sh gpu [--prebuilt FOLDER]" ;;
esac

command -v nvidia-smi >/dev/null || die "no nvidia-smi here" "run this on a machine with a GPU"
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1) ||
  die "nvidia-smi failed" "the driver is installed but does not answer"

logs=${OUT:-$build_folder/gpu}
mkdir -p "$logs"
cd "$root"
export HALFULP_REQUIRE_GPU=1 HALFULP_FIXTURES=$root/fixtures
if [[ -n $prebuilt ]]; then
  bin=$prebuilt/bin
  step tests 'programs passed$' prebuilt_tests
else
  bin=$build_folder/bin
  need_packages
  [[ $(cuda_option 2>/dev/null) == *ON ]] || die "no nvcc 12 or later" \
    "install the CUDA toolkit, or build elsewhere with ci/run.sh carry and use --prebuilt"
  configure "$build_folder"
  build "$build_folder" halfulp halfulp_gpu_tests
  step tests 'tests passed' ctest --test-dir "$build_folder" -L gpu --no-tests=error \
    --output-on-failure
fi
# More than 16 contexts gain nothing on one device.
jobs=$(job_count)
step campaign '^seed' "$bin/halfulp" check --backend cuda --time "$campaign" \
  --jobs $((jobs < 16 ? jobs : 16)) --junit "$logs/campaign.xml"
# scatter_normalize/gather_coo stays out: quadratic in the batch, it takes seconds a call at 1024.
kernels=graph_attention,scatter_normalize/atomic_coo,scatter_normalize/gather_coo_skip
step bench 'copy of' "$bin/halfulp" bench gpu --batch 64,1024 \
  --kernels "$kernels,scatter_normalize/gather_csc"
step matmul '^mean ratio|^no ratio' timeout 120 "$bin/halfulp" bench gpu --kernels matmul
step attention 'prefix_lm.*mask_mod' timeout 180 "$bin/halfulp" bench gpu --kernels flash_attention

printf '\n%s\n' "$device; logs in $logs"
printf '%-10s %-8s %7s  %s\n' step result time 'summary'
printf '%s\n' "${rows[@]}"
exit $failed
