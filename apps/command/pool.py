"""As many requests at once as a file says, each of which waits 50 ms for something else.

python3 pool.py FILE, where FILE is like {"port": 8000, "slots": 2, "order": "free"}; with the order "strict" it takes one at a time.
"""

import json
import sys
import threading
import time

from serving import Server

with open(sys.argv[1], encoding="utf-8") as file:
    settings = json.load(file)
slots = threading.Semaphore(1 if settings["order"] == "strict" else settings["slots"])


def wait():
    with slots:
        time.sleep(0.05)


Server(settings["port"], wait).serve_forever()
