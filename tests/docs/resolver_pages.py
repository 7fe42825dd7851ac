"""The pages of docs/reference/resolvers are what the program writes, one for each resolver, and nothing else."""

import argparse
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the program mlsysim")
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    args = parser.parse_args()
    check = subprocess.run([args.program, "resolver", "docs", "--check", str(args.folder)], capture_output=True, text=True)
    print(check.stdout + check.stderr, end="")
    names = subprocess.run([args.program, "resolver", "docs"], capture_output=True, text=True, check=True).stdout.split()
    strangers = sorted({p.name for p in args.folder.iterdir()} - set(names))
    for name in strangers:
        print(f"{args.folder / name}: there is no such resolver")
    return 1 if check.returncode or strangers or len(names) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
