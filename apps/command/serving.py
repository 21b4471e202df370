"""What the servers of this folder in Python share: an HTTP server that answers each GET after a wait."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Listens at once on a port of this machine; `wait` is called for each request before it is answered, and may return its
    status."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, port, wait):
        self.wait = wait
        super().__init__(("127.0.0.1", port), Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(self.server.wait() or 200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass
