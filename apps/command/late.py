"""Listens at once, and answers after a while: an application that is loaded behind a listener that is there.

python3 late.py PORT SLOTS SECONDS: as many requests at once as slots, each of 50 ms, once these seconds are over.
"""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, slots, seconds = (int(word) for word in sys.argv[1:4])
free = threading.Semaphore(slots)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with free:
            time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


server = Server(("127.0.0.1", port), Handler)
time.sleep(seconds)
server.serve_forever()
