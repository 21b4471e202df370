"""`genkai load` where more than one thing happens at once: HTTP/2, scenarios, TLS, requests that are made again, WebSockets that are closed."""

import os
import re
import subprocess

from bench import Backend, case, outputs_agree
from cases_load import compare_bytes, compare_counts, counts_of, number, told
from cases_servers import Server, port


def load_of(bench, run):
    load = run.verdict().get("load")
    bench.checks.say("a load in verdict.json", run.out[-200:] + run.err[-200:] if not load else "yes", "yes", load)
    return load


def kinds(load):
    return {error["kind"]: error["count"] for error in load["errors"]}


# ------------------------------------------------------------------ HTTP/2

HTTP2 = """daemon off;
worker_processes 1;
pid %(folder)s/h2.pid;
error_log %(folder)s/h2-error.log;
events { worker_connections 512; }
http {
  log_format counted "$connection $status $server_protocol $request_method";
  access_log %(folder)s/h2-access.log counted;
  keepalive_requests %(requests)d;
  client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f; uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/s;
  server {
    listen 127.0.0.1:%(port)d http2;
    location / { return 200 "hello\\n"; }
    location /no { return 404; }
  }
}
"""


@case("more: HTTP/2", ("nginx",))
def http2(bench):
    """Requests, statuses and connections beside nginx's own log, which has a line for each request; GOAWAY after some of them."""
    checks = bench.checks
    log = os.path.join(bench.folder, "h2-access.log")
    for path, status, n, flags, requests in (("/", 200, 300, ["--users", 20, "--streams", 5], 100000), ("/no", 404, 60, ["--users", 6, "--streams", 3], 100000),
                                             ("/", 200, 200, ["--users", 8, "--streams", 4], 30), ("/", 200, None, ["--rate", 150, "-d", "2s"], 100000)):
        checks.where = "load --http2-prior-knowledge %s %s, %d a connection" % (path, " ".join(map(str, flags)), requests)
        listens = port()
        conf = bench.file("h2.conf", HTTP2 % {"folder": bench.folder, "port": listens, "requests": requests})
        open(log, "w").close()
        with Server(["nginx", "-c", conf, "-e", bench.folder + "/h2-error.log"], listens):
            run = bench.genkai("load", "http://127.0.0.1:%d%s" % (listens, path), "--http2-prior-knowledge", *flags, *(["-n", n] if n else []))
        with open(log) as file:
            lines = [line.split() for line in file]
        load = load_of(bench, run)
        if not load:
            continue
        spoken = [line for line in lines if line[2] == "HTTP/2.0"]
        # A request that the server did not process has no status of its own in the log, and is made again.
        answered = [line for line in spoken if line[1] == str(status)]
        checks.same("answered with %d" % status, {s["status"]: s["count"] for s in load["statuses"]}, {status: len(answered)})
        checks.same("ok + failed + in flight = sent", load["ok"] + load["failed"] + load["in_flight"], load["sent"])
        checks.same("failed", load["failed"], 0 if status < 400 else len(answered))
        checks.within("connections opened", load["connections"]["opened"], len({line[0] for line in spoken}), len({line[0] for line in spoken}) + 1)
        if n:
            checks.same("planned", load["planned"], n)
        outputs_agree(bench, run)


# ------------------------------------------------------------------ scenarios

SCENARIO = """title: several requests
target: %(address)s
redirects: %(redirects)d
phases:
  - { users: 4, for: 30s }
requests: %(requests)d
flows:
  - name: whole
    steps:
%(steps)s
"""


def scenario(bench, server, name, steps, requests, redirects=0):
    """Runs these steps, each (name, method and path, further lines); gives the load and the server's counts."""
    lines = "".join("      - request: %s\n        name: %s\n%s" % (what, step, "".join("        %s\n" % line for line in more)) for step, what, more in steps)
    path = bench.file(name + ".yaml", SCENARIO % {"address": server.address, "requests": requests, "steps": lines, "redirects": redirects})
    server.ask("/reset")
    run = bench.genkai("load", path)
    counted = server.settled()
    return run, counted, load_of(bench, run)


def steps_of(run):
    """What is stated of each step: finished well, failed."""
    flows = run.verdict()["trials"][0].get("flows") or {}
    return {step["name"]: (step["ok"], step["failed"]) for step in flows.get("steps", [])}


@case("more: a scenario of several requests")
def several(bench):
    checks = bench.checks
    steps = [("login", "POST /login", ["json: { name: x }", "capture: { token: { json: /token } }"]),
             ("needs", "GET /needs", ["headers: { Authorization: \"Bearer {{token}}\" }", "check: { status: 200 }"]),
             ("every", "GET /every?5", []),
             ("missing", "GET /status?404", ["check: { status: 404 }"])]
    with Backend("misbehave.py") as server:
        checks.where = "load of a scenario"
        run, counted, load = scenario(bench, server, "several", steps, 80)
        if not load:
            return
        paths, requests = counted["requests"]["by_path"], counted["requests"]
        checks.same("requests sent", counts_of(load), requests["begun"])
        checks.same("statuses", {str(s["status"]): s["count"] for s in load["statuses"]}, requests["by_status"])
        # What a check asks for is good, whatever its status.
        checks.same("failed", load["failed"], requests["by_status"].get("500", 0))
        for name, what in (("login", "/login"), ("needs", "/needs"), ("every", "/every?5"), ("missing", "/status?404")):
            ok, failed = steps_of(run).get(name, (None, None))
            checks.same("step %s" % name, ok is not None and ok + failed, paths.get(what, 0))
        checks.same("failed of the step `every`", steps_of(run).get("every", (0, 0))[1], requests["by_status"].get("500", 0))
        compare_bytes(checks, load, counted)
        outputs_agree(bench, run)


@case("more: redirects that are followed")
def redirects(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for follow in (0, 2):
            checks.where = "load of a scenario, redirects: %d" % follow
            run, counted, load = scenario(bench, server, "redirects", [("go", "GET /redirect", [])], 40, follow)
            if not load:
                continue
            paths = counted["requests"]["by_path"]
            checks.same("a redirect is followed", paths.get("/ok", 0), paths["/redirect"] if follow else 0)
            # A redirect that is followed counts as one with what it leads to.
            last = "/ok" if follow else "/redirect"
            checks.same("statuses", {s["status"]: s["count"] for s in load["statuses"]}, {200 if follow else 302: paths[last]})
            checks.same("failed", load["failed"], 0)
            checks.same("requests sent", counts_of(load), counted["requests"]["begun"])
            line = re.match(r"([\d,]+) requests: redirects were followed", told(run, "sent"))
            checks.same("the line `sent`", number(line.group(1)) if line else None, counted["requests"]["begun"] if follow else None)
            outputs_agree(bench, run)


# ------------------------------------------------------------------ requests that are made again

@case("more: requests that are made again")
def again(bench):
    """GET, PUT and DELETE are, once; POST is not, nor is anything with --no-retry."""
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for flags, retries in (([], True), (["--method", "PUT", "--body", "x"], True), (["--method", "DELETE"], True),
                               (["--method", "POST", "--body", "x"], False), (["--no-retry"], False)):
            checks.where = "load /everyclosekept?10 %s" % " ".join(flags)
            server.ask("/reset")
            run = bench.genkai("load", server.address + "/everyclosekept?10", "--users", 4, "-n", 120, *flags)
            counted, load = server.settled(), load_of(bench, run)
            closed = counted["notes"].get("closed_kept", 0)
            checks.same("retried", load.get("retried", 0), closed if retries else 0)
            checks.same("failed", load["failed"], 0 if retries else closed)
            checks.same("kinds", kinds(load), {} if retries else {"eof_reused": closed})
            checks.same("requests sent", counts_of(load), counted["requests"]["begun"])
            checks.same("bytes sent out are those that the server received", load["bytes_out"], counted["bytes"]["received"])
            outputs_agree(bench, run)


@case("more: TLS", ("openssl",))
def tls(bench):
    """The same over TLS, where a connection ends by an alert: handshakes are those of the connections."""
    checks = bench.checks
    cert, key = (os.path.join(bench.folder, name) for name in ("cert.pem", "key.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    with Backend("misbehave.py", "--tls", cert, key) as server:
        for path, n, failed in (("/ok", 200, 0), ("/closeaftern?7", 140, 0), ("/everyclosekept?10", 120, 0), ("/silentafter?5", 100, 0), ("/cut", 10, 10), ("/every?10", 100, 10)):
            checks.where = "load https %s" % path
            server.ask("/reset")
            run = bench.genkai("load", server.address + path, "--users", 4, "-n", n, "--cacert", cert)
            counted, load = server.settled(), load_of(bench, run)
            if not load:
                continue
            checks.same("failed", load["failed"], failed)
            # What is written into a connection that the server has closed, it never reads.
            begun = counted["requests"]["begun"]
            checks.within("requests sent", counts_of(load), begun, begun + (load.get("retried", 0) if "silent" in path else 0))
            if path == "/everyclosekept?10":
                checks.same("retried", load.get("retried", 0), counted["notes"].get("closed_kept", 0))
            line = re.search(r"([\d,]+) full handshakes?, ([\d,]+) resumed", run.text)
            checks.same("handshakes", line and number(line.group(1)) + number(line.group(2)), load["connections"]["opened"])
            checks.within("connections opened", load["connections"]["opened"], counted["connections"]["accepted"] - 1, counted["connections"]["accepted"])
            outputs_agree(bench, run)


# ------------------------------------------------------------------ WebSockets that are closed

@case("more: WebSockets that the server closes")
def closings(bench):
    """After each fifth echo of a connection: with it, or soon after it."""
    checks = bench.checks
    with Backend("misbehave.py") as server:
        address = server.address.replace("http", "ws")
        for path, code, exact in (("/ws?lastclose=5", 1001, True), ("/ws?lastcut=5", 1006, False), ("/ws?soonclose=5", 1001, False), ("/ws?sooncut=5", 1006, False)):
            for flags in (["--users", 4, "-n", 100, "--think", "20ms"], ["--users", 4, "-d", "1s", "--think", "20ms"], ["--connections", 4, "--message-rate", 80, "-d", "2s"]):
                checks.where = "load %s %s" % (path, " ".join(map(str, flags)))
                server.ask("/reset")
                run = bench.genkai("load", address + path, *flags)
                counted, load = server.settled(), load_of(bench, run)
                if not load:
                    continue
                parted, asked = (counted["notes"].get(name, 0) for name in ("parted", "asked"))
                thinks = "--think" in flags
                # Who thinks notices it before the next message; at a rate, one may be on its way.
                if thinks:
                    checks.same("failed", load["failed"], 0)
                    checks.same("messages ok", load["ok"] + load["in_flight"], counted["messages"]["out"])
                line = dict((int(code), number(n)) for n, code in re.findall(r"([\d,]+) x (\d{4}) \(", told(run, "closed")))
                checks.same("closed with %d" % code, line.get(code, 0), parted)
                checks.same("closed with 1000, as asked", line.get(1000, 0), asked)
                # At the end of a load those of the last moment are no more of it.
                checks.within("closed by the server while idle", load["connections"]["closed_idle"], 0 if not thinks else parted - (0 if exact else 4), parted)
                checks.same("nobody paused after a failure that was none", load.get("paced", 0) if not load["failed"] else 0, 0)
                outputs_agree(bench, run)


# ------------------------------------------------------------------ open model

@case("more: a rate with too few connections")
def dropped(bench):
    """What had no connection in time was not sent: the server has never heard of it."""
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path, rate, connections in (("/delay?0.05", 200, 2), ("/delay?0.1", 100, 5), ("/ok", 100, 5)):
            checks.where = "load %s --rate %d --connections %d" % (path, rate, connections)
            server.ask("/reset")
            run = bench.genkai("load", server.address + path, "--rate", rate, "-d", "3s", "--connections", connections, "--timeout", "500ms")
            counted, load = server.settled(), load_of(bench, run)
            lost = kinds(load).get("dropped", 0)
            checks.same("requests sent", load["sent"], counted["requests"]["begun"])
            # A thread that wakes after the end of the load takes up no more of the last instants.
            checks.within("planned", load["planned"], rate * 3 * 0.98 - 1, rate * 3 + 1)
            checks.same("planned = sent + dropped + never sent", load["planned"], load["sent"] + lost + load.get("unsent", 0))
            checks.within("at once", counted["connections"]["most"], 1, connections + 1)
            checks.same("only what was dropped failed", load["failed"], lost)
            words = re.search(r"([\d,]+) x no connection was free to send on; side: the generator", run.text)
            if lost:
                checks.same("the text tells of them on the generator's side", words and number(words.group(1)), lost)
            outputs_agree(bench, run)


# ------------------------------------------------------------------ answers

@case("more: answers that are cut off, and interim ones")
def cut(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path, n, kind in (("/everycut?5", 100, "truncated"), ("/everycutchunk?5", 100, "truncated"), ("/interims?3", 60, None), ("/headlong?2", 60, None)):
            checks.where = "load " + path
            server.ask("/reset")
            run = bench.genkai("load", server.address + path, "--users", 5, "-n", n)
            counted, load = server.settled(), load_of(bench, run)
            cuts = counted["requests"]["by_status"].get("0", 0)
            checks.same("kinds", kinds(load), {kind: cuts} if kind else {})
            checks.same("ok", load["ok"], counted["requests"]["by_status"].get("200", 0))
            checks.same("only the last status of a response counts", {s["status"] for s in load["statuses"]}, {200})
            compare_counts(checks, run, load, counted, "/cut" if kind else path, n, cuts)
            compare_bytes(checks, load, counted)
            outputs_agree(bench, run)


@case("more: kept connections that are closed by count or idle time")
def kept(bench):
    checks = bench.checks
    for flags, more in ((["--requests", 7], []), (["--requests", 7, "--silent"], []), (["--idle", 0.03], ["--think", "60ms"]), (["--idle", 0.03], ["--think", "5ms"])):
        checks.where = "load of a server with %s %s" % (" ".join(map(str, flags)), " ".join(more))
        with Backend("backend.py", "keep", *flags, "--time", "0.002") as server:
            run = bench.genkai("load", server.address + "/", "--users", 4, "-n", 112, *more)
            counted, load = server.settled(), load_of(bench, run)
            checks.same("ok", load["ok"], counted["requests"]["by_status"].get("200", 0))
            checks.same("failed", load["failed"], 0)
            # What is written into a connection that the server has closed without saying so, it never reads.
            begun = counted["requests"]["begun"]
            checks.within("requests sent", counts_of(load), begun, begun + (load.get("retried", 0) if "--silent" in flags else 0))
            checks.within("connections opened", load["connections"]["opened"], counted["connections"]["accepted"] - 1, counted["connections"]["accepted"])
            idle = load["connections"]["closed_idle"]
            checks.within("closed by the server while idle", idle, 0, counted["connections"]["closed_here"])
            if more == ["--think", "60ms"]:
                # All but those that were closed after the last request of their user.
                checks.within("closed by the server while idle, of those that it closed", idle, counted["connections"]["closed_here"] - 4, counted["connections"]["closed_here"])
            outputs_agree(bench, run)


@case("more: HEAD, and bodies of requests")
def bodies(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path, flags, size in (("/ok", ["--method", "HEAD"], 0), ("/echo", ["--method", "POST", "--body", "y" * 5000], 5000), ("/echo", ["--body", "é"], 2)):
            checks.where = "load %s %s" % (path, " ".join(flags)[:30])
            server.ask("/reset")
            run = bench.genkai("load", server.address + path, "--users", 4, "-n", 80, *flags)
            counted, load = server.settled(), load_of(bench, run)
            compare_counts(checks, run, load, counted, path, 80, 0)
            compare_bytes(checks, load, counted)
            checks.same("bytes of the requests' bodies", counted["bytes"]["request_bodies"], 80 * size)
            outputs_agree(bench, run)
