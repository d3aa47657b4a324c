#!/usr/bin/env python3
"""Measures what a server costs before anybody asks: bytes on the disk, milliseconds to the first answer, memory at rest.

  packaging/measure.py PROGRAM...

Beside each PROGRAM, which is a `salver`, stand nginx, Caddy and static-web-server, as far as they are installed. Each serves
one small file at two workers, on loopback. Start-up is from the start of the process to the whole of the first answer:
the median of 21, and the least, which others on the machine disturb least. Memory is that of all processes of the server
after that answer and a second of rest, as a proportional share (PSS): what they have written, and what is read of files,
the program itself and libraries, which the kernel drops when it needs room.
"""

import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 21
NGINX = """
daemon off; worker_processes 2; pid {work}/nginx.pid; error_log {work}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; include /etc/nginx/mime.types;
    client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    server {{ listen 127.0.0.1:{port}; root {site}; }}
}}
"""


def free_port():
    """A port that the kernel gives no client: who asks again and again where nobody listens might reach itself."""
    while True:
        port = random.randrange(15000, 30000)
        with socket.socket() as chosen:
            if chosen.connect_ex(("127.0.0.1", port)) != 0:
                return port


def answered(port):
    """Whether a server answers as it should."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"GET /index.html HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := client.recv(65536):
                answer += part
    except ConnectionError:
        return False
    return answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"hello\n")


def family(process):
    """A process and those that it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process] + [one for child in children for one in family(int(child))]


def memory(process):
    """MB that all processes have: written, and read of files."""
    written = of_files = 0
    for one in family(process):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            words = line.split()
            written += int(words[1]) if words[0] in ("Pss_Anon:", "Pss_Shmem:") else 0
            of_files += int(words[1]) if words[0] == "Pss_File:" else 0
    return written * 1024 / 1e6, of_files * 1024 / 1e6


class Server:
    def __init__(self, name, program, arguments):
        self.name, self.program, self.arguments = name, program, arguments

    def round(self, work, site, rest):
        """Seconds to the first answer, and the memory after `rest` seconds."""
        port = free_port()
        (work / "nginx.conf").write_text(NGINX.format(work=work, site=site, port=port))
        words = [word.format(work=work, site=site, port=port) for word in self.arguments]
        environment = {**os.environ, "XDG_DATA_HOME": str(work), "XDG_CONFIG_HOME": str(work)}
        began = time.perf_counter()
        with open(work / "said", "w", encoding="utf-8") as said, \
             subprocess.Popen([self.program, *words], stdout=said, stderr=said, env=environment) as process:
            try:
                while not answered(port):
                    if process.poll() is not None or time.perf_counter() - began > 60:
                        sys.exit(f"measure: {self.name} does not answer: {(work / 'said').read_text()}")
                seconds = time.perf_counter() - began
                time.sleep(rest)
                found = memory(process.pid) if rest else None
            finally:
                process.send_signal(signal.SIGTERM)
        return seconds, found


def servers(programs):
    yield from (Server(program, program, ["serve", "{site}", "--port", "{port}", "--workers", "2"]) for program in programs)
    others = {
        "nginx": ["-c", "{work}/nginx.conf", "-e", "{work}/error.log"],
        "caddy": ["file-server", "--listen", "127.0.0.1:{port}", "--root", "{site}"],
        "static-web-server": ["--host", "127.0.0.1", "--port", "{port}", "--root", "{site}", "--threads-multiplier", "1"],
    }
    for name, arguments in others.items():
        if found := shutil.which(name):
            yield Server(name, found, arguments)
        else:
            print(f"measure: there is no {name} here", file=sys.stderr)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| server | MB of its program | ms to the first answer: median | least | MB at rest: written | read of files |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        work.chmod(0o755)
        site = work / "site"
        site.mkdir()
        (site / "index.html").write_text("hello\n")
        for server in servers(sys.argv[1:]):
            times = [server.round(work, site, 0)[0] * 1000 for _ in range(ROUNDS)]
            written, of_files = server.round(work, site, 1)[1]
            size = os.path.getsize(os.path.realpath(server.program)) / 1e6
            print(f"| {server.name} | {size:.1f} | {statistics.median(times):.1f} | {min(times):.1f} | {written:.1f} | {of_files:.1f} |",
                  flush=True)


main()
