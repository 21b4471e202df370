#!/usr/bin/env python3
"""Ten proposals for servers in a memory group of 256 MiB: what was predicted, what is used, and whom the kernel ended.

usage: groups.py GENKAI [NAME...]      needs root, control groups of version 1, php-fpm, apache2, haproxy, nginx

Each server is tuned in a group of its own. Then a fresh one with the proposed file alone is put into a fresh group, and gets as many clients
as the proposed value lets in. What the group counts then (memory that processes wrote, shared memory, and the kernel's for them) is held against
what the proposal said. Exit 0: nobody was ended, and each prediction is within 15 % of what was used.

"nothing-fits", by its name alone: a group that holds no larger value. Exit 0: nothing is proposed, that is said, nothing is left running.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path("/sys/fs/cgroup/memory")
LIMIT = 256 << 20
# So far may a prediction be from what is used, as a part of that.
WITHIN = 0.15
MADE = [0]


class Group:
    """A control group with that limit; it ends with the block."""

    def __init__(self, limit=LIMIT):
        MADE[0] += 1
        self.folder = ROOT / f"genkai-price-{os.getpid()}-{MADE[0]}"
        self.limit = limit

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / "memory.limit_in_bytes").write_text(str(self.limit))
        self.most = {"written": 0, "kernel": 0, "whole": 0}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for _ in range(200):
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.05)
        print(f"{self.folder} stays", file=sys.stderr)

    def number(self, name):
        return int((self.folder / name).read_text())

    def table(self, name):
        return {k: int(v) for k, v in (line.split() for line in (self.folder / name).read_text().splitlines())}

    def look(self):
        stat = self.table("memory.stat")
        written = stat["total_rss"] + stat.get("total_shmem", 0)
        kernel = self.number("memory.kmem.usage_in_bytes")
        return {"written": written, "kernel": kernel, "whole": written + kernel}

    def watch(self):
        while not self.over.wait(0.1):
            seen = self.look()
            if seen["whole"] > self.most["whole"]:
                self.most = seen

    def kills(self):
        return self.table("memory.oom_control").get("oom_kill", 0)

    def into(self, program, folder):
        """A program that enters the group and becomes another."""
        path = pathlib.Path(folder) / pathlib.Path(program).name
        path.write_text(f'#!/bin/sh\necho $$ > {self.folder}/cgroup.procs\nexec {program} "$@"\n')
        path.chmod(0o755)
        return str(path)


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listening(where):
    family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    for _ in range(300):
        with socket.socket(family) as one:
            try:
                return one.connect(where)
            except OSError:
                time.sleep(0.1)
    raise SystemExit(f"nothing listens at {where}")


class Server:
    """A process that ends with the block."""

    def __init__(self, words, where):
        self.words, self.where = words, where

    def __enter__(self):
        # httpd ends its whole process group.
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        self.child = subprocess.Popen(self.words, **nothing, start_new_session=True)
        listening(self.where)

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)


def genkai(program, words, out):
    command = [program, *words, "--quiet", "--out", str(out)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
    file = pathlib.Path(out) / "verdict.json"
    if not file.exists():
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(file.read_text())


def finished(folder, name):
    """The file with the proposal in it, in a run's folder."""
    last = json.loads((folder / "tuned/run.jsonl").read_text().splitlines()[-1])
    return next(folder / "tuned" / one["copy"] for one in last["files"] if pathlib.Path(one["path"]).name == name)


def script(folder, weight, wait):
    """A page that writes so many KiB and keeps them while it waits."""
    text = f"<?php $a = str_repeat('x', {weight * 1024}); usleep({wait * 1000}); echo strlen($a);\n"
    (folder / "index.php").write_text(text)


SEARCH = "--quick --pairs 0 --max-limits 3 --hold 3s --bisect 0 --spawn-rate".split()


class Fpm:
    """php-fpm behind nginx: everything, the generator too, is tuned in the group; the pool alone is looked at."""

    setting = "pm.max_children"

    def __init__(self, weight, wait, users):
        self.what = f"php-fpm, pages of {weight} KiB"
        self.weight, self.wait, self.users = weight, wait, users

    def lay(self, folder):
        script(folder, self.weight, self.wait)
        (folder / "fpm.conf").write_text(
            f"[global]\nerror_log = {folder}/fpm.log\n[www]\nlisten = {folder}/fpm.sock\nlisten.mode = 0666\nuser = nobody\n"
            "group = nogroup\npm = static\npm.max_children = 4\n"
        )
        self.port = free()
        (folder / "nginx.conf").write_text(
            f"events {{ }}\nhttp {{ server {{ listen {self.port}; location / {{ fastcgi_param REQUEST_METHOD GET; "
            f"fastcgi_param SCRIPT_NAME /index.php; fastcgi_param SCRIPT_FILENAME {folder}/index.php; "
            f"fastcgi_pass unix:{folder}/fpm.sock; }} }} }}\n"
        )

    def pool(self, folder, file, group):
        program = group.into("/usr/sbin/php-fpm8.2", folder)
        return Server([program, "-F", "-R", "-y", str(file)], f"{folder}/fpm.sock")

    def tune(self, program, folder, group):
        limit = f"p99 < {self.wait * 5 // 2}ms, errors < 1%"
        words = ["tune", "nginx", "--config", str(folder / "nginx.conf"), "--users", str(self.users), "--objective", limit, *SEARCH, "10"]
        with self.pool(folder, folder / "fpm.conf", group):
            return genkai(group.into(program, folder), words, folder / "tuned")

    def fill(self, program, folder, group, full):
        nginx = Server(["nginx", "-c", str(folder / "nginx.conf"), "-g", f"daemon off; pid {folder}/pid; error_log {folder}/e;"],
                       ("127.0.0.1", self.port))
        with self.pool(folder, finished(folder, "fpm.conf"), group), nginx:
            genkai(program, ["load", f"http://127.0.0.1:{self.port}/", "--users", str(more_than(full)), "--duration", "5s"], folder / "filled")


class Product:
    """A product that genkai starts itself, or that runs by its own with the proposed file, before a backend that answers after a while."""

    def __init__(self, name, what, text, setting, users, path="/", https=False, slow=False):
        self.name, self.what, self.text, self.setting = name, what, text, setting
        self.users, self.path, self.https = users, path, https
        # httpd starts its children second by second.
        self.slow = slow
        self.real = shutil.which({"apache": "apache2"}.get(name, name), path="/usr/sbin:/usr/bin")

    def lay(self, folder):
        subprocess.run(
            "openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 9 -subj /CN=localhost "
            "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 && cat c.pem k.pem > both.pem",
            shell=True, cwd=folder, check=True, capture_output=True)
        (folder / "web").mkdir()
        script(folder / "web", 4096, WAIT)
        self.port, self.behind = free(), free()
        text = self.text.replace("{dir}", str(folder)).replace("{port}", str(self.port)).replace("{behind}", str(self.behind))
        (folder / "server.conf").write_text(text)

    def backend(self, program):
        words = f"serve origin --listen 127.0.0.1:{self.behind} --service-time {WAIT}ms".split()
        return Server([program, *words], ("127.0.0.1", self.behind))

    def tune(self, program, folder, group):
        limit = f"p99 < {WAIT * 5 // 2}ms, errors < 1%"
        words = ["tune", self.name, f"--{self.name}", group.into(self.real, folder), "--config", str(folder / "server.conf"),
                 "--users", str(self.users), "--path", self.path, "--objective", limit, *SEARCH,
                 "4" if self.slow else "10"]
        with self.backend(program):
            return genkai(program, words, folder / "tuned")

    def fill(self, program, folder, group, full):
        file, alone = finished(folder, "server.conf"), group.into(self.real, folder)
        words = [alone, "-f", str(file)]
        if self.name == "apache":
            words += ["-D", "FOREGROUND", "-c", f"PidFile {folder}/pid", "-c", f"ErrorLog {folder}/log"]
        scheme = "https" if self.https else "http"
        ask = ["load", f"{scheme}://127.0.0.1:{self.port}{self.path}", "--users", str(more_than(full)), "--spawn-rate", "20",
               "--duration", f"{full // 20 + 12}s"]
        ask += ["--insecure"] if self.https else []
        with self.backend(program), Server(words, ("127.0.0.1", self.port)):
            genkai(program, ask, folder / "filled")


# A request takes so many milliseconds.
WAIT = 400


def haproxy(what, settings, bind, users):
    text = (f"global\n    maxconn 40\n{settings}defaults\n    mode http\n    timeout client 20s\n    timeout connect 5s\n"
            f"    timeout server 20s\nfrontend web\n    bind 127.0.0.1:{{port}} {bind}\n    default_backend app\nbackend app\n"
            f"    server one 127.0.0.1:{{behind}}\n")
    return Product("haproxy", f"HAProxy, {what}", text, "maxconn", users, https="ssl" in bind)


MODULES = "/usr/lib/apache2/modules"


def apache(what, mpm, rest, users, path="/"):
    modules = {"mpm_" + mpm: "mpm_" + mpm, "authz_core": "authz_core", "proxy": "proxy", "proxy_http": "proxy_http", "dir": "dir"}
    load = "".join(f"LoadModule {one}_module {MODULES}/mod_{file}.so\n" for one, file in modules.items())
    text = f"ServerName localhost\nListen 127.0.0.1:{{port}}\nUser www-data\nGroup www-data\nKeepAlive On\n{load}{rest}"
    return Product("apache", f"Apache, {what}", text, "MaxRequestWorkers", users, path, slow=mpm == "prefork")


PASS = "ProxyPass / http://127.0.0.1:{behind}/\n"
MOD_PHP = (f"LoadModule php_module {MODULES}/libphp8.2.so\nDocumentRoot {{dir}}/web\n"
           "DirectoryIndex index.php\n<Directory {dir}/web>\nRequire all granted\nSetHandler application/x-httpd-php\n</Directory>\n")
PREFORK = "StartServers 10\nMinSpareServers 50\nMaxSpareServers 200\nServerLimit 400\nMaxRequestWorkers 10\n"
EVENT = "StartServers 1\nThreadsPerChild 25\nMinSpareThreads 25\nMaxSpareThreads 400\nServerLimit 16\nMaxRequestWorkers 25\n"

CASES = {
    "fpm-small": Fpm(256, 100, 40),
    "fpm-middle": Fpm(4096, 200, 30),
    "fpm-large": Fpm(12288, 500, 20),
    "fpm-huge": Fpm(24576, 500, 20),
    "haproxy-plain": haproxy("plain", "", "", 300),
    "haproxy-tls": haproxy("TLS", "", "ssl crt {dir}/both.pem", 200),
    "haproxy-bufsize": haproxy("tune.bufsize 131072", "    tune.bufsize 131072\n", "", 300),
    "apache-prefork": apache("prefork", "prefork", PREFORK + PASS, 40),
    "apache-php": apache("prefork with mod_php, pages of 4096 KiB", "prefork", PREFORK + MOD_PHP, 30, "/index.php"),
    "apache-event": apache("event", "event", EVENT + PASS, 120),
}


def more_than(full):
    """Clients that keep all at work: some wait."""
    return full + full // 10 + 2


def mib(number):
    return f"{number / (1 << 20):.1f}"


def one(program, case):
    """The row of a case, and whether it is as it should be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        case.lay(folder)
        # On a machine that others use, too, "cannot tell" is a true answer: it is asked again.
        kills = 0
        for _ in range(4):
            with Group() as group:
                verdict = case.tune(program, folder, group)
                kills += group.kills()
            proposed = [p for p in verdict["proposal"] if p["change"]["setting"] == case.setting and "price" in p]
            if proposed:
                break
            shutil.rmtree(folder / "tuned")
        if not proposed:
            told = [(p["change"], p.get("measured")) for p in verdict["proposal"]]
            return f"| {case.what} | no proposal with a price: {verdict['says'][0]} {told} |", False
        change, price = proposed[0]["change"], proposed[0]["price"]
        full = int(price["full"])
        with Group() as group:
            case.fill(program, folder, group, full)
            kills, most = kills + group.kills(), group.most
    predicted = price["memory"]["taken"] + price["memory"]["more"]
    off = predicted / most["whole"] - 1
    row = (f"| {case.what} | {case.setting} {change['from']} to {change['to']} | {full} | {mib(predicted)} | {mib(most['whole'])} "
           f"({mib(most['written'])} + {mib(most['kernel'])}) | {100 * off:+.0f} % | {kills} |")
    return row, kills == 0 and abs(off) <= WITHIN


def nothing_fits(program):
    """What is said of workers of 24 MiB each in a group that is full with four, and whether it is as it should be."""
    workers = "StartServers 4\nMinSpareServers 4\nMaxSpareServers 8\nServerLimit 400\nMaxRequestWorkers 4\n"
    case = apache("pages of 24576 KiB", "prefork", workers + MOD_PHP, 12, "/index.php")
    said = ""
    # As below: "cannot tell" for other programs is asked again.
    for _ in range(4):
        with tempfile.TemporaryDirectory(dir="/tmp") as name, Group(125 << 20) as group:
            folder = pathlib.Path(name)
            folder.chmod(0o755)
            case.lay(folder)
            script(folder / "web", 24576, WAIT)
            verdict = case.tune(program, folder, group)
            left, kills, said = (group.folder / "cgroup.procs").read_text().split(), group.kills(), verdict["says"]
        if left or kills or verdict["proposal"]:
            return f"{said}, {left}, {kills}", False
        if "the memory that is left holds no larger value" in said[0]:
            return said[0], True
    return said, False


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program, names = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:] or list(CASES)
    if names == ["nothing-fits"]:
        row, as_it_should = nothing_fits(program)
        print(row)
        return 0 if as_it_should else 1
    print("| server | proposed | clients | predicted, MiB | used, MiB (processes + kernel) | off | ended |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    good = []
    for name in names:
        row, as_it_should = one(program, CASES[name])
        good.append(as_it_should)
        print(row, flush=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
