"""The program `mlsysim`, which here also knows the resolvers of installed Python packages: python -m mlsysim COMMAND ..."""

import sys


def main():
    """Runs the program with the words of the command line, and ends with its exit code."""
    from . import _mlsysim as core

    if not hasattr(core, "_run_program"):
        sys.exit("this build of mlsysim has no command line; build it with MLSYSIM_BUILD_CLI=ON")
    from .stages import publish

    publish()
    sys.stdout.flush()
    sys.exit(core._run_program(["mlsysim", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
