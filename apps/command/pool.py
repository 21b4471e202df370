"""As many requests at once as a file says, each of which waits 50 ms for something else.

python3 pool.py FILE, where FILE is like {"port": 8000, "slots": 2, "order": "free"}; with the order "strict" it takes one at a time.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with open(sys.argv[1], encoding="utf-8") as file:
    settings = json.load(file)
slots = threading.Semaphore(1 if settings["order"] == "strict" else settings["slots"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with slots:
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


Server(("127.0.0.1", settings["port"]), Handler).serve_forever()
