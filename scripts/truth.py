#!/usr/bin/env python3
"""What load generators say of a server, beside what the server did.

    truth.py GENKAI [SECONDS] [--only CLIENT,...]

An origin with known delays (`genkai serve origin --account`) notes of every request when the kernel had it and when
it was answered. Each generator asks it for 10,000 requests a second on 100 connections, one after the other, each on
an origin of its own. Then what the generator reports stands beside what the origin did:

* truth, from the plan: the k-th request to arrive was planned at k/rate after the start, and its latency ends when it
  was answered. The start is the latest one that lets no request arrive before its plan. This holds for a generator
  that keeps its schedule, late or not: what it sent late is its latency, as it is of the users it stands for.
* truth, of what was sent (marked *): from arrival to answer. All there is for a closed loop (wrk), and for one that
  leaves out what it cannot send in time (k6).

"omit" is what was planned and never came: left out, or still waiting for a connection when the load ended.

genkai runs twice: as it is, where a response ends when the kernel had it, and how long it lay there until genkai read it is told beside;
and as genkai-r with --kernel-timestamps=off, where it ends when it was read.

Servers run on the first core, generators on the last. oha and k6 are looked for on PATH and in target/tools/bin, wrk2 in
the environment's WRK2; what is not found is skipped, and said so.
"""

import bisect
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

RATE, CONNECTIONS = 10_000, 100
# These leave out what they cannot send in time: one has no schedule, one drops (docs: "dropped_iterations").
WITHOUT_PLAN = ("wrk", "k6")
# Its figures begin when it has calibrated itself (wrk2, src/wrk.h: CALIBRATE_DELAY_MS).
SKIP = {"wrk2": 10.0}
SERVERS = [
    ("always 1 ms", ["--service-time", "1ms"]),
    ("1 ms, one in twenty 20 ms", ["--service-time", "bimodal(1ms,20ms,0.05)"]),
    ("1 ms, stands still for 1 s in the middle of every 10 s",
     ["--service-time", "1ms", "--stall", "1s", "--stall-every", "10s"]),
]
# genkai with the kernel's receive stamps.
READ = "genkai-r"
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def figures(values):
    ordered = sorted(values)
    return {"p50": quantile(ordered, 0.5), "p99": quantile(ordered, 0.99), "max": ordered[-1],
            "mean": statistics.fmean(ordered)}


class Origin:
    """A server of its own process, and its account when it has ended."""

    def __init__(self, genkai, arguments, folder, cores):
        self.path = os.path.join(folder, "account")
        command = ["taskset", "-c", str(cores[0]), genkai, "serve", "origin", "--account", self.path, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = "http://" + json.loads(self.process.stdout.readline())["listening"] + "/"

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        with open(self.path) as account:
            head = json.loads(account.readline())
            served = [tuple(map(int, line.split())) for line in account]
        return head, sorted(served)


def truth(served, skip, seconds, from_plan):
    """What the origin did with what arrived from `skip` seconds on. The plan is one from the first request on."""
    planned = [int(k * 1e9 / RATE) for k in range(len(served))]
    start = min(arrived - plan for (arrived, _), plan in zip(served, planned))
    omitted = max(0.0, 1 - len(served) / (RATE * seconds))
    first = bisect.bisect(served, (served[0][0] + int(skip * 1e9), 0))
    begin = (lambda k: start + planned[k]) if from_plan else (lambda k: served[k][0])
    took = [(served[k][1] - begin(k)) / 1e9 for k in range(first, len(served))]
    lasted = (served[-1][0] - served[0][0]) / 1e9
    return {**figures(took), "from_plan": from_plan, "omitted": omitted, "rate": len(served) / lasted}


def seconds_of(text):
    number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()
    return float(number) * UNITS[unit]


def run_genkai(program, url, seconds, folder, *flags):
    out = output([program, "load", url, "--rate", str(RATE), "--connections", str(CONNECTIONS), "--threads", "1",
                  "--duration", f"{seconds}s", "--json", *flags], fine=(0, 1, 4))
    trial = json.loads(out)["trials"][0]
    client = trial["client"]
    if not client["valid"]:
        print(f"notice: genkai calls its own run invalid: {client['reasons']}", file=sys.stderr)
    said = {name: trial["latency"][name] for name in ("p50", "p99", "max", "mean")}
    if "receipt" in client:
        lay = ", ".join(f"{name} {milliseconds(client['receipt'][name])}" for name in ("p50", "p99", "max"))
        said["remark"] = f"kernel stamp to reading, ms: {lay}"
    return {**said, "rate": trial["finished"] / trial["lasted"]}


def run_read(program, url, seconds, folder):
    return run_genkai(program, url, seconds, folder, "--kernel-timestamps=off")


def run_wrk2(program, url, seconds, folder):
    out = output([program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"-R{RATE}", "--latency", url])
    found = dict(re.findall(r"^\s*(50|99)\.000%\s+(\S+)", out, re.M))
    mean, _, most = re.search(r"#\[Mean\s+=\s+([\d.]+), StdDeviation\s+=\s+([\d.]+)\]\s*\n#\[Max\s+=\s+([\d.]+)", out).groups()
    return {"p50": seconds_of(found["50"]), "p99": seconds_of(found["99"]), "max": float(most) / 1e3,
            "mean": float(mean) / 1e3, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))}


def run_wrk(program, url, seconds, folder):
    script = os.path.join(folder, "said.lua")
    with open(script, "w") as lua:
        lua.write('done = function(s, l) io.write(string.format("SAID %f %f %f %f %f\\n", '
                  "l:percentile(50), l:percentile(99), l.max, l.mean, s.requests / s.duration * 1e6)) end\n")
    out = output([program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, url])
    p50, p99, most, mean, rate = map(float, re.search(r"SAID (.*)", out).group(1).split())
    return {"p50": p50 / 1e6, "p99": p99 / 1e6, "max": most / 1e6, "mean": mean / 1e6, "rate": rate}


def run_oha(program, url, seconds, folder):
    out = output([program, "--no-tui", "--output-format", "json", "-c", str(CONNECTIONS), "-q", str(RATE),
                  "--latency-correction", "-z", f"{seconds}s", url])
    said = json.loads(out)
    summary, at = said["summary"], said["latencyPercentiles"]
    return {"p50": at["p50"], "p99": at["p99"], "max": summary["slowest"], "mean": summary["average"],
            "rate": summary["requestsPerSec"]}


def run_k6(program, url, seconds, folder):
    script, summary = os.path.join(folder, "load.js"), os.path.join(folder, "summary.json")
    with open(script, "w") as js:
        js.write("import http from 'k6/http';\nexport const options = { scenarios: { open: {"
                 f" executor: 'constant-arrival-rate', rate: {RATE}, timeUnit: '1s', duration: '{seconds}s',"
                 f" preAllocatedVUs: {CONNECTIONS}, maxVUs: {CONNECTIONS} }} }} }};\n"
                 f"export default () => {{ http.get('{url}'); }};\n")
    output([program, "run", "--quiet", "--no-usage-report", "--summary-export", summary,
            "--summary-trend-stats", "avg,med,p(99),max", script])
    with open(summary) as said:
        metrics = json.load(said)["metrics"]
    took = metrics["http_req_duration"]
    return {"p50": took["med"] / 1e3, "p99": took["p(99)"] / 1e3, "max": took["max"] / 1e3, "mean": took["avg"] / 1e3,
            "rate": metrics["http_reqs"]["rate"]}


def output(command, fine=(0,)):
    command = ["taskset", "-c", str(CORES[-1]), *command]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in fine:
        sys.exit(f"error: {' '.join(command)} ended with {ended.returncode}: {ended.stderr.strip()[-500:]}")
    return ended.stdout


def neighbours(genkai):
    tools = os.path.join("target", "tools", "bin")
    found = {"genkai": genkai, READ: genkai, "wrk2": os.environ.get("WRK2") or shutil.which("wrk2")}
    for name in ("oha", "k6", "wrk"):
        found[name] = shutil.which(name) or shutil.which(name, path=tools)
    for name, program in found.items():
        if not program:
            print(f"notice: {name}: not found: skipped", file=sys.stderr)
    return {name: program for name, program in found.items() if program}


RUN = {"genkai": run_genkai, READ: run_read, "wrk2": run_wrk2, "oha": run_oha, "k6": run_k6, "wrk": run_wrk}
CORES = sorted(os.sched_getaffinity(0))


def measured(name, program, genkai, arguments, seconds):
    with tempfile.TemporaryDirectory() as folder:
        origin = Origin(genkai, arguments, folder, CORES)
        try:
            said = RUN[name](program, origin.url, seconds, folder)
        finally:
            head, served = origin.end()
    if not served or head["left_out"] or head["unstamped"]:
        print(f"notice: {name}: the origin's account is not whole: {head}", file=sys.stderr)
    return said, truth(served, SKIP.get(name, 0.0), seconds, name not in WITHOUT_PLAN)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.1f}"


def row(name, said, was):
    cells = [f"{name:<8}", f"{said['rate']:>8,.0f}", f"{was['rate']:>8,.0f}", f"{was['omitted'] * 100:>6.1f}"]
    mark = " " if was["from_plan"] else "*"
    for what in ("p50", "p99", "max", "mean"):
        cells.append(f"{milliseconds(said[what]):>9} {milliseconds(was[what]):>9}{mark}")
    off = (said["p50"] - was["p50"]) * 1e6, (said["p99"] / was["p99"] - 1) * 100
    return " ".join([*cells, f"{off[0]:>+11,.0f}", f"{off[1]:>+9.1f}", said.get("remark", "")]).rstrip()


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--only")]
    only = [a.partition("=")[2].split(",") for a in sys.argv[1:] if a.startswith("--only=")]
    if not arguments:
        sys.exit(__doc__)
    genkai, seconds = os.path.realpath(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 20
    programs = neighbours(genkai)
    if only:
        programs = {name: program for name, program in programs.items() if name in only[0]}
    print(f"open loop, {RATE:,} requests/s on {CONNECTIONS} connections, {seconds} s each; ms: said, true (* of what was sent)")
    for title, behaviour in SERVERS:
        print(f"\nserver: {title}")
        print(f"{'client':<8} {'said/s':>8} {'true/s':>8} {'omit %':>6} " +
              " ".join(f"{what + ' said':>9} {'true':>9} " for what in ("p50", "p99", "max", "mean")) +
              f" {'p50 off us':>11} {'p99 off %':>9}")
        for name, program in programs.items():
            print(row(name, *measured(name, program, genkai, behaviour, seconds)), flush=True)


if __name__ == "__main__":
    main()
