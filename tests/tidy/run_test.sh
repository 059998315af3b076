#!/usr/bin/env bash
# ci/run.sh from another folder, without a terminal: help names every job, mistakes exit 2 and say
# why.
set -u
run=$(cd "$(dirname "$0")/../../ci" && pwd)/run.sh
cd /
failed=0

# expect STATUS PATTERN ARGUMENT...
expect() {
  local status=$1 pattern=$2 output actual=0
  shift 2
  output=$(bash "$run" "$@" </dev/null 2>&1) || actual=$?
  if [[ $actual -ne $status || ! $output =~ $pattern ]]; then
    printf 'ci/run.sh %s: exit %s, expected %s and /%s/ in:\n%s\n' "$*" "$actual" "$status" \
      "$pattern" "$output"
    failed=1
  fi
}

for job in check test gpu tidy carry help; do
  expect 0 "ci/run.sh $job" help
done
expect 2 "no job named 'chekc'" chekc
expect 2 'no rule named nonsense' tidy nonsense
expect 2 "unknown option '--fast'" gpu --fast
expect 2 'no folder /nowhere' gpu --prebuilt /nowhere
expect 2 'not what carry makes' gpu --prebuilt /usr
exit $failed
