# shellcheck shell=bash
# What every job needs first: packages, a configured build folder, a built target. Sourced by the
# jobs in ci/, which set `root`, the repository's root.
#
#   need_packages                 installs what is missing (apt, as root or through sudo)
#   configure FOLDER [OPTION...]  runs cmake quietly; on failure prints the end of its log
#   build FOLDER [TARGET...]      runs ninja on as many cores as there are cores and memory for

# What builds and tests the project, by its name in Debian 12 and Ubuntu 24.04.
packages=(g++ cmake ninja-build python3 libeigen3-dev libboost-dev libboost-context-dev libgmp-dev
  libmpfr-dev libgtest-dev librapidcheck-dev libcli11-dev libfmt-dev nlohmann-json3-dev)

say() { printf '== %s\n' "$*" >&2; }

# die WHAT WHAT_TO_DO
die() {
  printf 'ci/run.sh: %s\n  %s\n' "$1" "$2" >&2
  exit 2
}

# A tool counts as present however it came; a library counts when its package is installed.
present() {
  case $1 in
    g++ | cmake | python3) command -v "$1" >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    *) [[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == *' ok installed' ]] ;;
  esac
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    present "$package" || printf '%s ' "$package"
  done
}

need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here: taking it that these are installed: ${packages[*]}"
    return
  fi
  local missing as_root=()
  missing=$(missing_packages)
  [[ -n $missing ]] || return 0
  local command="apt-get install --no-install-recommends $missing"
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || die "missing: $missing" "as root: $command"
    as_root=(sudo)
  fi
  say "installing $missing"
  apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
      -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
  }
  apt update || say "apt-get update failed; trying with the lists already here"
  # shellcheck disable=SC2086  # one word a package
  apt install --no-install-recommends $missing ||
    die "apt-get could not install: $missing" "see its error above; by hand: $command"
  missing=$(missing_packages)
  [[ -z $missing ]] || die "still missing after apt-get: $missing" "by hand: $command"
}

# Cores, but no more than one for each 1.5 GiB of memory that is free (and allowed to this process).
job_count() {
  local cores memory_kib limit
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo 2>/dev/null) || true
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null) || true
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1024 < ${memory_kib:-limit})); then
    memory_kib=$((limit / 1024))
  fi
  local fit=$((${memory_kib:-1572864} / 1572864))
  ((fit >= 1)) || fit=1
  echo $((fit < cores ? fit : cores))
}

# The CUDA compiler's option for cmake: off where nvcc is missing, or too old for C++20.
cuda_option() {
  [[ -x /usr/local/cuda/bin/nvcc ]] && PATH=$PATH:/usr/local/cuda/bin
  local major
  major=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  if [[ -z $major ]]; then
    say "no nvcc: building the host backends only"
  elif ((major < 12)); then
    say "nvcc $major is older than 12: building the host backends only"
  else
    echo -DHALFULP_CUDA=ON
    return
  fi
  echo -DHALFULP_CUDA=OFF
}

configure() {
  local folder=$1 log=$1/configure.log
  shift
  mkdir -p "$folder"
  [[ -x /usr/local/cuda/bin/nvcc ]] && export PATH=$PATH:/usr/local/cuda/bin
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  say "configuring $folder"
  # shellcheck disable=SC2154  # root comes from the job
  cmake -G Ninja -S "$root" -B "$folder" "${launcher[@]}" "$(cuda_option)" "$@" \
    >"$log" 2>&1 </dev/null && return
  tail -n 30 "$log" >&2
  die "cmake could not configure $folder (log: $log)" "needs cmake 3.25, a C++20 compiler and the
  packages named in ci/setup.sh; after a change of compiler remove $folder first"
}

build() {
  local folder=$1 jobs
  shift
  jobs=$(job_count)
  say "building ${*:-everything} in $folder with $jobs jobs"
  ninja -C "$folder" -j "$jobs" "$@" </dev/null >&2 ||
    die "the build failed" "see the first error above; again with: ninja -C $folder $*"
}
