#!/usr/bin/env bash
# CPU per request of load generators, side by side: nginx with one worker on core 0 serves a 1 KB file, each client
# runs on core 1 with 100 keep-alive connections, in turn, over several rounds. Absolute figures differ between
# machines and minutes; read the ratios.
#   bench.sh GENKAI [ROUNDS] [SECONDS]
set -euo pipefail

genkai=$(realpath "$1") rounds=${2:-5} seconds=${3:-4}
export PATH="$PATH:/usr/sbin"
dir=$(mktemp -d)
stop() {
  [ -z "${nginx_pid:-}" ] || { kill -QUIT "$nginx_pid" 2>/dev/null || true; wait "$nginx_pid" 2>/dev/null || true; }
  rm -rf "$dir"
}
trap stop EXIT

chmod 755 "$dir"
head -c 1024 /dev/zero | tr '\0' x >"$dir/1k"
start() { # nginx cannot take port 0, so take a likely free one and try again when it is taken
  for _ in $(seq 20); do
    port=$((20000 + RANDOM % 10000))
    sed "s/@PORT@/$port/; s#@DIR@#$dir#g" >"$dir/nginx.conf" <<'CONF'
worker_processes 1;
daemon off;
pid @DIR@/pid;
error_log @DIR@/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  server { listen 127.0.0.1:@PORT@; root @DIR@; }
}
CONF
    taskset -c 0 nginx -p "$dir" -c "$dir/nginx.conf" 2>"$dir/start.log" &
    nginx_pid=$!
    for _ in $(seq 50); do
      (: <>/dev/tcp/127.0.0.1/$port) 2>/dev/null && return
      kill -0 "$nginx_pid" 2>/dev/null || break
      sleep 0.1
    done
  done
  cat "$dir/start.log" >&2
  echo "error: nginx did not start" >&2
  exit 3
}
start
url=http://127.0.0.1:$port/1k

oha=$(command -v oha || echo target/tools/bin/oha)
clients=(genkai wrk ab)
if [ -x "$oha" ]; then clients+=(oha); else echo "notice: oha is not installed (cargo install oha --root target/tools), left out" >&2; fi

# Prints: CPU seconds, peak KB, requests.
run() {
  local requests out="$dir/out" time="$dir/time"
  local timed=(/usr/bin/time -o "$time" -f '%U %S %M' taskset -c 1)
  case $1 in
    genkai) "${timed[@]}" "$genkai" load "$url" --users 100 --threads 1 --duration "${seconds}s" --json >"$out" 2>/dev/null
      requests=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["trials"][0]["finished"])' "$out") ;;
    wrk) "${timed[@]}" wrk -t1 -c100 -d"${seconds}s" "$url" >"$out"
      requests=$(awk '/requests in/ {print $1}' "$out") ;;
    ab) "${timed[@]}" ab -q -k -c 100 -t "$seconds" -n 100000000 "$url" >"$out" 2>/dev/null
      requests=$(awk '/Complete requests/ {print $3}' "$out") ;;
    oha) "${timed[@]}" "$oha" --no-tui --output-format json -c 100 -z "${seconds}s" "$url" >"$out" 2>/dev/null
      requests=$(python3 -c 'import json,sys; print(sum(json.load(open(sys.argv[1]))["statusCodeDistribution"].values()))' "$out") ;;
  esac
  echo "$(tail -n 1 "$time" | awk '{print $1 + $2, $3}') $requests"
}

for round in $(seq "$rounds"); do
  for client in "${clients[@]}"; do
    echo "$client $(run "$client")" >>"$dir/figures"
    printf '\rround %s of %s: %-8s' "$round" "$rounds" "$client" >&2
  done
done
printf '\r%40s\r' '' >&2

python3 - "$dir/figures" "$rounds" "$seconds" <<'PY'
import statistics, sys
rows = {}
for line in open(sys.argv[1]):
    name, cpu, memory, requests = line.split()
    rows.setdefault(name, []).append((float(cpu) / float(requests) * 1e6, float(memory) / 1024, float(requests) / float(sys.argv[3])))
wrk = [row[0] for row in rows["wrk"]]
print(f"HTTP/1.1, 100 keep-alive connections, 1 KB file from nginx; {sys.argv[2]} rounds of {sys.argv[3]} s, in turn; medians (min-max)")
print(f"{'client':<8} {'CPU us/request':>22} {'ratio to wrk, same round':>28} {'peak MB':>9} {'requests/s':>12}")
for name, values in sorted(rows.items(), key=lambda item: statistics.median(v[0] for v in item[1])):
    cpu = [v[0] for v in values]
    ratio = [c / w for c, w in zip(cpu, wrk)]
    spread = lambda x, digits: f"{statistics.median(x):.{digits}f} ({min(x):.{digits}f}-{max(x):.{digits}f})"
    print(f"{name:<8} {spread(cpu, 2):>22} {spread(ratio, 3):>28} {max(v[1] for v in values):>9.1f} {statistics.median(v[2] for v in values):>12,.0f}")
PY
