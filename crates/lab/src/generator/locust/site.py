# Loaded by Locust's workers after a locustfile: requests to the server under test are for the site that the file's users name as their host.
# Where a redirect leads to that name, it leads to the server under test again, and never to the machine that has the name.
import os
from urllib.parse import urlsplit

from locust import events

_SITE = os.environ.get("GENKAI_SITE", "")
_NAME = urlsplit("//" + _SITE).hostname
_environment = None


@events.init.add_listener
def _begin(environment, **_):
    global _environment
    _environment = environment


def _tested():
    """Where the server under test is: what genkai says that the users' host is."""
    return urlsplit(getattr(_environment, "host", None) or "")


def _led(url):
    """A URL of the site at the server under test; others as they are."""
    parts, tested = urlsplit(url), _tested()
    if parts.hostname != _NAME:
        return url
    if not tested.netloc:
        raise ConnectionError(f"where {_SITE} is to be tested is not known yet")
    return parts._replace(scheme=tested.scheme, netloc=tested.netloc).geturl()


def _is_tested(url):
    return urlsplit(url).netloc == _tested().netloc


if _SITE:
    try:
        from requests import Session
        from requests.adapters import HTTPAdapter
    except ImportError:
        pass
    else:
        _prepare, _send = Session.prepare_request, HTTPAdapter.send

        # Cookies are kept by the name that is asked for, so it must be known before they are chosen.
        def _named(self, request):
            request.url = _led(request.url)
            own = "Host" in self.headers or any(name.lower() == "host" for name in request.headers or {})
            if _is_tested(request.url) and not own:
                request.headers = {**(request.headers or {}), "Host": _SITE}
            return _prepare(self, request)

        def _directed(self, request, *more, **named):
            request.url = _led(request.url)
            if not _is_tested(request.url) and request.headers.get("Host") == _SITE:
                del request.headers["Host"]
            return _send(self, request, *more, **named)

        Session.prepare_request, HTTPAdapter.send = _named, _directed
    try:
        from locust.contrib.fasthttp import LocustUserAgent
    except ImportError:
        pass
    else:
        _open = LocustUserAgent._urlopen

        def _opened(self, request):
            led = _led(request.url)
            if led != request.url:
                request.set_url(led)
            if _is_tested(led):
                if "host" not in request.headers:
                    request.headers["Host"] = _SITE
            elif request.headers.get("host") == _SITE:
                request.headers.discard("host")
            return _open(self, request)

        LocustUserAgent._urlopen = _opened
