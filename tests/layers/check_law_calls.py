#!/usr/bin/env python3
"""Laws that pages of resolvers name because code calls them unrecorded (src/resolvers/resolvers.cpp) are called, and every call has a
page: names are held to the sources."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
CALL = re.compile(r"\b([A-Z][A-Za-z0-9]+)::solve<double>|\bapply<([A-Z][A-Za-z0-9]+)")


def calls(paths):
    return {a or b for path in paths for a, b in CALL.findall(path.read_text())}


rows = re.findall(r'shipped<(\w+)>\(\s*Question::[^,]+,\s*((?:"[^"]*"\s*)+),', (root / "src/resolvers/resolvers.cpp").read_text())
assert len(rows) >= 28, "the table of resolvers.cpp is not what this test reads"
named = {}
for resolver, text in rows:
    for law in "".join(re.findall('"([^"]*)"', text)).split():
        named.setdefault(law, []).append(resolver)

sources = [*(root / "src").rglob("*.?pp"), *(root / "include").rglob("*.hpp")]
# Unrecorded code: resolvers, and what they share. Solvers live with what they ask.
own = [*(root / "src/resolvers").rglob("*.cpp"), *(root / "src/timing").rglob("*.cpp")]
assert calls(own), "no law is called where this test looks for calls"
faults = [f"{law} is on the pages of {', '.join(of)} and called by nothing" for law, of in named.items() if law not in calls(sources)]
faults += [f"{law} is called by a resolver and on no page (src/resolvers/resolvers.cpp)" for law in sorted(calls(own) - set(named))]
print("\n".join(faults) or f"{len(named)} laws that are named are called, and the other way round")
sys.exit(bool(faults))
