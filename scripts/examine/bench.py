"""What the cases share: servers that are started and ended, genkai that is run, checks that are counted."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = []


def case(name, needs=()):
    """A case by its name; `needs` are programs without which it is left out, with a word about it."""
    def add(function):
        CASES.append((name, needs, function))
        return function
    return add


class Checks:
    """Every comparison of something that was said with something that is so."""

    def __init__(self):
        self.rows, self.where = [], ""

    def say(self, what, said, true, agrees):
        self.rows.append((self.where, what, said, true, bool(agrees)))
        if not agrees:
            print("DIFFERS  %s: %s\n         said: %s\n         true: %s" % (self.where, what, said, true), flush=True)

    def same(self, what, said, true):
        self.say(what, said, true, said == true)

    def within(self, what, said, low, high):
        self.say(what, said, "%s to %s" % (low, high), said is not None and low <= said <= high)

    def near(self, what, said, true, share=0.02, least=0):
        room = max(abs(true) * share, least)
        self.within(what, said, true - room, true + room)

    def table(self):
        """Cases with their numbers of checks; the number that differed."""
        cases = {}
        for where, _, _, _, agrees in self.rows:
            of = cases.setdefault(where, [0, 0])
            of[0] += 1
            of[1] += not agrees
        width = max([len(name) for name in cases] + [8])
        print("\n%s  checks  agreed  differed" % "case".ljust(width))
        for name, (n, differed) in list(cases.items()) + [("in all", [len(self.rows), sum(not r[4] for r in self.rows)])]:
            print("%s  %6d  %6d  %8d" % (name.ljust(width), n, n - differed, differed))
        return sum(not row[4] for row in self.rows)


class Backend:
    """A server of this folder in a process of its own: `with Backend("backend.py", "fixed", "--time", "0.01") as b`."""

    def __init__(self, script, *args):
        self.args = [sys.executable, os.path.join(HERE, script), *map(str, args), "--stdin", "--at-most", "300"]

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = json.loads(self.process.stdout.readline())
        self.address, self.control, self.pid = told["address"], told["control"], told["pid"]
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, path):
        with urllib.request.urlopen(self.control + path, timeout=10) as answer:
            return json.load(answer)

    def counts(self):
        return self.ask("/counts")

    def settled(self):
        """The counts once nothing is in service and no connection is open any more, at most 3 s later."""
        end = time.time() + 3
        while True:
            counts = self.counts()
            if not counts["connections"]["open"] or time.time() > end:
                return counts
            time.sleep(0.05)


class Run:
    """A finished run of genkai."""

    def __init__(self, code, out, err, folder, lasted):
        self.code, self.out, self.err, self.folder, self.lasted = code, out, err, folder, lasted

    @property
    def text(self):
        """The terminal text with its wrapped lines joined."""
        return re.sub(r"\s+", " ", self.out)

    def verdict(self):
        with open(os.path.join(self.folder, "verdict.json")) as file:
            return json.load(file)

    def page(self):
        """The data that report.html draws itself from."""
        with open(os.path.join(self.folder, "report.html")) as file:
            data = file.read().split('id="genkai-data" type="application/json">')[1].split("</script>")[0]
        return json.loads(data)


class Bench:
    """One run of the examiner: genkai's program, a folder that is removed at the end, the checks."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.folder = tempfile.mkdtemp(prefix="examine-")
        self.mark = "examine-%d-%d" % (os.getpid(), time.time())
        self.checks = Checks()
        self.n = 0

    def environment(self):
        own = os.path.join(self.folder, "tmp")
        os.makedirs(own, exist_ok=True)
        return {**os.environ, "GENKAI_EXAMINE": self.mark, "TMPDIR": own, "NO_COLOR": "1", "COLUMNS": "80"}

    def genkai(self, *args, out=True, seconds=240):
        """Runs genkai to its end, with a folder of its own unless `out` is false."""
        self.n += 1
        folder = os.path.join(self.folder, "run-%d" % self.n)
        args = [str(arg) for arg in args] + (["--out", folder] if out else [])
        start = time.time()
        done = subprocess.run([self.program, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
                              env=self.environment(), cwd=self.folder)
        if "panicked" in done.stderr:
            self.checks.say("no panic", done.stderr[-300:], "no panic", False)
        return Run(done.returncode, done.stdout, done.stderr, folder, time.time() - start)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def leftovers(self):
        """Processes with this run's mark, and files in its TMPDIR."""
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    marked = self.mark.encode() in file.read()
                with open("/proc/%s/stat" % pid) as file:
                    ended = file.read().rsplit(")", 1)[1].split()[0] == "Z"
                if marked and not ended:
                    with open("/proc/%s/cmdline" % pid) as file:
                        left.append("process %s: %s" % (pid, file.read().replace("\0", " ")[:80]))
            except OSError:
                pass
        own = os.path.join(self.folder, "tmp")
        left += [os.path.join(own, name) for name in os.listdir(own)] if os.path.isdir(own) else []
        return left

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(text):
    return set(NUMBER.findall(text))


def plain(markdown):
    return re.sub(r"\\(.)", r"\1", markdown)


def outputs_agree(bench, run):
    """Terminal, Markdown, page and verdict.json of a folder, made again from the record, say the same figures."""
    checks = bench.checks
    verdict = run.verdict()
    again = bench.genkai("report", run.folder, out=False)
    checks.same("exit code of `report`", again.code, run.code)
    checks.same("text of `report` is that of the run", again.text.split(" report: ")[0], run.text.split(" report: ")[0])
    as_json = bench.genkai("report", run.folder, "--json", out=False)
    checks.same("JSON of `report` is verdict.json", json.loads(as_json.out) if as_json.out else None, verdict)
    markdown = plain(bench.genkai("report", run.folder, "--markdown", out=False).out)
    checked = bench.genkai("report", run.folder, "--check", out=False)
    checks.say("`report --check` finds that everything follows", checked.text[-300:], "exit 0", checked.code == 0)
    titled = re.compile(r"^genkai [\d.]+: ")
    checks.same("figures of the text that Markdown has not", sorted(numbers(titled.sub("", run.text)) - numbers(markdown)), [])
    page = json.dumps(run.page(), ensure_ascii=False)
    said = " ".join(verdict.get("says", []))
    checks.same("figures of `says` that the page has not", sorted(numbers(said) - numbers(page)), [])
    checks.same("figures of `says` that Markdown has not", sorted(numbers(said) - numbers(markdown)), [])


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
