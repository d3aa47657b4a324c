"""Reads metrics by the parsers of prometheus-client, and looks that rules and dashboard name only what is there.

judge.py OPENMETRICS TEXT RULES DASHBOARD
"""

import json
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older


def samples(families):
    return {sample.name: sample for family in families for sample in family.samples}


def main():
    open_text, text, rules, dashboard = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
    families = list(openmetrics(open_text))
    names = samples(families)
    # Both formats tell the same metrics.
    assert set(names) == set(samples(older(text))), set(names) ^ set(samples(older(text)))
    kinds = {family.name: family.type for family in families}
    for name, kind in {
        "http_server_request_duration_seconds": "histogram",
        "http_server_request_body_size_bytes": "histogram",
        "http_server_response_body_size_bytes": "histogram",
        "http_server_active_requests": "gauge",
        "salver_cache_hits": "counter",
        "salver_loop_lag_seconds": "histogram",
        "process_cpu_seconds": "counter",
        "salver_build": "info",
    }.items():
        assert kinds.get(name) == kind, (name, kinds.get(name))
    counted = [
        sample
        for family in families
        if family.name == "http_server_request_duration_seconds"
        for sample in family.samples
        if sample.name.endswith("_count")
    ]
    assert sum(sample.value for sample in counted) == 8, counted
    labels = {"site", "network_protocol_version", "http_request_method", "http_response_status_class"}
    assert all(set(sample.labels) == labels for sample in counted), counted
    expressions = re.findall(r"^\s*expr: (\|\n(?:\s{10,}.*\n)+|.*\n)", rules, re.MULTILINE)
    assert len(expressions) >= 10
    panels = json.loads(dashboard)["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(shown) >= 20
    word = re.compile(r"\b(?:salver|process|http_server)_[a-z_]+\b")
    for expression in expressions + shown:
        # What stands between quotes is a value.
        found = word.findall(re.sub(r'"[^"]*"', '""', expression))
        assert found or "up{" in expression, expression
        for name in found:
            assert name in names, f"{name} in {expression} is no metric"
    print(f"{len(families)} families, {len(expressions)} rules, {len(shown)} expressions of panels")


main()
