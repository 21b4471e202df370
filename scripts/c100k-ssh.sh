#!/usr/bin/env bash
# Holds 100,000 idle WebSocket connections from four machines that genkai reaches by ssh: network namespaces of their own, each with an
# ssh server and a clock of its own (2 s ahead, 2 s behind, the same, 1 s ahead), around one in which the echo server and genkai are.
# Every connection is opened, pinged and closed with code 1000, and each machine makes its share, or this fails.
#
#   scripts/c100k-ssh.sh GENKAI [CONNECTIONS] [PROCESSES ON EACH MACHINE]
#
# Needs root, OpenSSH's server and iproute2. Two minutes, 2 cores, 2 GiB. Whatever it changes is in namespaces that end with it.
set -euo pipefail
genkai=$(realpath "${1:?usage: c100k-ssh.sh GENKAI [CONNECTIONS] [PROCESSES]}")
connections=${2:-100000}
processes=${3:-2}
machines=4

if [ -z "${GENKAI_C100K_DIR:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "c100k-ssh needs root: it makes network namespaces" >&2; exit 3; }
  [ -x /usr/sbin/sshd ] || { echo "no ssh server (Debian, Ubuntu: apt-get install openssh-server)" >&2; exit 3; }
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  # sshd(8) wants the folder for the process without privileges.
  mkdir -p /run/sshd
  code=0
  # The end of the first process of a namespace of processes ends all of them.
  GENKAI_C100K_DIR=$dir unshare --net --mount --pid --mount-proc --fork --kill-child bash "$0" "$genkai" "$connections" "$processes" || code=$?
  exit "$code"
fi

dir=$GENKAI_C100K_DIR
shifts=(2 -2 0 1)
ports="1024 65000"
ip link set lo up
ip addr add 10.97.0.1/32 dev lo
for name in host client; do ssh-keygen -q -t ed25519 -N '' -f "$dir/$name"; done
: > "$dir/ssh_config"
for n in $(seq "$machines"); do
  address=10.97.$n.2
  cat > "$dir/sshd-$n" <<S
Port 22
ListenAddress $address
HostKey $dir/host
AuthorizedKeysFile $dir/client.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
SetEnv PATH=$(dirname "$genkai"):/usr/bin:/bin
S
  echo "$address $(cat "$dir/host.pub")" >> "$dir/known"
  printf 'Host m%s\n  HostName %s\n' "$n" "$address" >> "$dir/ssh_config"
  unshare --net --time --monotonic="${shifts[$((n - 1))]}" --fork --kill-child sh -c "
    until ip link set e0 up 2>/dev/null; do sleep 0.02; done
    ip link set lo up
    ip addr add $address/24 dev e0
    ip route add default via 10.97.$n.1
    echo '$ports' > /proc/sys/net/ipv4/ip_local_port_range
    exec /usr/sbin/sshd -D -e -f $dir/sshd-$n" 2> "$dir/sshd-$n.log" &
  until inner=$(pgrep -P $! -f 'until ip link'); do sleep 0.02; done
  until ip link add "v$n" type veth peer name e0 netns "$inner"; do sleep 0.02; done
  ip addr add "10.97.$n.1/24" dev "v$n"
  ip link set "v$n" up
done
printf 'Host *\n  IdentityFile %s/client\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %s/known\n' "$dir" "$dir" >> "$dir/ssh_config"
for n in $(seq "$machines"); do
  until (exec 3<> "/dev/tcp/10.97.$n.2/22") 2> /dev/null; do sleep 0.1; done
done

"$genkai" serve echo --listen 10.97.0.1:0 --processes 6 > "$dir/server" &
server=$!
for _ in $(seq 200); do [ -s "$dir/server" ] && break; sleep 0.1; done
address=$(sed -n 's/.*"listening":"\([^"]*\)".*/\1/p' "$dir/server")
[ -n "$address" ] || { echo "the echo server did not start" >&2; exit 3; }

on=$(seq -s, -f 'm%g' "$machines")
rate=4000
every=20
seconds=$((connections / rate * 5 / 4 + every + 25))
# Memory of the server's processes, kB.
memory() { for pid in $(pgrep -P "$server"); do awk '/^VmRSS/{print $2}' "/proc/$pid/status" 2>/dev/null || true; done | awk '{s+=$1} END {print s+0}'; }
# Processor time that a process has used, ticks.
used() { awk '{print $14 + $15}' "/proc/$1/stat" 2>/dev/null || echo 0; }
carriers() { for pid in $(pgrep -P "$1" -x ssh); do used "$pid"; done | awk '{s+=$1} END {print s+0}'; }

before=$(memory)
"$genkai" load "ws://$address" --allow-remote 10.97.0.1 --connections "$connections" --spawn-rate "$rate" --on "ssh:$on:$processes" \
  --ssh "ssh -F $dir/ssh_config" --ping "${every}s" --timeout 30s --duration "${seconds}s" --objective 'errors < 0.1%' \
  --json --out "$dir/run" > "$dir/verdict" 2> "$dir/talk" &
load=$!
peak=$before
: > "$dir/cpu"
while kill -0 "$load" 2>/dev/null; do
  now=$(memory)
  [ "$now" -gt "$peak" ] && peak=$now
  echo "$(date +%s.%N) $(used "$load") $(carriers "$load")" >> "$dir/cpu"
  sleep 2
done
code=0
wait "$load" || code=$?
[ -s "$dir/verdict" ] || { cat "$dir/talk" >&2; exit "$code"; }

python3 - "$dir/verdict" "$dir/run/run.jsonl" "$dir/cpu" "$connections" "$((peak - before))" "$code" "$((machines * processes))" <<'P'
import json, os, sys
verdict, record, cpu, asked, server, code, many = sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:8])
trial = json.load(open(verdict))["trials"][0]
events = list(map(json.loads, open(record)))
ticks = [e for e in events if e["event"] == "tick"]
workers = trial["workers"]
opened, full = 0, None
for tick in ticks:
    opened += tick["opened"]
    if full is None and tick["connections"] >= asked:
        full = tick["to_us"] / 1e6
used, said = trial["used"], trial["messages"]
closes = {c["code"]: c["count"] for c in said["closes"]}
held = ticks[-1]["connections"]
ms = lambda s: f"{s * 1e3:.2f} ms"
looks = [tuple(map(float, line.split())) for line in open(cpu)]
# While all are there: from the first to the last look at which the process and its carriers lived.
looks = [look for look in looks if look[1] > 0]
tick_s = os.sysconf("SC_CLK_TCK")
span = looks[-1][0] - looks[0][0]
# Those that have ended are not counted any more: what was most is what all of them used.
share = lambda n: (max(look[n] for look in looks) - looks[0][n]) / tick_s / span
places = sorted({w["place"] for w in workers})
print(f"opened       {opened:,} in {full if full is None else round(full, 1)} s by {len(workers)} workers on {', '.join(places)}; "
      f"handshake p50 {ms(trial['handshakes']['took']['p50'])}, p99 {ms(trial['handshakes']['took']['p99'])}; {trial['failed']} failed")
print(f"alive        {held:,} of {asked:,} at the end, {trial['lasted']:.0f} s after the beginning")
print(f"pings        {said['pongs']:,} answered")
print(f"closed       {closes}")
print(f"start        last thread of each worker {ms(min(w['began'] for w in workers))} to {ms(max(w['began'] for w in workers))} after the common "
      f"instant; clocks known within {ms(max(w['clock_uncertainty'] for w in workers))}, moved by {ms(max(w['clock_drift'] or 0 for w in workers))} at most")
print(f"workers      {used['rss'] / asked:,.0f} B a connection ({used['rss'] >> 20} MiB in {used['processes']} processes, all told), at most "
      f"{used['descriptors']:,} of {used['descriptors_limit']:,} descriptors, busiest {max(w['busiest'] for w in workers):.0%} of a core, "
      f"{used['cpu_us'] / 1e6:.1f} s of CPU in all")
print(f"server       {server * 1024 / asked:,.0f} B a connection")
print(f"coordinator  {share(1):.2%} of a core over {span:.0f} s for {many} workers; its ssh processes {share(2):.2%}; "
      f"the record has {len(ticks)} intervals, {os.path.getsize(record):,} bytes")
good = (opened == asked == held and trial["failed"] == 0 and closes == {1000: asked} and said["pongs"] >= asked and code == 0
        and len(workers) == many and len(places) == 4)
for sentence in [] if code == 0 else json.load(open(verdict))["says"]:
    print(f"genkai says  {sentence}")
print("all alive, pinged and closed cleanly" if good else f"NOT as it should be (exit code {code})")
sys.exit(0 if good else 1)
P
