# Loaded by Locust after a locustfile: tells of each user class what `locust --list` does not.
import atexit
import json


def _all(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _all(sub)


def _pause(cls):
    """The mean pause between two tasks, seconds; None where it is not the class that decides."""

    class Idle:
        environment = None

    try:
        if any(isinstance(task, type) and "wait_time" in vars(task) for task in cls.tasks):
            return None
        idle = Idle()
        waits = [float(cls.wait_time(idle)) for _ in range(500)]
        return sum(waits) / len(waits)
    except BaseException:
        return None


@atexit.register
def _tell():
    from locust import User

    try:
        from locust.shape import LoadTestShape

        shape = any(not getattr(one, "abstract", False) for one in _all(LoadTestShape))
    except ImportError:
        shape = False
    found = {}
    for one in _all(User):
        found[one.__name__] = {
            "name": one.__name__,
            "weight": float(getattr(one, "weight", 1)),
            "fixed": int(getattr(one, "fixed_count", 0) or 0),
            "pause": _pause(one),
            "host": str(one.host) if getattr(one, "host", None) else None,
        }
    print("genkai-classes " + json.dumps([list(found.values()), shape]), flush=True)
