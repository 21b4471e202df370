"""Listens at once, and answers after a while: an application that is loaded behind a listener that is there.

python3 late.py PORT SLOTS SECONDS: as many requests at once as slots, each of 50 ms, once these seconds are over.
"""

import sys
import threading
import time

from serving import Server

port, slots, seconds = (int(word) for word in sys.argv[1:4])
free = threading.Semaphore(slots)


def wait():
    with free:
        time.sleep(0.05)


server = Server(port, wait)
time.sleep(seconds)
server.serve_forever()
