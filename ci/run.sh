#!/usr/bin/env bash
# Every job of the project by name; the same command on a laptop and on a runner.
#
#   ci/run.sh check [option of halfulp check]   install what is missing, build, judge every kernel
#   ci/run.sh test [option of ctest]            the same set-up, then the whole test suite
#   ci/run.sh gpu [--prebuilt FOLDER]           on a GPU: its tests, a campaign, benchmarks, table
#   ci/run.sh tidy [rule...]                    the rules of the tree that a program can check
#   ci/run.sh carry                             into .carry/: binaries to run on a GPU elsewhere
#   ci/run.sh help
#
# Environment: HALFULP_BUILD is the build folder (default: build/), HALFULP_CAMPAIGN how long the
# campaign of `gpu` runs (default: 60s), OUT where its logs go (default: the build folder).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_folder=${HALFULP_BUILD:-$root/build}
# shellcheck source=ci/setup.sh
source "$root/ci/setup.sh"

job_help() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$root/ci/run.sh"; }

job_check() {
  need_packages
  local options=()
  # Without a device, CUDA's kernels would be compiled and not judged: that is for `test`.
  if ! nvidia-smi -L >/dev/null 2>&1 && [[ $(cuda_option 2>/dev/null) == *ON ]]; then
    say "no GPU here: building the host backends only"
    options=(-DHALFULP_CUDA=OFF)
  fi
  configure "$build_folder" "${options[@]}"
  build "$build_folder" halfulp
  # One worker a core, where there is memory for as many.
  local jobs=(--jobs "$(job_count)")
  [[ " $*" != *' --jobs'* ]] || jobs=()
  exec "$build_folder/bin/halfulp" check "${jobs[@]}" "$@"
}

job_test() {
  need_packages
  configure "$build_folder"
  build "$build_folder"
  say "testing with $(job_count) jobs"
  exec ctest --test-dir "$build_folder" -j "$(job_count)" --output-on-failure "$@" </dev/null
}

job_tidy() {
  need_packages
  exec python3 -B "$root/ci/tidy.py" "$@"
}

job_gpu() { exec "$root/ci/gpu.sh" "$@"; }

# A folder that needs nothing on the other machine but a driver: no compiler, no packages.
job_carry() {
  local carry=$root/.carry folder=$root/build-carry file size_kib
  need_packages
  [[ $(cuda_option 2>/dev/null) == *ON ]] ||
    die "carry needs nvcc 12 or later" "install the CUDA toolkit"
  configure "$folder" -DHALFULP_STATIC=ON -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_CUDA_ARCHITECTURES=${HALFULP_CUDA_ARCHITECTURES:-90a-real}"
  build "$folder" halfulp halfulp_gpu_tests
  rm -rf "$carry"
  mkdir -p "$carry/bin"
  gpu_tests "$folder" >"$carry/gpu_tests"
  for file in halfulp $(cut -f1 "$carry/gpu_tests"); do
    strip -o "$carry/bin/$file" "$folder/bin/$file"
  done
  # Every program holds all kernels: packed they are a sixth of their size.
  tar -C "$carry" -czf "$carry/bin.tar.gz" bin
  rm -r "$carry/bin"
  size_kib=$(du -sk "$carry" | cut -f1)
  ((size_kib <= 64 * 1024)) ||
    die "$carry holds $size_kib KiB, more than 64 MiB" "label fewer test programs gpu"
  say "$carry: $((size_kib / 1024)) MiB. On the GPU machine: ci/run.sh gpu --prebuilt .carry"
}

# One line a test program with tests labelled gpu: its name, a tab, GoogleTest's filter for them.
gpu_tests() {
  ctest --test-dir "$1" -N -V -L gpu |
    sed -n 's/^.*Test command: .*\/bin\/\([^ "]*\)"\{0,1\} .*--gtest_filter=\([^" ]*\).*/\1\t\2/p' |
    awk -F'\t' '{ filter[$1] = filter[$1] (filter[$1] ? ":" : "") $2 }
                END { for (name in filter) print name "\t" filter[name] }' | sort
}

main() {
  local job=${1:-help}
  [[ $# -eq 0 ]] || shift
  case $job in
    check | test | gpu | tidy | carry | help) "job_$job" "$@" ;;
    -h | --help) job_help ;;
    *)
      job_help >&2
      die "no job named '$job'" "one of: check test gpu tidy carry help"
      ;;
  esac
}

main "$@"
