// Commands of a course: list, new, check.

#include "cli/program.hpp"

namespace mlsysim::cli {

void Program::course_commands() {
  auto* c = command(app_, "course", "Get assignments and grade submissions",
                    "Examples:\n  mlsysim course list\n  mlsysim course new a1_law homework1 --lang python\n"
                    "docs/how-to/teach.md is for teachers and students.",
                    nullptr);
  const auto course = [this](CLI::App& app) {
    offer(app, "--course", course_.course,
          "folder of the course (default: the nearest above the submission, else the installed one)",
          "FOLDER");
  };
  course(*command(*c, "list", "List the assignments",
                  "Examples:\n  mlsysim course list\n  mlsysim course list -o json",
                  [this] { return course_list(course_, render_); }));
  auto* n = command(*c, "new", "Write the statement and starter files of an assignment",
                    "Examples:\n  mlsysim course new a1_law homework1\n"
                    "  mlsysim course new a1_law homework2 --lang python",
                    [this] { return course_new(course_); });
  demand(*n, "ASSIGNMENT", course_.assignment, "a name of mlsysim course list");
  demand(*n, "FOLDER", course_.folder, "where to");
  auto* lang = offer(*n, "--lang", course_.language, "cpp or python (default: cpp)", "NAME")
                   ->check(CLI::IsMember({"cpp", "python"}));
  values_[lang].choices = {"cpp", "python"};
  course(*n);
  auto* k = command(*c, "check", "Build or import a submission, test it and grade it",
                    "Examples:\n  mlsysim course check homework1\n  mlsysim course check homework2 -o json\n"
                    "  mlsysim course check homework1 homework2 -o csv\n"
                    "A submission in C++ is built in the user's cache, not in its folder. JSON is written "
                    "whatever happens:\n"
                    "its status is 'graded' or 'not graded'.\n"
                    "Exit codes: 0 all checks passed, 1 not graded (input or environment), 3 a check failed.",
                    [this] { return course_check(course_, render_); });
  demand(*k, "FOLDER", course_.folders,
         "a folder with submission.yaml; several give a table, a line for each");
  offer(*k, "--library", course_.library, "a plugin that is built already, instead of building the folder",
        "FILE");
  offer(*k, "--python", course_.python, "the interpreter (default: MLSYSIM_PYTHON, else python3)", "PROGRAM");
  // The Python part passes this hidden flag after it has imported the submission.
  k->add_flag("--loaded", course_.loaded, "grade resolvers that are there already")->group("");
  course(*k);
}

}  // namespace mlsysim::cli
