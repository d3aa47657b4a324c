"""The servers over TLS: one certificate for all of them, HTTP/2 and HTTP/3 where they speak it."""

import pathlib
import subprocess

import peers
import process


KEYS = {"ECDSA P-256": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "RSA 2048": ["rsa:2048"]}


class Certificate:
    """A certificate for localhost; by default with the key that costs a handshake least."""

    def __init__(self, folder, name="localhost", note="ECDSA P-256"):
        self.note = note
        self.file = pathlib.Path(folder) / f"{name}.crt"
        self.key = pathlib.Path(folder) / f"{name}.key"

    def make(self):
        """Makes it anew, good for ten days: browsers take no longer one for QUIC."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *KEYS[self.note], "-nodes", "-days", "10",
             "-keyout", self.key, "-out", self.file, "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise process.Failed("openssl made no certificate: " + done.stderr[-300:])
        return self


class Salver(peers.Salver):
    note = "`--workers 1`, all else as it comes"

    def __init__(self, program, certificate):
        super().__init__(program)
        self.extra = ("--tls-cert", certificate.file, "--tls-key", certificate.key)


class Nginx(peers.NginxCopy):
    name = "nginx"
    note = ("`sendfile off; output_buffers 2 512k` (under TLS without kTLS, which this kernel may lack, nginx copies in any case; this is "
            "its cheaper form), `open_file_cache` (60 s), `brotli_static`, `gzip_static`")
    listen = " ssl http2"

    def __init__(self, certificate):
        self.settings = f"ssl_certificate {certificate.file}; ssl_certificate_key {certificate.key}; ssl_protocols TLSv1.2 TLSv1.3;"


class H2o(peers.Peer):
    name = "h2o"
    note = "`num-threads: 1`, `file.send-compressed: ON` (siblings)"
    version_pattern = r"version (\d+\.\d+[\w.+-]*)"

    def __init__(self, certificate):
        self.certificate = certificate

    def command(self, root, port, folder):
        configuration = folder / "h2o.conf"
        configuration.write_text(f"""
num-threads: 1
max-connections: 8192
http1-request-timeout: {peers.IDLE_SECONDS}
http2-idle-timeout: {peers.IDLE_SECONDS}
file.send-compressed: ON
listen:
  host: 127.0.0.1
  port: {port}
  ssl:
    certificate-file: {self.certificate.file}
    key-file: {self.certificate.key}
    minimum-version: TLSv1.2
hosts:
  default:
    paths:
      /:
        file.dir: {root}
""")
        return [self.program(), "-c", configuration]


class Caddy(peers.Caddy):
    address = "https://localhost:{0}, https://127.0.0.1:{0}"

    def __init__(self, folder, certificate):
        super().__init__(folder)
        self.settings = f"tls {certificate.file} {certificate.key}"
