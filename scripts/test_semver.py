"""Tests of what the API is compared with: the commit that wrote the heading of the newest version."""

import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import semver


class Baseline(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.git("init", "--quiet")

    def git(self, *words):
        own = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *own, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, text):
        (self.root / "CHANGELOG.md").write_text(text)
        self.git("add", "CHANGELOG.md")
        self.git("commit", "--quiet", "-m", "a")
        return self.git("rev-parse", "HEAD")

    def test_it_is_where_the_newest_version_was_written(self):
        first = self.commit("# Changelog\n\n## [Unreleased]\n")
        with mock.patch.object(semver, "ROOT", self.root):
            self.assertIsNone(semver.baseline(None))
            self.assertEqual(semver.baseline("HEAD"), first)
            released = self.commit("# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n")
            self.commit("# Changelog\n\n## [Unreleased]\n\n- More.\n\n## [0.1.0] - 2026-12-01\n\n- Mended.\n")
            self.assertEqual(semver.baseline(None), released)
            newer = self.commit("# Changelog\n\n## [0.2.0] - 2027-01-01\n\n## [0.1.0] - 2026-12-01\n")
            self.assertEqual(semver.baseline(None), newer)
            with self.assertRaisesRegex(semver.NotThere, "nosuch"):
                semver.baseline("nosuch")

    def test_a_history_that_is_cut_off_is_said(self):
        (self.root / "CHANGELOG.md").write_text("## [0.1.0] - 2026-12-01\n")
        self.git("commit", "--quiet", "--allow-empty", "-m", "a")
        with mock.patch.object(semver, "ROOT", self.root), self.assertRaisesRegex(semver.NotThere, "0.1.0"):
            semver.baseline(None)


if __name__ == "__main__":
    unittest.main()
