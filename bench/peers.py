"""The servers that are compared: one class each, with the configuration that suits it best.

All of them: one worker or thread where the server lets one choose, no access log, keep-alive
without a limit, precompressed siblings (.br, .gz) chosen by Accept-Encoding, and whatever cache of
handles or metadata the server has.
"""

import os
import pathlib
import re
import shutil
import subprocess

NEVER = 1_000_000_000  # requests on one connection
IDLE_SECONDS = 3600


def printed(*command):
    """What a program prints about itself."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout + done.stderr


class Peer:
    """A server: where its program is, how it is started, which version it is."""

    name = ""
    note = ""             # one line for the page: what is set
    environment = {}
    version_pattern = r"(\d+\.\d+[\w.+-]*)"
    version_flag = "--version"

    def program(self):
        """The program's path, or None where it is not installed."""
        found = shutil.which(self.name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        return pathlib.Path(found) if found else None

    def command(self, root, port, folder):
        """The command that serves `root`; configuration goes into `folder`."""
        raise NotImplementedError

    def version(self):
        found = re.search(self.version_pattern, printed(self.program(), self.version_flag))
        return found.group(1) if found else "unknown"


class Salver(Peer):
    name = "salver"
    note = "`--workers 1`, all else as it comes"
    extra = ()

    def __init__(self, program):
        self.path = pathlib.Path(program)

    def program(self):
        return self.path if self.path.exists() else None

    def command(self, root, port, folder):
        return [self.path, "serve", root, "--port", port, "--workers", 1, "--quiet", *self.extra]


class SalverPlain(Salver):
    name = "salver-plain"
    note = "the same with `--no-cache`"
    extra = ("--no-cache",)


class Nginx(Peer):
    name = "nginx"
    note = "`sendfile on`, `open_file_cache` (60 s), `brotli_static`, `gzip_static`"
    sending = "sendfile on; tcp_nopush on;"
    listen = ""           # how it listens beyond the address
    settings = ""         # further lines
    version_flag = "-v"
    brotli = pathlib.Path("/usr/lib/nginx/modules/ngx_http_brotli_static_module.so")

    def program(self):
        found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        return pathlib.Path(found) if found else None

    def command(self, root, port, folder):
        brotli = self.brotli.exists()
        configuration = folder / "nginx.conf"
        configuration.write_text(f"""
{f"load_module {self.brotli};" if brotli else ""}
{"user root;" if os.geteuid() == 0 else ""}
worker_processes 1; worker_rlimit_nofile 20000; daemon off; pid {folder}/nginx.pid; error_log stderr warn;
events {{ worker_connections 8192; multi_accept on; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream; access_log off;
  {self.sending} tcp_nodelay on; reset_timedout_connection on;
  keepalive_timeout {IDLE_SECONDS}; keepalive_requests {NEVER};
  open_file_cache max=10000 inactive=60s; open_file_cache_valid 60s;
  open_file_cache_min_uses 1; open_file_cache_errors on;
  gzip_static on; gzip_vary on; {"brotli_static on;" if brotli else ""} etag on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {self.settings}
  server {{ listen 127.0.0.1:{port} backlog=4096{self.listen}; root {root}; }}
}}
""")
        return [self.program(), "-c", configuration, "-e", "stderr"]


class NginxCopy(Nginx):
    name = "nginx-copy"
    note = "the same with `sendfile off; output_buffers 2 512k`, its cheaper form for small files here"
    sending = "sendfile off; output_buffers 2 512k;"


class Lighttpd(Peer):
    name = "lighttpd"
    note = "`stat_cache`, siblings by `mod_rewrite` without looking whether they are there"
    version_flag = "-v"

    def command(self, root, port, folder):
        # It has no negotiation of siblings of its own, and compressing anew into its cache would be
        # other bytes; so the names that have siblings are rewritten, which is cheaper than a look.
        configuration = folder / "lighttpd.conf"
        configuration.write_text(f"""
server.modules = ( "mod_rewrite", "mod_setenv" )
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.stat-cache-engine = "simple"
server.max-connections = 8192
server.max-fds = 16384
server.listen-backlog = 4096
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = {IDLE_SECONDS}
server.pid-file = "{folder}/lighttpd.pid"
mimetype.assign = (
  ".html" => "text/html", ".css" => "text/css", ".js" => "text/javascript", ".json" => "application/json",
  ".svg" => "image/svg+xml", ".webp" => "image/webp", ".jpg" => "image/jpeg", ".png" => "image/png",
  ".woff2" => "font/woff2",
  ".html.br" => "text/html", ".css.br" => "text/css", ".js.br" => "text/javascript",
  ".json.br" => "application/json", ".svg.br" => "image/svg+xml",
  ".html.gz" => "text/html", ".css.gz" => "text/css", ".js.gz" => "text/javascript",
  ".json.gz" => "application/json", ".svg.gz" => "image/svg+xml",
  "" => "application/octet-stream"
)
$REQUEST_HEADER["Accept-Encoding"] =~ "\\bbr\\b" {{
  url.rewrite-once = ( "^(/.+\\.(?:html|css|js|json|svg))$" => "$1.br" )
}} else $REQUEST_HEADER["Accept-Encoding"] =~ "\\bgzip\\b" {{
  url.rewrite-once = ( "^(/.+\\.(?:html|css|js|json|svg))$" => "$1.gz" )
}}
$HTTP["url"] =~ "\\.br$" {{ setenv.set-response-header = ( "Content-Encoding" => "br", "Vary" => "Accept-Encoding" ) }}
$HTTP["url"] =~ "\\.gz$" {{ setenv.set-response-header = ( "Content-Encoding" => "gzip", "Vary" => "Accept-Encoding" ) }}
""")
        return [self.program(), "-D", "-f", configuration]


class Apache(Peer):
    name = "apache2"
    note = "event MPM, one process of 128 threads; siblings by `mod_rewrite`; `EnableSendfile` and `EnableMMAP` on, no `.htaccess`"
    version_flag = "-v"
    modules = pathlib.Path("/usr/lib/apache2/modules")
    # With fewer threads than connections it closes kept connections when all threads are busy.
    threads = 128

    def command(self, root, port, folder):
        loads = "\n".join(f"LoadModule {name}_module {self.modules}/mod_{name}.so"
                          for name in ("mpm_event", "authz_core", "mime", "rewrite", "headers"))
        configuration = folder / "apache2.conf"
        configuration.write_text(f"""
ServerRoot {folder}
DefaultRuntimeDir {folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/apache2.pid
ErrorLog {folder}/error.log
LogLevel error
{loads}
{"User www-data" if os.geteuid() == 0 else ""}
{"Group www-data" if os.geteuid() == 0 else ""}
StartServers 1
ServerLimit 1
ThreadLimit {self.threads}
ThreadsPerChild {self.threads}
MaxRequestWorkers {self.threads}
MinSpareThreads 1
MaxSpareThreads {self.threads}
AsyncRequestWorkerFactor 256
MaxConnectionsPerChild 0
ListenBacklog 4096
KeepAlive On
KeepAliveTimeout {IDLE_SECONDS}
MaxKeepAliveRequests 0
HostnameLookups Off
ServerTokens Prod
EnableMMAP On
EnableSendfile On
TypesConfig /dev/null
AddType text/html .html
AddType text/css .css
AddType text/javascript .js
AddType application/json .json
AddType image/svg+xml .svg
AddType image/webp .webp
AddType image/jpeg .jpg
AddType image/png .png
AddType font/woff2 .woff2
AddEncoding br .br
AddEncoding gzip .gz
DocumentRoot {root}
<Directory {root}>
  Require all granted
  AllowOverride None
  Options FollowSymLinks
</Directory>
RewriteEngine On
RewriteCond %{{HTTP:Accept-Encoding}} \\bbr\\b
RewriteCond {root}%{{REQUEST_URI}}.br -f
RewriteRule ^(/.+\\.(?:html|css|js|json|svg))$ {root}$1.br [L]
RewriteCond %{{HTTP:Accept-Encoding}} \\bgzip\\b
RewriteCond {root}%{{REQUEST_URI}}.gz -f
RewriteRule ^(/.+\\.(?:html|css|js|json|svg))$ {root}$1.gz [L]
<FilesMatch "\\.(?:br|gz)$">
  Header set Vary Accept-Encoding
</FilesMatch>
""")
        return [self.program(), "-DFOREGROUND", "-f", configuration]


class Built(Peer):
    """A server that `deps` builds: its program stands in the folder for what is built."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "bin" / self.name

    def program(self):
        return self.path if self.path.exists() else None


class Caddy(Built):
    name = "caddy"
    note = "`file_server` with `precompressed br gzip`, GOMAXPROCS=1, GOGC=400"
    # Collecting garbage less often than by default spares it work.
    environment = {"GOMAXPROCS": "1", "GOGC": "400"}
    address = "http://127.0.0.1:{}"
    settings = ""         # further lines

    def version(self):
        # `caddy version` does not know it unless Caddy's own scripts built it; the linker wrote it down.
        found = re.search(rb"mod\tgithub\.com/caddyserver/caddy/v2\tv([\w.+-]+)", self.path.read_bytes())
        return found.group(1).decode() if found else "unknown"

    def command(self, root, port, folder):
        configuration = folder / "Caddyfile"
        configuration.write_text(f"""
{{
	admin off
	auto_https off
	persist_config off
	storage file_system {folder}/storage
	log {{
		level ERROR
	}}
}}
{self.address.format(port)} {{
	{self.settings}
	root * {root}
	file_server {{
		precompressed br gzip
	}}
}}
""")
        return [self.path, "run", "--config", configuration, "--adapter", "caddyfile"]


class StaticWebServer(Built):
    name = "static-web-server"
    note = "one thread, `compression-static`, no compression on the fly, no extra fields"

    def command(self, root, port, folder):
        return [self.path, "--host", "127.0.0.1", "--port", port, "--root", root, "--threads-multiplier", 1,
                "--log-level", "error", "--compression", "false", "--compression-static", "true",
                "--directory-listing", "false", "--security-headers", "false", "--cache-control-headers", "false"]


def everyone(salver, built):
    """Salver first, then its peers."""
    return [Salver(salver), Nginx(), NginxCopy(), Lighttpd(), Apache(), Caddy(built), StaticWebServer(built)]
