"""An HTTP/1.1 server that counts exactly what happens to it, for backends whose behaviour is known.

It shares no code with genkai. Every figure is counted where it happens: a request when its last byte has been
read, an answer when its last byte has been handed to the kernel's socket or to the write buffer before it.

`GET /counts` on the control address answers with all counts as JSON, `GET /times` with the instants of each
request (seconds since 1970), `GET /reset` with the counts, which are zero afterwards, and `GET /stop` ends the process.
"""

import array
import asyncio
import collections
import json
import os
import signal
import socket
import struct
import sys
import time

REASONS = {200: "OK", 204: "No Content", 301: "Moved Permanently", 302: "Found", 304: "Not Modified",
           400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}

ESTABLISHED = 1
"""TCP_ESTABLISHED, the first byte of struct tcp_info."""

PATHS_MOST = 1000
"""Further paths are counted together as "(others)"."""


class Counts:
    """Everything that is counted. Connections that are open stay counted after a reset."""

    def __init__(self):
        self.open = 0
        self.reset()

    def reset(self):
        self.since = time.time()
        self.begun = 0
        self.answered = 0
        self.left = 0
        self.cut = 0
        self.refused_connections = 0
        self.in_service = getattr(self, "in_service", 0)
        self.in_service_most = self.in_service
        self.waiting = getattr(self, "waiting", 0)
        self.waiting_most = self.waiting
        self.accepted = 0
        self.open_most = self.open
        self.held_most = 0
        self.closed_here = 0
        self.closed_by_client = 0
        self.received = 0
        self.sent = 0
        self.bodies = 0
        self.body_bytes_in = 0
        self.messages_in = 0
        self.messages_out = 0
        self.by_path = collections.Counter()
        self.by_method = collections.Counter()
        self.by_status = collections.Counter()
        self.begun_at = array.array("d")
        self.answered_at = array.array("d")
        self.took = array.array("d")
        self.status_of = array.array("h")
        self.refused_at = array.array("d")
        self.accepted_at = array.array("d")
        self.notes = {}

    def quantiles(self):
        """Exact quantiles (nearest rank) of the time from the read request to its answer, in milliseconds."""
        took = sorted(self.took)
        if not took:
            return {}
        at = lambda q: round(took[max(0, -int(-len(took) * q // 1) - 1)] * 1e3, 3)
        return {"p50": at(.5), "p90": at(.9), "p95": at(.95), "p99": at(.99), "max": at(1), "min": round(took[0] * 1e3, 3)}

    def first_error(self):
        """Instant and status of the first answer of 400 or more."""
        for at, status in zip(self.answered_at, self.status_of):
            if status >= 400:
                return {"at": at, "status": status}
        return None

    def json(self):
        return {
            "requests": {"begun": self.begun, "answered": self.answered, "left": self.left, "cut": self.cut,
                         "in_service": self.in_service, "in_service_most": self.in_service_most,
                         "waiting": self.waiting, "waiting_most": self.waiting_most,
                         "by_path": dict(self.by_path), "by_method": dict(self.by_method),
                         "by_status": {str(k): v for k, v in sorted(self.by_status.items())}},
            "connections": {"accepted": self.accepted, "open": self.open, "most": self.open_most,
                            "held_most": self.held_most, "refused": self.refused_connections, "closed_here": self.closed_here,
                            "closed_by_client": self.closed_by_client},
            "bytes": {"received": self.received, "sent": self.sent, "bodies": self.bodies, "request_bodies": self.body_bytes_in},
            "messages": {"in": self.messages_in, "out": self.messages_out},
            "service_ms": self.quantiles(),
            "first_begun": self.begun_at[0] if self.begun_at else None,
            "last_begun": self.begun_at[-1] if self.begun_at else None,
            "last_answered": self.answered_at[-1] if self.answered_at else None,
            "first_error": self.first_error(),
            "first_refused": self.refused_at[0] if self.refused_at else None,
            "last_refused": self.refused_at[-1] if self.refused_at else None,
            "notes": self.notes,
            "since": self.since,
            "now": time.time(),
            "pid": os.getpid(),
        }

    def times(self):
        return {"begun": list(self.begun_at), "answered": list(self.answered_at), "status": list(self.status_of),
                "took": list(self.took), "refused": list(self.refused_at), "accepted": list(self.accepted_at)}


class Request:
    """A request that has been read whole."""

    def __init__(self, method, target, version, headers, body):
        self.method, self.target, self.version, self.headers, self.body = method, target, version, headers, body
        self.path, _, self.query = target.partition("?")
        self.at = time.time()
        self.clock = time.perf_counter()


class Connection(asyncio.Protocol):
    """Reads requests, one at a time: the next one is handed over when the last one has been answered."""

    def __init__(self, server):
        self.server, self.counts = server, server.counts
        self.buffer = b""
        self.request = None
        self.requests = 0
        self.gone = False
        self.closing = False
        self.raw = None
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        sock = transport.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        counts = self.counts
        counts.accepted += 1
        counts.accepted_at.append(time.time())
        counts.open += 1
        counts.open_most = max(counts.open_most, counts.open)
        self.server.connections.add(self)
        counts.held_most = max(counts.held_most, sum(each.held() for each in self.server.connections))
        self.server.opened(self)

    def held(self):
        """Whether the client has it open, too, as far as the kernel has heard: no FIN and no reset of the client's has come."""
        try:
            return self.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED
        except (OSError, AttributeError):
            return False

    def connection_lost(self, error):
        self.gone = True
        self.counts.open -= 1
        self.server.connections.discard(self)
        if self.closing:
            self.counts.closed_here += 1
        else:
            self.counts.closed_by_client += 1
        if self.request is not None:
            # Its answer was never written: the client left, or this server cut it off.
            if self.closing:
                self.counts.cut += 1
            else:
                self.counts.left += 1
            self.request = None
            self.counts.in_service -= 1

    def data_received(self, data):
        self.counts.received += len(data)
        if self.raw is not None:
            self.raw(data)
            return
        self.buffer += data
        self.advance()

    def advance(self):
        """Takes the next whole request from the buffer, if none is in service."""
        if self.request is not None or self.gone or self.closing or self.raw is not None:
            return
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        taken = self.body(headers, end + 4)
        if taken is None:
            return
        body, after = taken
        self.buffer = self.buffer[after:]
        try:
            method, target, version = lines[0].split(" ")
        except ValueError:
            self.shut()
            return
        self.requests += 1
        request = Request(method, target, version, headers, body)
        self.request = request
        counts = self.counts
        counts.begun += 1
        counts.begun_at.append(request.at)
        counts.body_bytes_in += len(body)
        counts.by_path[target if len(counts.by_path) < PATHS_MOST or target in counts.by_path else "(others)"] += 1
        counts.by_method[method] += 1
        counts.in_service += 1
        counts.in_service_most = max(counts.in_service_most, counts.in_service)
        self.server.behaviour(self, request)

    def body(self, headers, start):
        """The body and where the next request begins; None while it is not whole."""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, at = b"", start
            while True:
                line = self.buffer.find(b"\r\n", at)
                if line < 0:
                    return None
                size = int(self.buffer[at:line].split(b";")[0], 16)
                if len(self.buffer) < line + 2 + size + 2:
                    return None
                body += self.buffer[line + 2:line + 2 + size]
                at = line + 2 + size + 2
                if size == 0:
                    return body, at
        size = int(headers.get("content-length", 0))
        if len(self.buffer) < start + size:
            return None
        return self.buffer[start:start + size], start + size

    def write(self, data):
        if not self.gone:
            self.counts.sent += len(data)
            self.transport.write(data)

    def answer(self, status=200, body=b"", headers=(), close=False):
        """Answers the request in service, with a right Content-Length. Does nothing when the client has left."""
        if self.gone or self.request is None:
            return
        head = "HTTP/1.1 %d %s\r\n" % (status, REASONS.get(status, "X"))
        if status != 204 and status >= 200:
            head += "Content-Length: %d\r\n" % len(body)
        for name, value in headers:
            head += "%s: %s\r\n" % (name, value)
        wish, old = self.request.headers.get("connection", "").lower(), self.request.version == "HTTP/1.0"
        if close or wish == "close" or old and wish != "keep-alive":
            head += "Connection: close\r\n"
            close = True
        elif old:
            head += "Connection: keep-alive\r\n"
        data = b"" if self.request.method == "HEAD" or status in (204, 304) else body
        self.counts.bodies += len(data)
        self.write(head.encode("latin-1") + b"\r\n" + data)
        self.done(status)
        if close:
            self.shut()
        else:
            self.advance()

    def done(self, status):
        """The request in service has been answered, whatever bytes that took."""
        request, counts = self.request, self.counts
        self.request = None
        counts.in_service -= 1
        counts.answered += 1
        counts.answered_at.append(time.time())
        counts.status_of.append(status)
        counts.took.append(time.perf_counter() - request.clock)
        counts.by_status[status] += 1
        self.server.answered(self)

    def shut(self):
        """Closes after what is written has been sent."""
        self.closing = True
        if self.transport is not None:
            self.transport.close()

    def reset(self):
        """Closes with a reset."""
        self.closing = True
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def later(self, seconds, action):
        """Does something after a time, unless the connection is gone by then."""
        if seconds <= 0:
            action()
        else:
            asyncio.get_running_loop().call_later(seconds, lambda: None if self.gone else action())


class Server:
    """A listener, its connections and a control address. `behaviour(connection, request)` decides what happens."""

    def __init__(self, behaviour, host="127.0.0.1", port=0, backlog=4096, opened=None, answered=None, tls=None):
        self.counts = Counts()
        self.connections = set()
        self.behaviour = behaviour
        self.host, self.port, self.backlog = host, port, backlog
        self.opened = opened or (lambda connection: None)
        self.answered = answered or (lambda connection: None)
        self.tls = tls
        self.listener = None

    async def listen(self):
        """Opens the listener; again on the same port if it was open before."""
        loop = asyncio.get_running_loop()
        self.listener = await loop.create_server(lambda: Connection(self), self.host, self.port, backlog=self.backlog,
                                                 reuse_address=True, ssl=self.tls)
        self.port = self.listener.sockets[0].getsockname()[1]

    def unlisten(self, cut):
        """Closes the listener, so that connections are refused, and with `cut` every open connection."""
        self.listener.close()
        if cut:
            for connection in list(self.connections):
                connection.closing = True
                connection.transport.abort()


async def control(counts, reader, writer):
    try:
        line = (await reader.readline()).decode("latin-1").split(" ")
        path = line[1] if len(line) > 1 else "/"
        body = json.dumps(counts.times() if path == "/times" else counts.json()).encode()
        if path == "/reset":
            counts.reset()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()
        if path == "/stop":
            finish(counts)
    except (ConnectionError, OSError):
        pass


def finish(counts, code=0):
    """Ends the process at once; the last line of its output has the counts."""
    try:
        print(json.dumps({"ended": counts.json()}), flush=True)
    except OSError:
        pass
    os._exit(code)


async def serve(server, mode, at_most, stdin=False, extra=None, accept=True):
    """Listens, prints one line with the addresses, and serves for at most so many seconds."""
    loop = asyncio.get_running_loop()
    counts = server.counts
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, finish, counts)
    if accept:
        await server.listen()
    listener = await asyncio.start_server(lambda r, w: control(counts, r, w), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    scheme = "https" if server.tls else "http"
    print(json.dumps({"address": "%s://%s:%d" % (scheme, server.host, server.port), "control": "http://127.0.0.1:%d" % port,
                      "pid": os.getpid(), "mode": mode, **(extra or {})}), flush=True)
    if stdin:
        loop.add_reader(sys.stdin, lambda: None if os.read(0, 4096) else finish(counts))
    await asyncio.sleep(at_most)
    finish(counts)
