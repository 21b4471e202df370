"""A server with a setting that it does not accept above a largest value, and one that is its limit.

python3 strict.py PORT SIDE CACHE: of a square with this side an eighth is the number of requests of 50 ms at once. It refuses to start with a
side of more than 7, and with any other cache than 10.
"""

import sys
import threading
import time

from serving import Server

port, side, cache = (int(word) for word in sys.argv[1:])
if side > 7:
    sys.exit(f"side: {side} is more than 7")
if cache != 10:
    sys.exit(f"cache: {cache} does not fit")
free = threading.BoundedSemaphore(side * side // 8)


def wait():
    with free:
        time.sleep(0.05)


Server(port, wait).serve_forever()
