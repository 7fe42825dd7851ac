"""Starts the server: python3 -m mlsysim.mcp."""

import os
import sys

from .server import main

try:
    code = main(sys.argv[1:])
    sys.stdout.flush()
except BrokenPipeError:  # a reader that leaves early is no error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = 0
sys.exit(code)
