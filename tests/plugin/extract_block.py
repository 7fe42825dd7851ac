"""Writes the first block of a language of a page of the documentation into a file, so that a test can build it.

usage: extract_block.py <page> <language> <file>
"""

import pathlib
import re
import sys

PAGE, LANGUAGE, OUT = sys.argv[1:]
found = re.search(rf"^```{LANGUAGE}\n(.*?)^```$", pathlib.Path(PAGE).read_text(), re.DOTALL | re.MULTILINE)
if found is None:
    sys.exit(f"{PAGE}: expected a block ```{LANGUAGE}")
pathlib.Path(OUT).write_text(found.group(1))
