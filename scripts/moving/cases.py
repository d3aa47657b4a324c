"""What is asked of both servers of each section of the pages. A section without a case, and a case without a section,
fail the run: no command on the pages goes untried."""

from dataclasses import dataclass

from ask import Ask, Differ

LONG_ACCEPT = {"Accept-Encoding": "gzip"}
TAG = r'"[^"]+"'


@dataclass(frozen=True)
class Case:
    asks: list
    folder: str = "/srv"
    # A file that both write, with a line like this.
    log: tuple = None


def python(port, **options):
    """What Python's server and a listing one of ours answer."""
    return [
        Ask("/", 200, "home", port=port, **options),
        Ask("/docs", Differ(301, 308), fields={"Location": Differ("/docs/", r"(\./)?docs/|/docs/")}, port=port, **options),
        Ask("/docs/", 200, "docs", port=port, **options),
        Ask("/assets/", 200, "style.css", {"Content-Type": "text/html.*"}, port=port, **options),
        Ask("/about.html", 200, "about", {"ETag": Differ(None, TAG)}, port=port, **options),
        Ask("/missing.js", 404, Differ("File not found", "no such page here"), port=port, **options),
        Ask("/.env", Differ(200, 404), port=port, **options),
        Ask("/.well-known/security.txt", 200, "Contact", port=port, **options),
        Ask("/out.txt", Differ(200, 404), port=port, **options),
        Ask("/big.js", Differ(200, 206), sent={"Range": "bytes=0-9"}, port=port, **options),
    ]


def built(port, extra=(), **options):
    """What `serve` and clean URLs with listings answer."""
    return [
        Ask("/", 200, "home", port=port, **options),
        Ask("/about", 200, "about", port=port, **options),
        Ask("/about.html", Differ(301, 308), fields={"Location": "/?about"}, port=port, **options),
        Ask("/assets/", 200, "style.css", port=port, **options),
        Ask("/missing.js", 404, "no such page here", port=port, **options),
        Ask("/out.txt", 404, port=port, **options),
        *extra,
    ]


def site(port=80, **options):
    return [
        Ask("/", 200, "home", {"Content-Type": "text/html.*"}, port=port, **options),
        Ask("/docs/", 200, "docs", port=port, **options),
        Ask("/assets/style.css", 200, "body", {"Content-Type": "text/css.*"}, port=port, **options),
        Ask("/missing.js", 404, port=port, **options),
    ]


HASHED = Ask("/assets/app.3f9a1c2b.js", 200, "alpha", {"Cache-Control": Differ(None, ".*immutable")})
NGINX_SITE = site() + [
    HASHED,
    Ask("/", 200, "home", address="::1"),
    Ask("/docs", Differ(301, 308), fields={"Location": Differ("http://localhost/docs/", r"(\./)?docs/|/docs/")}),
    Ask("/about.html", 200, fields={"Cache-Control": Differ(None, "no-cache"), "ETag": TAG}),
    Ask("/.env", Differ(200, 404)),
    Ask("/out.txt", Differ(200, 404)),
    Ask("/big.js", 206, sent={"Range": "bytes=0-9"}, fields={"Content-Range": "bytes 0-9/6800"}),
    Ask("/", 200, "", method="HEAD"),
]


def compressed(vary):
    """Siblings are sent to who takes them; `vary` is what their server says of that."""
    vary = Differ(vary, "(?i)accept-encoding")
    return site() + [
        Ask("/big.js", 200, fields={"Content-Encoding": "gzip", "Vary": vary}, sent=LONG_ACCEPT),
        Ask("/big.js", 200, "alpha", {"Content-Encoding": None}),
    ]


def secure(status):
    """The site over TLS, and the redirect to it, for which theirs has this status."""
    leads = {"Location": r"https://example\.org/about\.html\?a=1"}
    led = Ask("/about.html?a=1", Differ(status, 308), fields=leads, host="example.org")
    return site(443, tls=True, host="example.org") + [led]


CASES = {
    "from-python-http-server.md": {
        "The current directory": Case(python(8000), "/srv/site"),
        "For other machines too": Case(python(8000) + python(8000, address="127.0.0.2"), "/srv/site"),
        "Another directory": Case(python(8000)),
    },
    "from-npx-serve.md": {
        "A built site": Case(built(3000, [
            Ask("/assets/app.3f9a1c2b.js", fields={"Cache-Control": Differ(None, ".*immutable")}, port=3000),
            Ask("/big.js", fields={"Content-Encoding": "gzip"}, sent=LONG_ACCEPT, port=3000),
        ])),
        "A single-page application": Case([
            Ask("/", 200, "home", port=3000),
            Ask("/settings/profile", 200, "home", port=3000),
            Ask("/missing.js", Differ(200, 404), Differ("home", "no such page here"), port=3000),
        ]),
        "Another port, for this machine alone": Case(built(5000)),
        "Pages of other origins may read it": Case(built(3000, [
            Ask("/about", 200, "about", {"Access-Control-Allow-Origin": r"\*"}, {"Origin": "http://example.org"}, 3000),
        ])),
        "Over TLS": Case(built(3443, tls=True)),
        "With a `serve.json`": Case([
            Ask("/", 200, "home", port=3000),
            Ask("/about", 200, "about", port=3000),
            Ask("/old", 301, fields={"Location": "/new"}, port=3000),
            Ask("/assets/style.css", 200, fields={"Cache-Control": "max-age=60"}, port=3000),
            Ask("/missing.js", 404, "no such page here", port=3000),
        ]),
    },
    "from-caddy.md": {
        "From the command line": Case(site(8080)),
        "A site": Case(site() + [
            HASHED,
            Ask("/.env", Differ(200, 404)),
            Ask("/about.html", 200, fields={"ETag": TAG, "Cache-Control": Differ(None, "no-cache")}),
            Ask("/missing.js", 404, Differ("", "no such page here")),
        ]),
        "A single-page application": Case([
            Ask("/settings/profile", 200, "home"),
            Ask("/about.html", 200, "about"),
            Ask("/missing.js", Differ(200, 404)),
        ]),
        "Compressed ahead": Case(compressed("Accept-Encoding")),
        "Certificates from files": Case(secure(308)),
        "Several sites": Case([
            Ask("/", 200, "home", host="example.org"),
            Ask("/", 200, "home", host="www.example.org"),
            Ask("/", 200, "list.txt", host="files.example.org"),
            Ask("/list.txt", 200, "a list", host="files.example.org"),
            Ask("/", 200, Differ("", "home"), {"Content-Length": Differ("0", "[1-9].*")}, host="other.example.org"),
        ]),
        "Redirects, fields and error pages": Case([
            Ask("/old", 301, fields={"Location": "/new"}),
            Ask("/assets/style.css", 200, fields={"Cache-Control": "public, max-age=3600"}),
            Ask("/private/plan.html", 403),
            Ask("/nowhere", 404, "no such page here"),
        ]),
    },
    "from-nginx.md": {
        "A site": Case(NGINX_SITE),
        "A single-page application": Case([
            Ask("/settings/profile", 200, "home"),
            Ask("/about.html", 200, "about"),
            Ask("/missing.js", Differ(200, 404)),
        ]),
        "Listings and other directories": Case(site() + [
            Ask("/files/", 200, "list.txt", {"Content-Type": "text/html.*"}),
            Ask("/files/list.txt", 200, "a list"),
            Ask("/assets/", Differ(403, 200)),
        ]),
        "Compressed ahead": Case(compressed(None)),
        "HTTPS": Case(secure(301) + [
            Ask("/", 200, "home", {"Strict-Transport-Security": "max-age=300"}, port=443, tls=True, host="example.org"),
        ]),
        "Several sites": Case([
            Ask("/", 200, "home", host="example.org"),
            Ask("/list.txt", 200, "a list", host="a.preview.example.org"),
            Ask("/", 200, "home", host="other.example.org"),
        ]),
        "Redirects, fields, error pages, passwords": Case([
            Ask("/old", 301, fields={"Location": Differ("http://localhost/new", "/new")}),
            Ask("/assets/style.css", 200, fields={"Cache-Control": "public, max-age=3600"}),
            Ask("/private/plan.html", 403),
            Ask("/nowhere", 404, "no such page here"),
            Ask("/staff/rota.html", 401, fields={"WWW-Authenticate": '(?i)basic realm="Staff".*'}),
            Ask("/staff/rota.html", 401, sent={"Authorization": "Basic YW5uOndyb25n"}),
            Ask("/staff/rota.html", 200, "rota", sent={"Authorization": "Basic YW5uOnNlc2FtZQ=="}),
        ]),
        "The access log": Case(
            site() + [Ask("/about.html?q=1", 200, "about", sent={"User-Agent": "judge", "Referer": "http://localhost/"})],
            log=("/srv/log/access.log",
                 r'127\.0\.0\.1 - - \[[^]]+\] "GET /about\.html\?q=1 HTTP/1\.1" 200 40 "http://localhost/" "judge"'),
        ),
    },
}
