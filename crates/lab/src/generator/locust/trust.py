# Loaded by Locust's workers after a locustfile: requests to the server under test trust the authority of the run, where its certificate is of
# that. Requests to others, and users who say themselves what they trust, are as they were.
import os
from urllib.parse import urlsplit

try:
    from requests.adapters import HTTPAdapter
except ImportError:
    HTTPAdapter = None

_AUTHORITY = os.environ.get("GENKAI_AUTHORITY", "")

if HTTPAdapter is not None and _AUTHORITY:
    _send = HTTPAdapter.send

    def _trusting(self, request, stream=False, timeout=None, verify=True, *more, **named):
        # The pool of connections is chosen by what is trusted, so this must be said before.
        if verify is True and urlsplit(request.url).hostname == "127.0.0.1" and os.path.exists(_AUTHORITY):
            verify = _AUTHORITY
        return _send(self, request, stream, timeout, verify, *more, **named)

    HTTPAdapter.send = _trusting
