"""What docs/first-call.md shows is what happens to whoever follows it."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import rig

PAGE = rig.ROOT / "docs" / "first-call.md"
BLOCKS = re.compile(r"^```(sh|console|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CUT = "[…]"
# Seconds until what is written behind the calls has to be there.
PATIENCE = 10


class FirstCall(unittest.TestCase):
    # What differs is to be read, and put into the page.
    maxDiff = None

    def test_commands_do_what_is_shown(self):
        blocks = BLOCKS.findall(PAGE.read_text("utf-8"))
        self.assertGreaterEqual(sum(kind == "console" for kind, _ in blocks), 8)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        binary = pathlib.Path(self.folder, "target", "release", "pointsman")
        binary.parent.mkdir(parents=True)
        binary.symlink_to(rig.BINARY)
        pathlib.Path(self.folder, "examples").symlink_to(rig.ROOT / "examples")
        config = (rig.ROOT / "examples" / "governed.yaml").read_text("utf-8")
        self.serve()
        defined = ""
        for kind, text in blocks:
            if kind == "yaml":
                self.assertEqual(text, config)
            elif kind == "sh" and " serve " not in text:
                defined += text
            elif kind == "console":
                for command, expected in commands(text):
                    with self.subTest(command):
                        self.check(defined, command, expected)

    def serve(self):
        process = subprocess.Popen(
            [rig.BINARY, "serve", "--config", "examples/governed.yaml"]
            + ["--listen", rig.ANY_PORT, "--admin", rig.ANY_PORT],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.api = process.stdout.readline().split("://")[1].strip()
        self.admin = process.stdout.readline().split("://")[1].split(": ")[0]

    def check(self, defined, command, expected):
        # An output that stands behind a cut may be anywhere.
        pattern = ".*?".join(re.escape(part) for part in expected.strip().split(CUT))
        pattern = re.compile(pattern, re.DOTALL)
        asks = "ask" in command or " keys " in command
        until = time.monotonic() + PATIENCE
        while True:
            printed = self.run_in_shell(defined + command).replace("\r\n", "\n").strip()
            if pattern.fullmatch(printed):
                return
            if asks or time.monotonic() > until:
                self.assertEqual(printed, expected.strip())
            time.sleep(0.1)

    def run_in_shell(self, script):
        script = script.replace("localhost:8080", self.api).replace("localhost:9090", self.admin)
        script = script.replace("keys make my-app", f"keys make my-app --admin http://{self.admin}")
        ran = subprocess.run(
            ["sh", "-c", script], cwd=self.folder, env=os.environ, capture_output=True, text=True
        )
        return ran.stdout


def commands(text):
    """Each command of a block, and what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [part.split("\n", 1) for part in parts]


if __name__ == "__main__":
    unittest.main()
