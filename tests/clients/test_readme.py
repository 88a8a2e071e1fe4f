"""What the README shows of `explain`, `check` and `test` is what they print."""

import os
import re
import subprocess
import unittest

import rig

BLOCKS = re.compile(r"^```console\n\$ (.+?)\n```$", re.MULTILINE | re.DOTALL)
STEADY = re.compile(r"target/release/pointsman (explain|check|test) ")
PROVIDER_KEY = re.compile(r"_API_KEY$")


class Readme(unittest.TestCase):
    # What differs is to be read, and put into the README.
    maxDiff = None

    def test_commands_print_what_is_shown(self):
        shown = BLOCKS.findall((rig.ROOT / "README.md").read_text("utf-8"))
        steady = [block for block in shown if STEADY.search(block)]
        self.assertGreaterEqual(len(steady), 4)
        # Keys of whoever runs the tests would change what is served.
        keyless = {name: value for name, value in os.environ.items() if not PROVIDER_KEY.search(name)}
        for block in steady:
            command, expected = split(block)
            with self.subTest(command):
                command = command.replace("target/release/pointsman", f"'{rig.BINARY}'")
                ran = subprocess.run(
                    ["sh", "-c", command], cwd=rig.ROOT, env=keyless, capture_output=True, text=True
                )
                self.assertEqual(ran.stdout.strip(), expected, ran.stderr)


def split(block):
    """The command, with the document it is fed if there is one, and what it prints."""
    end = "\nEND\n" if "<<'END'\n" in block else "\n"
    command, expected = block.split(end, 1)
    return command + end, expected


if __name__ == "__main__":
    unittest.main()
