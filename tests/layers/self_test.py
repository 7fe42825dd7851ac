"""Checks the checks: a small tree that breaks each rule must be reported with file, line and rule."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import check_errors  # noqa: E402
import check_fidelity  # noqa: E402
import check_includes  # noqa: E402
import check_sizes  # noqa: E402
import header_times  # noqa: E402
import tidy  # noqa: E402
import expected  # noqa: E402


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/explanation/architecture.md", "```rooms\nunits:\nreflect: units\nzoo: units reflect\n```\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def includes(self, name, text):
        path = self.write(name, text)
        return check_includes.check_file(path, self.root, check_includes.read_rooms(self.root))

    def test_a_resolver_branches_on_the_fidelity_once(self):
        branch = "if (f == Fidelity::textbook) {}\n"
        self.write("src/timing/a.cpp", branch + branch)
        self.write("src/resolvers/shared/a.hpp", branch)
        self.write("src/resolvers/models/a.cpp", "// Fidelity::textbook in words\nAModel::solve(const In& in) {\n" + branch + "}\n")
        self.write("src/engine/a.cpp", "// Fidelity::textbook in words\nFidelity fidelity{};\n")
        self.assertEqual([], check_fidelity.complaints_of(self.root))
        self.write("src/resolvers/models/b.cpp", "BModel::solve(const In& in) {\n" + branch + "switch (in.fidelity) {}\n}\n")
        self.write("src/engine/b.cpp", branch)
        self.assertEqual(["src/engine/b.cpp: names a fidelity; only resolvers and timing do",
                          "src/resolvers/models/b.cpp: 2 branches on the fidelity for 1 resolvers: at most one each"],
                         check_fidelity.complaints_of(self.root))

    def test_an_id_stands_for_one_error_and_is_in_the_table(self):
        def error(number, words):
            return f'throw InputError({{.id = "mlsysim.zoo.{number}", .message = {words}, .key = "k", .hint = "another sentence"}});\n'

        table = self.write(check_errors.TABLE, "")
        self.write("src/zoo/a.cpp", "// \"mlsysim.zoo.009\" in words\n" + error("001", 'fmt::format("no entry \'{}\'", name)') + error("002", '"no file"'))
        self.write("src/zoo/b.cpp", error("001", 'fmt::format("no entry \'{}\'", other)'))
        self.write("bindings/a.py", "raise _input_error(f'{name} is no count', key=name, id='mlsysim.python.001')\n")
        rows = check_errors.rows_of(check_errors.places_of(self.root), {})
        self.assertEqual({"mlsysim.python.001": ("... is no count", "`bindings/a.py`"), "mlsysim.zoo.002": ("no file", "`src/zoo/a.cpp`"),
                          "mlsysim.zoo.001": ("no entry '...'", "`src/zoo/a.cpp`, `src/zoo/b.cpp`")}, rows)
        self.assertEqual(3, len(check_errors.complaints_of(self.root)))
        text = "".join(f"| `{e}` | {meaning} | {files} |\n" for e, (meaning, files) in rows.items())
        table.write_text(text)
        self.assertEqual([], check_errors.complaints_of(self.root))
        table.write_text(text + "| `mlsysim.zoo.003` | gone | `src/zoo/a.cpp` |\n")
        self.assertEqual([f"{check_errors.TABLE}: mlsysim.zoo.003 is not in the code"], check_errors.complaints_of(self.root))
        table.write_text(text)
        self.write("src/zoo/b.cpp", error("001", '"no folder"'))
        found = check_errors.complaints_of(self.root)
        self.assertEqual(["mlsysim.zoo.001 stands for several errors; each needs an id of its own", "  src/zoo/a.cpp:2: no entry '...'",
                          "  src/zoo/b.cpp:1: no folder"], found)
        self.write("src/zoo/b.cpp", error("001", "std::move(message)"))
        self.assertIn("words from elsewhere", check_errors.complaints_of(self.root)[2])
        self.write("src/zoo/b.cpp", '\nfacts.id = fmt::format("mlsysim.zoo.{}", number);\n')
        self.assertIn("src/zoo/b.cpp:2: the id of an error is written whole, as one literal", check_errors.complaints_of(self.root))
        self.write("src/zoo/b.cpp", "return detail::json_text(out);\nreturn out.dump(2);\n")
        found = [line for line in check_errors.complaints_of(self.root) if "dump" in line]
        self.assertEqual([f"src/zoo/b.cpp:2: dump() throws at names that are no UTF-8; {check_errors.JSON_TEXT} has what replaces them"], found)

    def test_allowed(self):
        self.assertEqual([], self.includes("src/reflect/a.cpp", "#include <mlsysim/units/x.hpp>\n#include <fmt/core.h>\n"
                                           "#include <mlsysim/reflect/a.hpp>\n#include <mlsysim/fwd.hpp>\n"))
        self.assertEqual([], self.includes("src/zoo/a.cpp", "#include <fstream>\n#include <yaml-cpp/yaml.h>\n"))
        self.assertEqual([], self.includes("include/mlsysim/units/fmt.hpp", "#include <fmt/format.h>\n"))

    def test_forbidden_edge_names_file_line_edge_and_what_is_allowed(self):
        found = self.includes("include/mlsysim/reflect/a.hpp", "#pragma once\n#include <mlsysim/zoo/zoo.hpp>\n")
        self.assertEqual(["include/mlsysim/reflect/a.hpp:2: reflect -> zoo is forbidden; reflect may include: units"], found)

    def test_forbidden_outside(self):
        for text in ("<yaml-cpp/yaml.h>", "<nlohmann/json.hpp>", "<pybind11/pybind11.h>", "<Eigen/Dense>",
                     "<fmt/core.h>"):
            found = self.includes("include/mlsysim/zoo/a.hpp", f"#include {text}\n")
            self.assertEqual(1, len(found), text)
            self.assertIn("include/mlsysim/zoo/a.hpp:1", found[0])
        self.assertEqual([], self.includes("include/mlsysim/zoo/a.hpp", "#include <nlohmann/json_fwd.hpp>\n"))

    def test_core_and_umbrella_and_unknown_room(self):
        self.assertIn("<thread> in units", self.includes("src/units/a.cpp", "#include <thread>\n")[0])
        self.assertIn("is for users", self.includes("src/units/a.cpp", "#include <mlsysim/mlsysim.hpp>\n")[0])
        self.assertIn("is no room", self.includes("src/attic/a.cpp", "")[0])
        self.assertIn("includes itself", self.includes("include/mlsysim/zoo/a.hpp", "#include <mlsysim/zoo/a.hpp>\n")[0])

    def test_long_files_and_headers_without_their_first_line(self):
        self.write("src/units/long.hpp", "\n" * 601)
        text = "\n".join(check_sizes.complaints_of_files(self.root))
        self.assertIn("601 lines", text)
        self.assertIn("expected '#pragma once'", text)

    def test_installed_headers_have_users(self):
        self.write("include/mlsysim/units/used.hpp", "#pragma once\n")
        self.write("include/mlsysim/units/lone.hpp", "#pragma once\n")
        self.write("include/mlsysim/units/detail/shared.hpp", "#pragma once\n")
        self.write("src/units/a.cpp", "#include <mlsysim/units/lone.hpp>\n")
        self.write("tests/unit/units/test_used.cpp", "#include <mlsysim/units/used.hpp>\n")
        found = check_includes.check_installed(self.root)
        self.assertEqual(1, len(found))
        self.assertIn("include/mlsysim/units/lone.hpp: is installed", found[0])

    def test_long_functions_are_found_and_exemptions_end(self):
        lines = "  ++x;\n" * 79
        self.write("src/units/a.cpp", f"namespace m {{\nint fine(int x) {{\n{lines[7:]}}}\nint A::longer(int x) {{\n{lines}}}\n}}\n")
        found, seen = check_sizes.complaints_of(self.root, {})
        self.assertEqual((["src/units/a.cpp:82: A::longer has 81 lines, at most 80"], 2), (found, seen))
        self.assertEqual([], check_sizes.complaints_of(self.root, {("src/units/a.cpp", "A::longer"): 81})[0])
        found = check_sizes.complaints_of(self.root, {("src/units/a.cpp", "A::longer"): 81, ("src/units/a.cpp", "fine"): 90})[0]
        self.assertEqual(["src/units/a.cpp: fine is short enough; remove it from EXEMPT"], found)

    def test_tidy_reads_groups_for_their_members_and_again_after_a_change(self):
        source, alone = self.write("src/units/a.cpp", ""), self.write("src/units/b.cpp", "")
        test, checks = self.write("tests/t.cpp", ""), self.write(".clang-tidy", "Checks: '-*'\n")
        build = self.root / "build"
        group = self.write("build/src/x.dir/Unity/unity_0_cxx.cxx", f'#include "{source}"\n')
        commands = [{"directory": str(build), "file": str(f), "command": f"c++ -o {f.stem}.o -c {f}"} for f in (group, source, alone, test)]
        self.write("build/compile_commands.json", json.dumps(commands))
        units = tidy.units(self.root, build)
        self.assertEqual(sorted([str(group), str(alone)]), [u[0] for u in units])
        unit = next(u for u in units if u[0] == str(group))

        def key(files):
            return tidy.key_of(22, self.root, build, unit, files, tidy.Digests())

        first = key([str(source)])
        self.assertEqual(first, key([str(source)]))
        self.assertIsNone(key([]))
        source.write_text("int x;\n")
        second = key([str(source)])
        self.assertNotEqual(first, second)
        checks.write_text("Checks: '*'\n")
        self.assertNotEqual(second, key([str(source)]))

    def test_a_header_that_begins_another_one_costs_no_more(self):
        self.write("a.hpp", "// why\n#pragma once\n\n#include <mlsysim/b.hpp>\n#include <mlsysim/c.hpp>\n")
        self.write("b.hpp", "#pragma once\n#include <mlsysim/d.hpp>\n")
        self.write("c.hpp", "#pragma once\nint x;\n#include <mlsysim/d.hpp>\n")
        self.write("d.hpp", "#pragma once\n#include <vector>\n")
        followers = header_times.followed(self.root, ["a.hpp", "b.hpp", "c.hpp", "d.hpp"])
        self.assertEqual({"a.hpp": [], "b.hpp": ["a.hpp"], "c.hpp": [], "d.hpp": ["b.hpp"]}, followers)
        self.assertEqual(0.5, header_times.at_most("d.hpp", {"a.hpp": 0.5, "c.hpp": 0.2}, followers))
        self.assertEqual(0.4, header_times.at_most("d.hpp", {"a.hpp": 0.5, "d.hpp": 0.4}, followers))
        circle = {"a.hpp": ["b.hpp"], "b.hpp": ["a.hpp"]}
        self.assertEqual(float("inf"), header_times.at_most("a.hpp", {}, circle))
        self.assertEqual(0.3, header_times.at_most("a.hpp", {"b.hpp": 0.3}, circle))
        self.assertEqual(float("inf"), header_times.at_most("d.hpp", {"a.hpp": "does not compile", "c.hpp": 0.2}, followers))

    def test_expected_text(self):
        self.assertTrue(expected.matches("a\n...\nz\n", "a\nb\nc\nz"))
        self.assertTrue(expected.matches("...", ""))
        self.assertFalse(expected.matches("a\n...\nz\n", "a\nb"))
        self.assertFalse(expected.matches("1.0", "1.00"))
        self.assertFalse(expected.matches("a", "a\nb"))


class Comments(Tree):
    def report(self):
        script = pathlib.Path(__file__).with_name("check_comments.py")
        return subprocess.run([sys.executable, str(script), str(self.root)], capture_output=True, text=True).stdout.splitlines()[:-1]

    def test_paths_exist_and_sentences_have_subjects(self):
        self.write("src/zoo/a.hpp", "/// A value of `zoo/a.hpp`, and of vllm/core.py.\n")
        self.assertEqual([""], self.report())
        self.write("src/elsewhere/b.cpp", "// As zoo/gone.hpp has it.\n// Of the other one.\n" + "// Of a third.\n" * 2)
        missing, *riddles = self.report()
        self.assertIn("src/elsewhere/b.cpp:1", missing)
        self.assertEqual([f"src/elsewhere/b.cpp:{line}" for line in (2, 3, 4)], [found.split(": ")[0] for found in riddles])

    def test_headers_open_with_a_worked_example(self):
        self.write("include/mlsysim/a.hpp", "#pragma once\n/// Adds.\n/// Example: 1 and 2 give 3.\n\n#include <x>\n")
        self.assertEqual([""], self.report())
        self.write("include/mlsysim/b.hpp", "#pragma once\n#include <x>\n/// Example: below the includes.\n")
        self.write("include/mlsysim/c.hpp", "#pragma once\n" + "/// A line.\n" * 15 + "/// Example: 1.\n")
        self.assertEqual(["include/mlsysim/b.hpp", "include/mlsysim/c.hpp"], [found.split(": ")[0] for found in self.report()])


if __name__ == "__main__":
    unittest.main()
