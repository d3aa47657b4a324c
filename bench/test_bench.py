"""Tests of what the figures rest on: python3 -m unittest discover -s bench"""

import socket
import subprocess
import sys
import threading
import unittest

import allocations
import callgrind
import cost
import files
import measure
import page
import process
import protocol_load
import report
import syscalls
import trials
import verdict
import workload


class Verdicts(unittest.TestCase):
    def test_the_interval_is_students(self):
        # Logarithms 0, 0.1, 0.2: mean 0.1, deviation 0.1, t(2) = 4.303, so the reach is 0.2484.
        low, high = verdict.interval([1.0, 1.1051709, 1.2214028])
        self.assertAlmostEqual(low, 0.8621, 3)
        self.assertAlmostEqual(high, 1.4168, 3)

    def test_every_word(self):
        for ratios, expected in [([1.2, 1.21, 1.19], verdict.DEARER), ([0.8, 0.81, 0.79], verdict.CHEAPER),
                                 ([0.9, 1.1, 1.0], verdict.SAME), ([1.5], verdict.UNJUDGED)]:
            self.assertEqual(verdict.verdict(ratios), expected, ratios)


class Rounds(unittest.TestCase):
    def test_every_round_has_everyone_and_begins_with_another(self):
        servers = list("abcdefgh")
        orders = [trials.order(servers, number) for number in range(5)]
        for one in orders:
            self.assertEqual(sorted(one), servers)
        self.assertEqual(len({one[0] for one in orders}), 5)

    def test_one_server_is_enough(self):
        self.assertEqual(trials.order(["a"], 3), ["a"])


class Pages(unittest.TestCase):
    def test_only_the_section_changes(self):
        text = "above\n<!-- a:begin -->\nold\n<!-- a:end -->\nbelow\n<!-- b:begin --><!-- b:end -->\n"
        once = page.replace(text, "a", "new\n")
        self.assertEqual(once, "above\n<!-- a:begin -->\n\nnew\n\n<!-- a:end -->\nbelow\n<!-- b:begin --><!-- b:end -->\n")
        self.assertEqual(page.replace(once, "a", "new"), once)

    def test_a_page_without_the_section_is_refused(self):
        with self.assertRaises(process.Failed):
            page.replace("nothing here", "a", "new")

    def test_tables_put_numbers_to_the_right(self):
        self.assertEqual(report.table(["who", "n"], [["15 br", "7"], ["x", "123"]]),
                         "| who   |   n |\n|-------|----:|\n| 15 br |   7 |\n| x     | 123 |")


class Profiles(unittest.TestCase):
    def test_calls_with_and_without_errors(self):
        text = ("% time     seconds  usecs/call     calls    errors syscall\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                " 60.00    0.100000          10     10000           recvfrom\n"
                " 40.00    0.050000           5      5000        12 sendto\n"
                "------ ----------- ----------- --------- --------- ----------------\n"
                "100.00    0.150000          10     15000        12 total\n")
        self.assertEqual(syscalls.counts(text), {"recvfrom": 10000, "sendto": 5000})

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


class Measures(unittest.TestCase):
    def test_the_clock_says_what_proc_says(self):
        work = "sum(range(10_000_000)); print(flush=True); input()"
        child = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        with child:
            child.stdout.readline()  # from here on it only waits
            self.assertEqual(measure.members(child.pid), [child.pid])
            clock, ticks = measure.cpu_seconds(child.pid), measure.ticks_seconds(child.pid)
            self.assertGreater(measure.resident_mib(child.pid), 1)
            child.communicate(b"\n")
        self.assertGreater(clock, 0)
        # User and system time are each cut to hundredths of a second in /proc.
        self.assertAlmostEqual(clock, ticks, delta=0.03)


class Clients(unittest.TestCase):
    PRINTED = ("TLS Protocol: TLSv1.3\nCipher: TLS_AES_128_GCM_SHA256\nApplication protocol: h2\n\n"
               "finished in 500.00ms, 8.00 req/s, 1.25MB/s\n"
               "requests: 4 total, 4 started, 4 done, 4 succeeded, 0 failed, 0 errored, 0 timeout\n"
               "status codes: 3 2xx, 0 3xx, 1 4xx, 0 5xx\n"
               "traffic: 1.25KB (1280) total, 85B (85) headers (space savings 38.21%), 1.00KB (1024) data\n")

    def test_h2loads_report_and_log(self):
        log = "1\t200\t30\n2\t200\t10\n3\t404\t5\n4\t200\t20\n"
        self.assertEqual(protocol_load.H2load.read(self.PRINTED, log, 4), {
            "answers": 3, "us": 500_000, "content": 1024, "p50_us": 20, "p99_us": 30, "errors": 1,
            "negotiated": "TLSv1.3, TLS_AES_128_GCM_SHA256, h2"})

    def test_no_report_is_a_failure(self):
        with self.assertRaises(process.Failed):
            protocol_load.H2load.read("could not connect", "", 4)


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
        found = {cost.BASE: {"a v1", "b v1"}, "more": {"a v1", "b v1", "c v1"}}
        took = {cost.BASE: {"debug": [1.0, 11.0]}, "more": {"debug": [3.0, 14.0]}}
        self.assertEqual(cost.table(found, took).splitlines()[3],
                         "| more         |        3 |             1 | 8.50 [3.00-14.00] | 2.50 [2.00-3.00] |")


class Shares(unittest.TestCase):
    def test_equal_work_only_and_the_inverse_of_the_ratio(self):
        results = trials.Results()
        for number in range(3):
            for server, cpu in [("salver-tower", 2.0), ("servedir", 8.0), ("rust-embed", 1.0)]:
                results.runs.append({"round": number, "load": "arena", "server": server, "cpu_us": cpu + number / 100})
        results.work = {("arena", "salver-tower"): [("br", 1)], ("arena", "servedir"): [("br", 1)], ("arena", "rust-embed"): [("identity", 9)]}
        lines = report.shares(results, [workload.Load("arena", "", (), "")], ["salver-tower", "servedir", "rust-embed"], "salver-tower")
        self.assertEqual(lines.splitlines()[2], "| arena           | 0.25 [0.25-0.25] | other work |")


class Inputs(unittest.TestCase):
    def test_a_seed_gives_the_same_bytes_and_another_seed_others(self):
        for name, length in [("a.js", 5000), ("a.css", 5000), ("a.html", 5000), ("a.svg", 5000), ("a.json", 3000), ("a.png", 6000)]:
            self.assertEqual(files.content(name, length, 1), files.content(name, length, 1))
            self.assertNotEqual(files.content(name, length, 1), files.content(name, length, 2))
            self.assertLess(abs(len(files.content(name, length, 1)) - length), 1000)


if __name__ == "__main__":
    unittest.main()
