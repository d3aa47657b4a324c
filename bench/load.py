"""Runs wrk on the second core and reads its report."""

import json
import re
import signal
import subprocess
import time

import process

# wrk's percentiles are corrected for coordinated omission: an answer that came late adds the
# ones that would have been asked for meanwhile. So a tail is shown longer, never shorter.
REPORT = """
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\nREPORT {"answers":%d,"us":%d,"bytes":%d,"p50_us":%d,"p99_us":%d,"p999_us":%d,' ..
    '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\\n',
    summary.requests, summary.duration, summary.bytes,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    e.connect, e.read, e.write, e.status, e.timeout))
end
"""
ROTATE = """
local requests, at = {%s}, 0
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""
ERRORS = ("connect", "read", "write", "status", "timeout")


def request_text(load, target, port):
    accept = f"Accept-Encoding: {load.accept}\r\n" if load.accept else ""
    return f"GET /{target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{accept}\r\n"


def script(load, port):
    """The Lua program for wrk; requests are prepared ahead, so that asking costs little."""
    if len(load.targets) == 1 and not load.accept:
        return REPORT  # wrk's own loop is cheaper than any script
    ready = ",".join(json.dumps(request_text(load, target, port)) for target in load.targets)
    return ROTATE % ready + REPORT


class Client:
    def __init__(self, load, port, folder, connections):
        path = folder / "wrk.lua"
        path.write_text(script(load, port))
        self.connections = connections
        self.arguments = ["taskset", "-c", process.CLIENT_CORE, "wrk", "-t1", f"-c{connections}", "-s", str(path)]
        self.url = f"http://127.0.0.1:{port}/{load.targets[0]}"

    def warm_up(self, seconds):
        """Load that is not counted; wrk stops early at an interrupt."""
        child = subprocess.Popen([*self.arguments, "-d60s", self.url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            raise process.Failed("wrk does not end") from None

    def run(self, seconds):
        """One run, as wrk reports it, with `errors` added up."""
        done = subprocess.run([*self.arguments, f"-d{seconds}s", self.url], capture_output=True, text=True, timeout=seconds + 30)
        found = re.search(r"^REPORT (\{.*\})$", done.stdout, re.MULTILINE)
        if not found:
            raise process.Failed("wrk gave no report: " + (done.stderr or done.stdout)[-300:])
        report = json.loads(found.group(1))
        report["errors"] = sum(report[kind] for kind in ERRORS)
        return report
