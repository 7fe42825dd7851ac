"""Checks the runners of documentation: right pages pass, and each kind of wrong page is reported."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import extend  # noqa: E402
import prose  # noqa: E402
import run_snippets  # noqa: E402

TOOLCHAIN = run_snippets.Toolchain(sys.argv.pop())


def complaints(text):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text)
        return run_snippets.run_page(TOOLCHAIN, page)


class Pages(unittest.TestCase):
    def test_right_pages(self):
        self.assertEqual(([], 0), complaints("```cpp\nnot code\n```\n```text\nx\n```\n"))
        self.assertEqual(([], 2), complaints(
            "```python run\nx = 20\nprint(x)\n```\n```text output\n20\n```\n"
            "```python run\nprint(x + 1)\n```\n```text output\n21\n```\n"))
        self.assertEqual(([], 1), complaints("```sh run\necho a; echo b\n```\n\n```text output\na\n...\n```\n"))
        self.assertEqual(([], 1), complaints(
            "```cpp run\n#include <mlsysim/units/unit.hpp>\n#include <iostream>\nusing namespace mlsysim;\n"
            "std::cout << (2 * unit::s).in(unit::ms);\n```\n```text output\n2000\n```\n"))

    def test_wrong_pages(self):
        for text, words in (
                ("```python run\nprint(1.0)\n```\n```text output\n1.00\n```\n", "prints something else"),
                ("```python run\n\nraise ValueError('no')\n```\n", "line 3"),
                ("```sh run\nfalse\necho a\n```\n", "status 1"),
                ("```cpp compile\nint x = undeclared;\n```\n", "page.md:2"),
                ("```cpp run\nint main() { return 3; }\n```\n", "status 3")):
            found, _ = complaints(text)
            self.assertEqual(1, len(found), text)
            self.assertIn(words, found[0])
        with self.assertRaises(SystemExit):
            complaints("```text output\na\n```\n")
        with self.assertRaises(SystemExit):
            complaints("```rust run\na\n```\n")


class Changes(unittest.TestCase):
    """A change of docs/how-to/extend.md is made where its lines stand, once, or is refused."""

    PAGE = "## 1. A thing\nIt takes **1 file**.\n```diff\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n+new\n two\n```\nCompile first: `x`,\n`y`.\n"

    def change(self):
        (section,) = extend.sections(self.PAGE)
        self.assertEqual((1, ["x"], ["x", "y"]), (section.count, section.own_files(), section.first))
        return section.changes["x"]

    def test_places(self):
        self.assertEqual("zero\none\nnew\ntwo\n", extend.applied("x", self.change(), "zero\none\ntwo\n"))
        for text, words in (("one\nother\ntwo\n", "no longer there"), ("one\ntwo\none\ntwo\n", "there 2 times"), (None, "not there")):
            with self.assertRaisesRegex(extend.Broken, words):
                extend.applied("x", self.change(), text)

    def test_new_files(self):
        change = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        self.assertEqual("a\nb\n", extend.applied("x", change, None))
        with self.assertRaisesRegex(extend.Broken, "already there"):
            extend.applied("x", change, "a\n")


class Prose(unittest.TestCase):
    def measured(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            return prose.measure(page)

    def test_long_sentences_and_listed_words_are_faults(self):
        long = " ".join(["word"] * 31)
        self.assertEqual(0, self.measured("A short sentence. Another one.\n")["faults"])
        self.assertEqual(2, self.measured(f"A short one. {long.capitalize()}. Nobody mends it.\n")["faults"])
        self.assertEqual(0, self.measured(f"```sh\n{long}\n```\n\n| {long} |\n| --- |\n")["faults"])

    def test_code_is_not_counted(self):
        self.assertEqual(4, self.measured("One `a b c` [two](there.md) three.\n\n```sh\nx y z\n```\n")["words"])

    def test_pages_keep_to_their_limits(self):
        page = {"words": 1601, "faults": 3, "long": 0, "sentences": 10}
        self.assertEqual(2, len(list(prose.problems({"docs/a.md": page}, {}))))
        self.assertEqual([], list(prose.problems({"docs/a.md": page}, {"docs/a.md": {"words": 1550, "faults": 1}})))
        self.assertEqual(1, len(list(prose.problems({}, {"docs/gone.md": {"faults": 1}}))))

    def test_few_sentences_of_all_pages_are_long(self):
        measured = {"docs/a.md": {"words": 900, "faults": 2, "long": 2, "sentences": 30}, "docs/b.md": {"words": 90, "faults": 0, "long": 0, "sentences": 10}}
        self.assertEqual([], list(prose.problems(measured, {})))
        measured["docs/b.md"]["long"] = 1
        found = list(prose.problems(measured, {}))
        self.assertEqual(1, len(found))
        self.assertIn("3 of 40 sentences", found[0])
        self.assertEqual(1, self.measured(f"{' '.join(['Word'] * 31)}. A short one.\n")["long"])


if __name__ == "__main__":
    unittest.main()
