"""Compares what GoAccess and fail2ban find in the sample logs with what is true of them."""

import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(sys.argv[1])
FILTER = sys.argv[2]
FACTS = json.loads((FOLDER / "facts.json").read_text())
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


def lines(name):
    """Lines as every program sees them: nothing but a line feed ends one."""
    data = (FOLDER / f"{name}.log").read_bytes()
    check(f"{name}: ASCII, and no control but the line feed", [b for b in set(data) if b != 10 and not 32 <= b < 127], [])
    return data.decode("ascii").splitlines()


def goaccess(name, log_format, may_refuse=lambda line: False):
    """What GoAccess counts: all lines, but for those that it may refuse for what it does not know."""
    report = FOLDER / f"{name}.report.json"
    subprocess.run(
        ["goaccess", str(FOLDER / f"{name}.log"), "--no-global-config", f"--log-format={log_format}",
         "--date-format=%d/%b/%Y" if name != "json" else "--date-format=%Y-%m-%d",
         "--time-format=%H:%M:%S", "--no-progress", "--invalid-requests", str(FOLDER / f"{name}.invalid"),
         "-o", str(report)],
        check=True, stdout=subprocess.DEVNULL)
    found = json.loads(report.read_text())
    general = found["general"]
    check(f"GoAccess {name}: all", general["total_requests"], FACTS["requests"])
    invalid = FOLDER / f"{name}.invalid"
    refused = invalid.read_text().splitlines() if invalid.exists() else []
    check(f"GoAccess {name}: refused for no reason", [line for line in refused if not may_refuse(line)], [])
    check(f"GoAccess {name}: failed", general["failed_requests"], len(refused))
    check(f"GoAccess {name}: valid", general["valid_requests"], FACTS["requests"] - len(refused))
    statuses = {}
    for group in found["status_codes"]["data"]:
        for item in group.get("items", []):
            statuses[item["data"].split()[0]] = item["hits"]["count"]
    for line in refused:
        status = str(json.loads(line)["http"]["response"]["status_code"])
        statuses[status] = statuses.get(status, 0) + 1
    check(f"GoAccess {name}: statuses", statuses, FACTS["statuses"])
    hosts = {item["data"] for item in found["hosts"]["data"]}
    check(f"GoAccess {name}: no forged client", "192.0.2.99" in hosts, False)
    return found


def fail2ban():
    """Which clients fail2ban would ban, in order."""
    log = str(FOLDER / "combined.log")
    said = subprocess.run(["fail2ban-regex", "-o", "ip", log, FILTER], check=True, capture_output=True, text=True)
    check("fail2ban: clients that got 401", said.stdout.split(), FACTS["refused"])
    said = subprocess.run(["fail2ban-regex", log, FILTER], check=True, capture_output=True, text=True).stdout
    count = [line for line in said.splitlines() if line.startswith("Lines:")]
    refused = len(FACTS["refused"])
    expected = f"{FACTS['requests']} lines, 0 ignored, {refused} matched, {FACTS['requests'] - refused} missed"
    check("fail2ban: lines", count and count[0].removeprefix("Lines: ").split(" [")[0].split("\n")[0], expected)
    # The dates that it found are those of the lines.
    stock = subprocess.run(
        ["fail2ban-regex", log, "nginx-botsearch"], check=True, capture_output=True, text=True).stdout
    check("fail2ban: its own filter reads the log", f"{FACTS['requests']} lines" in stock, True)


for name in ["common", "combined", "extended", "json"]:
    check(f"{name}: lines", len(lines(name)), FACTS["requests"])
objects = [json.loads(line) for line in lines("json")]
statuses = {}
for entry in objects:
    status = str(entry["http"]["response"]["status_code"])
    statuses[status] = statuses.get(status, 0) + 1
check("json: statuses", statuses, FACTS["statuses"])
refused = [entry["client"]["address"] for entry in objects if entry["http"]["response"]["status_code"] == 401]
check("json: clients that got 401", refused, FACTS["refused"])
check("json: no forged client", any(e["client"]["address"] == "192.0.2.99" for e in objects), False)

goaccess("common", "COMMON")
goaccess("combined", "COMBINED")
extended = goaccess("extended", '%h %^ %e [%d:%t %^] "%r" %s %b "%R" "%u" %v %T %^ %C %^')
caches = {item["data"].lower() for item in extended.get("cache_status", {}).get("data", [])}
check("GoAccess extended: cache states", caches,
      {"hit", "stale", "revalidated", "expired", "miss", "bypass"})
README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
METHODS = ["GET", "HEAD", "get", None]


def unknown(line):
    """In JSON, GoAccess 1.7 refuses lines with a method that it does not know, or a backslash in a text."""
    return json.loads(line)["http"]["request"].get("method") not in METHODS or "\\\\" in line


goaccess("json", README.split("```json\n")[1].split("```")[0].replace("\n", " "), unknown)
fail2ban()
print(f"{PASSED} passed, {len(FAILED)} failed")
sys.exit(1 if FAILED else 0)
