"""Starts the server: python3 -m mlsysim.mcp."""

import sys

from .server import main

sys.exit(main(sys.argv[1:]))
