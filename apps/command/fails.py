"""A server that fails whatever its parameters are: one second of every six, or a few of its answers by chance.

python3 fails.py PORT times|chance WORKERS DEPTH: neither workers nor depth is read.
"""

import random
import sys
import time

from serving import Server

port, how = int(sys.argv[1]), sys.argv[2]


def wait():
    if how == "times" and time.time() % 6 < 1:
        return 503
    time.sleep(0.05)
    return 500 if how == "chance" and random.random() < 0.004 else 200


Server(port, wait).serve_forever()
