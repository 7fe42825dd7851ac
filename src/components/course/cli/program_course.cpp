// Commands of a course: list, new, check.

#include "cli/program.hpp"

#include "commands_course.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::course_commands() {
  auto* c = command(app_, "course", "Get assignments and grade submissions",
                    "Examples:\n  mlsysim course list\n  mlsysim course new a1_law homework1 --lang python\n"
                    "docs/how-to/teach.md is for teachers and students.",
                    nullptr);
  const auto asked = std::make_shared<CourseRequest>();
  const auto course = [&](CLI::App& app) {
    offer(app, "--course", asked->course,
          "folder of the course (default: the nearest above the submission, else the installed one)",
          "FOLDER");
  };
  course(*command(*c, "list", "List the assignments",
                  "Examples:\n  mlsysim course list\n  mlsysim course list -o json",
                  [this, asked] { return course_list(*asked, render_); }));
  auto* n = command(*c, "new", "Write the statement and starter files of an assignment",
                    "Examples:\n  mlsysim course new a1_law homework1\n"
                    "  mlsysim course new a1_law homework2 --lang python",
                    [asked] { return course_new(*asked); });
  demand(*n, "ASSIGNMENT", asked->assignment, "a name of mlsysim course list");
  demand(*n, "FOLDER", asked->folder, "where to");
  auto* lang = offer(*n, "--lang", asked->language, "cpp or python (default: cpp)", "NAME")
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
                    [this, asked] { return course_check(*asked, render_); });
  demand(*k, "FOLDER", asked->folders,
         "a folder with submission.yaml; several give a table, a line for each");
  offer(*k, "--library", asked->library, "a plugin that is built already, instead of building the folder",
        "FILE");
  offer(*k, "--python", asked->python, "the interpreter (default: MLSYSIM_PYTHON, else python3)", "PROGRAM");
  // The Python part passes this hidden flag after it has imported the submission.
  k->add_flag("--loaded", asked->loaded, "grade resolvers that are there already")->group("");
  course(*k);
}

}  // namespace mlsysim::cli
