#!/usr/bin/env python3
"""A server whose behaviour is chosen by the path of each request, and that counts what it did.

    misbehave.py [--port N] [--at-most SECONDS] [--stdin] [--tls CERT KEY]

Binds port 0 of 127.0.0.1, prints one JSON line with `address` and `control` (see counting.py), and serves until SIGTERM.
The argument of a path follows a question mark: `/delay?0.2`, `/every?10`. `BEHAVIOURS` lists the paths.
"""

import argparse
import asyncio
import base64
import gzip
import hashlib
import json
import os
import random
import ssl
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from counting import Server, serve  # noqa: E402

BODY = b"x" * 100
BEHAVIOURS = {}


def path(name):
    def add(function):
        BEHAVIOURS[name] = function
        return function
    return add


def raw(connection, data, status, shut=False):
    """Answers with these very bytes and counts them as an answer with this status (0: no whole answer)."""
    connection.write(data)
    connection.done(status)
    if shut:
        connection.shut()
    else:
        connection.advance()


def head(*lines):
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@path("/ok")
def ok(connection, request):
    connection.answer(200, BODY)


@path("/status")
def status(connection, request):
    connection.answer(int(request.query), BODY)


@path("/delay")
def delay(connection, request):
    connection.later(float(request.query), lambda: connection.answer(200, BODY))


@path("/lognormal")
def lognormal(connection, request):
    connection.later(random.lognormvariate(-4.5, 0.8), lambda: connection.answer(200, BODY))


@path("/big")
def big(connection, request):
    connection.answer(200, b"x" * int(request.query))


@path("/gzip")
def gzipped(connection, request):
    connection.answer(200, gzip.compress(b"hello world " * 1000), [("Content-Encoding", "gzip")])


@path("/bighead")
def bighead(connection, request):
    connection.answer(200, BODY, [("X-A", "a" * int(request.query))])


@path("/manyfields")
def manyfields(connection, request):
    connection.answer(200, BODY, [("X-%d" % n, "a") for n in range(int(request.query))])


@path("/redirect")
def redirect(connection, request):
    connection.answer(302, b"", [("Location", "/ok")])


@path("/login")
def login(connection, request):
    """JSON with a token that counts up; `/needs` wants one that was given out."""
    connection.server.counts.notes["tokens"] = connection.server.counts.notes.get("tokens", 0) + 1
    token = "t%d" % connection.server.counts.notes["tokens"]
    connection.answer(200, json.dumps({"token": token, "items": [1, 2]}).encode(), [("Content-Type", "application/json")])


@path("/needs")
def needs(connection, request):
    connection.answer(200 if request.headers.get("authorization", "").startswith("Bearer t") else 401, BODY)


@path("/echo")
def echo(connection, request):
    connection.answer(200, request.body)


@path("/mixed")
def mixed(connection, request):
    """Every status in turn, ten of them."""
    n = connection.server.counts.begun % 10
    connection.answer([200, 201, 204, 301, 400, 404, 429, 500, 502, 503][n], BODY)


@path("/every")
def every(connection, request):
    connection.answer(500 if connection.server.counts.by_path[request.target] % int(request.query) == 0 else 200, BODY)


@path("/everyhang")
def everyhang(connection, request):
    if connection.server.counts.by_path[request.target] % int(request.query):
        connection.answer(200, BODY)


def unanswered(connection):
    """Closes, and counts whether the connection was new or kept."""
    notes, name = connection.server.counts.notes, "closed_kept" if connection.requests > 1 else "closed_new"
    notes[name] = notes.get(name, 0) + 1
    connection.shut()


@path("/everyclose")
def everyclose(connection, request):
    """Every n-th request is answered by closing the connection without a byte, whether it is the first of its connection or not."""
    if connection.server.counts.by_path[request.target] % int(request.query):
        connection.answer(200, BODY)
    else:
        unanswered(connection)


@path("/everyclosekept")
def everyclosekept(connection, request):
    """Every n-th request that is not the first of its connection is answered by closing the connection without a byte."""
    notes = connection.server.counts.notes
    notes["kept"] = notes.get("kept", 0) + (connection.requests > 1)
    if connection.requests > 1 and notes["kept"] % int(request.query) == 0:
        unanswered(connection)
    else:
        connection.answer(200, BODY)


@path("/hang")
def hang(connection, request):
    pass


@path("/close")
def close(connection, request):
    unanswered(connection)


@path("/reset")
def reset(connection, request):
    connection.reset()


@path("/closeafter")
def closeafter(connection, request):
    connection.answer(200, BODY, close=True)


@path("/silent")
def silent(connection, request):
    """Closes after the answer without saying so."""
    connection.answer(200, BODY)
    connection.shut()


@path("/silentafter")
def silentafter(connection, request):
    """Closes after n requests of a connection without saying so."""
    connection.answer(200, BODY)
    if connection.requests >= int(request.query):
        connection.shut()


@path("/closeaftern")
def closeaftern(connection, request):
    connection.answer(200, BODY, close=connection.requests >= int(request.query))


@path("/idleclose")
def idleclose(connection, request):
    connection.answer(200, BODY)
    n = connection.requests
    connection.later(float(request.query), lambda: connection.shut() if connection.requests == n and not connection.request else None)


@path("/cut")
def cut(connection, request):
    raw(connection, head("HTTP/1.1 200 OK", "Content-Length: 1000") + b"x" * 500, 0, shut=True)


@path("/cutchunk")
def cutchunk(connection, request):
    raw(connection, head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n", 0, shut=True)


def hit(connection, request):
    """Whether it is one of every n-th request for its path."""
    return connection.server.counts.by_path[request.target] % int(request.query) == 0


@path("/everycut")
def everycut(connection, request):
    cut(connection, request) if hit(connection, request) else connection.answer(200, BODY)


@path("/everycutchunk")
def everycutchunk(connection, request):
    cutchunk(connection, request) if hit(connection, request) else chunked(connection, request)


@path("/interims")
def interims(connection, request):
    """So many interim responses before the last, the first with a field, and nobody has asked for them."""
    for n in range(int(request.query)):
        connection.write(head("HTTP/1.1 %d Interim" % (103 if n == 0 else 102), "Link: </a>"))
    connection.answer(200, BODY)


@path("/headlong")
def headlong(connection, request):
    """The head in as many pieces, some milliseconds apart."""
    whole = head("HTTP/1.1 200 OK", "Content-Length: 5") + b"hello"
    pieces = max(1, int(request.query))
    step = len(whole) // (pieces + 1)
    for n in range(pieces):
        connection.later(0.003 * n, lambda part=whole[n * step:(n + 1) * step]: connection.write(part))
    connection.later(0.003 * pieces, lambda: raw(connection, whole[pieces * step:], 200))


@path("/cuthead")
def cuthead(connection, request):
    raw(connection, b"HTTP/1.1 200 OK\r\nContent-Le", 0, shut=True)


@path("/badchunk")
def badchunk(connection, request):
    raw(connection, head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"ZZ\r\nhello\r\n0\r\n\r\n", 0, shut=True)


@path("/bad")
def bad(connection, request):
    raw(connection, b"HELLO there\r\n\r\n", 0, shut=True)


@path("/switch")
def switch(connection, request):
    raw(connection, head("HTTP/1.1 101 Switching Protocols", "Upgrade: other", "Connection: Upgrade"), 0)


@path("/chunked")
def chunked(connection, request):
    raw(connection, head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX-A: b\r\n\r\n", 200)


@path("/continue")
def interim(connection, request):
    connection.write(head("HTTP/1.1 103 Early Hints", "Link: </a>"))
    connection.later(0.02, lambda: connection.answer(200, BODY))


@path("/nolength")
def nolength(connection, request):
    raw(connection, head("HTTP/1.1 200 OK") + b"hello", 200, shut=True)


@path("/http10")
def http10(connection, request):
    raw(connection, head("HTTP/1.0 200 OK") + b"hello", 200, shut=True)


@path("/trickle")
def trickle(connection, request):
    """A body of ten bytes, one each 50 ms."""
    connection.write(head("HTTP/1.1 200 OK", "Content-Length: 10"))

    def step(n):
        if n < 9:
            connection.write(b"x")
            connection.later(0.05, lambda: step(n + 1))
        else:
            raw(connection, b"x", 200)
    connection.later(0.05, lambda: step(0))


def frame(opcode, payload):
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", 0x80 | opcode, size) + payload
    if size < 65536:
        return struct.pack("!BBH", 0x80 | opcode, 126, size) + payload
    return struct.pack("!BBQ", 0x80 | opcode, 127, size) + payload


class WebSocket:
    """Echoes messages; `drop`, `twice`, `garble`, `close`, `cut`: that to every n-th message of all connections.

    `lastclose`, `lastcut`: the n-th message of each connection is echoed, and the close frame (or the end of the stream) follows in the same
    write; `soonclose`, `sooncut`: 2 ms later. These are counted as closings of the server unless the client's close frame had come before.
    """

    def __init__(self, connection, query):
        self.connection, self.buffer = connection, b""
        self.what, _, n = query.partition("=")
        self.n = int(n or 1)
        self.echoed, self.over = 0, False

    def __call__(self, data):
        self.buffer += data
        while True:
            taken = self.take()
            if taken is None:
                return
            self.got(*taken)

    def take(self):
        """One frame of the client, which is masked."""
        b = self.buffer
        if len(b) < 2:
            return None
        size, at = b[1] & 127, 2
        if size == 126:
            if len(b) < 4:
                return None
            size, at = struct.unpack("!H", b[2:4])[0], 4
        elif size == 127:
            if len(b) < 10:
                return None
            size, at = struct.unpack("!Q", b[2:10])[0], 10
        if len(b) < at + 4 + size:
            return None
        mask, payload = b[at:at + 4], b[at + 4:at + 4 + size]
        self.buffer = b[at + 4 + size:]
        return b[0] & 15, bytes(c ^ mask[i % 4] for i, c in enumerate(payload))

    def got(self, opcode, payload):
        connection, counts = self.connection, self.connection.counts
        if self.over:
            return
        if opcode == 8:
            self.over = True
            counts.notes["asked"] = counts.notes.get("asked", 0) + 1
            connection.write(frame(8, payload))
            connection.shut()
        elif opcode == 9:
            connection.write(frame(10, payload))
            counts.notes["pings"] = counts.notes.get("pings", 0) + 1
        elif opcode in (1, 2):
            counts.messages_in += 1
            if self.what.startswith(("last", "soon")):
                self.last(opcode, payload)
                return
            hit = self.what and counts.messages_in % self.n == 0
            if hit:
                counts.notes[self.what] = counts.notes.get(self.what, 0) + 1
            self.reply(opcode, payload, self.what if hit else "")

    def last(self, opcode, payload):
        connection, counts = self.connection, self.connection.counts
        self.echoed += 1
        counts.messages_out += 1
        data = frame(opcode, payload)
        if self.echoed < self.n:
            connection.write(data)
        elif self.what.startswith("last"):
            self.part(data)
        else:
            connection.write(data)
            connection.later(0.002, lambda: None if self.over else self.part(b""))

    def part(self, data):
        self.over = True
        notes = self.connection.counts.notes
        notes["parted"] = notes.get("parted", 0) + 1
        self.connection.write(data + (frame(8, struct.pack("!H", 1001)) if self.what.endswith("close") else b""))
        self.connection.shut()

    def reply(self, opcode, payload, what):
        connection, counts = self.connection, self.connection.counts
        if what == "drop":
            return
        if what in ("close", "cut"):
            if what == "close":
                connection.write(frame(8, struct.pack("!H", 1001)))
            connection.shut()
            return
        data = frame(opcode, payload[::-1] if what == "garble" else payload)
        for _ in range(2 if what == "twice" else 1):
            connection.write(data)
            counts.messages_out += 1


@path("/ws")
def websocket(connection, request):
    key = request.headers.get("sec-websocket-key", "")
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    connection.write(head("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: " + accept))
    connection.done(101)
    connection.raw = WebSocket(connection, request.query)


def behave(connection, request):
    behaviour = BEHAVIOURS.get(request.path)
    if behaviour:
        behaviour(connection, request)
    else:
        connection.answer(404, b"no such path\n")


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--at-most", type=float, default=900)
    parser.add_argument("--stdin", action="store_true")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    args = parser.parse_args()
    tls = None
    if args.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*args.tls)
    await serve(Server(behave, port=args.port, tls=tls), "misbehave", args.at_most, args.stdin)


if __name__ == "__main__":
    asyncio.run(main())
