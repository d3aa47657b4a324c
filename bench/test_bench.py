"""Tests of what the figures rest on: python3 -m unittest discover -s bench"""

import contextlib
import io
import json
import pathlib
import socket
import tempfile
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
import ratios
import sites
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
# What BENCHMARKS.md may have, in bytes: `architecture_map.rs` holds it to the same.
LONGEST_PAGE = 15_360


def kept_of(study):
    """What is kept of a whole run of a study: every server, file, size and library, with figures as wide as real ones."""
    facts = {"date": "2026-11-22 13:44 UTC", "Salver": "0123456 of 2026-11-22", "processor": "some processor", "versions": ""}
    made = files.Files("folder", 1)
    of_study = {}
    if study in run.COMPARED:
        first, *others = launch.servers(study, "salver")
        options = types.SimpleNamespace(path=None)
        targets = ["/" + target for target in made.arena()]
        if study != "protocols":
            targets += ["/" + made.size(length) for length in files.SIZES]
        paths = [path(target, 100.0, 1234.0, 12.34, "faster") for target in targets]
        found = [{**comparison(paths, way=name), "server": peer.name}
                 for name, _, _, only in run.ways(study, made, options) for peer in others if not only or peer.name in only]
        of_study = {"settings": {first.name: "as it comes"}, "comparisons": found, "left_out": {"a server": "not installed"}}
    elif study == "cached":
        interval = {"ratio": 12.34, "low": 12.34, "high": 12.34}
        side = path("/x", 1.0, 1.0, 1.0, "same")["trials"][0]
        of_study = {"report": {"rows": [
            {"name": f"{length // files.KIB} KiB", "series": [side, side], "speed_up": {"requests": interval, "server_cpu": interval}, "verdict": "faster (by the server's CPU)"}
            for length in files.SIZES]}}
    elif study == "profile":
        loads = [*profile.CACHED, *(f"{name}, --no-cache" for name in profile.PLAIN)]
        of_study = {"requests": 1000, "calls": [{"load": load, "answers": 50_000, "calls": {"recvfrom": 1.0, "sendto": 1.19}} for load in loads],
                    "functions": {load: [["serve", 3000.0], ["parse", 331.4]] for load in profile.CACHED}}
    elif study == "allocations":
        names = [library.name for library in launch.libraries.everyone(launch.OUTPUT)]
        of_study = {"requests": 1000, "versions": {name: "1.2.3" for name in names},
                    "found": {name: [(1234.5, 1_234_567.0)] * (len(allocations.CASES) - 1) + [None] for name in names}}
    elif study == "cost":
        names = [f"v{number}" for number in range(10)]
        tables_of = {}
        for table, profiles in cost.STUDIES.items():
            crates = cost.LIBRARIES if table == "libraries" else cost.FEATURES[table]
            tables_of[table] = {"packages": {name: names[:3 + len(name) % 4] for name in crates},
                                "seconds": {name: {profile: [11.59] for profile in profiles} for name in crates}}
        of_study = {"compiler": "rustc 1.95.0", "cores": 2, "rounds": 1, "tables": tables_of}
    return {"study": study, "machine": facts, **of_study}


def options_for(folder, write):
    return types.SimpleNamespace(results=pathlib.Path(folder), write=write)


class Sites(unittest.TestCase):
    def test_each_case_is_a_configuration(self):
        parsed = {case: tomllib.loads(sites.config(case, '/a "b"'))["site"] for case in sites.CASES}
        self.assertEqual({case: len(found) for case, found in parsed.items()}, {"one": 1, "thousand": 1000, "rules": 1, "fields": 1, "pages": 1})
        hosts = [host for site in parsed["thousand"] for host in site["hosts"]]
        self.assertEqual(len(hosts), len(set(hosts)))
        self.assertEqual((parsed["one"][0]["root"], len(parsed["rules"][0]["rule"])), ('/a "b"', 200))


class Ratios(unittest.TestCase):
    def test_each_case_has_its_turn_in_each_round(self):
        rounds = list(ratios.in_turns("abc", 3, str.upper))
        self.assertEqual([list(took) for took in rounds], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
        self.assertTrue(all(took == {"a": "A", "b": "B", "c": "C"} for took in rounds))

    def test_the_interval_is_of_the_median(self):
        # Ranks 22 and 40 of 61 have it in between 95 times of 100; of a few values nothing can be left out.
        self.assertEqual(ratios.interval(range(1, 62)), (22, 40))
        self.assertEqual(ratios.interval([3, 1, 2]), (1, 3))
        self.assertEqual(ratios.described([1.0] * 9), "1.000 (1.000 to 1.000)")


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

    def test_in_short_they_are_one_line(self):
        found = [comparison([path("/sizes/1024.dat", 1.0, 1.0, 1.0, "same", errors=2)])]
        self.assertEqual(tables.doubts_in_short(found, {"caddy": "not installed"}),
                         "Left out: caddy. 2 requests failed. Others took 0.30 cores at most, in 1 of 1 comparisons.")
        found[0]["document"]["environment"]["others"] = None
        found[0]["document"]["paths"][0]["errors"] = 0
        self.assertEqual(tables.doubts_in_short(found, {}), "")


class Publishing(unittest.TestCase):
    """What a study leaves: a page of its own with all figures, and a summary between the markers of BENCHMARKS.md."""

    def publish(self, study, folder, write):
        folder = pathlib.Path(folder)
        target = folder / "page.md"
        target.write_text("".join(f"<!-- {one}:begin -->\nas it was\n<!-- {one}:end -->\n" for one in run.STUDIES), encoding="utf-8")
        (folder / f"{study}.json").write_text(json.dumps(kept_of(study)), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            run.publish(study, options_for(folder, write), target)
        return (folder / f"{study}.md").read_text(encoding="utf-8"), target.read_text(encoding="utf-8")

    def test_every_study_writes_all_its_figures_with_commit_machine_and_date(self):
        for study, part in [("servers", "| 12.34 (12.24-12.44) | cheaper |"), ("embedded", "## HTTP: arena"), ("protocols", "## HTTP: arena"),
                            ("cached", "| 10 KiB   |"), ("profile", "| `recvfrom` |"), ("allocations", "bytes allocated/request"), ("cost", "rustc 1.95.0")]:
            with self.subTest(study), tempfile.TemporaryDirectory() as folder:
                full, _ = self.publish(study, folder, write=True)
                for one in (f"# {study}: all figures", "- date: 2026-11-22 13:44 UTC", "- Salver: 0123456 of 2026-11-22", "- processor: some processor", part):
                    self.assertIn(one, full)

    def test_the_page_gets_a_summary_of_that_study_alone_and_only_when_it_is_to_be_written(self):
        for study in run.STUDIES:
            with self.subTest(study), tempfile.TemporaryDirectory() as folder:
                _, untouched = self.publish(study, folder, write=False)
                self.assertEqual(untouched.count("as it was"), len(run.STUDIES))
                full, written = self.publish(study, folder, write=True)
                self.assertEqual(written.count("as it was"), len(run.STUDIES) - 1)
                summary = written.split(f"<!-- {study}:begin -->")[1].split(f"<!-- {study}:end -->")[0]
                self.assertIn(f"2026-11-22 13:44 UTC, Salver 0123456 of 2026-11-22: [all figures, machine and settings](bench/results/{study}.md).", summary)
                self.assertLess(len(summary), len(full))

    def test_the_page_stays_short_with_the_summaries_of_whole_studies(self):
        text = run.PAGE.read_text(encoding="utf-8")
        for study in run.STUDIES:
            text = page.replace(text, study, run.render(study, kept_of(study))[0])
        self.assertLessEqual(len(text.encode()), LONGEST_PAGE)

    def test_only_whole_runs_are_published(self):
        self.assertEqual(run.arguments(["servers"])[1].results, run.UNPUBLISHED)
        self.assertEqual(run.arguments(["servers", "--write"])[1].results, run.PUBLISHED)
        _, look = run.arguments(["servers", "--write", "--quick"])
        self.assertEqual((look.write, look.results), (False, run.UNPUBLISHED))
        for part in (["--server", "nginx"], ["--path", "/sizes/1024.dat"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                run.arguments(["servers", "--write", *part])


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

    def test_the_page_has_a_place_for_every_study_and_leads_to_all_its_figures(self):
        text = run.PAGE.read_text(encoding="utf-8")
        for study in run.STUDIES:
            page.replace(text, study, "new")
            self.assertTrue(f"(bench/results/{study}.md)" in text, study)
            self.assertTrue((run.PUBLISHED / f"{study}.md").is_file(), study)

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
        for table, crates in cost.FEATURES.items():
            manifest = (cost.machine.TOP / "crates" / cost.library(table) / "Cargo.toml").read_text(encoding="utf-8")
            self.assertLessEqual(set(tomllib.loads(manifest)["features"]), measured)
            self.assertEqual(next(iter(crates.values())), ())
        self.assertIn("default-features = false, features = [\"tls\"] }", cost.featured("salver-server", ("tls",)))

    def test_axum_is_what_it_is_by_default(self):
        self.assertRegex(cost.required("axum"), r'^axum = "[0-9.]+"$')
        self.assertIn("features", cost.required("tokio"))
        self.assertRegex(cost.required("salver-tower"), r'^salver-tower = \{ path = "[^"]+" \}$')

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
