#!/usr/bin/env python3
"""Examines genkai from outside: whatever it states is compared with independent counts.

    examine.py PROGRAM [--only WORD] [--list]

Systems whose truth is known by construction are run through its commands; each check has what was said and what is
true. A table at the end; exit code 1 when something differed. docs/examine.md says what is checked.
"""

import argparse
import os
import shutil
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench  # noqa: E402
import cases_load  # noqa: E402, F401
import cases_more  # noqa: E402, F401
import cases_servers  # noqa: E402, F401


def run(b, name, needs, function):
    missing = [program for program in needs if not (shutil.which(program) or os.path.exists("/usr/sbin/" + program))]
    if missing:
        print("left out  %s: no %s" % (name, ", ".join(missing)), flush=True)
        return
    start = time.time()
    b.checks.where = name
    try:
        function(b)
    except Exception:
        traceback.print_exc()
        b.checks.where = name
        b.checks.say("the case ran to its end", "an exception", "none", False)
    b.checks.where = "leftovers"
    b.checks.same("left behind by " + name, b.leftovers(), [])
    print("%5.1f s  %s" % (time.time() - start, name), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="", metavar="WORD", help="only cases whose name contains this")
    parser.add_argument("--list", action="store_true", help="only names")
    args = parser.parse_args()
    chosen = [entry for entry in bench.CASES if args.only.lower() in entry[0].lower()]
    if args.list:
        print("\n".join(entry[0] for entry in chosen))
        return 0
    if not chosen:
        print("no case has %r in its name" % args.only, file=sys.stderr)
        return 2
    # Ended from outside, too, it stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    b = bench.Bench(args.program)
    try:
        for entry in chosen:
            run(b, *entry)
        return 1 if b.checks.table() else 0
    finally:
        b.end()


if __name__ == "__main__":
    sys.exit(main())
