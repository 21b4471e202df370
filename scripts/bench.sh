#!/usr/bin/env bash
# CPU per request of load generators, side by side: nginx with one worker on core 0 serves a 1 KB file, each client
# runs on core 1 with 100 requests at once, in turn, over several rounds: over HTTP/1.1, TLS, HTTP/2, HTTP/2 over TLS.
# Absolute figures differ between machines and minutes; read the ratios.
#   bench.sh GENKAI [ROUNDS] [SECONDS] [SCENE...]     scenes: http1 tls http2 http2-tls
set -euo pipefail

genkai=$(realpath "$1") rounds=${2:-5} seconds=${3:-4}
scenes=("${@:4}")
[ ${#scenes[@]} -gt 0 ] || scenes=(http1 tls http2 http2-tls)
export PATH="$PATH:/usr/sbin"
dir=$(mktemp -d)
stop() {
  [ -z "${nginx_pid:-}" ] || { kill -QUIT "$nginx_pid" 2>/dev/null || true; wait "$nginx_pid" 2>/dev/null || true; }
  rm -rf "$dir"
}
trap stop EXIT

chmod 755 "$dir"
head -c 1024 /dev/zero | tr '\0' x >"$dir/1k"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/key.pem" -out "$dir/cert.pem" -days 2 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
start() { # nginx cannot take port 0, so take likely free ones and try again when one is taken
  for _ in $(seq 20); do
    port=$((20000 + RANDOM % 10000))
    sed "s/@PORT@/$port/; s/@TLS@/$((port + 1))/; s/@HTTP2@/$((port + 2))/; s/@HTTP2_TLS@/$((port + 3))/; s#@DIR@#$dir#g" >"$dir/nginx.conf" <<'CONF'
worker_processes 1;
daemon off;
pid @DIR@/pid;
error_log @DIR@/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  root @DIR@;
  ssl_certificate @DIR@/cert.pem;
  ssl_certificate_key @DIR@/key.pem;
  ssl_protocols TLSv1.2 TLSv1.3;
  server { listen 127.0.0.1:@PORT@; }
  server { listen 127.0.0.1:@TLS@ ssl; }
  server { listen 127.0.0.1:@HTTP2@ http2; }
  server { listen 127.0.0.1:@HTTP2_TLS@ ssl http2; }
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

# Which clients run in a scene, where, and how genkai and h2load are told to. h2load measures one request at a time a
# stream, as genkai's users do: 10 connections with 10 streams each.
oha=$(command -v oha || echo target/tools/bin/oha)
missing() { echo "notice: $1 is not installed ($2), left out" >&2; }
scene() {
  case $1 in
    http1) url=http://127.0.0.1:$port/1k clients=(genkai wrk ab oha) ours=() theirs=(--h1 -c100) ;;
    tls) url=https://127.0.0.1:$((port + 1))/1k clients=(genkai wrk h2load) ours=(--insecure) theirs=(--h1 -c100) ;;
    http2) url=http://127.0.0.1:$((port + 2))/1k clients=(genkai h2load) \
      ours=(--http2-prior-knowledge --streams 10) theirs=(-c10 -m10) ;;
    http2-tls) url=https://127.0.0.1:$((port + 3))/1k clients=(genkai h2load) \
      ours=(--http2 --insecure --streams 10) theirs=(-c10 -m10) ;;
    *) echo "error: no scene '$1'; there are http1, tls, http2, http2-tls" >&2; exit 2 ;;
  esac
}
[ -x "$oha" ] || missing oha "cargo install oha --root target/tools"
command -v h2load >/dev/null || missing h2load "apt-get install nghttp2-client"
there() { case $1 in oha) [ -x "$oha" ] ;; genkai) true ;; *) command -v "$1" >/dev/null ;; esac; }

# Prints: CPU seconds, peak KB, requests.
run() {
  local requests out="$dir/out" time="$dir/time"
  local timed=(/usr/bin/time -o "$time" -f '%U %S %M' taskset -c 1)
  case $1 in
    genkai) "${timed[@]}" "$genkai" load "$url" "${ours[@]}" --users 100 --threads 1 --duration "${seconds}s" --json >"$out" 2>/dev/null
      requests=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["trials"][0]["finished"])' "$out") ;;
    wrk) "${timed[@]}" wrk -t1 -c100 -d"${seconds}s" "$url" >"$out"
      requests=$(awk '/requests in/ {print $1}' "$out") ;;
    ab) "${timed[@]}" ab -q -k -c 100 -t "$seconds" -n 100000000 "$url" >"$out" 2>/dev/null
      requests=$(awk '/Complete requests/ {print $3}' "$out") ;;
    oha) "${timed[@]}" "$oha" --no-tui --output-format json -c 100 -z "${seconds}s" "$url" >"$out" 2>/dev/null
      requests=$(python3 -c 'import json,sys; print(sum(json.load(open(sys.argv[1]))["statusCodeDistribution"].values()))' "$out") ;;
    h2load) "${timed[@]}" h2load -t1 "${theirs[@]}" -D "$seconds" "$url" >"$out"
      requests=$(awk '/^requests:/ {print $6}' "$out") ;;
  esac
  echo "$(tail -n 1 "$time" | awk '{print $1 + $2, $3}') $requests"
}

for round in $(seq "$rounds"); do
  for scene in "${scenes[@]}"; do
    scene "$scene"
    for client in "${clients[@]}"; do
      there "$client" || continue
      echo "$scene $client $(run "$client")" >>"$dir/figures"
      printf '\rround %s of %s: %-20s' "$round" "$rounds" "$scene $client" >&2
    done
  done
done
printf '\r%50s\r' '' >&2

python3 - "$dir/figures" "$rounds" "$seconds" <<'PY'
import statistics, sys
TITLES = {
    "http1": ("HTTP/1.1, 100 keep-alive connections", ["wrk"]),
    "tls": ("HTTP/1.1 over TLS, 100 keep-alive connections", ["wrk", "h2load"]),
    "http2": ("HTTP/2, 10 connections with 10 streams each", ["h2load"]),
    "http2-tls": ("HTTP/2 over TLS, 10 connections with 10 streams each", ["h2load"]),
}
scenes = {}
for line in open(sys.argv[1]):
    scene, name, cpu, memory, requests = line.split()
    row = (float(cpu) / float(requests) * 1e6, float(memory) / 1024, float(requests) / float(sys.argv[3]))
    scenes.setdefault(scene, {}).setdefault(name, []).append(row)
print(f"1 KB file from nginx; {sys.argv[2]} rounds of {sys.argv[3]} s, in turn; medians (min-max)")
for scene, rows in scenes.items():
    title, references = TITLES[scene]
    references = [name for name in references if name in rows]
    # The cheaper of the references, in each round.
    floor = [min(costs) for costs in zip(*([row[0] for row in rows[name]] for name in references))]
    print(f"\n{title}; ratio to {' or '.join(references)}, whichever is lower, same round" if len(references) > 1 else f"\n{title}; ratio to {references[0]}, same round")
    print(f"{'client':<8} {'CPU us/request':>22} {'ratio':>22} {'peak MB':>9} {'requests/s':>12}")
    for name, values in sorted(rows.items(), key=lambda item: statistics.median(v[0] for v in item[1])):
        cpu = [v[0] for v in values]
        ratio = [c / f for c, f in zip(cpu, floor)]
        spread = lambda x, digits: f"{statistics.median(x):.{digits}f} ({min(x):.{digits}f}-{max(x):.{digits}f})"
        print(f"{name:<8} {spread(cpu, 2):>22} {spread(ratio, 3):>22} {max(v[1] for v in values):>9.1f} {statistics.median(v[2] for v in values):>12,.0f}")
PY
