#!/usr/bin/env python3
"""Packs the static program as a wheel for any Python on Linux: scripts/program_wheel.py PROGRAM FOLDER

The wheel holds the program and its licences, and no Python code: pip places the program beside python. The same program gives the
same bytes; times are SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "mlsysim_cpp_program"
# A static program asks for nothing but a kernel (3.2 or later): glibc or musl.
PLATFORMS = ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64")


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: {NAME.replace('_', '-')}
Version: {version}
Summary: The program mlsysim alone, without its Python package
License: Apache-2.0
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Requires-Python: >=3.7
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = map(pathlib.Path, sys.argv[1:])
    version = re.search(r'MLSYSIM_VERSION_TEXT "([^"]+)"', (ROOT / "include/mlsysim/version.hpp").read_text())[1]
    info = f"{NAME}-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in PLATFORMS)
    files = {f"{NAME}-{version}.data/scripts/mlsysim": program.read_bytes(),
             f"{info}/LICENSE": (ROOT / "LICENSE").read_bytes(),
             f"{info}/METADATA": metadata(version).encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: mlsysim\nRoot-Is-Purelib: false\n{tags}".encode()}
    notices = program.parent / "THIRD-PARTY-NOTICES"
    if notices.exists():
        files[f"{info}/THIRD-PARTY-NOTICES"] = notices.read_bytes()
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]  # zip begins in 1980
    out = folder / f"{NAME}-{version}-py3-none-{'.'.join(PLATFORMS)}.whl"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0].endswith("RECORD"), item[0])):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name.endswith("/mlsysim") else 0o100644) << 16
            wheel.writestr(entry, data)
    print(out)


if __name__ == "__main__":
    main()
