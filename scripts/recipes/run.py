#!/usr/bin/env python3
"""A trial of the recipes for the ports of the web: run.py PROGRAM, as root.

What docs/deploy.md has for systemd and docs/operate.md for certbot is done here by hand, as systemd and certbot do it, on a
machine of its own (../moving/house.py): the user without rights, its one capability, credentials that are copied, folders
that are root's alone. Then the site is asked over TLS, the redirect too, and a certificate is renewed. nginx is put before
it as docs/deploy.md says.
Exit code: 0; 1 if something does not add up; 2 if something is not there.
"""

import argparse
import os
import pwd
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "moving"))
import house  # noqa: E402
from ask import Ask, faults  # noqa: E402
from page import Block  # noqa: E402
from servers import DidNotStart, running, theirs  # noqa: E402

ROOT = HERE.parents[1]
TOOLS = {"nginx": "nginx", "openssl": "openssl", "ip": "iproute2", "unshare": "util-linux", "setpriv": "util-linux"}
USER = "nobody"
CREDENTIALS = Path("/srv/.credentials")
PATIENCE = 60
LED = {"Location": r"https://example\.org/about\.html"}
ASKS = [
    Ask("/", 200, "home", port=443, tls=True, host="example.org"),
    Ask("/about.html", 308, fields=LED, host="example.org"),
]


class Fault(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Fault(what)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


def settings(unit, key):
    """The values of a key of a unit."""
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]


def uid_of(port):
    """The user whose process listens at a port."""
    for table in ["/proc/net/tcp", "/proc/net/tcp6"]:
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                return int(words[7])
    raise Fault(f"nobody listens at {port}")


def credentials(unit):
    """What LoadCredential= does: root's files are copied to where the user alone may read them."""
    user = pwd.getpwnam(USER)
    CREDENTIALS.mkdir()
    for one in settings(unit, "LoadCredential"):
        name, _, path = one.partition(":")
        shutil.copy(path, CREDENTIALS / name)
        (CREDENTIALS / name).chmod(0o400)
        os.chown(CREDENTIALS / name, user.pw_uid, user.pw_gid)
    os.chown(CREDENTIALS, user.pw_uid, user.pw_gid)
    CREDENTIALS.chmod(0o500)


def as_the_unit(unit, program, capabilities):
    """The command and environment of a unit, as its user with these capabilities."""
    environment = {"PATH": os.environ["PATH"]}
    for line in settings(unit, "Environment"):
        for word in shlex.split(line.replace("%d", str(CREDENTIALS))):
            name, _, value = word.partition("=")
            environment[name] = value
    start, = settings(unit, "ExecStart")
    command = shlex.split(start)
    check(command[0] == "/usr/local/bin/salver", f"the unit starts {command[0]}")
    rights = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "--no-new-privs"]
    rights += [f"--{kind}=-all{capabilities}" for kind in ["inh-caps", "ambient-caps", "bounding-set"]]
    return shlex.join(["exec", *rights, str(program), *command[1:]]), environment


def unit_at_the_web(program):
    """docs/deploy.md: the unit with what HTTPS adds to it."""
    least, secure = blocks("deploy.md", "ini")
    unit = least + secure
    check("DynamicUser=yes" in unit, "the unit has a user of its own")
    credentials(unit)
    granted = "".join(f",+{name.lower().removeprefix('cap_')}" for name in settings(unit, "AmbientCapabilities")[0].split())
    command, environment = as_the_unit(unit, program, granted)
    with running(command, "/", [80, 443], environment):
        found = [fault for ask in ASKS for fault in faults(ask, True)]
        check(not found, "\n".join(found))
        check(uid_of(443) == pwd.getpwnam(USER).pw_uid, "it is not the user without rights who serves")
    # Each part is needed: without it the recipe fails here, too.
    direct = unit.replace("%d/", f"{house.LIVE}/")
    for why, said, broken in [("without its capability", "need a right", as_the_unit(unit, program, "")),
                              ("with certbot's own files", "fullchain.pem", as_the_unit(direct, program, granted))]:
        try:
            with running(broken[0], "/", [80, 443], broken[1]):
                raise Fault(f"it starts {why}: this trial shows nothing")
        except DidNotStart as error:
            check(said in str(error), f"{why} it ends for another reason: {error}")


def certificate():
    return ssl.get_server_certificate(("127.0.0.1", 443))


def renewed_for_a_user(program):
    """docs/operate.md: started by root, served as a user, keys that certbot copies after each renewal."""
    command, = [block for block in blocks("operate.md", "sh") if block.startswith("certbot renew")]
    hook = shlex.split(command)[-1].replace("www-data", "nogroup")
    environment = dict(os.environ, RENEWED_LINEAGE=str(house.LIVE))

    def deploy():
        subprocess.run(["sh", "-e", "-c", hook], check=True, env=environment)
    deploy()
    Path("/etc/salver/salver.toml").write_text(f"""
root = "/srv/site"
host = "0.0.0.0"
port = 443
https-redirect = 80
tls = {{ certificate = "tls/fullchain.pem", key = "tls/privkey.pem" }}
[process]
user = "{USER}"
group = "nogroup"
""")
    with running(f"exec {shlex.quote(str(program))} serve -c /etc/salver/salver.toml", "/", [80, 443], dict(os.environ)):
        found = [fault for ask in ASKS for fault in faults(ask, True)]
        check(not found, "\n".join(found))
        before = certificate()
        house.certificate()
        deploy()
        limit = time.monotonic() + PATIENCE
        while certificate() == before:
            check(time.monotonic() < limit, "the renewed certificate is not used")
            time.sleep(0.1)


def behind_nginx(program):
    """docs/deploy.md: nginx before it, over kept connections."""
    block, = blocks("deploy.md", "nginx")
    served = f"exec {shlex.quote(str(program))} serve /srv/site -v"
    with running(served, "/", [8080], dict(os.environ)), \
            running(theirs(Block("nginx", block)), "/", [80], dict(os.environ)):
        asks = [Ask("/", 200, "home"), Ask("/docs", 308, fields={"Location": r"(\./)?docs/|/docs/"}),
                Ask("/big.js", 206, sent={"Range": "bytes=0-9"}), Ask("/missing.js", 404)]
        found = [fault for ask in asks for fault in faults(ask, True)]
        check(not found, "\n".join(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, metavar="PROGRAM", help="the salver to try")
    options = parser.parse_args()
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    missing += [] if options.program.is_file() else [str(options.program)]
    if missing:
        print(f"recipes: not there: {', '.join(missing)}", file=sys.stderr)
        return 2
    house.enter()
    house.build()
    # Where any user may run it.
    program = Path(shutil.copy(options.program, "/srv/.salver"))
    program.chmod(0o755)
    failed = 0
    for trial in [unit_at_the_web, renewed_for_a_user, behind_nginx]:
        what = trial.__doc__.rstrip(".")
        try:
            trial(program)
            print(f"{what}: adds up", flush=True)
        except (Fault, DidNotStart) as fault:
            print(f"{what}: {fault}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
