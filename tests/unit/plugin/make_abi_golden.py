"""Lists the structs and members of mlsysim_plugin.h as abi_members.inc, which test_abi.cpp measures.

usage: make_abi_golden.py <header> <output>
"""

import pathlib
import re
import sys

header, output = map(pathlib.Path, sys.argv[1:3])
text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
text = re.sub(r"//.*", "", text)
lines = []
for name, body in re.findall(r"^(?:typedef )?struct (\w+) \{(.*?)^\}", text, re.M | re.S):
    body = body.replace("MLS_HEAD;", "uint32_t struct_size; uint32_t reserved; const MlsExtension* next;")
    lines.append(f"STRUCT({name});")
    for member in re.split(r";\s*", body):
        member = " ".join(member.split())
        if not member:
            continue
        pointer = re.search(r"\(\*(\w+)\)", member)
        names = [pointer[1]] if pointer else re.findall(r"(\w+)\s*(?:,|$)", member)
        lines += [f"MEMBER({name}, {n});" for n in names]
if not lines:
    sys.exit(f"{header}: no struct found")
output.write_text("\n".join(lines) + "\n")
