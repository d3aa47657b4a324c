"""Tests of what the figures rest on: python3 -m unittest discover -s bench"""

import socket
import threading
import tomllib
import types
import unittest

import allocations
import callgrind
import compare
import cost
import files
import launch
import page
import process
import profile
import run
import tables


def path(name, a, b, ratio, kind, errors=0):
    """A path of a comparison, with one trial of each side."""
    def trial(side, cpu):
        latency = {"p50_us": 1.0, "p99_us": 2.0, "p999_us": 3.0, "curve": [[50.0, 1.0]]}
        measured = {"requests": 10, "requests_per_second": 100.0, "seconds": 0.1, "errors": {"short": errors}, "codings": {"br": 10},
                    "content_bytes": 1000, "head_bytes": 10, "client": {}, "invalid": [], "raw": latency, "statuses": {"200": 10},
                    "server": {"cpu_us_per_request": cpu, "cores": 1.0, "resident_bytes": 2 << 20}}
        return {"side": side, "measured": measured}
    figure = {"metric": "server-cpu", "a": a, "b": b, "ratio": {"ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1}, "verdict": {"kind": kind}}
    return {"path": name, "figures": [{"metric": "p50", "a": 1, "b": 1, "ratio": None, "verdict": None}, figure], "errors": errors,
            "trials": [trial("a", a), trial("b", b)]}


def comparison(paths, way="http/1.1", differences=()):
    """As `compare.every` gives one."""
    document = {"paths": paths, "differences": [{"path": one} for one in differences], "environment": {"others": {"cores": 0.3, "stolen_cores": 0.0}},
                "method": {"margin": 0.03, "order": "in turns", "interval": "by bootstrap", "trial_seconds": 0.25}}
    return {"way": way, "title": "HTTP", "first": "salver", "server": "nginx", "document": compare.slim(document)}


ARENA = [path("/arena/a.js", 10.0, 15.0, 1.5, "slower"), path("/arena/b.js", 30.0, 25.0, 0.8, "faster"), path("/arena/c.js", 10.0, 20.0, 2.0, "slower")]
SIZE = path("/sizes/1024.dat", 5.0, 6.0, 1.2, "slower")


class Comparisons(unittest.TestCase):
    def test_one_file_has_the_tools_interval_and_several_their_sum(self):
        self.assertEqual(tables.ratio([SIZE]), ("1.20 (1.10-1.30)", ["slower"]))
        words, verdicts = tables.ratio(ARENA)
        self.assertEqual(words, "1.20 [0.80-2.00]")
        self.assertEqual(tables.said(verdicts), "1 cheaper, 2 dearer")
        self.assertEqual(tables.mark(verdicts), "")

    def test_what_was_not_measured_has_no_ratio(self):
        without = {**SIZE, "figures": SIZE["figures"][:1]}
        self.assertEqual(tables.ratio([without]), ("-", []))

    def test_every_verdict_has_its_word(self):
        for kind, word in [("faster", "cheaper"), ("slower", "dearer"), ("same", "same"), ("undecided", "undecided")]:
            self.assertEqual(tables.said([kind]), word)

    def test_the_short_table_has_a_column_for_each_load_and_leaves_other_work_alone(self):
        found = [comparison([*ARENA, SIZE]), comparison(ARENA, way="h2+tls", differences=["/arena/b.js"])]
        self.assertEqual(tables.brief(found).splitlines(), [
            "| CPU / salver's | arena | 1kib | h2+tls     |", "|----------------|------:|-----:|------------|",
            "| nginx          |  1.20 | 1.20 | other work |"])

    def test_the_full_table_has_both_sides_of_each_load(self):
        text = tables.full([comparison([SIZE])])
        self.assertIn("| nginx            | br      |        100 |", text)
        self.assertIn("| salver beside it | br      |        100 |", text)
        self.assertIn("| 1.20 (1.10-1.30) | dearer  |", text)

    def test_errors_and_others_are_named(self):
        text = tables.doubts([comparison([path("/sizes/1024.dat", 1.0, 1.0, 1.0, "same", errors=2)])], {"caddy": "not installed"})
        for part in ("caddy** is left out", "2 requests failed", "others took 0.30 cores"):
            self.assertIn(part, text)

    def test_a_kept_trial_has_no_curve(self):
        kept = comparison([SIZE])["document"]["paths"][0]["trials"][0]
        self.assertNotIn("curve", kept["raw"])
        self.assertEqual((kept["side"], kept["requests"], kept["raw"]["p99_us"]), ("a", 10, 2.0))

    def test_tables_come_from_what_is_kept_alone(self):
        kept = {"machine": {"date": "today", "Salver": "abc"}, "settings": {"nginx": "as it comes"}, "comparisons": [comparison([SIZE])], "left_out": {}}
        brief, full = run.render("servers", kept)
        self.assertIn("bench/results/servers.md", brief)
        self.assertIn("by bootstrap", full)


class Commands(unittest.TestCase):
    def test_servers_are_started_by_one_command_with_the_port_open(self):
        for kind in ("servers", "embedded", "protocols"):
            for peer in launch.servers(kind, "salver"):
                line = launch.command(kind, peer, "/a b")
                self.assertEqual(line.count("{port}"), 1, line)
                self.assertIn("'/a b'", line)

    def test_every_study_asks_for_its_files(self):
        made, options = files.Files("folder", 1), types.SimpleNamespace(path=None)
        for kind, names in (("servers", ["http/1.1"]), ("embedded", ["http/1.1", "arena-plain"]), ("protocols", ["h1+tls", "h2+tls", "h3"])):
            ways = run.ways(kind, made, options)
            self.assertEqual([name for name, *_ in ways], names)
            for _, _, flags, _ in ways:
                self.assertTrue("--root" in flags or flags.count("--path") == 20, flags)
        options.path = ["/sizes/1024.dat"]
        self.assertEqual(run.ways("servers", made, options)[0][2][:2], ["--path", "/sizes/1024.dat"])


class Pages(unittest.TestCase):
    def test_only_the_section_changes(self):
        text = "above\n<!-- a:begin -->\nold\n<!-- a:end -->\nbelow\n<!-- b:begin --><!-- b:end -->\n"
        once = page.replace(text, "a", "new\n")
        self.assertEqual(once, "above\n<!-- a:begin -->\n\nnew\n\n<!-- a:end -->\nbelow\n<!-- b:begin --><!-- b:end -->\n")
        self.assertEqual(page.replace(once, "a", "new"), once)

    def test_a_page_without_the_section_is_refused(self):
        with self.assertRaises(process.Failed):
            page.replace("nothing here", "a", "new")

    def test_the_page_has_a_place_for_every_study(self):
        text = run.PAGE.read_text(encoding="utf-8")
        for study in run.STUDIES:
            page.replace(text, study, "new")

    def test_tables_put_numbers_to_the_right(self):
        self.assertEqual(tables.table(["who", "n"], [["15 br", "7"], ["x", "123"]]),
                         "| who   |   n |\n|-------|----:|\n| 15 br |   7 |\n| x     | 123 |")


class Profiles(unittest.TestCase):
    def test_calls_with_and_without_errors(self):
        text = ("% time     seconds  usecs/call     calls    errors syscall\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                " 60.00    0.100000          10     10000           recvfrom\n"
                " 40.00    0.050000           5      5000        12 sendto\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                "100.00    0.150000          10     15000        12 total\n")
        self.assertEqual(profile.counts(text), {"recvfrom": 10000, "sendto": 5000})

    def test_self_cost_leaves_out_what_is_called(self):
        text = "events: Ir\n\nfn=main\n16 400\ncfn=work\ncalls=1 50 \n16 9000\n17 5\n\nfn=work\n50 9000\n"
        self.assertEqual(callgrind.self_costs(text), {"main": 405, "work": 9000})

    def test_the_difference_holds_no_start(self):
        self.assertEqual(callgrind.difference({"start": 700, "serve": 100}, {"start": 700, "serve": 200}, 10),
                         [("serve", 10.0), ("start", 0.0)])

    def test_names_lose_hashes_and_type_arguments(self):
        for name, expected in [("a::b::h0123456789abcdef", "a::b"), ("a::Vec<u8>::push", "a::Vec::push"),
                               ("<a::B as c::D>::e", "<a::B as c::D>::e"), ("memcpy'2", "memcpy")]:
            self.assertEqual(callgrind.plain_name(name), expected)


class Counts(unittest.TestCase):
    HEAD = "HTTP/1.1 200 OK\r\nEtag: \"abc\" \r\ncontent-length: 12\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT"

    def test_fields_of_a_head(self):
        for name, value in [("etag", '"abc"'), ("content-length", "12"), ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
                            ("length", None)]:
            self.assertEqual(allocations.field(self.HEAD, name), value)

    def test_requests_have_the_window_or_the_validator(self):
        made = files.Files("folder", 1)
        asked = {case.title: allocations.request_for(case, made, self.HEAD).decode() for case in allocations.CASES}
        self.assertEqual(asked["1 KiB"], "GET /sizes/1024.dat HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self.assertIn('\r\nIf-None-Match: "abc"\r\n\r\n', asked["304"])
        self.assertIn("\r\nRange: bytes=1000-1999\r\n\r\n", asked["1,000 bytes of 100 KiB"])

    def test_an_answer_in_pieces_is_one_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as listener, \
                allocations.Connection(listener.getsockname()[1]) as connection, listener.accept()[0] as server:
            thread = threading.Thread(target=lambda: [server.sendall(bytes([byte])) for byte in (self.HEAD + "\r\n\r\n").encode() + bytes(12)])
            thread.start()
            status, head, content = connection.ask(b"GET / HTTP/1.1\r\n\r\n")
            thread.join()
            self.assertEqual((status, head, bytes(content)), (200, self.HEAD, bytes(12)))

    def test_what_a_library_adds_is_taken_within_a_round(self):
        found = {"axum alone": ["a v1", "b v1"], "more": ["a v1", "b v1", "c v1"]}
        took = {"axum alone": {"debug": [1.0, 11.0]}, "more": {"debug": [3.0, 14.0]}}
        self.assertEqual(cost.table("libraries", found, took).splitlines()[3],
                         "| more         |        3 |             1 | 8.50 [3.00-14.00] | 2.50 [2.00-3.00] |")

    def test_every_feature_is_measured(self):
        measured = {word for crates in cost.FEATURES.values() for features in crates.values() for word in features}
        for library, crates in cost.FEATURES.items():
            manifest = (cost.machine.TOP / "crates" / library / "Cargo.toml").read_text(encoding="utf-8")
            self.assertLessEqual(set(tomllib.loads(manifest)["features"]), measured)
            self.assertEqual(next(iter(crates.values())), ())
        self.assertIn("default-features = false, features = [\"tls\"] }", cost.featured("salver-server", ("tls",)))

    def test_every_round_has_every_crate_and_begins_with_another(self):
        orders = [cost.order(list("abcd"), number) for number in range(4)]
        for one in orders:
            self.assertEqual(sorted(one), list("abcd"))
        self.assertEqual(len({one[0] for one in orders}), 4)


class Inputs(unittest.TestCase):
    def test_a_seed_gives_the_same_bytes_and_another_seed_others(self):
        for name, length in [("a.js", 5000), ("a.css", 5000), ("a.html", 5000), ("a.svg", 5000), ("a.json", 3000), ("a.png", 6000)]:
            self.assertEqual(files.content(name, length, 1), files.content(name, length, 1))
            self.assertNotEqual(files.content(name, length, 1), files.content(name, length, 2))
            self.assertLess(abs(len(files.content(name, length, 1)) - length), 1000)


if __name__ == "__main__":
    unittest.main()
