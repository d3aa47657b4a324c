"""Installs or builds what the comparison needs: Debian packages as root, the rest from source.

What cannot be had is named with the reason, and the comparison goes on without it. Only brotli, openssl
and taskset are needed in any case. Packages are installed by apt-get; on a machine whose init starts
what is installed, stop nginx, apache2 and lighttpd if they are not wanted.
"""

import os
import pathlib
import shutil
import subprocess

import files
import libraries
import peers

CADDY = "2.11.9"
STATIC_WEB_SERVER = "2.44.1"

HERE = pathlib.Path(__file__).resolve().parent
SBIN = ":/usr/sbin:/usr/local/sbin"
NEEDED = {"brotli": "brotli", "openssl": "openssl", "taskset": "util-linux"}
WANTED = {"nginx": "nginx", "apache2": "apache2", "lighttpd": "lighttpd", "h2o": "h2o"}
PROFILERS = {"strace": "strace", "valgrind": "valgrind"}


def there(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + SBIN) is not None


def packages(wanted):
    """The Debian packages that are missing for these programs."""
    missing = [package for program, package in wanted.items() if not there(program)]
    if "nginx" in wanted and not peers.Nginx.brotli.exists():
        missing.append("libnginx-mod-http-brotli-static")
    return missing


def apt(missing):
    """Installs packages; what went wrong, or None."""
    if not missing:
        return None
    if os.geteuid() != 0 or not there("apt-get"):
        return "install as root: " + " ".join(missing)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *missing]):
        if subprocess.run(["apt-get", *command], env=environment, check=False).returncode:
            return f"apt-get {command[0]} failed"
    return None


def build(command, environment=None):
    """Runs a build; what went wrong, or None."""
    print("+", " ".join(map(str, command)), flush=True)
    if subprocess.run([str(part) for part in command], env={**os.environ, **(environment or {})}, check=False).returncode:
        return f"`{command[0]} {command[1]}` failed"
    return None


def go():
    return shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin:/usr/lib/go/bin")


def caddy(folder):
    program = peers.Caddy(folder)
    if program.program() and program.version() == CADDY:
        return None
    if go() is None:
        return "needs Go"
    return build([go(), "install", "-trimpath", "-ldflags", "-s -w", f"github.com/caddyserver/caddy/v2/cmd/caddy@v{CADDY}"],
                 {"GOBIN": str(folder / "bin")})


def static_web_server(folder):
    program = peers.StaticWebServer(folder)
    if program.program() and program.version() == STATIC_WEB_SERVER:
        return None
    return build(["cargo", "install", "--locked", "--force", "--no-track", "--version", STATIC_WEB_SERVER,
                  "--root", folder, "static-web-server"], {"CARGO_TARGET_DIR": str(folder / "build" / "static-web-server")})


def library(folder, made, kind):
    """Builds one program of bench/embedders, and once more to count what it allocates."""
    program = kind(folder)
    target = folder / "build" / "embedders"
    program.path.parent.mkdir(parents=True, exist_ok=True)
    for flags, path in (((), program.path), (("--features", "counting"), program.counted())):
        failed = build(["cargo", "build", "--release", "--locked", "--manifest-path", libraries.PROGRAMS / "Cargo.toml",
                        "--package", kind.package(), *flags],
                       {"CARGO_TARGET_DIR": str(target), "BENCH_FILES": str(made.root)})
        if failed:
            return failed
        shutil.copy2(target / "release" / kind.package(), path)
    return None


def everything(folder, seed):
    """Installs and builds; prints what is missing in the end. -> whether a comparison can run."""
    trouble = {"packages": apt(packages({**NEEDED, **WANTED})), "caddy": caddy(folder),
               "static-web-server": static_web_server(folder)}
    if there("brotli"):
        made = files.Files(folder, seed)
        made.make()
        trouble |= {kind.name: library(folder, made, kind) for kind in libraries.LIBRARIES}
    for name, what in trouble.items():
        if what:
            print(f"left out: {name}: {what}")
    return can_run(NEEDED)


def profilers():
    """Installs strace and valgrind, and what any run needs. -> whether profiles can be made."""
    wanted = {**NEEDED, **PROFILERS}
    what = apt(packages(wanted))
    if what:
        print(what)
    return can_run(wanted)


def can_run(wanted):
    missing = [program for program in wanted if not there(program)]
    if missing:
        print("missing: " + ", ".join(missing))
    return not missing
