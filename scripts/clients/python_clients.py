"""Clients by Python's libraries: python_clients.py h2|httpx|aioquic ORDER.

Needs what requirements.txt names. What the server did wrong is in the report.
"""

import importlib
import sys

from client import Report, order


def main():
    client = importlib.import_module(f"python_{sys.argv.pop(1)}")
    wanted, report = order(), Report()
    try:
        getattr(client, wanted.mode)(wanted, report)
    except Exception as error:  # Whatever a library makes of what the server did.
        report.fail(error)
    report.write()


main()
