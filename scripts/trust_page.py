"""What scripts/check-all tried: a record (build/check-all/trust.json) and the page that is written from it (trust.md beside it).

trust_page.py add PAGE PART COMMAND passed|FAILED COMMIT SECONDS LOG    notes a part, and writes the page anew
trust_page.py passed PAGE COMMIT      prints the parts that passed on a commit
trust_page.py --check                 checks that every test exists that the page names
"""

import datetime
import fcntl
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "build/check-all/trust.md"
HEAD = """# What was tried

Written by `scripts/check-all` from `trust.json`, in which it notes each part that it ran with the commit that it ran on:
`scripts/check-all --rest` runs what did not pass on the present one. What has no result was not run.

| step | what it is | parts | passed | last run | seconds of clock |
| --- | --- | --- | --- | --- | --- |
"""
# Step, what it is, and the lines of its log that say what came of it.
STEPS = [
    ("tests", "every test of C++ and Python", r"^(?:PASSED|FAILED) .*"),
    ("tidy", "static analysis with clang-tidy", r"^\d+% tests passed.*|^\d+ units.*"),
    ("slow", "tests that take minutes", r"^\d+% tests passed.*"),
    ("asan", "tests of C++ and Python with address and undefined-behaviour sanitizers", r"^(?:\d+% tests passed|== built).*|SUMMARY: .*"),
    ("tsan", "tests of C++ and Python with the thread sanitizer", r"^(?:\d+% tests passed|== built).*|SUMMARY: .*"),
    ("plugins", "plugins that misbehave, a row of a table each, in both modes", r"^\d+ behaviours of plugins.*"),
    ("faults", "calls that fail, kills, a full disk, leaping clocks", r"^\d+ runs with a fault.*"),
    ("fuzz", "libFuzzer with sanitizers, or own mutations where clang is missing", r"^== .*(?:cases|rounds|own mutations).*"),
    ("programs", "a million changed inputs of each format of programs", r"^\w+: \d+ rounds.*"),
    ("relations", "relations between 20,000 random scenarios and what changes of each", r"^\d+ scenarios.*"),
    ("invariants", "laws that every answer keeps, of 100,000 random scenarios", r"^\d+ scenarios.*"),
    ("trust", "hostile texts of agents, damaged files, numbers at their ends, words of others in what is written", r"^\d+ passed.*|^FAILED .*"),
    ("growth", "slopes of time and memory", r"^(?:ok|OVER) .*|^\d+ kinds of growth.*"),
    ("mutants", "changed laws that the tests see", r"^\d+ of \d+ changes.*|^include/.*"),
]
MOST_LINES = 1  # of a log, which lies beside the page
LONG_STEPS = ("asan", "tsan")  # their parts are counted above, and named where they fail
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
    ("states and rows without checksums", ["tests/cli/test_files.py::test_every_change_of_a_state_is_noticed", "tests/fuzz/fuzz_states.cpp::goes_on", "tests/cli/test_files.py::test_damaged_rows_are_named_and_what_is_intact_is_kept",
      "tests/unit/ops/regression/test_matrix.cpp::Another digit anywhere", "tests/fuzz/fuzz_logs.cpp::check_forged"]),
    ("files of others overwritten, links followed, two processes on one state",
     ["tests/cli/test_files.py::test_a_file_of_somebody_else_is_not_replaced", "tests/cli/test_files.py::test_rows_and_states_replace_nothing_unasked_and_states_are_private",
      "tests/cli/test_files.py::test_two_processes_do_not_share_a_state", "tests/python/test_trust.py::test_what_is_written_goes_through_no_link_and_is_whole"]),
    ("pipes, devices and endless files where a file is taken", ["tests/cli/test_files.py::test_what_is_no_file_is_refused_wherever_a_file_is_taken", "tests/cli/test_files.py::test_records_of_a_compiler_and_histories_are_not_waited_for",
      "tests/cli/test_files.py::test_a_history_whose_tables_are_statements_is_refused", "tests/python/test_trust.py::test_what_is_no_file_is_refused_and_not_waited_for"]),
    ("plugins through links, below folders of others, and a zoo of the environment in secure mode", ["tests/plugin/listing.py::places", "tests/plugin/listing.py::secure_zoo"]),
    ("Python: a second interpreter, Ctrl-C, pickles, texts that are none, crashes of plugins, handles of what was unloaded",
     ["tests/python/test_trust.py::test_a_second_interpreter_is_refused_and_not_waited_for", "tests/python/test_trust.py::test_ctrl_c_raises_with_what_was_found",
      "tests/python/test_trust.py::test_subjects_are_pickled", "tests/python/test_trust.py::test_text_that_is_no_text_is_an_input_error",
      "tests/python/test_trust.py::test_a_plugin_that_crashes_in_solve_is_named_and_isolated_from_then_on",
      "tests/python/test_trust.py::test_stale_handles_are_refused"]),
    ("escape sequences, shards with signs, cells beyond doubles, plugins named like words of a language",
     ["tests/cli/test_bad_input.py::test_escape_sequences_are_shown_and_not_sent", "tests/cli/test_files.py::test_shards_have_no_signs",
      "tests/cli/test_bad_input.py::test_cells_beyond_doubles_are_named", "tests/cli/test_bad_input.py::test_names_of_plugins_are_no_words_of_a_language"]),
    ("files of the user through tools of agents; calls without bounds; code of the current folder",
     ["tests/python/test_mcp.py::test_no_text_opens_a_file_outside_of_the_allowed_folders", "tests/python/test_mcp.py::test_memory_and_time_of_a_call_are_bounded",
      "tests/python/test_mcp.py::test_a_call_holds_up_no_other", "tests/cli/test_commands.py::test_no_code_of_the_current_folder_is_run"]),
    ("programs and packed files that multiply while they are read",
     ["tests/cli/test_trust.py::test_functions_that_call_others_twice_are_refused_within_the_size_of_their_file", "tests/fuzz/fuzz_work.cpp::kShareAtOnce",
      "tests/cli/test_trust.py::test_packed_files_do_not_become_many_times_their_size"]),
    ("numbers that no file means", ["tests/cli/test_trust.py::test_every_number_of_a_config_passes_one_gate", "tests/cli/test_trust.py::test_numbers_of_a_history_are_numbers"]),
    ("counts above 2^53, and work that grows with a number that is typed",
     ["tests/cli/test_counts.py::test_every_number_that_is_typed_is_answered_or_refused", "tests/cli/test_counts.py::test_the_search_of_a_count_ends_at_the_largest",
      "tests/unit/units/test_whole.cpp::halving takes a number of steps",
      "tests/unit/resolvers/test_search.cpp::plans are as many as divisors"]),
    ("runs lost where several write one history", ["tests/cli/test_trust.py::test_many_write_one_history_and_none_is_lost"]),
    ("words of others in scripts, launches and tables", ["tests/cli/test_trust.py::test_a_script_gives_back_every_word",
      "tests/cli/test_trust.py::test_launches_give_back_the_name_of_their_checkpoint", "tests/cli/test_trust.py::test_cells_are_neither_formulas_nor_escapes"]),
    ("children that a plugin leaves behind; heads of answers without end",
     ["tests/plugin/misbehave/behaviours.txt::solve forks", "tests/telemetry/test_watch.py::test_a_head_without_end_takes_no_memory"]),
    ("words of libraries in messages", ["tests/cli/test_trust.py::test_damaged_files_are_refused_in_words_of_our_own"]),
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


def read(page):
    record = page.with_suffix(".json")
    return json.loads(record.read_text()) if record.exists() else {}


def step_of(part):
    return part.split(":")[0]


def words_of(option):
    """What the script that runs the parts says."""
    return subprocess.run([ROOT / "scripts" / "check-all", option], capture_output=True, text=True, check=True).stdout


def every_part():
    return [line.split()[0] for line in words_of("--list").splitlines()]


def row_of_step(step, what, of_it, parts):
    """Counts, and every part by name that did not pass."""
    passed = sum(name in of_it and of_it[name]["verdict"] == "passed" for name in parts)
    others = {}
    for name in [*of_it, *(n for n in parts if n not in of_it)]:
        verdict = of_it[name]["verdict"] if name in of_it else "not run"
        if verdict != "passed":
            others.setdefault(verdict, []).append(name.split(":")[-1])
    last = max((p["date"] for p in of_it.values()), default="-")
    result = "; ".join([str(passed), *(f"{verdict}: {', '.join(names)}" for verdict, names in others.items())])
    return f"| {step} | {what} | {len(parts)} | {result} | {last} | {sum(p['seconds'] or 0 for p in of_it.values())} |"


def parts_of(record):
    """A line for each part that ran."""
    lines = ["\n## Parts\n", "| part | command | result | commit | date | s | what it said |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, p in sorted(record.items()):
        if step_of(name) in LONG_STEPS and p["verdict"] == "passed":
            continue
        told = "; ".join([*p["said"][-MOST_LINES:], *([p["note"]] if p.get("note") else [])]).replace("|", "\\|")
        lines.append(f"| {name} | `{p['command']}` | {p['verdict']} | {p['commit']} | {p['date']} | {'-' if p['seconds'] is None else p['seconds']} | {told:.160} |")
    return "\n".join(lines) + "\n"


def page_of(record):
    rows, parts = [], every_part()
    for step, what, _ in STEPS:
        of_it = {name: p for name, p in sorted(record.items()) if step_of(name) == step}
        rows.append(row_of_step(step, what, of_it, [n for n in parts if step_of(n) == step]))
    return HEAD + "\n".join(rows) + "\n\n" + table_of_faults() + parts_of(record)


def add(page, part, command, verdict, commit, seconds, log):
    pattern = {step: p for step, _, p in STEPS}[step_of(part)]
    said = [line.replace(str(ROOT), ".").strip() for line in re.findall(pattern, log.read_text(errors="replace"), re.M)]
    # Parts may be run side by side: each reads what the others noted.
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = read(page)
        record[part] = {"command": command, "verdict": verdict, "commit": commit, "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
                        "seconds": int(seconds), "said": said[-MOST_LINES:]}
        page.with_suffix(".json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        page.write_text(page_of(record))


def check():
    problems = [f"there is no test {t}" for t in missing_tests()]
    steps, parts = {step for step, _, _ in STEPS}, {step_of(part) for part in every_part()}
    problems += [f"the step '{step}' is not both here and in scripts/check-all" for step in sorted(steps ^ parts)]
    problems += [f"scripts/check-all --help does not name the step '{step}'" for step in sorted(steps - set(re.findall(r"\w+", words_of("--help"))))]
    print("\n".join(problems) or f"{len(FAULTS)} faults, each with its tests")
    return 1 if problems else 0


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    what, page, *words = sys.argv[1:]
    page = pathlib.Path(page)
    if what == "passed":
        print("\n".join(name for name, p in read(page).items() if p["verdict"] == "passed" and p["commit"] == words[0]))
    elif what == "add":
        part, command, verdict, commit, seconds, log = words
        add(page, part, command, verdict, commit, seconds, pathlib.Path(log))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
