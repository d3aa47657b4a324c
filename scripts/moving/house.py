"""A machine of its own for the commands of the pages, so that they run as they stand: `/srv` and `/etc/letsencrypt` are
made for them, and all ports of its loopback are free. It is a namespace of mounts, of the network and of processes: it
ends with this program, however that ends, and nothing of it is seen outside."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

SRV = Path("/srv")
LIVE = Path("/etc/letsencrypt/live/example.org")
LONG = "const words = 'alpha beta gamma';\n" * 200
SITE = {
    "index.html": "<!doctype html><title>home</title>home",
    "about.html": "<!doctype html><title>about</title>about",
    "404.html": "<!doctype html><title>gone</title>no such page here",
    "docs/index.html": "<!doctype html><title>docs</title>docs",
    "assets/style.css": "body { color: #222 }\n",
    "assets/app.3f9a1c2b.js": LONG,
    "big.js": LONG,
    "private/plan.html": "<!doctype html><title>plan</title>plan",
    "staff/rota.html": "<!doctype html><title>rota</title>rota",
    ".env": "TOKEN=1\n",
    ".well-known/security.txt": "Contact: mailto:jo@example.org\n",
}
SERVE_JSON = """{
  "public": "dist",
  "cleanUrls": true,
  "redirects": [{ "source": "/old", "destination": "/new" }],
  "headers": [{ "source": "assets/*", "headers": [{ "key": "Cache-Control", "value": "max-age=60" }] }]
}
"""


def namespaces():
    """The names of those that this process is in."""
    return " ".join(os.readlink(f"/proc/self/ns/{kind}") for kind in ["mnt", "net", "pid"])


def enter():
    """Starts this program anew within the namespaces, unless it is there: a variable alone is not believed, as what
    follows mounts over /etc and /srv."""
    outside = os.environ.get("MOVING_OUTSIDE", "").split()
    if len(outside) == 3 and not set(outside) & set(namespaces().split()):
        return
    if os.geteuid() != 0:
        print("moving: only root may have a machine of its own: run it as root", file=sys.stderr)
        sys.exit(2)
    environment = dict(os.environ, MOVING_OUTSIDE=namespaces())
    own = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.execvpe("unshare", ["unshare", *own, "--", sys.executable, *sys.argv], environment)


def command(*words):
    subprocess.run(words, check=True, capture_output=True)


def tree(folder):
    for name, text in SITE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "big.js.gz").write_bytes(gzip.compress(LONG.encode(), mtime=0))
    (folder / "out.txt").symlink_to("/srv/outside.txt")
    # A sibling that is older than its original is none for some servers.
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)


def certificate():
    """A certificate and its key where certbot has them, in folders that are root's alone."""
    LIVE.mkdir(parents=True, exist_ok=True)
    LIVE.parent.chmod(0o700)
    command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=example.org", "-addext", "subjectAltName=DNS:example.org,DNS:localhost,IP:127.0.0.1",
            "-keyout", str(LIVE / "privkey.pem"), "-out", str(LIVE / "fullchain.pem"))


def build(node_modules=None):
    """Everything that the pages name."""
    command("ip", "link", "set", "lo", "up")
    command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(SRV))
    for name in ["over", "work"]:
        (SRV / ".etc" / name).mkdir(parents=True)
    options = f"lowerdir=/etc,upperdir={SRV}/.etc/over,workdir={SRV}/.etc/work"
    command("mount", "-t", "overlay", "-o", options, "overlay", "/etc")
    tree(SRV / "site")
    tree(SRV / "dist")
    (SRV / "outside.txt").write_text("outside")
    (SRV / "files").mkdir()
    (SRV / "files/list.txt").write_text("a list")
    (SRV / "log").mkdir()
    (SRV / "serve.json").write_text(SERVE_JSON)
    if node_modules:
        (SRV / "node_modules").symlink_to(node_modules)
    certificate()
    for name, other in [("cert.pem", "fullchain.pem"), ("key.pem", "privkey.pem")]:
        (SRV / name).write_bytes((LIVE / other).read_bytes())
    hashed = subprocess.run(["openssl", "passwd", "-apr1", "sesame"], check=True, capture_output=True, text=True).stdout
    (SRV / "users").write_text(f"ann:{hashed}")
