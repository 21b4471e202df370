#!/usr/bin/env bash
# All tests: format, lints, Rust, documentation, page. Each step runs whatever came before; the exit code tells whether all is well.
# Of the Rust tests without the longest loads of each kind (the profile `sample` of .config/nextest.toml); `test.sh all`: with them.
# At the end: what was skipped and why, what was asked again because the machine was busy, and one line to count by.
set -uo pipefail
cd "$(dirname "$0")/.."
profile=sample
[ "${1-}" != all ] || profile=whole

# Of the tests that judge a load on this machine, at most so many in a hundred may have been asked again.
most_again=3

began=$SECONDS
wrong=()
passed=0 failed=0
mkdir -p target
# A clean clone is built once: what would make the next build shorter makes this one longer.
[ -d target/debug ] || export CARGO_INCREMENTAL=0
export GENKAI_TEST_NOTES="$PWD/target/test-notes.txt"
: >"$GENKAI_TEST_NOTES"

step() { # NAME COMMAND...: runs it; says what failed.
  local name=$1 from=$SECONDS
  shift
  "$@" || wrong+=("$name")
  echo "$name: $((SECONDS - from)) s"
}

count() { # FILE PATTERN: the sum of the numbers that stand before a pattern.
  grep -oE "[0-9]+ $2" "$1" | awk '{ n += $1 } END { print n + 0 }'
}

rust() {
  local junit=target/nextest/$profile/junit.xml code=0
  rm -f $junit
  cargo nextest run --profile $profile --test-threads $((3 * $(nproc))) --workspace --locked || code=$?
  [ -e $junit ] || return 1
  local all=0 bad=0
  all=$(grep -c '<testcase ' $junit)
  bad=$(grep -cE '<(failure|error) ' $junit)
  judged=$(grep '<testcase ' $junit | grep -c 'classname="genkai::')
  grep -B1 '<flakyFailure ' $junit | grep -oE '<testcase name="[^"]+"' |
    sed -E 's/.*name="([^"]+)"/again\t\1\tfailed once, then passed/' >>"$GENKAI_TEST_NOTES"
  passed=$((passed + all - bad)) failed=$((failed + bad))
  return $code
}

counted() { # COMMAND...: runs it, and adds what its closing lines count.
  local said code=0
  said=$(mktemp)
  "$@" 2>&1 | tee "$said" || code=$?
  passed=$((passed + $(count "$said" passed))) failed=$((failed + $(count "$said" failed)))
  rm -f "$said"
  return $code
}

page() { # Vitest counts files and tests; only its line of tests is counted.
  (cd page && npm run --silent check && npm test --silent 2>&1) | sed -E 's/\x1b\[[0-9;]*m//g; /Test Files/s/ (passed|failed)/ files \1/g'
}

judged=0
step format cargo fmt --all --check
step lints cargo clippy --workspace --all-targets --locked -- -D warnings
step tests rust
step 'examples in documentation' counted cargo test --workspace --doc --locked --quiet
step page counted page

skipped=$(grep -c '^skipped' "$GENKAI_TEST_NOTES")
again=$(grep -c '^again' "$GENKAI_TEST_NOTES")
echo
awk -F'\t' '$1 == "skipped" { print "skipped: " $2 ": " $3 }' "$GENKAI_TEST_NOTES"
awk -F'\t' '$1 == "again" { print "asked again: " $2 ": " $3 }' "$GENKAI_TEST_NOTES"
if [ "$again" -gt 0 ]; then
  echo "asked again because the machine was busy: $again times in $judged tests (at most $most_again in 100 may be)"
  [ $((again * 100)) -le $((judged * most_again)) ] || wrong+=("too many asked again")
fi
echo "took $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s"
for name in "${wrong[@]}"; do echo "failed: $name"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#wrong[@]} -eq 0 ]
