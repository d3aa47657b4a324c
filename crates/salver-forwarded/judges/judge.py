"""Compares what salver-forwarded makes of what HAProxy and Python's proxy-protocol send with what they meant."""

import ipaddress
import json
import pathlib
import random
import socket
import struct
import subprocess
import sys

from proxyprotocol import ProxyProtocolIncompleteError
from proxyprotocol.result import ProxyResultIPv4, ProxyResultIPv6, ProxyResultLocal, ProxyResultUnix, ProxyResultUnknown
from proxyprotocol.tlv import ProxyProtocolTLV
from proxyprotocol.v1 import ProxyProtocolV1
from proxyprotocol.v2 import ProxyProtocolV2

JUDGED, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FAILED = []
PASSED = 0


def check(what, found, expected):
    """One comparison; those that fail are said."""
    global PASSED
    if found == expected:
        PASSED += 1
    else:
        FAILED.append(what)
        print(f"{what}: found {found}, expected {expected}")


def listen(field):
    """A listener that trusts 127.0.0.8/30 and ::1, and its port."""
    process = subprocess.Popen([JUDGED, "listen", field, "127.0.0.8/30"], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def free_port(host, family):
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def ask(source, address, fields):
    """One request from a source address; its answer, and which ends the connection had."""
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(20)
        connection.bind((source, 0))
        connection.connect(address)
        ends = connection.getsockname()[:2], connection.getpeername()[:2]
        head = "GET / HTTP/1.1\r\nHost: judge\r\n" + "".join(f"{line}\r\n" for line in fields)
        connection.sendall((head + "Connection: close\r\n\r\n").encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return json.loads(answer.split(b"\r\n\r\n", 1)[1]), ends


def text_of(end):
    host, port = end
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def haproxy():
    """HAProxy before the listeners: each way to send the header, and both fields."""
    listeners = {field: listen(field) for field in ["x-forwarded-for", "forwarded"]}
    # A node of IPv6 stands in brackets and quotes.
    fields = {
        "x-forwarded-for": "option forwardfor",
        "forwarded": 'http-request add-header Forwarded "for=%[src];host=\\"%[req.hdr(host)]\\"" if { src 127.0.0.0/8 }\n'
        '  http-request add-header Forwarded "for=\\"[%[src]]\\"" unless { src 127.0.0.0/8 }',
    }
    ways = ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id",
            "send-proxy-v2 check check-send-proxy inter 100"]
    config = ["global", "  log stdout format raw daemon", "defaults", "  mode http", "  log global",
              "  timeout connect 10s", "  timeout client 20s", "  timeout server 20s", "  unique-id-format %rt"]
    frontends = []
    for field, (_, address) in listeners.items():
        for way in ways:
            for host, family in [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]:
                port = free_port(host, family)
                frontends.append((field, way, (host, port)))
                bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                config += [f"listen f{port}", f"  bind {bind}", f"  {fields[field]}", f"  server s {address} {way}"]
    path = FOLDER / "haproxy.cfg"
    path.write_text("\n".join(config) + "\n")
    said = (FOLDER / "haproxy.log").open("w")
    proxy = subprocess.Popen(["haproxy", "-db", "-f", str(path)], stdout=said, stderr=said)
    try:
        for field, way, address in frontends:
            while True:
                try:
                    socket.create_connection(address, 1).close()
                    break
                except ConnectionRefusedError:
                    if proxy.poll() is not None:
                        sys.exit("HAProxy ended: " + (FOLDER / "haproxy.log").read_text())
            sources = ["::1"] if ":" in address[0] else ["127.0.0.20", "127.0.0.9"]
            for source in sources:
                for claimed in [None, "203.0.113.7", "1.1.1.1, 203.0.113.7", "\"", "unknown"]:
                    name = "Forwarded" if field == "forwarded" else "X-Forwarded-For"
                    lines = []
                    if claimed:
                        value = ", ".join(f"for={node}" for node in claimed.split(", ")) if field == "forwarded" else claimed
                        lines = [f"{name}: {value}"]
                    answer, (own, other) = ask(source, address, lines)
                    what = f"HAProxy {way}, {field}, {source} says {claimed}"
                    check(f"{what}: header", answer["header"], f"{text_of(own)} {text_of(other)}")
                    # 127.0.0.9 is a trusted proxy itself, whose last element is believed.
                    believed = source == "127.0.0.9" and claimed and "203" in claimed
                    check(f"{what}: client", answer["client"], "203.0.113.7" if believed else source)
    finally:
        proxy.terminate()
        proxy.wait()
        for process, _ in listeners.values():
            process.terminate()
            process.wait()


def theirs(data):
    """What Python's library reads, in the words of `clients_judged read`."""
    parser = next((parser for parser in [ProxyProtocolV1(), ProxyProtocolV2()] if parser.is_valid(data[:8])), None)
    if parser is None:
        return "error"
    read, rest = b"", data
    while True:
        try:
            result = parser.unpack(read)
            break
        except ProxyProtocolIncompleteError as error:
            want = error.want_read
            length = rest.find(b"\n") + 1 if want.want_line else want.want_bytes
            if not length or length > len(rest):
                return "incomplete"
            read, rest = read + rest[:length], rest[length:]
        except (ValueError, struct.error):
            return "error"
    if isinstance(result, (ProxyResultIPv4, ProxyResultIPv6)):
        source, destination = [text_of((str(host), port)) for host, port in [result.source, result.dest]]
        return f"{len(read)} {source} {destination}"
    return f"{len(read)} unnamed"


def python_library():
    """Headers that Python's library packs, whole and in part, and with a byte changed."""
    chance = random.Random(9)
    cases = []
    for number in range(3000):
        four = lambda: (ipaddress.IPv4Address(chance.getrandbits(32)), chance.getrandbits(16))
        # IPv4-mapped addresses are given as IPv4 here, and not there.
        six = lambda: (ipaddress.IPv6Address(chance.getrandbits(128) | 1 << 127), chance.getrandbits(16))
        kind = chance.randrange(5)
        tlv = ProxyProtocolTLV(init={0x02: b"example.org"}) if number % 2 else ProxyProtocolTLV()
        protocol = socket.SOCK_STREAM
        if kind == 0:
            result = ProxyResultLocal()
        elif kind == 1:
            result = ProxyResultUnix("/a", "/b", protocol=protocol, tlv=tlv)
        elif kind == 2:
            result = ProxyResultUnknown()
        else:
            end = four if kind == 3 else six
            make = ProxyResultIPv4 if kind == 3 else ProxyResultIPv6
            result = make(end(), end(), protocol=protocol, tlv=tlv)
        for version, packer in [(1, ProxyProtocolV1()), (2, ProxyProtocolV2())]:
            try:
                header = packer.pack(result)
            except (KeyError, ValueError, TypeError):
                continue
            cases.append((version, "whole", header + b"GET /"))
            cases.append((version, "part", header[:chance.randrange(8, len(header))]))
            changed = bytearray(header)
            changed[chance.randrange(len(header))] = chance.getrandbits(8)
            cases.append((version, "changed", bytes(changed)))
    said = subprocess.run([JUDGED, "read"], input="\n".join(data.hex() for _, _, data in cases), check=True,
                          capture_output=True, text=True).stdout.splitlines()
    differ = {}
    for (version, kind, data), found in zip(cases, said, strict=True):
        expected = theirs(data)
        if kind != "changed":
            check(f"version {version}, {kind}: {data!r}", found, expected)
        elif found != expected:
            kind = f"version {version}, command and family {data[12:14].hex() if version == 2 else data[6:10]}: "
            kind += f"{'read' if found[0].isdigit() else found} here, {'read' if expected[0].isdigit() else expected} there"
            differ.setdefault(kind, []).append((data, found, expected))
    # A header that was changed may be read by one and not by the other, but by both it is not read differently.
    for kind, found in sorted(differ.items()):
        both = [pair for pair in found if pair[1][0].isdigit() and pair[2][0].isdigit()]
        check(f"changed, {kind}", both, [])
        if "read here" in kind and "--differences" in sys.argv:
            print(f"{len(found)} of {kind}, such as {found[0]}")
    print(f"{len(cases)} headers of Python's proxy-protocol")


python_library()
haproxy()
print(f"{PASSED} passed, {len(FAILED)} failed")
sys.exit(1 if FAILED else 0)
