"""One source of a plugin from those of several assignments, so that all of them cost one compilation.

Of each file the classes and what it registers are taken as they are; the entry points become one.

usage: combine.py OUT FILE... [--replace OLD NEW]...      a text that is replaced stands once in one of the files
"""

import argparse
import pathlib
import re
import sys

ENTRY = re.compile(r"^MLSYSIM_PLUGIN\(\s*\(.*?\)\) (\{.*?^\})", re.M | re.S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    parser.add_argument("--replace", nargs=2, action="append", default=[])
    options = parser.parse_args()
    parts = []
    for number, path in enumerate(options.files):
        text, entries = ENTRY.subn(lambda m, number=number: f"static void register_{number}(mlsysim::plugin::sdk::Plugin& plugin) {m[1]}",
                                   path.read_text())
        if entries != 1:
            sys.exit(f"{path}: expected one MLSYSIM_PLUGIN, found {entries}")
        parts.append(f"#line 1 \"{path}\"\n{text}")
    whole = "\n".join(parts)
    for old, new in options.replace:
        if whole.count(old) != 1:
            sys.exit(f"'{old}' stands {whole.count(old)} times")
        whole = whole.replace(old, new)
    calls = "\n".join(f"  register_{number}(plugin);" for number in range(len(options.files)))
    options.out.write_text(f'{whole}\nMLSYSIM_PLUGIN(({{.name = "course", .space = "course", .version = "1.0.0", '
                           f'.threads = MLS_THREAD_SAFE}})) {{\n{calls}\n}}\n')


if __name__ == "__main__":
    main()
