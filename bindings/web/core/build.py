"""Compiles the library and its commands to WebAssembly: build.py FOLDER, then `ninja -C FOLDER`.

The compiler, its C and C++ libraries and the linker are those of PyPI's `ziglang`; yaml-cpp and zlib are compiled from
Debian's source packages, {fmt}, nlohmann_json and CLI11 are the headers of the system. Rooms that need processes,
sockets or shared libraries are left out, and src/cli/page/absent.cpp says so in their place.
"""

import argparse
import importlib.util
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
VERSION = "0.17.1"  # of ziglang: clang 22

# Folders of src that are compiled, and files of theirs that are not.
ROOMS = ("units scalars reflect tape physics specs lowering resolver_api timing estimate files zoo resolvers pipeline engine intervals explore report cli "
         "components/model_files components/launch components/request_trace components/sizing components/plot").split()
LEFT_OUT = {f"{folder}/{name}.cpp" for folder, names in {
    "files": "write",
    "explore": "search/gradient_search search/local_optimizer search/evolutionary_search",
    "cli": "main complete zoo_templates run_program process child_process command_agents observed plugin_exit absent_commands",
    "components/plot": "cli/print_html librsvg measured_points nearest_rows report_forms report_page"}.items() for name in names.split()}

MACHINE = "-target wasm32-wasi -mcpu=lime1+exception_handling+bulk_memory -fwasm-exceptions -fno-sanitize=all -fno-stack-protector -g0"
# -Os packs best: -Oz and -flto, where exceptions are caught, are larger by brotli.
SMALL = "-Os -w"
OURS = f"-std=c++20 {SMALL} -fexperimental-library -ffp-contract=off -DMLSYSIM_PLAIN_KERNELS -DFMT_EXCEPTIONS=1 -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_MMAN"
LIBCXX = """algorithm any atomic barrier bind call_once charconv chrono condition_variable condition_variable_destructor
  error_category exception fstream functional future hash ios ios.instantiations iostream locale memory
  memory_resource mutex mutex_destructor new new_handler new_helpers optional ostream random regex shared_mutex stdexcept string
  strstream system_error thread typeinfo valarray variant vector verbose_abort experimental/log_hardening_failure ryu/d2fixed
  ryu/d2s ryu/f2s filesystem/directory_entry filesystem/directory_iterator filesystem/filesystem_clock
  filesystem/filesystem_error filesystem/operations filesystem/path""".split()
LIBCXXABI = """abort_message cxa_aux_runtime cxa_default_handlers cxa_demangle cxa_exception cxa_exception_storage cxa_guard
  cxa_handlers cxa_personality cxa_vector cxa_virtual fallback_malloc private_typeinfo stdlib_exception stdlib_new_delete
  stdlib_stdexcept stdlib_typeinfo""".split()
ZLIB = "adler32 crc32 inffast inflate inftrees zutil".split()


def zig():
    """Folder of PyPI's ziglang, or None."""
    found = importlib.util.find_spec("ziglang")
    return pathlib.Path(found.origin).resolve().parent if found else None


def rooms():
    """Groups of sources that are compiled together, as cmake/MlsysimRooms.cmake makes them: [(name, [file])]."""
    out = []
    text = (ROOT / "src/CMakeLists.txt").read_text(encoding="utf-8")
    alone = {f"{room}/{f}" for room, files in re.findall(r"mlsysim_alone\(([\w/]+) (.*?)\)", text, re.DOTALL) for f in files.split()}
    alone |= set(re.findall(r"KERNELS (\S+)", text))
    for room in ROOMS:
        top, name = ROOT / "src" / room, room.replace("/", "_")
        files = sorted(f.relative_to(top).as_posix() for f in (top.glob("*.cpp") if room == "cli" else top.rglob("*.cpp")))
        files = [f for f in files if not f.startswith("tool/") and f"{room}/{f}" not in LEFT_OUT]
        apart = [f for f in files if f"{room}/{f}" in alone]
        # Commands of a component are no part of its library, and may use the names of its files for things of their own.
        for part, joined in ((name, [f for f in files if f not in apart and not f.startswith("cli/")]), (f"{name}_cli", [f for f in files if f.startswith("cli/")])):
            groups = (len(joined) + 7) // 8
            for g in range(groups):
                out.append((f"{part}_{g}", [f"{room}/{f}" for i, f in enumerate(joined) if i * groups // len(joined) == g]))
        out += [(f"{name}_{f[:-4].replace('/', '_')}", [f"{room}/{f}"]) for f in apart]
    return out


def write(folder, sources, tool):
    """build.ninja of the module mlsysim.wasm. @param sources folder with yaml-cpp and zlib"""
    lib = tool / "lib"
    headers = folder / "include"
    headers.mkdir(parents=True, exist_ok=True)
    for name in ("fmt", "nlohmann", "CLI"):
        if not (headers / name).exists():
            (headers / name).symlink_to(pathlib.Path("/usr/include") / name)
    lines = [f"zig = {tool / 'zig'}", f"machine = {MACHINE}", f"first = -include {HERE / 'standard_library.hpp'}",
             "rule cxx", "  description = $out", "  command = $zig c++ $machine $first $flags -MD -MF $out.d -c $in -o $out", "  depfile = $out.d", "  deps = gcc",
             "rule cc", "  description = $out", "  command = $zig cc $machine $flags -c $in -o $out",
             "rule link", "  description = $out", "  command = $zig cc $machine -mexec-model=reactor -Wl,--gc-sections,--strip-all,-z,stack-size=4194304 $in "
             "-lwasi-emulated-signal -lwasi-emulated-mman -o $out"]
    objects = []

    def add(rule, name, source, flags):
        objects.append(f"obj/{name}.o")
        lines.extend([f"build obj/{name}.o: {rule} {source}", f"  flags = {flags}"])

    own = f"{OURS} -I{ROOT / 'include'} -I{ROOT / 'src'} -I{ROOT / 'src/components'} -I{headers} -I{sources / 'yaml-cpp/include'} -I{sources / 'zlib'} -DMLSYSIM_ZOO_INSTALL_DIR='\"/zoo\"'"
    units = folder / "units"
    units.mkdir(exist_ok=True)
    for name, files in rooms():
        text = "".join(f'#include "{ROOT / "src" / f}"\n' for f in files)
        unit = units / f"{name}.cpp"
        if not unit.exists() or unit.read_text(encoding="utf-8") != text:
            unit.write_text(text, encoding="utf-8")
        add("cxx", name, unit, own)
    for file in [*sorted((ROOT / "src/cli").glob("page/*.cpp")), HERE / "fmt.cpp"]:
        add("cxx", f"web_{file.stem}", file, own)
    standard = f"-std=c++23 {SMALL} -fexperimental-library -D_LIBCPP_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI -include {HERE / 'narrow.hpp'}"
    for name in LIBCXX:
        add("cxx", "cxx_" + name.replace("/", "_"), lib / f"libcxx/src/{name}.cpp", f"{standard} -I{lib / 'libcxx/src'} -I{lib / 'libcxx/libc'}")
    for name in LIBCXXABI:
        # Names of types in the words of an end that nobody sees would bring a demangler with them.
        add("cxx", "abi_" + name, lib / f"libcxxabi/src/{name}.cpp", f"{standard} -D_LIBCXXABI_BUILDING_LIBRARY -DLIBCXXABI_NON_DEMANGLING_TERMINATE -I{lib / 'libcxx/src'}")
    add("cc", "unwind", lib / "libunwind/src/Unwind-wasm.c", f"-Os -w -fms-extensions -I{lib / 'libunwind/include'}")
    add("cc", "tag", HERE / "exception_tag.S", "")
    for file in sorted((sources / "yaml-cpp/src").glob("*.cpp")):
        add("cxx", "yaml_" + file.stem, file, f"-std=c++17 {SMALL} -I{sources / 'yaml-cpp/include'}")
    for name in ZLIB:
        add("cc", "zlib_" + name, sources / f"zlib/{name}.c", "-Os -w")
    lines.append("build mlsysim.wasm: link " + " ".join(objects))
    (folder / "build.ninja").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--sources", type=pathlib.Path, help="folder with yaml-cpp and zlib (default: FOLDER/sources)")
    asked = arguments.parse_args()
    tool = zig()
    if tool is None:
        sys.exit(f"there is no ziglang: pip install ziglang=={VERSION}")
    folder = asked.folder.resolve()
    write(folder, (asked.sources or folder / "sources").resolve(), tool)


if __name__ == "__main__":
    main()
