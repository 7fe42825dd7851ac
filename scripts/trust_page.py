"""Writes trust.md from what scripts/check-all left: trust_page.py <folder of *.log and *.result> <page>
trust_page.py --check <page>: whether its table of faults is the present one, and every test that it names exists.

A result is a line "passed|FAILED date seconds [note]". A step without one keeps what the page says of it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEAD = """# What was tried

Written by `scripts/check-all`; each line says what was run, when and what came of it. What has no result was not run.

| step | what it is | command | result |
| --- | --- | --- | --- |
"""
STEPS = [
    ("tests", "every test of C++ and Python", "scripts/test", r"^(?:PASSED|FAILED) .*"),
    ("asan", "tests of C++ and Python with address and undefined-behaviour sanitizers", "scripts/test-asan", r"^(?:\d+% tests passed|== |\d+ behaviours|\d+ rounds).*"),
    ("tsan", "C++ tests with the thread sanitizer", "scripts/test-tsan", r"^(?:\d+% tests passed|== ).*"),
    ("plugins", "plugins that misbehave, a row of a table each, in both modes", "ctest -R misbehaviour", r"^\d+ behaviours of plugins.*"),
    ("faults", "calls that fail, kills, a full disk, leaping clocks", "tests/faults/run.py --every", r"^\d+ runs with a fault.*"),
    ("fuzz", "libFuzzer with sanitizers, or own mutations", "scripts/fuzz all 10", r"^(?:== .*cases.*|== .*rounds.*)"),
    ("programs", "a million changed inputs of each format of programs", "fuzz_programs 1000000 20261123", r"^\w+: \d+ rounds.*"),
    ("growth", "slopes of time and memory", "benchmarks/growth.py", r"^(?:ok|OVER) .*|^\d+ kinds of growth.*"),
    ("mutants", "changed laws that the tests see", "scripts/mutants", r"^\d+ of \d+ changes.*|^include/.*|^== .*"),
]
# What an attack found, and the tests that hold it: FILE::NAME.
FAULTS = [
    ("one argument takes all memory: long axes, deep brackets, many samples", ["tests/cli/test_bad_input.py::test_one_argument_does_not_take_the_memory"]),
    ("a plugin with an empty path", ["tests/plugin/listing.py::an empty path"]),
    ("numbers that are not finite, with a pass: each field of a scenario at its ends",
     ["tests/unit/engine/test_every_field.cpp::kEnds", "tests/cli/test_bad_input.py::test_numbers_at_their_ends_give_no_number_that_is_not_finite",
      "tests/cli/test_bad_input.py::test_slopes_beyond_doubles_are_taken_over_the_bar"]),
    ("an answer whose time grows with a number that is typed",
     ["tests/cli/test_bad_input.py::test_no_number_that_is_typed_makes_an_answer_long", "benchmarks/growth.py::chunks of a prompt"]),
    ("a sweep that is killed before its first state", ["tests/cli/test_files.py::test_a_search_leaves_a_state_before_its_first_ten_seconds",
                                                         "tests/cli/test_files.py::test_rows_killed_at_any_time_are_gone_on_with"]),
    ("states and rows without checksums", ["tests/cli/test_files.py::test_every_change_of_a_state_is_noticed", "tests/fuzz/fuzz_states.cpp::goes_on", "tests/cli/test_files.py::test_damaged_rows_are_named_and_what_is_intact_is_kept"]),
    ("files of others overwritten, links followed, two processes on one state",
     ["tests/cli/test_files.py::test_a_file_of_somebody_else_is_not_replaced", "tests/cli/test_files.py::test_rows_and_states_replace_nothing_unasked_and_states_are_private",
      "tests/cli/test_files.py::test_two_processes_do_not_share_a_state"]),
    ("pipes, devices and endless files where a file is taken", ["tests/cli/test_files.py::test_what_is_no_file_is_refused_wherever_a_file_is_taken", "tests/cli/test_files.py::test_records_of_a_compiler_and_histories_are_not_waited_for",
      "tests/cli/test_files.py::test_a_history_whose_tables_are_statements_is_refused"]),
    ("plugins through links, below folders of others, and a zoo of the environment in secure mode", ["tests/plugin/listing.py::places", "tests/plugin/listing.py::secure_zoo"]),
    ("Python: a second interpreter, Ctrl-C, pickles, texts that are none, crashes of plugins, handles of what was unloaded",
     ["tests/python/test_trust.py::test_a_second_interpreter_is_refused_and_not_waited_for", "tests/python/test_trust.py::test_ctrl_c_raises_with_what_was_found",
      "tests/python/test_trust.py::test_subjects_are_pickled", "tests/python/test_trust.py::test_text_that_is_no_text_is_an_input_error",
      "tests/python/test_trust.py::test_a_plugin_that_crashes_in_solve_is_named_and_isolated_from_then_on",
      "tests/python/test_trust.py::test_stale_handles_are_refused"]),
    ("escape sequences, shards with signs, cells beyond doubles, plugins named like words of a language",
     ["tests/cli/test_bad_input.py::test_escape_sequences_are_shown_and_not_sent", "tests/cli/test_files.py::test_shards_have_no_signs",
      "tests/cli/test_bad_input.py::test_cells_beyond_doubles_are_named", "tests/cli/test_bad_input.py::test_names_of_plugins_are_no_words_of_a_language"]),
]


def table_of_faults():
    lines = ["## Faults that an attack found, and what holds them", "", "| fault | tests |", "| --- | --- |"]
    for fault, tests in FAULTS:
        names = [t.replace("::", "`: `") for t in tests]
        lines.append(f"| {fault} | " + ", ".join(f"`{n}`" for n in names) + " |")
    return "\n".join(lines) + "\n"


def missing_tests():
    return [t for _, tests in FAULTS for t in tests
            if not (ROOT / t.split("::")[0]).exists() or t.split("::")[1] not in (ROOT / t.split("::")[0]).read_text()]


def check(page):
    problems = [f"there is no test {t}" for t in missing_tests()]
    if table_of_faults() not in page.read_text():
        problems.append(f"{page} has another table of faults; write it anew: scripts/trust_page.py build/check-all {page}")
    print("\n".join(problems) or f"{len(FAULTS)} faults, each with its tests")
    return 1 if problems else 0


def parts_of(text):
    """Rows of the steps, and sections by name, of a page that was written before."""
    rows = dict(re.findall(r"^\| (\w+) \| .* \| (.*) \|$", text.split("\n## ")[0], re.M))
    return rows, {s.split("\n")[0]: s for s in text.split("\n## ")[1:]}


def main():
    if sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    folder, page = map(pathlib.Path, sys.argv[1:3])
    rows, sections = parts_of(page.read_text() if page.exists() else "")
    lines, details = [], []
    for step, what, command, pattern in STEPS:
        result = folder / f"{step}.result"
        told, section = rows.get(step, "not run"), sections.get(step)
        if result.exists():
            verdict, date, seconds, *more = result.read_text().split(maxsplit=3)
            told = f"{verdict}, {date}, {seconds} s" + (f"; {more[0].strip()}" if more else "")
            found = re.findall(pattern, (folder / f"{step}.log").read_text(errors="replace"), re.M)
            section = f"{step}\n\n```text\n" + "\n".join(found) + "\n```\n" if found else None
        lines.append(f"| {step} | {what} | `{command}` | {told} |")
        if section:
            details.append(f"\n## {section.rstrip()}\n")
    page.write_text(HEAD + "\n".join(lines) + "\n\n" + table_of_faults() + "".join(details))
    return 0


if __name__ == "__main__":
    sys.exit(main())
