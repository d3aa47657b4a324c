"""Tests of what the table of deltas rests on: python3 -m unittest discover -s bench"""

import hashlib
import pathlib
import tempfile
import unittest
from unittest import mock

import deltas


def row(package, dcb, dcz, br=1000):
    lengths = {"identity": 5000, "gzip": 1200, "br": br, "zstd": 1100, "dcb": dcb, "dcz": dcz}
    return {"package": package, "before": "1.0.0", "after": "1.0.1", "file": "app.js", "lengths": lengths}


class Table(unittest.TestCase):
    def test_shares_are_of_brotli_and_the_median_is_of_shares(self):
        rows = [row("a", 10, 20), row("b", 500, 600, br=2000), row("c", 30, 40)]
        self.assertEqual(deltas.medians(rows), {"dcb": 3.0, "dcz": 4.0})

    def test_a_row_for_each_pair_and_one_for_the_median(self):
        lines = deltas.table([row("a", 10, 2000)]).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(len({line.count("|") for line in lines}), 1, lines)
        self.assertIn("| `a` 1.0.0 to 1.0.1 | 5,000 | 1,200 | 1,000 | 1,100 | 10 | 2,000 | 1.0 % | 200.0 % |", lines)
        self.assertTrue(lines[-1].endswith(" 1.0 % | 200.0 % |"), lines[-1])

    def test_a_median_beyond_the_bound_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(deltas, "HERE", pathlib.Path(folder)), \
                mock.patch.object(deltas, "PAIRS", [()]), mock.patch("builtins.print"):
            for dcz, said in ((100, 0), (101, "deltas: the median dcz is 10.1 % of br: more than 10 %")):
                with mock.patch.object(deltas, "measure", lambda dcz=dcz: row("a", 10, dcz)):
                    self.assertEqual(deltas.main(["run"]), said)


class Pairs(unittest.TestCase):
    def test_there_are_eight_packages_each_from_one_version_to_another(self):
        self.assertGreaterEqual(len({package for package, *_ in deltas.PAIRS}), 8)
        self.assertEqual(len(set(deltas.PAIRS)), len(deltas.PAIRS))
        for _, before, after, _ in deltas.PAIRS:
            older, newer = ([int(part) for part in version.split(".")] for version in (before, after))
            self.assertLess(older, newer)

    def test_a_pattern_names_one_file(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(deltas, "HERE", pathlib.Path(folder)):
            package = deltas.folder("@some/thing", "1.2.3") / "package"
            self.assertEqual(package.parent.name, "some-thing-1.2.3")
            package.mkdir(parents=True)
            with self.assertRaisesRegex(deltas.Failed, "has 0 files like app-"):
                deltas.bundle("@some/thing", "1.2.3", "app-*.js")
            (package / "app-1.js").touch()
            self.assertEqual(deltas.bundle("@some/thing", "1.2.3", "app-*.js"), package / "app-1.js")
            (package / "app-2.js").touch()
            with self.assertRaisesRegex(deltas.Failed, "has 2 files"):
                deltas.bundle("@some/thing", "1.2.3", "app-*.js")


class Judging(unittest.TestCase):
    """With programs that print what they are told to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dictionary = self.folder / "before.js"
        self.dictionary.write_bytes(b"before")
        self.digest = hashlib.sha256(b"before").digest()
        self.enterContext(mock.patch.object(deltas, "HERE", self.folder))

    def judge(self, coded, *words):
        programs = {f"decoder {number}": (command, None) for number, command in enumerate(words)}
        with mock.patch.object(deltas, "decoders", lambda *_: programs):
            deltas.judge("dcb", coded, self.dictionary, b"after")

    def test_the_head_has_the_magic_and_the_digest(self):
        self.assertEqual(deltas.stream("dcb", b"\xff\x44\x43\x42" + self.digest + b"rest", b"before"), b"rest")
        dcz = bytes.fromhex("5e2a4d1820000000") + self.digest
        self.assertEqual(deltas.stream("dcz", dcz, b"before"), b"")
        for coding, coded in (("dcb", dcz), ("dcz", dcz[:-1]), ("dcz", dcz[:8] + bytes(32)), ("dcb", b"")):
            with self.assertRaisesRegex(deltas.Failed, f"{coding} does not begin with"):
                deltas.stream(coding, coded, b"before")

    def test_each_decoder_has_to_make_the_original(self):
        right, wrong = ["printf", "after"], ["printf", "other"]
        self.judge(b"coded", right, right)
        for words in ((wrong, right), (right, wrong)):
            with self.assertRaisesRegex(deltas.Failed, "decoded to something else by decoder"):
                self.judge(b"coded", *words)

    def test_a_decoder_that_fails_is_named_with_what_it_said(self):
        with self.assertRaisesRegex(deltas.Failed, "no such stream"):
            self.judge(b"coded", ["sh", "-c", "echo no such stream >&2; exit 1"])

    def test_both_codings_have_two_decoders(self):
        for coding, magic in deltas.MAGIC.items():
            coded = magic + self.digest + b"rest"
            programs = deltas.decoders(coding, coded, self.folder / "coded", self.dictionary)
            self.assertEqual(len({str(words[0]) for words, _ in programs.values()}), 2)
            with self.assertRaises(deltas.Failed):
                deltas.decoders(coding, magic + bytes(32), self.folder / "coded", self.dictionary)


if __name__ == "__main__":
    unittest.main()
