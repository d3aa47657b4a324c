"""Tests of the action: its steps are run as a runner would, with inputs of good and bad sites: test.py PROGRAM."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ruamel.yaml import YAML

ACTION = Path(__file__).resolve().parent
PROGRAM = ""


class Runner:
    """A runner of composite actions, as far as this one needs it."""

    def __init__(self, folder):
        self.action = YAML(typ="safe").load((ACTION / "action.yml").read_text())
        self.folder = folder

    def run(self, **given):
        """The exit code of the first step that fails, or 0, and what all have said."""
        inputs = {name: given.pop(name, about["default"]) for name, about in self.action["inputs"].items()}
        assert not given, f"no such inputs: {given}"
        values = {f"inputs.{name}": value for name, value in inputs.items()}
        values |= {"github.action_path": str(ACTION), "runner.temp": str(self.folder)}
        said = ""
        for number, step in enumerate(self.action["runs"]["steps"]):
            def fill(text):
                return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: values[found.group(1)], text)
            output = self.folder / f"output-{number}"
            output.touch()
            environment = dict(os.environ, GITHUB_OUTPUT=str(output))
            environment |= {name: fill(value) for name, value in step["env"].items()}
            run = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", fill(step["run"])],
                                 cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
            said += run.stdout + run.stderr
            if run.returncode:
                return run.returncode, said
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step['id']}.outputs.{name}"] = value
        for about in self.action["outputs"].values():
            assert fill(about["value"]), "an output is empty"
        return 0, said


class Action(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "dist").mkdir()
        (self.folder / "dist/index.html").write_text("home")
        (self.folder / "dist/a b.html").write_text("two words")

    def check(self, code, *parts, **inputs):
        got, said = Runner(self.folder).run(program=PROGRAM, **inputs)
        self.assertEqual(got, code, said)
        for part in parts:
            self.assertIn(part, said)

    def test_a_site_is_served(self):
        self.check(0, "2 pages", path="dist", pages="/\n/a%20b.html\n")

    def test_flags_are_read_as_a_shell_reads_them(self):
        self.check(0, "1 pages", path="dist", flags="--spa='a b.html' --cors", pages="/profile")
        self.check(1, "error", path="dist", flags="--no-such-flag")

    def test_a_page_that_is_missing_fails(self):
        self.check(1, "::error::salver: /gone.html is answered by 404", path="dist", pages="/\n/gone.html")
        self.check(1, "no page was named", path="dist", pages="")

    def test_what_should_be_missing_fails_if_it_is_there(self):
        self.check(1, "is answered by 200, not 404", path="dist", flags="--spa", missing="/profile")

    def test_a_configuration_is_checked_and_served_by(self):
        (self.folder / "salver.toml").write_text("root = 'dist'\nport = 1\n[[rule]]\nfrom = '/old'\nrewrite = '/index.html'\n")
        self.check(0, "2 pages", config="salver.toml", pages="/\n/old")
        (self.folder / "salver.toml").write_text("rot = 'dist'\n")
        self.check(1, "is root meant?", config="salver.toml")
        self.check(1, "both given", config="salver.toml", path="dist")

    def test_a_directory_that_is_not_there_fails(self):
        self.check(1, "nowhere", path="nowhere")

    def test_a_site_is_deployed_once_all_is_well(self):
        token, store = "0123456789abcdef", self.folder / "store"
        command = [PROGRAM, "serve", "--store", store, "--port", "0", "--metrics", "0", "--accept-deploys"]
        server = subprocess.Popen(command, env=dict(os.environ, SALVER_ADMIN_TOKEN=token), stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.terminate)
        line = next(line for line in server.stderr if "takes deploys" in line)
        to = re.search(r"http://[\d.:]+/", line).group()
        self.check(1, "answered by 404", path="dist", pages="/gone", deploy=to, token=token)
        self.check(1, "deploy needs token", path="dist", deploy=to)
        self.check(1, "was not deployed", path="dist", deploy=to, token=token + "x")
        self.assertFalse((store / "current").exists())
        self.check(0, "is current: 2 files", path="dist", deploy=to, token=token)
        self.check(0, "nothing has changed", path="dist", deploy=to, token=token)

    def test_an_import_is_whole_or_fails(self):
        (self.folder / "serve.json").write_text('{"redirects": [{"source": "/a", "destination": "/b"}]}')
        self.check(0, **{"import": "serve.json"}, path="dist")
        (self.folder / "serve.json").write_text('{"redirects": [{"source": "/(\\\\d+)x?", "destination": "/b"}]}')
        self.check(1, "has what is not taken", **{"import": "serve.json"}, path="dist")


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
