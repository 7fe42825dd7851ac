#include "commands_course.hpp"

#include "cli/child_process.hpp"
#include "cli/command_agents.hpp"
#include "cli/output.hpp"
#include "cli/plugins.hpp"

#include <mlsysim/course/grade.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/folders.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

namespace fs = std::filesystem;
using course::Assignment;
using course::Grade;
using course::Submission;

/// Where an installation has its course, beside the zoo.
fs::path installed_course() { return zoo_directory().parent_path() / "course"; }

/// The lines of a compiler or interpreter that say what is wrong: those with an error, else the last.
std::vector<std::string> said(const std::string& text, std::size_t most = 4) {
  std::vector<std::string> errors, lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    if (line.find("error") != std::string::npos || line.find("Error") != std::string::npos)
      errors.push_back(line);
    lines.push_back(std::move(line));
  }
  auto& out = errors.empty() ? lines : errors;
  if (out.size() > most) {
    if (errors.empty())
      out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(most));
    else
      out.resize(most);
  }
  return out;
}

/// The lines of a kit without those of checks that passed or did not apply.
std::vector<std::string> kit_faults(const std::string& text) {
  auto lines = said(text, 8);
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [](const auto& line) {
                               return line.find("  skipped  ") != std::string::npos ||
                                      line.find("  passed   ") != std::string::npos;
                             }),
              lines.end());
  return lines;
}

/// All points lost before the first check.
std::vector<Grade> nothing_graded(const Assignment& assignment, std::string name,
                                  std::vector<std::string> why, std::string hint) {
  double points = 0;
  for (const auto& check : assignment.checks) points += check.points;
  if (why.empty()) why.emplace_back("it ended without a word");
  return {{.check = std::move(name),
           .points = points,
           .complaints = std::move(why),
           .call = {},
           .hint = std::move(hint)}};
}

/// Checks of resolvers and of the kit in the order of the assignment. The kit counts once another check has
/// passed.
std::vector<Grade> in_order(const Assignment& assignment, const std::vector<Grade>& grades,
                            const Ended* kit) {
  std::vector<Grade> out;
  auto next = grades.cbegin();
  for (const auto& check : assignment.checks) {
    if (!check.kit) {
      if (next != grades.cend()) out.push_back(*next++);
      continue;
    }
    if (kit == nullptr) continue;  // whoever calls asks for it
    out.push_back(
        {.check = check.name, .points = check.points, .complaints = {}, .call = {}, .hint = check.hint});
    if (kit->status == 127)
      throw InputError({.id = "mlsysim.course.005",
                        .message = "the kit of plugins cannot be started",
                        .found = "no mlsysim-plugin-check beside mlsysim",
                        .expected = "an environment in which submissions can be graded",
                        .hint = "install mlsysim with its tools: cmake --install BUILD --prefix DIR"});
    if (kit->status != 0)
      out.back().complaints = kit_faults(kit->out + kit->err);
    else if (std::none_of(grades.begin(), grades.end(),
                          [](const Grade& g) { return g.points > 0 && g.passed(); }))
      out.back().complaints.emplace_back("counts once another check passes");
  }
  return out;
}

/// The library that a C++ submission builds to, or the complaints of the build.
struct Built {
  fs::path library;
  std::vector<std::string> complaints;
};

/// A folder of the user for what belongs to a path: nothing is written beside submissions, which students
/// hand in and teachers copy.
fs::path cached(const char* what, const fs::path& of) {
  std::error_code failed;
  const auto source = fs::weakly_canonical(of, failed).string();
  const char* const cache =
      std::getenv("XDG_CACHE_HOME");             // NOLINT(concurrency-mt-unsafe): read before threads
  const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  const fs::path base = cache != nullptr && *cache != 0 ? fs::path(cache)
                        : home != nullptr && *home != 0 ? fs::path(home) / ".cache"
                                                        : fs::temp_directory_path(failed);
  return base / "mlsysim" / what / fmt::format("{:016x}", std::hash<std::string>{}(source));
}

/// The prefix that submissions link to. An installed program lies in PREFIX/bin; what lies where it was built
/// is installed for them, which copies what has changed.
std::string prefix_of_links() {
  const auto here = program_folder().parent_path();
  std::error_code failed;
  if (!fs::exists(here / "CMakeCache.txt", failed)) return here.string();
  const auto prefix = cached("installed", here).string();
  const auto done = run_child({"cmake", "--install", here.string(), "--prefix", prefix});
  if (done.status == 0) return prefix;
  const auto why = said(done.out + done.err);
  throw InputError({.id = "mlsysim.course.006",
                    .message = "a submission links to an installed mlsysim",
                    .found = why.empty() ? fmt::format("'{}'", here.string()) : why.back(),
                    .expected = "an environment in which submissions can be graded",
                    .hint = fmt::format("cmake --build {} builds the rest", here.string())});
}

Built built(const Submission& submission) {
  const auto source = submission.folder.string(), folder = cached("course", submission.folder).string();
  const auto prefix = prefix_of_links();
  for (const auto& words :
       {std::vector<std::string>{"cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug",
                                 "-DCMAKE_PREFIX_PATH=" + prefix},
        std::vector<std::string>{"cmake", "--build", folder}}) {
    const auto done = run_child(words);
    if (done.status == 127)
      throw InputError({.id = "mlsysim.course.007",
                        .message = "submissions in C++ are built by CMake",
                        .found = "no 'cmake'",
                        .expected = "an environment in which submissions can be graded",
                        .hint = "install cmake and a compiler"});
    if (done.status != 0) return {{}, said(done.out + done.err)};
  }
  const auto libraries = files::listed(folder, ".so");
  if (libraries.empty()) return {{}, {fmt::format("no plugin was built in {}", folder)}};
  return {libraries.front(), {}};
}

std::vector<Grade> cpp_grades(const Submission& submission, const Assignment& assignment,
                              const CourseRequest& request) {
  Built plugin{request.library, {}};
  if (request.library.empty()) plugin = built(submission);
  if (!plugin.complaints.empty())
    return nothing_graded(assignment, "it compiles", plugin.complaints,
                          "docs/how-to/compiler-messages.md lists what the commonest mistakes look like");
  try {
    // A submission may crash or run for ever: in a process of its own that is a complaint like any other.
    (void)plugins().load(plugin.library.string(),
                         {.isolation = plugin::Isolation::always, .isolated = {}, .limits = {}});
  } catch (const Error& error) {
    return nothing_graded(assignment, "the plugin loads", {error.what()},
                          "mlsysim plugin check FILE says more");
  }
  Ended kit;
  const bool asks = std::any_of(assignment.checks.begin(), assignment.checks.end(),
                                [](const auto& check) { return check.kit; });
  if (asks) kit = run_child({(program_folder() / "mlsysim-plugin-check").string(), plugin.library.string()});
  return in_order(assignment, course::grade(assignment, ResolverRegistry::standard(), zoo()), &kit);
}

std::vector<Grade> python_grades(const Submission& submission, const Assignment& assignment,
                                 const CourseRequest& request) {
  const auto python = request.python.empty() ? interpreter() : request.python;
  const auto course = assignment.folder.parent_path();
  const auto part = [&](const char* what) {
    auto words = python_module(python, "mlsysim.course");
    words.insert(words.end(), {what, submission.folder.string(), course.string()});
    return run_child(std::move(words));
  };
  const auto done = part("grade");
  if (done.status == 127)
    throw InputError({.id = "mlsysim.course.008",
                      .message = "the interpreter is not there",
                      .found = fmt::format("no '{}'", python),
                      .expected = "an environment in which submissions can be graded",
                      .hint = "--python or MLSYSIM_PYTHON names the interpreter that has mlsysim"});
  if (done.err.find("No module named mlsysim") != std::string::npos ||
      done.err.find("No module named 'mlsysim'") != std::string::npos)
    throw InputError({.id = "mlsysim.course.009",
                      .message = "the interpreter has no package mlsysim",
                      .found = fmt::format("'{}'", python),
                      .expected = "an environment in which submissions can be graded",
                      .hint = "--python or MLSYSIM_PYTHON names the interpreter that has mlsysim"});
  const auto answer = Json::parse(done.out, nullptr, false);
  if (answer.is_discarded() || !answer.contains("checks")) {
    auto why = said(done.err + done.out);
    const bool endless = done.signal == SIGALRM;  // the interpreter sets one
    if (done.signal != 0) why = {fmt::format("it was ended by signal {}", done.signal)};
    return nothing_graded(assignment,
                          endless            ? "it ends in time: is there a loop without end?"
                          : done.signal != 0 ? "it does not crash"
                                             : "it can be imported",
                          std::move(why), "");
  }
  std::vector<Grade> grades;
  for (const auto& row : answer["checks"])
    grades.push_back({.check = row["name"],
                      .points = row["points"],
                      .complaints = row["complaints"],
                      .call = row["call"],
                      .hint = row["hint"]});
  Ended kit;
  if (std::any_of(assignment.checks.begin(), assignment.checks.end(),
                  [](const auto& check) { return check.kit; }))
    kit = part("kit");
  return in_order(assignment, std::move(grades), &kit);
}

Json json_of(const Submission& submission, const Assignment& assignment, const std::vector<Grade>& grades) {
  const auto score = course::score_of(grades);
  Json j{{"schema", "mlsysim/course@1"},
         {"status", "graded"},
         {"assignment", assignment.name},
         {"title", assignment.title},
         {"language", submission.language},
         {"points", score.points},
         {"of", score.of},
         {"checks", Json::array()}};
  for (const auto& g : grades)
    j["checks"].push_back({{"name", g.check},
                           {"passed", g.passed()},
                           {"points", g.points},
                           {"complaints", g.complaints},
                           {"call", g.call},
                           {"hint", g.hint}});
  return j;
}

std::string text_of(const Submission& submission, const Assignment& assignment,
                    const std::vector<Grade>& grades) {
  auto out = fmt::format("{}: {} ({}, {})\n", assignment.name, assignment.title,
                         submission.folder.generic_string(), submission.language == "cpp" ? "C++" : "Python");
  for (const auto& g : grades) {
    out += fmt::format("  {}  {}\n", g.passed() ? "passed" : "FAILED", g.check);
    if (g.passed()) continue;
    for (const auto& complaint : g.complaints) out += fmt::format("          {}\n", complaint);
    if (!g.call.empty()) out += fmt::format("          called: {}\n", g.call);
    if (!g.hint.empty()) out += fmt::format("          hint: {}\n", g.hint);
  }
  const auto score = course::score_of(grades);
  return out + fmt::format("{} of {} checks passed, {:g} of {:g} points\n", score.passed, score.checks,
                           score.points, score.of);
}

/// The files of a folder, as paths relative to it.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".pyc")  // Python leaves them behind
      out.push_back(entry.path().lexically_relative(folder));
  std::sort(out.begin(), out.end());
  return out;
}

fs::path course_folder(const CourseRequest& request) {
  return request.course.empty() ? installed_course() : fs::path(request.course);
}

}  // namespace

Answer course_list(const CourseRequest& request, const RenderOptions& options) {
  Table t{.schema = "mlsysim/table@1",
          .title = "assignments",
          .columns = {{"name"}, {"title"}, {"checks"}, {"points"}},
          .rows = {},
          .footer = ""};
  for (const auto& folder : course::assignments_of(course_folder(request))) {
    const auto a = course::read_assignment(folder);
    double points = 0;
    for (const auto& check : a.checks) points += check.points;
    t.rows.push_back({printable(a.name), printable(a.title), static_cast<double>(a.checks.size()), points});
  }
  return {render(t, options)};
}

Answer course_new(const CourseRequest& request) {
  const auto top = course_folder(request);
  const Submission wanted{.folder = {}, .assignment = request.assignment, .language = {}, .file = {}};
  const auto from = course::course_of(wanted, top, {}) / request.assignment;
  const fs::path to = request.folder;
  std::error_code failed;
  if (fs::exists(to, failed) && !fs::is_empty(to, failed))
    throw InputError({.id = "mlsysim.course.004",
                      .message = "the folder of a submission is new or empty",
                      .key = "FOLDER",
                      .found = fmt::format("'{}' with files in it", to.generic_string()),
                      .expected = "a folder that does not exist yet",
                      .hint = "choose another"});
  const auto starter = from / "starter" / request.language;
  files::make_folders(to);
  Answer out;
  const auto copy = [&](const fs::path& file, const fs::path& as) {
    files::make_folders((to / as).parent_path());
    files::write(to / as, files::read(file, "a file of the course"), {});
    out.payload += fmt::format("wrote {}\n", (to / as).generic_string());
  };
  copy(from / "README.md", "README.md");
  for (const auto& file : files_below(starter)) copy(starter / file, file);
  out.payload += fmt::format("next: see {}, then mlsysim course check {}\n",
                             (to / "README.md").generic_string(), to.generic_string());
  return out;
}

namespace {

Answer checked(const CourseRequest& request, const RenderOptions& options) {
  const auto submission = course::read_submission(request.folder);
  const auto course = course::course_of(submission, request.course, installed_course());
  const auto assignment = course::read_assignment(course / submission.assignment);
  const auto grades =
      request.loaded
          ? in_order(assignment, course::grade(assignment, ResolverRegistry::standard(), zoo()), nullptr)
      : submission.language == "cpp" ? cpp_grades(submission, assignment, request)
                                     : python_grades(submission, assignment, request);
  const bool json = options.format == OutputFormat::json;
  Answer out{json ? detail::json_document(json_of(submission, assignment, grades))
                  : text_of(submission, assignment, grades)};
  for (const auto& g : grades)
    if (!g.passed()) out.exit = Exit::assertion_failed;
  return out;
}

/// One submission as another process grades it, so that plugins of one name do not meet.
Json graded_apart(const std::string& folder, const CourseRequest& request) {
  std::vector<std::string> words{
      (program_folder() / "mlsysim").string(), "course", "check", folder, "-o", "json"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--course", request.course);
  add("--python", request.python);
  const auto done = run_child(std::move(words));
  auto grade = Json::parse(done.out, nullptr, false);
  if (grade.is_discarded() || !grade.is_object())
    grade = {{"schema", "mlsysim/course@1"},
             {"status", "not graded"},
             {"error", said(done.err, 1).empty() ? "it ended without a word" : said(done.err, 1).front()}};
  grade["folder"] = folder;
  return grade;
}

/// A class: one row for each submission.
Answer checked_class(const CourseRequest& request, const RenderOptions& options) {
  Json all = Json::array();
  for (const auto& folder : request.folders) all.push_back(graded_apart(folder, request));
  Answer out;
  Table t{.schema = "mlsysim/class@1",
          .title = "grades",
          .columns = {{"submission"}, {"assignment"}, {"language"}, {"points"}, {"of"}, {"first fault"}},
          .rows = {},
          .footer = ""};
  double ungraded = 0;
  for (const auto& g : all) {
    const bool graded = g.value("status", "") == "graded";
    std::string fault = g.value("error", "");
    if (graded)
      for (const auto& c : g["checks"])
        if (fault.empty() && !c["passed"].get<bool>()) fault = c["name"].get<std::string>();
    if (!graded) ++ungraded;
    if (!graded || !fault.empty()) out.exit = Exit::assertion_failed;
    const auto number = [&](const char* key) {
      return graded ? Table::Cell(g[key].get<double>()) : Table::Cell();
    };
    t.rows.push_back({printable(g["folder"].get<std::string>()), printable(g.value("assignment", "")),
                      g.value("language", ""), number("points"), number("of"), printable(fault)});
  }
  if (ungraded > 0) {
    out.exit = Exit::bad_input;
    out.diagnostics =
        fmt::format("mlsysim: {:g} of {} submissions could not be graded\n", ungraded, all.size());
  }
  out.payload =
      options.format == OutputFormat::json
          ? detail::json_document(Json{{"schema", "mlsysim/class@1"}, {"submissions", std::move(all)}})
          : render(t, options);
  return out;
}

}  // namespace

Answer course_check(const CourseRequest& request, const RenderOptions& options) {
  if (request.folders.size() > 1) return checked_class(request, options);
  auto one = request;
  one.folder = request.folders.front();
  if (options.format != OutputFormat::json) return checked(one, options);
  try {
    return checked(one, options);
  } catch (const Error& error) {  // a program that collects grades gets an answer for each
    return {detail::json_document(Json{{"schema", "mlsysim/course@1"},
                                       {"status", "not graded"},
                                       {"error", std::string(error.what())},
                                       {"id", std::string(error.id())}}),
            error_text(error), Exit::bad_input};
  }
}

}  // namespace mlsysim::cli
