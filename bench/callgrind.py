"""Instructions per request in the server itself, the kernel's not counted: by valgrind's callgrind.

Two runs, one with N requests and one with 2N; their difference divided by N holds no start-up.
"""

import collections
import contextlib
import http.client
import re
import socket

CONNECTIONS = 32


def self_costs(text):
    """From callgrind's output: function -> instructions in it alone."""
    costs = collections.Counter()
    function, skip = "", False
    for line in text.splitlines():
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            skip = True  # the next line is what the called function cost
        elif line[:1].isdigit():
            if skip:
                skip = False
            else:
                costs[function] += int(line.split()[1])
    return costs


def plain_name(function):
    """A function's name without hashes and type arguments, short enough for a table."""
    name = re.sub(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,}\]", "", function.split("'")[0])
    while True:
        shorter = re.sub(r"(?<=\w)(::)?<[^<>]*>", "", name)
        if shorter == name:
            break
        name = shorter
    return name if len(name) <= 80 else name[:77] + "..."


def difference(once, twice, requests):
    """Instructions per request and function, start-up cancelled out; the dearest first."""
    per_request = collections.Counter()
    for function, cost in twice.items():
        per_request[plain_name(function)] += (cost - once.get(function, 0)) / requests
    return per_request.most_common()


def read_answer(connection):
    """Reads one answer and forgets it; its status must be 200."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    if answer.status != 200:
        raise OSError(f"answered {answer.status}")
    answer.read()


def ask(port, requests, number, connections=CONNECTIONS):
    """Exactly `number` requests over a few connections, which all wait for their answers at once.

    How many of them the server finds at each turn of its loop is chance, and so is each one's share of a turn: over one
    connection there is a turn for each, and the instructions of two programs can be compared."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(connections)]
        for asked in range(0, number, connections):
            batch = sockets[:number - asked]
            for index, connection in enumerate(batch):
                connection.sendall(requests[(asked + index) % len(requests)])
            for connection in batch:
                read_answer(connection)
