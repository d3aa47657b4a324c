"""Instructions per request in the server itself, the kernel's not counted: by valgrind's callgrind.

Two runs, one with N requests and one with 2N; their difference divided by N holds no start-up.
"""

import collections
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


def read_answer(stream):
    """Reads one answer and forgets it; its status must be 200."""
    status = stream.readline()
    if not status.startswith(b"HTTP/1.1 200"):
        raise OSError(f"answered {status!r}")
    length = None
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    left = length
    while left:
        piece = stream.read(min(left, 1 << 20))
        if not piece:
            raise OSError("an answer ended early")
        left -= len(piece)


def ask(port, requests, number):
    """Exactly `number` requests over a few connections, which all wait for their answers at once."""
    sockets = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(CONNECTIONS)]
    streams = [one.makefile("rb", buffering=1 << 16) for one in sockets]
    try:
        asked = 0
        while asked < number:
            batch = min(CONNECTIONS, number - asked)
            for index in range(batch):
                sockets[index].sendall(requests[(asked + index) % len(requests)])
            for index in range(batch):
                read_answer(streams[index])
            asked += batch
    finally:
        for one in [*streams, *sockets]:
            one.close()
