"""An ASGI application that waits 50 ms for something else, as many requests at once as the variable SLOTS says.

SLOTS=4 uvicorn --app-dir apps/command --port 8000 slots:app
"""

import asyncio
import os

slots = None


async def app(scope, receive, send):
    global slots
    if scope["type"] != "http":
        return
    if slots is None:
        slots = asyncio.Semaphore(int(os.environ.get("SLOTS", "4")))
    async with slots:
        await asyncio.sleep(0.05)
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"6")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello\n"})
