"""Runs a program and compares what it prints with a file.

usage: expect_output.py --expected FILE [--update] -- PROGRAM [ARGUMENT...]
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import expected as expected_text  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expected", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true", help="write what the program prints to the file")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    done = subprocess.run(options.command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{options.command[0]} ended with status {done.returncode}\n{done.stdout}{done.stderr}")
        return 1
    if options.update:
        options.expected.write_text(done.stdout)
        return 0
    wanted = options.expected.read_text()
    if expected_text.matches(wanted, done.stdout):
        return 0
    print(expected_text.difference(wanted, done.stdout))
    print(f"\n{options.expected} does not say what the program prints; if the new text is right, add --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
