#!/usr/bin/env python3
"""Backends whose behaviour is known, and that count what they did.

    backend.py MODE [options]

Binds port 0 of 127.0.0.1 (or --port), prints one JSON line with `address`, `control`, `pid` and `mode`, and serves
HTTP/1.1 with keep-alive until SIGTERM, `GET /stop` on the control address, the end of its standard input (with
--stdin), or --at-most seconds (900 if not given). What is counted: see counting.py. Times are in seconds.

The service time of a request is --time, its response body has --body bytes, unless the mode says otherwise.
"""

import argparse
import asyncio
import os
import random
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from counting import Connection, Server, finish, serve  # noqa: E402


class Behaviour:
    """What a mode does with each request; `run` is what it does by itself, beside the requests."""

    def __init__(self, args):
        self.args = args
        self.body = b"x" * args.body
        self.random = random.Random(args.seed)
        self.server = None

    def __call__(self, connection, request):
        self.reply(connection, self.args.time)

    def reply(self, connection, after, status=200, body=None, **more):
        body = self.body if body is None else body
        connection.later(after, lambda: connection.answer(status, body, **more))

    def opened(self, connection):
        pass

    def answered(self, connection):
        pass

    async def run(self):
        pass

    def error(self, connection, after=0.0):
        usual = 500 if self.args.mode == "errors" else 503
        self.reply(connection, after, self.args.status or usual, b"no\n")


class Errors(Behaviour):
    """A share of the answers, drawn at random, has the status --status; the others 200."""

    def __call__(self, connection, request):
        if self.random.random() < self.args.share:
            self.error(connection, self.args.time)
        else:
            self.reply(connection, self.args.time)


class Die(Behaviour):
    """The process exits when request --after begins; that request and all in service get no answer."""

    def __call__(self, connection, request):
        if self.server.counts.begun >= self.args.after:
            finish(self.server.counts, 3)
        super().__call__(connection, request)


class Restart(Behaviour):
    """Every --every seconds the listener is closed for --down seconds, and so are all connections; same process."""

    async def run(self):
        downs = self.server.counts.notes.setdefault("down", [])
        while True:
            await asyncio.sleep(self.args.every)
            self.server.unlisten(cut=not self.args.gently)
            downs.append(time.time())
            await asyncio.sleep(self.args.down)
            await self.server.listen()
            downs.append(time.time())


class Degrade(Behaviour):
    """Each request takes --per seconds longer than the one before it."""

    def __call__(self, connection, request):
        self.reply(connection, self.args.time + self.server.counts.begun * self.args.per)


class Pauses(Behaviour):
    """The whole process stands still for --pause seconds every --every seconds, as with a stop-the-world collector."""

    async def run(self):
        pauses = self.server.counts.notes.setdefault("pauses", [])
        while True:
            await asyncio.sleep(self.args.every)
            pauses.append(time.time())
            time.sleep(self.args.pause)


class Rate(Behaviour):
    """At most --per-second requests in each second of the clock; further ones get --status at once."""

    def __init__(self, args):
        super().__init__(args)
        self.second, self.n = 0, 0

    def __call__(self, connection, request):
        now = int(time.time())
        if now != self.second:
            self.second, self.n = now, 0
        self.n += 1
        if self.n > self.args.per_second:
            self.error(connection)
        else:
            self.reply(connection, self.args.time)


class Lock(Behaviour):
    """--held seconds of each request in a section that one request at a time may enter, then --time."""

    free_at = 0.0

    def __call__(self, connection, request):
        now = time.perf_counter()
        self.free_at = max(now, self.free_at) + self.args.held
        self.reply(connection, self.free_at - now + self.args.time)


class Mixed(Behaviour):
    """A share of the answers, drawn at random, takes --slow seconds, the others --time."""

    def __call__(self, connection, request):
        slow = self.random.random() < self.args.share
        self.reply(connection, self.args.slow if slow else self.args.time)


class Workers(Behaviour):
    """--workers requests at once, --queue more wait; further ones get --status, or with --refuse a closed connection."""

    def __init__(self, args):
        super().__init__(args)
        self.busy, self.queue = 0, []

    def __call__(self, connection, request):
        counts = self.server.counts
        if self.busy < self.args.workers:
            self.start(connection, request)
        elif len(self.queue) < self.args.queue:
            self.queue.append((connection, request))
            counts.waiting = len(self.queue)
            counts.waiting_most = max(counts.waiting_most, counts.waiting)
        elif self.args.refuse:
            counts.refused_connections += 1
            counts.refused_at.append(time.time())
            connection.reset()
        else:
            self.error(connection)

    def start(self, connection, request):
        self.busy += 1
        asyncio.get_running_loop().call_later(self.args.time, self.end, connection, request)

    def end(self, connection, request):
        self.busy -= 1
        if connection.request is request:
            connection.answer(200, self.body)
        while self.queue and self.busy < self.args.workers:
            connection, request = self.queue.pop(0)
            self.server.counts.waiting = len(self.queue)
            if connection.request is request:
                self.start(connection, request)


class Headers(Behaviour):
    """Response heads with --fields fields of --size bytes each."""

    def __call__(self, connection, request):
        value = "h" * self.args.size
        fields = [("X-Field-%d" % n, value) for n in range(self.args.fields)]
        self.reply(connection, self.args.time, headers=fields)


class Keep(Behaviour):
    """Kept connections are closed after --requests requests (told by `Connection: close` unless --silent) or --idle seconds."""

    def __call__(self, connection, request):
        last = self.args.requests and connection.requests >= self.args.requests
        if last and self.args.silent:
            connection.later(self.args.time, lambda: (connection.answer(200, self.body), connection.shut()))
        else:
            self.reply(connection, self.args.time, close=bool(last))

    def answered(self, connection):
        if self.args.idle:
            n = connection.requests
            idle = lambda: connection.shut() if connection.requests == n and connection.request is None else None
            connection.later(self.args.idle, idle)


class Accepting(Behaviour):
    """Accepts one connection every --every seconds from a queue of --backlog; 0 seconds: accepts none at all."""

    async def run(self):
        loop = asyncio.get_running_loop()
        while self.args.every:
            await asyncio.sleep(self.args.every)
            try:
                sock, _ = self.socket.accept()
            except OSError:
                continue
            sock.setblocking(False)
            await loop.connect_accepted_socket(lambda: Connection(self.server), sock)

    def bind(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", self.args.port))
        self.socket.listen(self.args.backlog)
        self.socket.setblocking(False)
        self.server.port = self.socket.getsockname()[1]


def parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--port", type=int, default=0)
    common.add_argument("--time", type=float, default=0.02, help="service time of a request [0.02]")
    common.add_argument("--body", type=int, default=2000, help="bytes of each response body [2000]")
    common.add_argument("--seed", type=int, default=1)
    common.add_argument("--status", type=int, help="status of a failed answer [503; errors: 500]")
    common.add_argument("--at-most", type=float, default=900, help="end after this time [900]")
    common.add_argument("--stdin", action="store_true", help="end when standard input is closed")
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = top.add_subparsers(dest="mode", required=True, metavar="MODE")

    def mode(name, behaviour, **options):
        sub = modes.add_parser(name, parents=[common], help=behaviour.__doc__, description=behaviour.__doc__)
        sub.set_defaults(behaviour=behaviour)
        for option, (kind, default) in options.items():
            flag = "--" + option.replace("_", "-")
            if kind is bool:
                sub.add_argument(flag, action="store_true")
            else:
                sub.add_argument(flag, type=kind, default=default)
        return sub

    mode("fixed", Behaviour).description = "Each request takes --time and gets --body bytes; large bodies with --body 10000000."
    mode("errors", Errors, share=(float, 0.01))
    mode("die", Die, after=(int, 1000))
    mode("restart", Restart, every=(float, 14.0), down=(float, 1.0), gently=(bool, False))
    mode("degrade", Degrade, per=(float, 0.0001))
    mode("pauses", Pauses, every=(float, 5.0), pause=(float, 1.0))
    mode("rate", Rate, per_second=(int, 100))
    mode("lock", Lock, held=(float, 0.01))
    mode("mixed", Mixed, share=(float, 0.1), slow=(float, 1.0))
    mode("workers", Workers, workers=(int, 10), queue=(int, 0), refuse=(bool, False))
    mode("headers", Headers, fields=(int, 1), size=(int, 10000))
    mode("keep", Keep, requests=(int, 0), idle=(float, 0.0), silent=(bool, False))
    mode("accepting", Accepting, every=(float, 0.0), backlog=(int, 8))
    return top


async def main(args):
    behaviour = args.behaviour(args)
    server = Server(behaviour, port=args.port, opened=behaviour.opened, answered=behaviour.answered)
    behaviour.server = server
    accepting = isinstance(behaviour, Accepting)
    if accepting:
        behaviour.bind()
    task = asyncio.create_task(behaviour.run())
    await serve(server, args.mode, args.at_most, args.stdin, accept=not accepting)
    await task


if __name__ == "__main__":
    asyncio.run(main(parser().parse_args()))
