"""The program `mlsysim`, which here also knows the resolvers of installed Python packages: python3 -m mlsysim COMMAND ...

One command is written in Python: mcp, the server for agents.
"""

import os
import sys


def main(words=None):
    """Runs the program with the words of the command line. Its exit code."""
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["mcp"]:
        from .mcp.server import main as serve

        return serve(words[1:])
    from . import _mlsysim as core

    if not hasattr(core, "_run_program"):
        print("this build of mlsysim has no command line but mcp; build it with MLSYSIM_BUILD_CLI=ON", file=sys.stderr)
        return 1
    if words[:1] == ["course"]:  # what it grades in Python is graded by this interpreter
        os.environ.setdefault("MLSYSIM_PYTHON", sys.executable)
    else:
        from .stages import publish

        publish(reports=True)
    sys.stdout.flush()
    return core._run_program(["mlsysim", *words])


if __name__ == "__main__":
    sys.exit(main())
