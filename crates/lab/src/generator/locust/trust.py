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
    _verify = HTTPAdapter.cert_verify

    def _trusting(self, conn, url, verify, cert):
        if verify is True and urlsplit(url).hostname == "127.0.0.1" and os.path.exists(_AUTHORITY):
            verify = _AUTHORITY
        return _verify(self, conn, url, verify, cert)

    HTTPAdapter.cert_verify = _trusting
