#!/usr/bin/env bash
# Autobahn's conformance suite for WebSocket, both ways: its fuzzing client against `genkai serve echo`, its fuzzing
# server against the client role of the codec. Every case must be OK or informational.
#   autobahn.sh GENKAI CLIENT ["CASES"]     CASES: a pattern like "1.*" [default: all]
# The suite (PyPI autobahntestsuite 0.8.2) runs on Python 2.7 only; without one this says so and does nothing.
set -euo pipefail

genkai=$(realpath "$1") client=$(realpath "$2") cases=${3:-*}
root=$(pwd)/target/autobahn
python=
for candidate in python2.7 python2 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/2.7*/bin/python; do
  if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "notice: skipped: the Autobahn test suite needs Python 2.7, and there is none (pyenv install 2.7.18 provides it)" >&2
  exit 0
fi
if [ ! -x "$root/bin/wstest" ]; then
  echo "installing autobahntestsuite 0.8.2 into target/autobahn" >&2
  "$python" -m pip --disable-pip-version-check install --quiet --target "$root-virtualenv" virtualenv==20.15.1 2>/dev/null
  PYTHONPATH="$root-virtualenv" "$python" -m virtualenv --quiet "$root"
  "$root/bin/pip" --disable-pip-version-check install --quiet autobahntestsuite==0.8.2 2>/dev/null
fi

dir=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap stop EXIT
cd "$dir"

"$genkai" serve echo >echo.json &
pids+=($!)
for _ in $(seq 100); do [ -s echo.json ] && break; sleep 0.1; done
address=$(sed 's/.*"listening":"\([^"]*\)".*/\1/' echo.json)
cat >client.json <<JSON
{"outdir": "$root-reports/server", "servers": [{"agent": "genkai", "url": "ws://$address"}],
 "cases": ["$cases"], "exclude-cases": [], "exclude-agent-cases": {}}
JSON
echo "fuzzing the server (report: target/autobahn-reports/server/index.html)" >&2
"$root/bin/wstest" -m fuzzingclient -s client.json >client.log 2>&1 || { tail -20 client.log >&2; exit 3; }

port=$((20000 + RANDOM % 10000))
cat >server.json <<JSON
{"url": "ws://127.0.0.1:$port", "outdir": "$root-reports/client", "cases": ["$cases"], "exclude-cases": [], "exclude-agent-cases": {}}
JSON
"$root/bin/wstest" -m fuzzingserver -u 0 -s server.json >server.log 2>&1 &
pids+=($!)
for _ in $(seq 300); do (: <>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
echo "fuzzing the client (report: target/autobahn-reports/client/index.html)" >&2
"$client" "127.0.0.1:$port" || { tail -20 server.log >&2; exit 3; }

python3 - "$root-reports" <<'PY'
import collections, json, sys
bad = 0
for role in ["server", "client"]:
    cases = json.load(open(f"{sys.argv[1]}/{role}/index.json"))["genkai"]
    for what in ["behavior", "behaviorClose"]:
        counts = collections.Counter(case[what] for case in cases.values())
        print(f"{role:<7}{what:<14}" + ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    wrong = [name for name, case in cases.items() if not {case["behavior"], case["behaviorClose"]} <= {"OK", "INFORMATIONAL"}]
    for name in sorted(wrong):
        print(f"{role} {name}: {cases[name]['behavior']}, close {cases[name]['behaviorClose']}")
    bad += len(wrong)
    if not cases:
        sys.exit("no case was run")
sys.exit(1 if bad else 0)
PY
