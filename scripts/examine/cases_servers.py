"""`genkai tune`, `compare` and `explain` on systems whose limit is known by construction, or asked from the server itself."""

import json
import os
import re
import signal
import socket
import subprocess
import time

from bench import Backend, case, outputs_agree, rows

OBJECTIVE = 0.001
"""The share of failures that tune allows if nothing else is asked for."""


def port():
    """A port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server that this examiner starts itself, to see what a configuration really does; ended by its process id."""

    def __init__(self, command, listens):
        self.command, self.listens = command, listens

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True)
        end = time.time() + 10
        while time.time() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.listens), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise RuntimeError("did not start: %s" % (self.process.stdout.read(),))

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def press(address, clients, requests):
    """So many kept connections with ab, which is not genkai."""
    return subprocess.run(["ab", "-q", "-k", "-r", "-c", str(clients), "-n", str(requests), address + "/"], capture_output=True, text=True,
                          timeout=120).stdout


# ------------------------------------------------------------------ tune

def sums(verdict):
    """Pairs (failed, finished) that a sentence may state: of each trial, and of trials that ran the same changes for the proof."""
    pairs, groups = set(), {}
    for trial in verdict["trials"]:
        pairs.add((trial["failed"], trial["finished"]))
        key = json.dumps([trial["purpose"], trial.get("changes")])
        a, b = groups.get(key, (0, 0))
        groups[key] = (a + trial["failed"], b + trial["finished"])
    return pairs | set(groups.values())


def statements(bench, run, verdict, backend):
    """What holds of any report of tune."""
    checks = bench.checks
    text = run.text
    for trial in verdict["trials"]:
        broke = trial.get("broke")
        name = "trial %d" % trial["trial"]
        checks.same(name + ": failures by kind add up", sum(e["count"] for e in trial["errors"]), trial["failed"])
        if broke and str(broke.get("condition", "")).startswith("errors") and not trial["failed"]:
            checks.say(name + ": broke on errors", broke["condition"], "no request failed", False)
    pairs = sums(verdict)
    for failed, finished in re.findall(r"([\d,]+) of ([\d,]+) requests failed", text):
        pair = (int(failed.replace(",", "")), int(finished.replace(",", "")))
        checks.say("`%s of %s requests failed` is a sum of trials" % (failed, finished), pair, sorted(pairs)[:12], pair in pairs)
    share = re.search(r"([\d.]+) % of requests failed there", text)
    if share:
        worst = max(t["failed"] / t["finished"] for t in verdict["trials"] if t["finished"])
        checks.say("a share of failures has failures", share.group(0), "at most %.3g %% in any trial" % (worst * 100), worst > 0)
    headline = text[:400]
    if any(cause.get("confidence") == "proved" for cause in verdict["causes"]):
        checks.say("no `made no difference` above a proved cause", headline[:150], "a cause is proved", "made no difference" not in headline)
    if "is proved" in text:
        checks.say("`is proved` stands for a proof", text[-200:], "verdict.json has a proof", verdict.get("proof"))
    answered = backend["requests"]["by_status"].get("200", 0)
    ok = sum(t["finished"] - t["failed"] for t in verdict["trials"])
    checks.say("the backend answered at least as many as are called ok", ok, answered, ok <= answered)
    outputs_agree(bench, run)


def allowed(checks, run, must, never):
    for pattern in must:
        checks.say("says /%s/" % pattern, run.text[:300], "must be said", re.search(pattern, run.text))
    for pattern in never:
        found = re.search(".{0,60}" + pattern + ".{0,60}", run.text)
        checks.say("does not say /%s/" % pattern, found and found.group(0), "is not so", not found)


QUICK = ["--quick", "--spawn-rate", 10]
# Name, what to tune, backend, flags, must be said, must never be said, exit code, setting that must be proved.
TUNE = [
    ("nginx holds", "nginx", ["fixed", "--time", "0.02"], ["--set", "worker_connections=1024", "--users", 40],
     [], [r"(?<![\d,])(?!0 of)[\d,]+ of [\d,]+ requests failed", "What broke"], 0, None),
    ("nginx, worker_connections", "nginx", ["fixed", "--time", "0.05"], ["--set", "worker_connections=64", "--users", 60], ["worker_connections"], [], 1, "worker_connections"),
    ("haproxy, maxconn", "haproxy", ["fixed", "--time", "0.05"], ["--set", "maxconn=30", "--users", 60, "--objective", "errors < 0.1%, p99 < 1s"], ["maxconn"], [], 1, None),
    ("haproxy, backend fails 2 % at random", "haproxy", ["errors", "--share", "0.02", "--time", "0.02"], ["--users", 40, "--seed", 5],
     [], ["lies before the backend", "Yes: change", "Yes:", "clients at once is the limit"], 1, None),
    ("nginx, backend of 10 workers without a queue", "nginx", ["workers", "--workers", "10", "--queue", "0", "--time", "0.05"], ["--users", 40],
     ["backend"], ["Yes: change", "lies before the backend"], 1, None),
    ("nginx, backend restarts", "nginx", ["restart", "--every", "14", "--down", "1", "--time", "0.05"],
     ["--set", "worker_connections=1024", "--users", 50, "--hold", "10s"], [], ["backend died", "Yes: change"], None, None),
    ("haproxy, backend dies", "haproxy", ["die", "--after", "500", "--time", "0.02"], ["--users", 30], [], ["Yes: change"], 1, None),
    ("apache, backend closes kept connections", "apache", ["keep", "--requests", "20", "--silent", "--time", "0.01"], ["--users", 20], [], ["Yes: change Max"], None, None),
    ("nginx, backend pauses", "nginx", ["pauses", "--every", "2", "--pause", "0.8", "--time", "0.05"],
     ["--users", 30, "--objective", "errors < 0.1%, p99 < 500ms"], [], ["requests failed there", "Yes: change", "was predicted to bite at 0"], 1, None),
    ("caddy, backend of 100 a second", "caddy", ["rate", "--per-second", "100", "--time", "0.01"], ["--rate", 160, "--ramp", "6s"], ["backend"], ["Yes: change", "lies before the backend"], 1, None),
]
PROGRAMS = {"nginx": "nginx", "haproxy": "haproxy", "apache": "apache2", "caddy": "caddy"}


def tune(bench, product, backend, flags, must, never, code, setting):
    quick = [f for f in QUICK if "--rate" not in flags or f == "--quick"]
    with Backend("backend.py", *backend) as server:
        run = bench.genkai("tune", product, "--backend", server.address, *flags, *quick)
        try:
            counted = server.settled()
        except OSError:
            counted = None
    verdict = run.verdict()
    if counted is None:
        # The backend is gone: its counts are not known.
        counted = {"requests": {"by_status": {"200": 10 ** 9}}}
    allowed(bench.checks, run, must, never)
    if code is not None:
        bench.checks.same("exit code", run.code, code)
    if setting:
        proved = [c for c in verdict["causes"] if c.get("confidence") == "proved"]
        bench.checks.say("%s is proved" % setting, run.text[:200], setting, any(setting in json.dumps(c) for c in proved))
    statements(bench, run, verdict, counted)


def add(name, product, *rest):
    @case("tune: " + name, (PROGRAMS[product],))
    def _(bench):
        bench.checks.where = "tune: " + name
        tune(bench, product, *rest)


for row in TUNE:
    add(*row)


# ------------------------------------------------------------------ compare

def processors():
    """Busy and all processor time of the machine so far, in ticks."""
    with open("/proc/stat") as file:
        ticks = [int(n) for n in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


BUSY = 0.7
"""The share of the machine from which on `cannot tell` is as good an answer as any: the servers and the load take a twentieth."""


def compared(bench, name, one, two, flags, decided, code):
    """Two backends: what must be decided by (figure, call), and whether the exit code says that something was.

    "Cannot tell" is never untrue. It is asked again once, and taken only where the machine was busy with other programs both times.
    """
    before = processors()
    untold = turns(bench, name, one, two, flags, decided, code)
    if untold:
        untold = turns(bench, name + ", again", one, two, flags, decided, code)
    after = processors()
    busy = (after[0] - before[0]) / max(1, after[1] - before[1])
    for figure in untold:
        bench.checks.say("%s can be told" % figure, "cannot tell, twice", "the machine was %.0f %% busy" % (busy * 100), busy > BUSY)


def turns(bench, name, one, two, flags, decided, code):
    """The figures of which nothing was decided."""
    checks = bench.checks
    checks.where = "compare: " + name
    with Backend("backend.py", *one) as a, Backend("backend.py", *two) as b:
        run = bench.genkai("compare", a.address, b.address, *flags, "--quick")
        counts = {a.address: a.settled(), b.address: b.settled()}
    finished, failed = {}, {}
    for row in rows(os.path.join(run.folder, "turns.csv")):
        key = row["contender"]
        finished[key] = finished.get(key, 0) + int(row["finished"])
        failed[key] = failed.get(key, 0) + int(row["failed"])
    for address, counted in counts.items():
        n = sum(v for k, v in finished.items() if k.startswith(address))
        bad = sum(v for k, v in failed.items() if k.startswith(address))
        requests = counted["requests"]
        checks.within("requests finished by %s" % ("A" if address == a.address else "B"), n, requests["begun"] - requests["left"] - 100, requests["begun"])
        checks.within("requests failed", bad, 0 if not requests["by_status"].get("500") else requests["by_status"]["500"] - 30, requests["by_status"].get("500", 0))
    untold = []
    for figure, call in decided:
        block = re.search(r"^%s\n(?:  .*\n)*?  says: (.*)" % figure, run.out, re.M)
        said = block and block.group(1).split(" (")[0]
        # Where nothing at all is decided, the exit code says so.
        if said == "cannot tell" or said is None and run.code == 4:
            untold.append(figure)
        else:
            checks.same(figure, said, call)
    if code is not None and not untold:
        checks.say("exit code", run.code, code, run.code in code)
    outputs_agree(bench, run)
    return untold


@case("compare")
def compare(bench):
    users = ["--users", 10]
    compared(bench, "the same twice", ["fixed", "--time", "0.02"], ["fixed", "--time", "0.02"], users, [("failures", "no measurable difference")], None)
    compared(bench, "twice as slow", ["fixed", "--time", "0.02"], ["fixed", "--time", "0.04"], users, [("p50 latency", "worse")], (0, 1))
    compared(bench, "5 % failures", ["fixed", "--time", "0.02"], ["errors", "--share", "0.05", "--time", "0.02"], users, [("failures", "worse")], (0, 1))


# ------------------------------------------------------------------ explain

def clients(bench, path, product, setting):
    """What explain predicts for a setting (or one of several, `a|b`), as (low, high)."""
    run = bench.genkai("explain", "--json", "--product", product, path, out=False)
    told = json.loads(run.out) if run.out else {"predictions": []}
    told = told[0] if isinstance(told, list) else told
    for prediction in told["predictions"]:
        if prediction["setting"] in setting.split("|") and prediction["clients"]:
            return prediction["clients"]["low"], prediction["clients"]["high"]
    return None


def most(bench, name, command, listens, backends, setting, path, product, pressed=None, requests=1500, silent=False):
    """Presses a server with more clients than are predicted: so many requests at once reach the backends, and no more.

    With `silent` a limit that is not told of is no untruth.
    """
    checks = bench.checks
    checks.where = "explain: " + name
    said = clients(bench, path, product, setting)
    with Server(command, listens):
        press("http://127.0.0.1:%d" % listens, pressed or 80, requests)
    seen = sum(b.settled()["requests"]["in_service_most"] for b in backends)
    checks.say("%s: clients at once" % setting, said, "%d reached the backends at once" % seen,
               silent and said is None or said and said[0] * 0.9 <= seen <= said[1] * 1.1 + 1)


HAPROXY = """global
    maxconn 500
defaults
    mode http
    timeout connect 20s
    timeout client 30s
    timeout server 10s
    timeout queue 20s
frontend f
    bind 127.0.0.1:%(port)d
    default_backend b
backend b
%(servers)s
"""


@case("explain: haproxy", ("haproxy", "ab"))
def haproxy(bench):
    # Name, lines of the listener and its frontend, servers, whether nothing needs to be said.
    lines = [("servers with a maxconn each", "", "    default-server maxconn 10\n    server s1 %s\n    server s2 %s maxconn 15\n", False),
             ("one server", "", "    server s1 %s maxconn 12\n", False),
             ("minconn under a high fullconn", "", "    fullconn 10000\n    server s1 %s minconn 5 maxconn 60\n", False),
             ("a backup server that is not used", "", "    server s1 %s maxconn 14\n    server s2 %s maxconn 30 backup\n", False),
             ("a server of weight 0", "", "    server s1 %s maxconn 14\n    server s2 %s maxconn 30 weight 0\n", False),
             ("a default-server that comes after", "", "    server s1 %s\n    default-server maxconn 6\n", True),
             ("two backup servers", "", "    server s1 %s maxconn 5 backup\n    server s2 %s maxconn 7 backup\n", False),
             ("all backup servers", "", "    option allbackups\n    server s1 %s maxconn 5 backup\n    server s2 %s maxconn 7 backup\n", False),
             ("minconn alone", "", "    server s1 %s minconn 6\n", False),
             ("a server for the path", "", "    use-server s2 if { path / }\n    server s1 %s maxconn 15\n    server s2 %s maxconn 4\n", False),
             ("a server for another path", "", "    use-server s2 if { path /x }\n    server s1 %s maxconn 15\n    server s2 %s maxconn 4\n", False),
             ("a server for some sources", "", "    use-server s2 if { src 127.0.0.0/8 }\n    server s1 %s maxconn 15\n    server s2 %s maxconn 4\n", True),
             ("a backend for the path", "    use_backend a if { path / }\n", "    server s1 %s maxconn 15\nbackend a\n    server s2 %s maxconn 5\n", False),
             ("a backend for a header", "    use_backend a if { hdr(accept) -m found }\n", "    server s1 %s maxconn 15\nbackend a\n    server s2 %s maxconn 5\n", True),
             ("a listener's maxconn", " maxconn 9\n", "    server s1 %s\n", False),
             ("a template of servers", "", "    server-template s 3 %s maxconn 4\n", False),
             ("one source", "", "    balance source\n    server s1 %s maxconn 5\n    server s2 %s maxconn 5\n", False),
             ("one path", "", "    balance uri\n    server s1 %s maxconn 7\n    server s2 %s maxconn 7\n", False),
             ("an answer of its own", "    http-request return status 200 if { path / }\n", "    server s1 %s maxconn 5\n", True),
             ("a refusal of its own", "    http-request deny if { path / }\n", "    server s1 %s maxconn 5\n", True),
             ("three servers, one disabled", "", "    server s1 %s maxconn 7\n    server s2 %s maxconn 9 disabled\n    server s3 %s maxconn 8\n", False)]
    for name, front, servers, silent in lines:
        with Backend("backend.py", "fixed", "--time", "0.1") as a, Backend("backend.py", "fixed", "--time", "0.1") as b, Backend("backend.py", "fixed", "--time", "0.1") as c:
            n = servers.count("%s")
            listens = port()
            bind, front = (front, "") if front.startswith(" maxconn") else ("\n", front)
            text = HAPROXY % {"port": listens, "servers": servers % tuple(x.address[7:] for x in (a, b, c)[:n])}
            text = text.replace("127.0.0.1:%d\n" % listens, "127.0.0.1:%d" % listens + bind + front, 1)
            path = bench.file("haproxy.cfg", text)
            most(bench, name, ["haproxy", "-db", "-f", path], listens, [a, b, c][:n], "server.maxconn|server.minconn|bind.maxconn", path, "haproxy",
                 requests=200, silent=silent)


NGINX = """worker_processes %(workers)d;
daemon off;
pid %(folder)s/nginx.pid;
error_log %(folder)s/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f; uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s;
  %(http)s
  server { listen 127.0.0.1:%(port)d; %(server)s location / { proxy_pass http://u; } }
}
"""


@case("explain: nginx", ("nginx", "ab"))
def nginx(bench):
    # Name, http section with backends A and B, server section, setting.
    lines = [("max_conns of two servers", "upstream u { server %s max_conns=10; server %s max_conns=20; }", "", "upstream.max_conns"),
             ("max_conns with a zone", "upstream u { zone z 64k; server %s max_conns=8; server %s max_conns=8; }", "", "upstream.max_conns"),
             ("max_conns and a backup server", "upstream u { server %s max_conns=6; server %s backup; }", "", "upstream.max_conns"),
             ("limit_conn of a client", "limit_conn_zone $binary_remote_addr zone=ip:1m; upstream u { server %s; server %s; }", "limit_conn ip 12;", "limit_conn"),
             ("limit_conn of a server", "limit_conn_zone $server_name zone=s:1m; upstream u { server %s; server %s; }", "server_name localhost; limit_conn s 9;", "limit_conn")]
    for name, http, server, setting in lines:
        with Backend("backend.py", "fixed", "--time", "0.1") as a, Backend("backend.py", "fixed", "--time", "0.1") as b:
            listens = port()
            values = {"workers": 1, "folder": bench.folder, "http": http % (a.address[7:], b.address[7:]), "server": server, "port": listens}
            path = bench.file("nginx.conf", NGINX % values)
            most(bench, name, ["nginx", "-c", path, "-e", bench.folder + "/error.log"], listens, [a, b], setting, path, "nginx",
                 silent="backup" in name)


# Name, http section with backends A and B, content of the server, setting, whether nothing needs to be said.
WAYS = [
    ("a return", "", "limit_conn z 1; location / { return 200 hello; }", "limit_conn", True),
    ("try_files to a named location", "", "location / { try_files $uri @b; } location @b { limit_conn z 5; proxy_pass http://A; }", "limit_conn", False),
    ("try_files to a path", "", "location / { try_files $uri /in; } location /in { internal; limit_conn z 5; proxy_pass http://A; }", "limit_conn", False),
    ("rewrite last", "", "location / { rewrite ^ /in last; } location /in { limit_conn z 5; proxy_pass http://A; }", "limit_conn", False),
    ("rewrite of the server", "", "rewrite ^ /in last; location / { limit_conn z 2; proxy_pass http://A; } location /in { limit_conn z 5; proxy_pass http://A; }", "limit_conn", False),
    ("rewrite break", "", "location / { rewrite ^ /in break; limit_conn z 5; proxy_pass http://A; } location /in { limit_conn z 2; proxy_pass http://A; }", "limit_conn", False),
    ("an error_page that answers", "", "error_page 503 =200 @f; location / { limit_conn z 5; proxy_pass http://A; } location @f { proxy_pass http://B; }", "limit_conn", True),
    ("an error_page that keeps the status", "", "error_page 503 @f; location / { limit_conn z 5; proxy_pass http://A; } location @f { return 200 x; }", "limit_conn", False),
    ("an if that holds", "", "location / { if ($host = localhost) { rewrite ^ /in last; } if ($scheme = http) { rewrite ^ /in last; } proxy_pass http://A; } location /in { limit_conn z 5; proxy_pass http://A; }", "limit_conn", False),
    ("an if on a header", "", "location / { if ($http_accept) { rewrite ^ /in last; } limit_conn z 9; proxy_pass http://A; } location /in { limit_conn z 5; proxy_pass http://A; }", "limit_conn", True),
    ("a key that a map makes constant", "map $remote_addr $k { default x; } limit_conn_zone $k zone=k:1m;", "location / { limit_conn k 5; proxy_pass http://A; }", "limit_conn", False),
    ("a key that is set", "limit_conn_zone $k zone=k:1m;", "set $k a; location / { limit_conn k 5; proxy_pass http://A; }", "limit_conn", False),
    ("a key that is set to nothing", "limit_conn_zone $k zone=k:1m;", "set $k \"\"; location / { limit_conn k 5; proxy_pass http://A; }", "limit_conn", True),
    ("a key of two values", "split_clients $request_id $k { 50% a; * b; } limit_conn_zone $k zone=k:1m;", "location / { limit_conn k 5; proxy_pass http://A; }", "limit_conn", True),
    ("an upstream that a map names", "map $uri $u { default u; /x v; }", "location / { proxy_pass http://$u; }", "upstream.max_conns", False),
    ("an upstream that is set", "", "set $u v; location / { proxy_pass http://$u; }", "upstream.max_conns", False),
    ("one of two upstreams", "split_clients $remote_addr$remote_port $u { 50% u; * v; }", "location / { proxy_pass http://$u; }", "upstream.max_conns", True),
    ("backups with a number", "upstream w { server A max_conns=6; server B backup max_conns=3; }", "location / { proxy_pass http://w; }", "upstream.max_conns", False),
]


@case("explain: nginx, where requests go", ("nginx", "ab"))
def ways(bench):
    template = NGINX.replace("%(server)s location / { proxy_pass http://u; }", "%(server)s")
    common = "limit_conn_zone all zone=z:1m; upstream u { server A max_conns=3; } upstream v { server B max_conns=9; } "
    for name, http, server, setting, silent in WAYS:
        with Backend("backend.py", "fixed", "--time", "0.1") as a, Backend("backend.py", "fixed", "--time", "0.1") as b:
            listens = port()
            put = lambda text: re.sub(r"\bA\b", a.address[7:], re.sub(r"\bB\b", b.address[7:], text))
            values = {"workers": 1, "folder": bench.folder, "http": put(common + http), "server": put(server), "port": listens}
            path = bench.file("nginx.conf", template % values)
            most(bench, name, ["nginx", "-c", path, "-e", bench.folder + "/error.log"], listens, [a, b], setting, path, "nginx", pressed=30, requests=600, silent=silent)


@case("explain: nginx, limits that do not limit", ("nginx", "ab"))
def empty(bench):
    """`limit_conn` with an empty key, or beside `return`, does not limit: it must not be told as a number of clients."""
    checks = bench.checks
    for name, http, server in (("no server_name", "limit_conn_zone $server_name zone=s:1m;", "limit_conn s 6;"),
                               ("a header that no request has", "limit_conn_zone $http_x_key zone=s:1m;", "limit_conn s 6;"),
                               ("a map that gives nothing", "geo $l { default 1; 127.0.0.0/8 0; } map $l $k { 0 \"\"; 1 $binary_remote_addr; } limit_conn_zone $k zone=s:1m;", "limit_conn s 6;")):
        with Backend("backend.py", "fixed", "--time", "0.1") as a:
            listens = port()
            upstream = " upstream u { server %s; }" % a.address[7:]
            path = bench.file("nginx.conf", NGINX % {"workers": 1, "folder": bench.folder, "http": http + upstream, "server": server, "port": listens})
            checks.where = "explain: " + name
            said = clients(bench, path, "nginx", "limit_conn")
            with Server(["nginx", "-c", path, "-e", bench.folder + "/error.log"], listens):
                press("http://127.0.0.1:%d" % listens, 30, 300)
            seen = a.settled()["requests"]["in_service_most"]
            checks.say("limit_conn does not limit", said, "%d at once" % seen, said is None or said[1] >= seen * 0.9)


FPM = """[global]
pid = /run/php/x.pid
error_log = /var/log/x.log
[www]
user = www-data
listen = /run/php/x.sock
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
"""
INHERITED = """defaults base
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    maxconn 100
defaults special from base
    timeout queue 2s
frontend f1 from special
    bind 127.0.0.1:7521
    default_backend b1
backend b1 from special
    server s1 127.0.0.1:7101 maxconn 20
"""
TCP = """defaults
    mode tcp
    timeout connect 1s
    timeout client 10s
    timeout server 1s
listen l
    bind 127.0.0.1:7529
    server s 127.0.0.1:7001
"""


@case("explain: sound files")
def sound(bench):
    """Files that the product takes without a word: recognised, and nothing is called wrong."""
    checks = bench.checks
    files = [("php-fpm pool", bench.file("q.conf", FPM), "php-fpm", []), ("named defaults", bench.file("h5.cfg", INHERITED), "haproxy", ["is missing", "contradicts"]),
             ("mode tcp", bench.file("tcp.cfg", TCP), "haproxy", ["50[234]", "408"])]
    stock = [("nginx", "/etc/nginx/nginx.conf"), ("apache", "/etc/apache2/apache2.conf"), ("haproxy", "/etc/haproxy/haproxy.cfg"), ("squid", "/etc/squid/squid.conf"),
             ("varnish", "/etc/varnish/default.vcl"), ("php-fpm", "/etc/php/8.2/fpm/pool.d/www.conf"), ("php-fpm", "/etc/php/8.2/fpm/php-fpm.conf"), ("redis", "/etc/redis/redis.conf"),
             ("caddy", "/etc/caddy/Caddyfile")]
    for name, path, product, never in files + [("stock " + path, path, product, []) for product, path in stock if os.path.exists(path)]:
        checks.where = "explain: " + name
        run = bench.genkai("explain", path, out=False)
        checks.say("recognised as %s" % product, run.out[:80] + run.err[:80], product, run.out.startswith(product + ":"))
        allowed(checks, run, [], never + ["does not start", r"\bwrong\b(?! with)"])
        checks.say("no mistake is found", "%d %s" % (run.code, run.err[:100]), 0, run.code == 0)


# ------------------------------------------------------------------ interruptions

@case("interrupted, and bad input")
def interrupted(bench):
    """Ctrl-C, a pipe that is closed, an address where nothing listens, a file that cannot be written."""
    checks = bench.checks
    with Backend("misbehave.py") as server:
        checks.where = "Ctrl-C"
        folder = os.path.join(bench.folder, "ctrl-c")
        process = subprocess.Popen([bench.program, "load", server.address + "/delay?0.02", "--users", "5", "-d", "30s", "--out", folder], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment())
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        counted = server.settled()
        with open(os.path.join(folder, "verdict.json")) as file:
            load = json.load(file)["load"]
        checks.same("exit code", process.returncode, 130)
        checks.same("requests sent", load["sent"] + load.get("retried", 0), counted["requests"]["begun"])
        checks.within("ok", load["ok"], counted["requests"]["answered"] - 5, counted["requests"]["answered"])
        checks.say("says that it was interrupted", out[:200] + err[-200:], "interrupted", "interrupt" in (out + err).lower())

        checks.where = "a closed pipe"
        done = subprocess.run("'%s' load %s/ok --users 2 -n 20 | head -1" % (bench.program, server.address), shell=True, capture_output=True, text=True, env=bench.environment())
        checks.say("no panic", done.stderr[-200:], "no panic", "panicked" not in done.stderr)

        checks.where = "nothing listens"
        run = bench.genkai("load", "http://127.0.0.1:%d/" % port(), "--users", 2, "-n", 20)
        checks.same("exit code", run.code, 3)

        checks.where = "no place for the record"
        run = bench.genkai("load", server.address + "/ok", "--users", 2, "-n", 20, "--csv", "/dev/full")
        checks.say("a full disk is told", "%d %s" % (run.code, run.err[-150:]), "exit 3", run.code == 3)

        checks.where = "a record that was cut off"
        run = bench.genkai("load", server.address + "/ok", "--rate", 50, "-d", "3s")
        path = os.path.join(run.folder, "run.jsonl")
        with open(path) as file:
            lines = file.readlines()
        with open(path, "w") as file:
            file.writelines(lines[:len(lines) // 2])
        for flags in ([], ["--markdown"], ["--json"]):
            again = bench.genkai("report", run.folder, *flags, out=False)
            checks.say("says so %s" % " ".join(flags), again.text[:150], "cut off", re.search(r"cut.off|incomplete|not whole|breaks off|broken off|ends before", again.text))
