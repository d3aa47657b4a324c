"""The servers that are compared: each alone on a core, with one thread that serves."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import child

NGINX = """\
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 12000; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    # An ordinary client is not to be sent away in the middle of a measurement.
    keepalive_requests 10000000;
    server {{
        listen 127.0.0.1:{h1} backlog=4096;
        listen 127.0.0.1:{h2c} http2 backlog=4096;
        listen 127.0.0.1:{tls} ssl http2 backlog=4096;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        root {root};
    }}
}}
"""


class Salver:
    """Salver as it is by default, but with one worker; more flags as they are given."""

    def __init__(self, program, name="salver", flags=()):
        self.program, self.name, self.flags = program, name, tuple(flags)

    def protocols(self):
        return {"h1", "h2c", "h1s", "h2", "h3"}

    @contextlib.contextmanager
    def run(self, root, folder, tls):
        command = [self.program, "serve", root, "--workers", 1, "--port", 0]
        command += ["--tls-self-signed", "--http-port", 0] if tls else []
        with _running([*command, *self.flags], folder, self.name) as (process, log):
            def addresses():
                return dict(re.findall(r"(https?)://(127\.0\.0\.1:\d+)", log.read_text()))
            _until(lambda: len(addresses()) == 1 + tls, process, self.name, log)
            clear, secure = (addresses().get(scheme) for scheme in ("http", "https"))
            yield process, {"h1": clear, "h2c": clear, "h1s": secure, "h2": secure, "h3": secure}


class Nginx:
    """nginx as Debian has it, with HTTP/2 and TLS; without HTTP/3, which it does not have there."""

    name = "nginx"

    def __init__(self):
        self.program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
        if not self.program:
            raise child.Failed("nginx is not installed: apt-get install nginx-core, or leave out --nginx")

    def protocols(self):
        return {"h1", "h2c", "h1s", "h2"}

    @contextlib.contextmanager
    def run(self, root, folder, tls):
        ports = dict(zip(("h1", "h2c", "tls"), _free_ports(3)))
        _certificate(folder)
        # As root its worker would otherwise be somebody who may not enter a temporary folder.
        user = "user root;" if os.geteuid() == 0 else ""
        conf = folder / "nginx.conf"
        conf.write_text(NGINX.format(folder=folder, root=root, user=user, **ports))
        command = [self.program, "-p", folder, "-c", conf, "-e", folder / "error.log"]
        with _running(command, folder, self.name) as (process, log):
            _until(lambda: _takes(ports["tls"]), process, self.name, log)
            ports = {"h1": ports["h1"], "h2c": ports["h2c"], "h1s": ports["tls"], "h2": ports["tls"]}
            yield process, {name: f"127.0.0.1:{port}" for name, port in ports.items()}


@contextlib.contextmanager
def _running(command, folder, name):
    log = folder / f"{name}.log"
    with open(log, "wb") as to:
        process = child.start(command, child.SERVER_CORE, cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=to, stderr=to)
    try:
        yield process, log
    finally:
        # An orderly end would wait for those who read nothing; the second signal cuts them.
        process.terminate()
        time.sleep(0.3)
        child.stop(process, 5)
        # Its session is its own: if it had to be killed, its children are still there.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _until(ready, process, name, log, seconds=20):
    until = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            raise child.Failed(f"{name} did not start: {log.read_text()[-500:]}")
        time.sleep(0.02)


def _takes(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _free_ports(count):
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _certificate(folder):
    if (folder / "cert.pem").exists():
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True, timeout=30)
