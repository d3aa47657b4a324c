"""Questions to two servers, and what both have to answer; what may differ is said for each of them."""

import http.client
import re
import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Differ:
    """Two expectations where the pages say that the servers differ."""
    theirs: object
    ours: object


@dataclass(frozen=True)
class Ask:
    """A request and its answer: the status; what the content has in it; fields, by a pattern for all of the value or None
    for none."""
    path: str
    status: object = 200
    has: object = None
    fields: dict = field(default_factory=dict)
    sent: dict = field(default_factory=dict)
    port: int = 80
    tls: bool = False
    host: str = "localhost"
    address: str = "127.0.0.1"
    method: str = "GET"


def side(expectation, ours):
    if isinstance(expectation, Differ):
        return expectation.ours if ours else expectation.theirs
    return expectation


def answer(ask):
    if ask.tls:
        # The certificate is of this machine alone.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(ask.address, ask.port, timeout=30, context=context)
    else:
        connection = http.client.HTTPConnection(ask.address, ask.port, timeout=30)
    default = {80: False, 443: True}.get(ask.port) is ask.tls
    host = ask.host if default else f"{ask.host}:{ask.port}"
    try:
        connection.request(ask.method, ask.path, headers={"Host": host, **ask.sent})
        got = connection.getresponse()
        return got.status, got.headers, got.read().decode(errors="replace")
    finally:
        connection.close()


def faults(ask, ours):
    """What is not as it is expected of one of the servers."""
    try:
        status, fields, content = answer(ask)
    except (OSError, http.client.HTTPException) as error:
        return [f"{ask.method} {ask.path} at {ask.port}: {error!r}"]
    about = f"{ask.method} {ask.path} at {ask.port} of {ask.host}"
    found = []
    if status != side(ask.status, ours):
        found.append(f"{about}: {status}, expected {side(ask.status, ours)}")
    has = side(ask.has, ours)
    if has is not None and has not in content:
        found.append(f"{about}: {has!r} is not in {content[:200]!r}")
    for name, pattern in ask.fields.items():
        pattern, value = side(pattern, ours), fields.get(name)
        fits = value is None if pattern is None else value is not None and re.fullmatch(pattern, value)
        if not fits:
            found.append(f"{about}: {name} is {value!r}, expected {pattern!r}")
    return found
