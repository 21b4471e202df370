"""A WSGI application that waits 50 ms for something else, one request a worker at a time.

gunicorn --chdir apps/command -w 2 -b 127.0.0.1:8000 sync:app
"""

import time


def app(environ, start_response):
    time.sleep(0.05)
    body = b"hello\n"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
