"""A server that starts only with the right token, and prints it; as many requests of 50 ms at once as its file says.

python3 guarded.py PORT FILE TOKEN SHA256 [WORD ...]: prints the words, too. FILE has {"slots": 2, "token": "..."}; SHA256 is what the token must have, in hexadecimal.
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, file, token, digest, *more = sys.argv[1:]
with open(file, encoding="utf-8") as text:
    settings = json.loads(text.read() or "null") or {"token": token}
print(f"starting with {token}", *more, flush=True)
if settings["token"] != token or hashlib.sha256(token.encode()).hexdigest() != digest:
    sys.exit(f"{token} is not the token")
free = threading.BoundedSemaphore(settings["slots"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with free:
            time.sleep(0.05)
        print(f"served, seen {token}", flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


Server(("127.0.0.1", int(port)), Handler).serve_forever()
