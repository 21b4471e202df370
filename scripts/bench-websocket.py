#!/usr/bin/env python3
"""WebSocket: what load generators cost, side by side, in turn, over several rounds. Read the ratios.

    bench-websocket.py GENKAI [ROUNDS] [SECONDS]

The server is `genkai serve echo` on the first core, a new one for each measurement; clients run on the last.

* echo: messages of 64 bytes on 100 connections; CPU (user and system) of the client per message that came back. genkai twice: users
  who wait for each echo (closed), and planned messages at the rate at which tcpkali got them back in the same round (open).
  genkai measures latencies and keeps account of every message; tcpkali, as run here, of none; it sends without waiting, all that is due
  each millisecond, one write a message (`--write-combine off`), and reads several echoes at once: the faster, the more at once. So it
  runs at three rates; ratios are to the middle one. Faster than the last, the echo server on one core falls behind.
* opening: 10,000 connections at up to 40,000 a second, held; CPU per connection when they are open, before any is closed (genkai ends
  with closing handshakes, tcpkali with none), and how many the server had accepted a second.
* idle: peak memory with 15,000 connections less that with 100, per connection.

tcpkali and k6 are looked for on PATH and in target/tools/bin, tcpkali in the environment's TCPKALI too; what is not found is skipped, and
said so.
"""

import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CONNECTIONS, SIZE = 100, 64
OPENED, OPEN_RATE = 10_000, 40_000
IDLE, FEW = 15_000, 100
# Messages a second on each of tcpkali's connections.
EACH = (100, 400, 800)
# A server's frame of SIZE bytes has a header of two bytes (RFC 6455 section 5.2).
FRAME = SIZE + 2
CORES = sorted(os.sched_getaffinity(0))


def cpu_of(pid):
    """CPU seconds of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    """Descriptors a process has open; the kernel says how many there are without listing them (Linux 6.2, fs/proc/fd.c)."""
    folder = f"/proc/{pid}/fd"
    return os.stat(folder).st_size or len(os.listdir(folder))


def rest():
    """Waits until ports that others used are free again (TIME_WAIT, a minute): tcpkali leaves most of the range behind."""
    until = time.monotonic() + 70
    while time.monotonic() < until:
        with open("/proc/net/sockstat") as stat:
            if int(re.search(r"tw (\d+)", stat.read()).group(1)) < 12_000:
                return
        time.sleep(0.5)


class Rise:
    """How fast connections come up, seen at their server: one descriptor each."""

    def __init__(self, server):
        self.server, self.base, self.first, self.last = server, descriptors(server), None, None

    def look(self):
        open_now, now = descriptors(self.server) - self.base, time.monotonic()
        if self.first is None and open_now >= OPENED // 100:
            self.first = (now, open_now)
        if self.last is None and open_now >= OPENED:
            self.last = (now, open_now)

    def rate(self):
        """Connections a second between the first hundredth and the last; none when they did not all come up."""
        if not (self.first and self.last and self.last[0] > self.first[0]):
            return None
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])


def spend(command, within, look=None, rise=None):
    """CPU seconds (at its end, or after `look` seconds), peak bytes and output of a command; none when it does not end in time."""
    began, seen = time.monotonic(), None
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(["taskset", "-c", str(CORES[-1]), *command], stdout=out, 
                                 stderr=subprocess.STDOUT if "--ws" in command else subprocess.DEVNULL)
        while True:
            pid, _, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if look and seen is None and time.monotonic() > began + look:
                seen = cpu_of(child.pid)
            if time.monotonic() > began + within:
                child.kill()
                child.wait()
                return None
            if rise:
                rise.look()
            time.sleep(0.002 if rise and not rise.last else 0.02)
        child.returncode = 0
        out.seek(0)
        return seen or used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, out.read().decode(errors="replace")


class Clients:
    """Each method makes one measurement; none when it failed."""

    def __init__(self, genkai, seconds, folder):
        self.genkai, self.seconds, self.folder, self.address, self.server = genkai, seconds, folder, None, None
        tools = os.path.join("target", "tools", "bin")
        found = lambda name: shutil.which(name) or shutil.which(name, path=tools)
        self.tcpkali, self.k6 = os.environ.get("TCPKALI") or found("tcpkali"), found("k6")
        for name in ("tcpkali", "k6"):
            if not getattr(self, name):
                print(f"notice: {name}: not found: skipped", file=sys.stderr)

    def on_a_server(self, measure, *arguments):
        """What a measurement gives on an echo server that has served nobody yet, on a machine with free ports."""
        rest()
        command = ["taskset", "-c", str(CORES[0]), self.genkai, "serve", "echo"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            self.address, self.server = json.loads(server.stdout.readline())["listening"], server.pid
            return measure(*arguments)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=30)

    def load(self, *flags, seconds=None, look=None, rise=None):
        command = [self.genkai, "load", f"ws://{self.address}/", "--threads", "1", "--json", "--duration",
                   f"{seconds or self.seconds}s", *flags]
        return spend(command, self.seconds + 60, look, rise)

    def tcp(self, *flags, seconds=None, look=None, rise=None):
        message = ["-m", "x" * SIZE] if "-r" in flags else []
        command = [self.tcpkali, "--ws", "-w1", "-T", f"{seconds or self.seconds}s", *flags, *message, self.address]
        # It does not always come to an end: not at all when the server is behind, a good while later with many connections.
        return spend(command, self.seconds + (60 if look else 10), look, rise) if self.tcpkali else None

    def echo_genkai(self, rate=None):
        flags = ["--message-rate", str(rate), "--connections"] if rate else ["--users"]
        cpu, _, out = self.load(*flags, str(CONNECTIONS), "--message-size", str(SIZE))
        trial = json.loads(out)["trials"][0]
        ok = trial["finished"] - trial["failed"]
        return cpu / ok * 1e6, ok / trial["lasted"]

    def echo_tcpkali(self, each):
        ran = self.tcp("-c", str(CONNECTIONS), "--connect-rate", "100000", "--write-combine", "off", "-r", str(each))
        if not ran:
            return None
        came = int(re.search(r"received:.*\((\d+) bytes", ran[2]).group(1)) / FRAME
        return ran[0] / came * 1e6, came / self.seconds

    def echo_k6(self):
        if not self.k6:
            return None
        script, summary = os.path.join(self.folder, "echo.js"), os.path.join(self.folder, "summary.json")
        with open(script, "w") as js:
            js.write("import { WebSocket } from 'k6/websockets';\n"
                     f"export const options = {{ vus: {CONNECTIONS}, iterations: {CONNECTIONS} }};\n"
                     f"const text = 'x'.repeat({SIZE});\n"
                     f"export default () => {{ const ws = new WebSocket('ws://{self.address}/');\n"
                     "  ws.onopen = () => ws.send(text);\n  ws.onmessage = () => ws.send(text);\n"
                     f"  setTimeout(() => ws.close(), {self.seconds * 1000}); }};\n")
        ran = spend([self.k6, "run", "--quiet", "--no-usage-report", "--summary-export", summary, script], self.seconds + 60)
        if not ran:
            return None
        with open(summary) as said:
            came = json.load(said)["metrics"]["ws_msgs_received"]["count"]
        return ran[0] / came * 1e6, came / self.seconds

    def opening_genkai(self):
        rise = Rise(self.server)
        cpu, _, out = self.load("--connections", str(OPENED), "--spawn-rate", str(OPEN_RATE), seconds=4, look=3, rise=rise)
        trial = json.loads(out)["trials"][0]
        complete = trial["finished"] - trial["failed"] == OPENED and rise.rate()
        return (cpu / OPENED * 1e6, rise.rate()) if complete else None

    def opening_tcpkali(self):
        rise = Rise(self.server)
        ran = self.tcp("-c", str(OPENED), "--connect-rate", str(OPEN_RATE), seconds=4, look=3, rise=rise)
        complete = ran and f"Ramped up to {OPENED} " in ran[2] and rise.rate()
        return (ran[0] / OPENED * 1e6, rise.rate()) if complete else None

    def idle_genkai(self):
        peaks = [self.load("--connections", str(n), "--spawn-rate", "10000", seconds=4)[1] for n in (FEW, IDLE)]
        return ((peaks[1] - peaks[0]) / (IDLE - FEW),)

    def idle_tcpkali(self):
        peaks = [self.tcp("-c", str(n), "--connect-rate", "10000", seconds=4) for n in (FEW, IDLE)]
        return ((peaks[1][1] - peaks[0][1]) / (IDLE - FEW),) if all(peaks) else None


def shown(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def table(title, unit, rounds, against):
    """`rounds`: of each client, what it measured in each round."""
    print(f"\n{title}; medians (min-max)")
    print(f"{'client':<14} {unit:>28} {'ratio to ' + against + ', same round':>34} {'a second':>10}")
    base = rounds.get(against, [])
    for name, measured in rounds.items():
        there = [m for m in measured if m and m[0] > 0]
        if not there:
            print(f"{name:<14} {'not measured':>28}")
            continue
        ratios = [m[0] / b[0] for m, b in zip(measured, base) if m and b and b[0] > 0]
        rate = f"{statistics.median(m[1] for m in there):,.0f}" if len(there[0]) > 1 else ""
        print(f"{name:<14} {shown([m[0] for m in there], 2):>28} {shown(ratios, 3) if ratios else '-':>34} {rate:>10}")


def measure(clients, rounds):
    names = [f"tcpkali {each:,}" for each in EACH]
    middle = names[len(names) // 2]
    echo = {name: [] for name in ("genkai closed", "genkai open", *names, "k6")}
    opening, idle = {"genkai": [], "tcpkali": []}, {"genkai": [], "tcpkali": []}
    run = clients.on_a_server
    for done in range(rounds):
        print(f"\rround {done + 1} of {rounds}", end="", file=sys.stderr)
        for name, each in zip(names, EACH):
            echo[name].append(run(clients.echo_tcpkali, each))
        rate = echo[middle][-1][1] if echo[middle][-1] else 20_000
        echo["genkai closed"].append(run(clients.echo_genkai))
        echo["genkai open"].append(run(clients.echo_genkai, round(rate)))
        echo["k6"].append(run(clients.echo_k6))
        opening["genkai"].append(run(clients.opening_genkai))
        opening["tcpkali"].append(run(clients.opening_tcpkali))
        if done < 2:
            idle["genkai"].append(run(clients.idle_genkai))
            idle["tcpkali"].append(run(clients.idle_tcpkali))
    print(f"\r{'':40}\r", end="", file=sys.stderr)
    table(f"WebSocket echo, {SIZE} bytes, {CONNECTIONS} connections; {rounds} rounds of {clients.seconds} s", "CPU us a round trip",
          echo, middle)
    table(f"WebSocket opening, {OPENED:,} connections at up to {OPEN_RATE:,} a second", "CPU us a connection", opening, "tcpkali")
    table(f"WebSocket idle, {IDLE:,} connections", "bytes a connection", idle, "tcpkali")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    genkai = os.path.realpath(sys.argv[1])
    rounds, seconds = (int(text) for text in (sys.argv[2:4] + ["5", "4"][len(sys.argv) - 2:]))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        measure(Clients(genkai, seconds, folder), rounds)


if __name__ == "__main__":
    main()
