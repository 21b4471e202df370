"""A server that starts only with the right token, and prints it; as many requests of 50 ms at once as its file says.

python3 guarded.py PORT FILE TOKEN SHA256 [WORD ...]: prints the words, too. FILE has {"slots": 2, "token": "..."}; SHA256 is what the token must have, in hexadecimal.
"""

import hashlib
import json
import sys
import threading
import time

from serving import Server

port, file, token, digest, *more = sys.argv[1:]
with open(file, encoding="utf-8") as text:
    settings = json.loads(text.read() or "null") or {"token": token}
print(f"starting with {token}", *more, flush=True)
if settings["token"] != token or hashlib.sha256(token.encode()).hexdigest() != digest:
    sys.exit(f"{token} is not the token")
free = threading.BoundedSemaphore(settings["slots"])


def wait():
    with free:
        time.sleep(0.05)
    print(f"served, seen {token}", flush=True)


Server(int(port), wait).serve_forever()
