#!/usr/bin/env bash
# Holds 100,000 (or 1,000,000) idle WebSocket connections on one machine: the echo server in several processes on one port, the generator
# in several processes with descriptors of their own. Every connection is opened, pinged and closed with code 1000, or this
# fails.
#
#   scripts/c100k.sh GENKAI [CONNECTIONS] [PROCESSES] [SECONDS BETWEEN PINGS]
#
# 100,000 take about two minutes, 2 cores and 2 GiB; 1,000,000 seven minutes and 12 GiB: about 1.4 KB of user memory and 3.7 KB of kernel memory for each end. Changes no
# setting of the machine.
set -euo pipefail
genkai=${1:?usage: c100k.sh GENKAI [CONNECTIONS] [PROCESSES]}
connections=${2:-100000}
processes=${3:-6}
every=${4:-20}
rate=4000
# A quarter longer than the opening takes where nothing else is at work.
seconds=$((connections / rate * 5 / 4 + every + 25))

dir=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$dir"
}
trap cleanup EXIT

"$genkai" doctor --connections "$((connections))" > "$dir/doctor" || { cat "$dir/doctor"; exit 3; }

"$genkai" serve echo --processes "$processes" > "$dir/server" &
server=$!
for _ in $(seq 200); do [ -s "$dir/server" ] && break; sleep 0.1; done
address=$(sed -n 's/.*"listening":"\([^"]*\)".*/\1/p' "$dir/server")
[ -n "$address" ] || { echo "the echo server did not start" >&2; exit 3; }

# Memory of the server's processes, kB.
memory() { for pid in $(pgrep -P "$server"); do awk '/^VmRSS/{print $2}' "/proc/$pid/status" 2>/dev/null || true; done | awk '{s+=$1} END {print s+0}'; }

before=$(memory)
"$genkai" load "ws://$address" --connections "$connections" --processes "$processes" --spawn-rate "$rate" \
  --ping "${every}s" --timeout 30s --duration "${seconds}s" --objective 'errors < 0.1%' --json --out "$dir/run" > "$dir/verdict" 2> "$dir/talk" &
load=$!
peak=$before
while kill -0 "$load" 2>/dev/null; do
  now=$(memory)
  [ "$now" -gt "$peak" ] && peak=$now
  sleep 2
done
code=0
wait "$load" || code=$?
[ -s "$dir/verdict" ] || { cat "$dir/talk" >&2; exit "$code"; }

python3 - "$dir/verdict" "$dir/run/run.jsonl" "$connections" "$((peak - before))" "$code" <<'P'
import json, sys
verdict, record, asked, server, code = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
trial = json.load(open(verdict))["trials"][0]
ticks = [e for e in map(json.loads, open(record)) if e["event"] == "tick"]
opened, full = 0, None
for tick in ticks:
    opened += tick["opened"]
    if full is None and tick["connections"] >= asked:
        full = tick["to_us"] / 1e6
used, said = trial["used"], trial["messages"]
closes = {c["code"]: c["count"] for c in said["closes"]}
held = ticks[-1]["connections"]
ms = lambda s: f"{s * 1e3:.1f} ms"
print(f"opened       {opened:,} in {full if full is None else round(full, 1)} s; handshake p50 {ms(trial['handshakes']['took']['p50'])}, "
      f"p99 {ms(trial['handshakes']['took']['p99'])}; {trial['failed']} failed")
print(f"alive        {held:,} of {asked:,} at the end, {trial['lasted']:.0f} s after the beginning")
print(f"pings        {said['pongs']:,} answered")
print(f"closed       {closes}")
print(f"generator    {used['rss'] / asked:,.0f} B a connection ({used['rss'] >> 20} MiB in {used['processes']} processes, all told), "
      f"at most {used['descriptors']:,} of {used['descriptors_limit']:,} descriptors, {used['sources']} source addresses, "
      f"{used['cpu_us'] / 1e6:.1f} s of CPU")
print(f"server       {server * 1024 / asked:,.0f} B a connection")
good = (opened == asked == held and trial["failed"] == 0 and closes == {1000: asked} and said["pongs"] >= asked and code == 0)
for sentence in [] if code == 0 else json.load(open(verdict))["says"]:
    print(f"genkai says  {sentence}")
print("all alive, pinged and closed cleanly" if good else f"NOT as it should be (exit code {code})")
sys.exit(0 if good else 1)
P
