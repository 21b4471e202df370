"""`genkai load` on servers that count: every figure beside the server's own."""

import os
import re

from bench import Backend, case, outputs_agree, rows

# Path, users, requests, flags, failed requests (None: as many as the server says), further checks by name.
PLAIN = [
    ("/ok", 5, 300, [], 0),
    ("/ok", 1, 50, ["--new-connections"], 0),
    ("/ok", 40, 400, ["--threads", "2"], 0),
    ("/ok", 10, 200, ["--processes", "2"], 0),
    ("/status?404", 4, 40, [], 40),
    ("/status?503", 4, 40, [], 40),
    ("/status?204", 4, 80, [], 0),
    ("/redirect", 4, 40, [], 0),
    ("/mixed", 1, 50, [], None),
    ("/every?10", 5, 200, [], 20),
    ("/chunked", 5, 100, [], 0),
    ("/gzip", 5, 100, [], 0),
    ("/big?1000000", 4, 40, [], 0),
    ("/bighead?8000", 4, 40, [], 0),
    ("/bighead?70000", 2, 10, [], 0),
    ("/manyfields?99", 4, 40, [], 0),
    ("/manyfields?300", 2, 10, [], 0),
    ("/continue", 4, 40, [], 0),
    ("/closeafter", 5, 100, [], 0),
    ("/closeaftern?7", 5, 140, [], 0),
    ("/delay?0.05", 10, 100, [], 0),
    ("/delay?0.2", 20, 60, [], 0),
    ("/lognormal", 20, 400, [], 0),
    ("/trickle", 5, 20, [], 0),
    ("/nolength", 4, 40, [], 0),
    ("/http10", 4, 40, [], 0),
]

BROKEN = [
    ("/cut", 2, 10, [], 10),
    ("/cutchunk", 2, 10, [], 10),
    ("/cuthead", 2, 10, [], 10),
    ("/badchunk", 2, 10, [], 10),
    ("/bad", 2, 10, [], 10),
    ("/switch", 2, 10, [], 10),
    ("/close", 2, 10, [], 10),
    ("/reset", 2, 10, [], 10),
    ("/hang", 3, 6, ["--timeout", "500ms"], 6),
    ("/everyhang?10", 5, 50, ["--timeout", "500ms"], 5),
]


def counts_of(load):
    """Sent requests of a verdict, with those that were sent once more."""
    return load["sent"] + load.get("retried", 0)


def told(run, label):
    """The line of the terminal text that begins with a label, wrapped lines joined."""
    found = re.search(r"^%s +(.*(?:\n {6,}.*)*)" % label, run.out, re.M)
    return re.sub(r"\s+", " ", found.group(1)) if found else ""


def number(text):
    return int(text.replace(",", ""))


def compare_counts(checks, run, load, server, path, n, failed, exact_connections=True):
    requests = server["requests"]
    checks.same("requests sent", counts_of(load), requests["begun"])
    checks.same("ok + failed + in flight = sent", load["ok"] + load["failed"] + load["in_flight"], load["sent"])
    if n is not None:
        checks.same("planned", load["planned"], n)
    statuses = {str(s["status"]): s["count"] for s in load["statuses"]}
    answered = {k: v for k, v in requests["by_status"].items() if k not in ("0", "101")}
    if not path.startswith(("/cut", "/badchunk", "/bad?")) and path != "/bad":
        checks.same("statuses", statuses, answered)
        bad = sum(v for k, v in answered.items() if int(k) >= 400)
        checks.same("failed", load["failed"], failed if failed is not None else bad)
    else:
        checks.same("failed", load["failed"], failed)
    checks.same("failures by kind add up", sum(e["count"] for e in load["errors"]), load["failed"])
    line = told(run, "requests")
    words = re.match(r"([\d,]+) planned in .*?: ([\d,]+) ok, ([\d,]+) failed", line)
    said = [number(x) for x in words.groups()] if words else line
    checks.same("the line `requests`", said, [load["planned"], load["ok"], load["failed"]])
    if exact_connections:
        # One connection before the load asks whether anything listens.
        checks.within("connections opened", load["connections"]["opened"], server["connections"]["accepted"] - 1, server["connections"]["accepted"])
    most = load["connections"].get("most")
    if most is not None:
        checks.within("most connections at once", most, 1, server["connections"]["most"])
    at_once = re.search(r"at most ([\d,]+) at once( on this side)?", told(run, "connections"))
    if at_once:
        # A bound: no fewer than the client had open whenever the server accepted one. Connections that the client closes first
        # (of requests that it gave up) the server may have longer, and then it must be said whose count it is.
        most, held = server["connections"]["most"], server["connections"]["held_most"]
        checks.within("the words `at most N at once`", number(at_once.group(1)), held, most + 1)
        checks.say("`at most N at once` says on which side", at_once.group(0), "the server had %d" % most,
                   number(at_once.group(1)) >= most - 1 or at_once.group(2))
    from_one = re.search(r"([\d,]+) connections? from", told(run, "took"))
    if from_one:
        checks.within("the words `N connections from`", number(from_one.group(1)), 1, server["connections"]["most"])


def compare_bytes(checks, load, server):
    checks.same("bytes received are those that the server sent", load["bytes_in"], server["bytes"]["sent"])
    checks.same("bytes sent out are those that the server received", load["bytes_out"], server["bytes"]["received"])


def compare_times(checks, load, server):
    """A request cannot have taken less time than the server took; both are quantiles of the same requests."""
    service, own = load.get("service"), server["service_ms"]
    if load["failed"] or not own:
        figures = [name for name in ("latency", "service") if name in load and load[name]["count"] != load["ok"]]
        # Of requests that failed there is no time among those of good answers.
        checks.same("figures of other requests than the good ones", figures, [])
        return
    for q in ("p50", "p90", "p95", "p99", "max"):
        low = own[q] / 1e3
        checks.say("service time %s is not below the server's own" % q, service[q], low, service[q] >= low * 0.99 - 2e-6)
        checks.say("latency %s is not below the service time" % q, load["latency"][q], service[q], load["latency"][q] >= service[q] * 0.99 - 2e-6)


def compare_rate(checks, run, load, server):
    checks.near("rate = finished / lasted", load["rate"], (load["ok"] + load["failed"]) / load["lasted"], 0.01)
    first, last = server["first_begun"], server["last_answered"]
    if first and last and last - first > 0.5 and not load["in_flight"]:
        checks.within("the load lasted about as long as the server saw it", load["lasted"], last - first - 0.02, last - first + 0.5)


def compare_files(bench, run, load, csv, jtl):
    checks = bench.checks
    lines = rows(csv)
    for ours, theirs in (("planned", "planned"), ("sent", "sent"), ("ok", "ok"), ("failed", "failed"), ("bytes_in", "bytes_in"), ("bytes_out", "bytes_out")):
        checks.same("sum of %s in the CSV file" % ours, sum(int(float(line[ours])) for line in lines), load[theirs])
    lines = rows(jtl)
    checks.same("lines of the JTL file", len(lines), load["ok"] + load["failed"])
    checks.same("failures in the JTL file", sum(line["success"] == "false" for line in lines), load["failed"])
    codes = {}
    for line in lines:
        if line["responseCode"].isdigit():
            codes[line["responseCode"]] = codes.get(line["responseCode"], 0) + 1
    checks.same("statuses in the JTL file", codes, {str(s["status"]): s["count"] for s in load["statuses"] if s["count"]})


def one(bench, server, path, users, n, flags, failed, whole=True):
    checks = bench.checks
    checks.where = "load %s %s" % (path, " ".join(flags))
    server.ask("/reset")
    csv, jtl = (os.path.join(bench.folder, name) for name in ("load.csv", "load.jtl"))
    files = [] if "--processes" in flags else ["--csv", csv, "--jtl", jtl]
    run = bench.genkai("load", server.address + path, "--users", users, "-n", n, *flags, *files)
    counted = server.settled()
    load = run.verdict().get("load")
    checks.say("a load in verdict.json", run.out[-200:] + run.err[-200:] if not load else "yes", "yes", load)
    if not load:
        return
    compare_counts(checks, run, load, counted, path, n, failed)
    checks.same("exit code", run.code, 1 if load["failed"] else 0)
    if whole:
        compare_bytes(checks, load, counted)
        compare_times(checks, load, counted)
        compare_rate(checks, run, load, counted)
    if files:
        compare_files(bench, run, load, csv, jtl)
    outputs_agree(bench, run)


@case("load: whole answers")
def whole(bench):
    with Backend("misbehave.py") as server:
        for row in PLAIN:
            one(bench, server, *row)


@case("load: broken answers")
def broken(bench):
    with Backend("misbehave.py") as server:
        for row in BROKEN:
            one(bench, server, *row, whole=False)


@case("load: connections that the server closes")
def closing(bench):
    """A browser sends a request again that met a closed kept connection: no failure, and told as retried.

    Once: where the new connection is closed, too (`/everyclose` counts requests of all connections), the request has failed.
    """
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path in ("/silent", "/silentafter?5", "/idleclose?0.01", "/everyclosekept?10", "/everyclose?10"):
            checks.where = "load " + path
            server.ask("/reset")
            think = ["--think", "12ms"] if "idle" in path else []
            run = bench.genkai("load", server.address + path, "--users", 4, "-n", 100, *think)
            counted, load = server.settled(), run.verdict()["load"]
            answered = counted["requests"]["answered"]
            checks.same("ok", load["ok"], answered)
            checks.same("ok + failed", load["ok"] + load["failed"], 100)
            closed_new, closed_kept = (counted["notes"].get(name, 0) for name in ("closed_new", "closed_kept"))
            checks.same("only what met a closed connection that was new has failed", load["failed"], closed_new)
            if "every" in path:
                checks.same("retried", load.get("retried", 0), closed_kept)
                line = re.search(r"([\d,]+) (?:requests?|was|were)", told(run, "retried"))
                checks.same("the line `retried`", number(line.group(1)) if line else 0, closed_kept)
            outputs_agree(bench, run)


@case("load: rates")
def rates(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path, rate, lasts, flags in (("/ok", 300, 2, []), ("/ok", 200, 2, ["--poisson"]), ("/delay?0.1", 100, 2, []),
                                         ("/every?20", 200, 2, []), ("/delay?0.1", 100, 3, ["--connections", "5"])):
            checks.where = "load %s --rate %d %s" % (path, rate, " ".join(flags))
            server.ask("/reset")
            run = bench.genkai("load", server.address + path, "--rate", rate, "-d", "%ds" % lasts, *flags)
            counted, load = server.settled(), run.verdict()["load"]
            checks.same("requests sent", counts_of(load), counted["requests"]["begun"])
            if "--poisson" not in flags:
                checks.near("planned", load["planned"], rate * lasts, 0, 1)
            outstanding = load["planned"] - load["ok"] - load["failed"] - load["in_flight"]
            dropped = load.get("dropped", sum(e["count"] for e in load["errors"] if "dropped" in str(e["kind"])))
            checks.say("what was planned is ok, failed, in flight, dropped or waits", load["planned"],
                       {k: load.get(k) for k in ("ok", "failed", "in_flight", "dropped", "waiting", "not_sent")},
                       outstanding in (0, dropped, load.get("waiting"), dropped + (load.get("waiting") or 0), load.get("not_sent")))
            if outstanding:
                checks.say("the text tells of requests that were not sent", run.text[:200], "%d not sent" % outstanding,
                           "%s" % format(outstanding, ",") in run.text or "dropped" in run.text or "waiting" in run.text)
            outputs_agree(bench, run)


@case("load: thresholds")
def thresholds(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        for path, objective, holds in (("/ok", "errors <= 0%", True), ("/every?10", "errors <= 10%", None), ("/every?10", "errors < 11%", None),
                                       ("/every?10", "errors <= 0%", False), ("/delay?0.05", "p50 > 1ms", None), ("/delay?0.05", "p99 < 40ms", False),
                                       ("/delay?0.05", "p50 < 200ms", True), ("/delay?0.05", "max < 40ms", False)):
            checks.where = "load %s --threshold %s" % (path, objective)
            run = bench.genkai("load", server.address + path, "--users", 5, "-n", 200, "--threshold", objective)
            if run.code == 2:
                # A condition that is refused says nothing untrue.
                checks.say("a condition is judged or refused", run.err[:100], "an error", run.err)
                continue
            kept = re.search(r"(errors|p\d+|max|rate) (<=|>=|<|>)", run.text[run.text.find("Thresholds"):])
            checks.same("judged as written", kept and kept.group(0), " ".join(objective.split(" ")[:2]))
            if holds is not None:
                checks.same("exit code", run.code, 0 if holds else 1)


@case("load: what was in flight")
def flight(bench):
    """Nothing answered in time is not a failure; the place of a failure is not before the first request."""
    checks = bench.checks
    with Backend("misbehave.py") as server:
        checks.where = "load /hang, no timeout"
        run = bench.genkai("load", server.address + "/hang", "--rate", 50, "-d", "2s")
        load = run.verdict()["load"]
        checks.same("failed", load["failed"], 0)
        checks.same("in flight at the end", load["in_flight"], server.settled()["requests"]["begun"])
        checks.say("nothing is called failed", run.text[-300:], "no request failed", "FAIL errors" not in run.text)
        said = " ".join(run.verdict()["says"])
        checks.say("`says` calls no objective failed", said, "none was judged", not re.search(r"errors < 0\.1%` (failed|did not hold)", said))
        for path, low, high in (("/every?10", 1, 5), ("/status?500", 1, 5)):
            checks.where = "load %s, the place of the first failure" % path
            run = bench.genkai("load", server.address + path, "--users", 5, "-n", 200)
            words = re.search(r"([\d,]+) clients? at once", " ".join(run.verdict()["says"]))
            checks.say("clients at once", words and words.group(0), "%d to %d" % (low, high), not words or low <= number(words.group(1)) <= high)


@case("load: WebSocket")
def websocket(bench):
    checks = bench.checks
    with Backend("misbehave.py") as server:
        address = server.address.replace("http", "ws")
        for path, fate in (("/ws", None), ("/ws?drop=10", "lost"), ("/ws?twice=10", "duplicated"), ("/ws?garble=10", None), ("/ws?close=20", None)):
            checks.where = "load " + path
            server.ask("/reset")
            run = bench.genkai("load", address + path, "--users", 4, "-n", 100, "--timeout", "500ms")
            counted, load = server.settled(), run.verdict()["load"]
            hits = sum(counted["notes"].get(name, 0) for name in ("drop", "twice", "garble", "close"))
            checks.same("messages sent", load["sent"], counted["messages"]["in"])
            if path in ("/ws", "/ws?twice=10"):
                checks.same("failed", load["failed"], 0 if path == "/ws" else load["failed"])
            else:
                checks.same("failed", load["failed"], hits)
            if fate:
                words = re.search(r"([\d,]+) %s" % fate, run.text)
                checks.same("the word `%s`" % fate, words and number(words.group(1)), hits)
            outputs_agree(bench, run)
