// mlsysim-plugin-check: says whether a plugin keeps to the rules. Needs an installed package and nothing of
// its sources.

#include "kit.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/version.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace mlsysim::plugin;
using namespace mlsysim::plugin::check;
using Json = nlohmann::ordered_json;

constexpr const char* kUsage =
    "usage: mlsysim-plugin-check PLUGIN.so|MANIFEST [--manifest FILE] [--json] [--junit FILE] [--only ID]... "
    "[--list]\n"
    "\n"
    "Runs every check in a process of its own, so that a plugin that crashes is a result.\n"
    "  --manifest FILE   compare with this manifest (default: one beside the library that names it)\n"
    "  --json            results as JSON on stdout\n"
    "  --junit FILE      results for continuous integration\n"
    "  --only ID         this check and those that it builds on; may be repeated\n"
    "  --timeout S       a check that takes longer has failed (default: 20)\n"
    "  --list            the checks, with id, level and rule\n"
    "Exit codes: 0 all passed, 1 a required check failed, 2 usage, 3 there is nothing to load.\n";

struct Options {
  std::string path, manifest, junit;
  std::vector<std::string> only;
  bool json = false, list = false;
  int seconds = sanitized() ? 600 : 20;  // eight threads under a sanitizer take fifty times as long
};

struct Row {
  Check check;
  Result result;
};

const char* name_of(Outcome v) { return v == Outcome::pass ? "pass" : v == Outcome::fail ? "fail" : "skip"; }
const char* name_of(Level l) { return l == Level::required ? "required" : "recommended"; }

bool parse(int argc, char** argv, Options& o, std::string& problem) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&](std::string& to) {
      if (i + 1 >= argc) {
        problem = word + " needs a value";
        return false;
      }
      to = argv[++i];
      return true;
    };
    std::string text;
    if (word == "--json")
      o.json = true;
    else if (word == "--list")
      o.list = true;
    else if (word == "--isolated")
      continue;  // every check runs in a process of its own anyway
    else if (word == "--manifest") {
      if (!value(o.manifest)) return false;
    } else if (word == "--junit") {
      if (!value(o.junit)) return false;
    } else if (word == "--timeout") {
      if (!value(text)) return false;
      o.seconds = std::atoi(text.c_str());
      if (o.seconds < 1) {
        problem = "--timeout wants whole seconds, 1 or more";
        return false;
      }
    } else if (word == "--only") {
      if (!value(text)) return false;
      o.only.push_back(text);
    } else if (word.starts_with("-")) {
      problem = "unknown option " + word;
      return false;
    } else if (o.path.empty()) {
      o.path = word;
    } else {
      problem = "one plugin at a time; also found " + word;
      return false;
    }
  }
  for (const auto& id : o.only) {
    const auto all = all_checks();
    if (std::none_of(all.begin(), all.end(), [&](const Check& c) { return c.id == id; })) {
      problem = fmt::format("there is no check '{}'; --list shows all", id);
      return false;
    }
  }
  if (o.path.empty() && !o.list) problem = "a plugin is missing";
  return problem.empty();
}

void list(bool json) {
  if (json) {
    Json all = Json::array();
    for (const auto& c : all_checks())
      all.push_back({{"id", std::string(c.id)},
                     {"level", name_of(c.level)},
                     {"rule", std::string(c.rule)},
                     {"what", std::string(c.what)},
                     {"after", std::string(c.after)}});
    fmt::print("{}", mlsysim::detail::json_document(
                         Json{{"schema", "mlsysim/plugin-checks@1"}, {"kit", kKitVersion}, {"checks", all}}));
    return;
  }
  fmt::print("mlsysim-plugin-check {}, list of checks {}\n", MLSYSIM_VERSION_TEXT, kKitVersion);
  for (const auto& c : all_checks())
    fmt::print("{}  {:<11}  {:<13}  {}\n", c.id, name_of(c.level), c.rule, c.what);
}

/// The manifest beside a library that names it.
std::string beside(const std::filesystem::path& library) {
  std::error_code failed;
  std::vector<std::string> found;
  const auto folder = library.has_parent_path() ? library.parent_path() : std::filesystem::path(".");
  for (auto it = std::filesystem::directory_iterator(folder, failed);
       !failed && it != std::filesystem::directory_iterator(); it.increment(failed)) {
    const auto name = it->path().filename().string();
    if (!name.ends_with(".plugin.yaml")) continue;
    try {
      if (std::filesystem::equivalent(read_manifest(it->path()).library, library, failed))
        found.push_back(it->path().string());
    } catch (const mlsysim::Error&) {  // NOLINT(bugprone-empty-catch): it belongs to another plugin
    }
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? "" : found.front();
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n')
      out += c;
  }
  return out;
}

void write_junit(const std::string& file, const std::string& plugin, const std::vector<Row>& rows) {
  std::size_t failed = 0, skipped = 0;
  for (const auto& r : rows) {
    failed += r.result.verdict == Outcome::fail && r.check.level == Level::required ? 1 : 0;
    skipped += r.result.verdict == Outcome::skip ? 1 : 0;
  }
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"mlsysim-plugin-check {}\" tests=\"{}\" "
      "failures=\"{}\" skipped=\"{}\">\n",
      xml(plugin), rows.size(), failed, skipped);
  for (const auto& r : rows) {
    out += fmt::format("  <testcase classname=\"{}\" name=\"{} {}\">", xml(r.check.rule), r.check.id,
                       xml(r.check.what));
    if (r.result.verdict == Outcome::fail && r.check.level == Level::required)
      out += fmt::format("<failure message=\"{}\"/>", xml(r.result.message));
    else if (r.result.verdict == Outcome::skip)
      out += fmt::format("<skipped message=\"{}\"/>", xml(r.result.message));
    else if (!r.result.message.empty())
      out += fmt::format("<system-out>{}</system-out>", xml(r.result.message));
    out += "</testcase>\n";
  }
  out += "</testsuite>\n";
  mlsysim::files::write(file, out, {.mark = "<testsuite name=\"mlsysim-plugin-check"});
}

/// The ids of three letters and digits in a list such as "L01 L02".
std::vector<std::string_view> ids_in(std::string_view list) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < list.size(); at += 4) out.push_back(list.substr(at, 3));
  return out;
}

/// The checks asked for and those that they build on.
std::vector<std::string> with_those_before(std::vector<std::string> wanted, std::span<const Check> checks) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (const auto& c : checks)
      if (c.id == wanted[i])
        for (const auto id : ids_in(c.after)) wanted.emplace_back(id);
  return wanted;
}

/// Runs the checks in an order in which each follows those that it builds on; results in the order of the
/// list.
std::vector<Row> run_in_order(const std::vector<Check>& checks, const Subject& subject, const Options& o) {
  const auto wanted = with_those_before(o.only, checks);
  std::vector<Row> rows;
  const auto done = [&](std::string_view id) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.check.id == id; });
  };
  const auto due = [&](const Check& c) {
    return done(c.id) == rows.end() &&
           (o.only.empty() || std::find(wanted.begin(), wanted.end(), c.id) != wanted.end());
  };
  // A check may build on one that stands later in the list: repeat until nothing changes.
  for (bool more = true; more;) {
    more = false;
    for (const auto& c : checks) {
      if (!due(c)) continue;
      bool ready = true;
      std::string blocked;
      for (const auto id : ids_in(c.after)) {
        const auto before = done(id);
        if (before == rows.end())
          ready = false;
        else if (before->result.verdict == Outcome::fail && before->check.level == Level::required)
          blocked = before->check.id;
        else if (before->result.verdict == Outcome::skip && before->result.message.starts_with("needs "))
          blocked = before->check.id;
      }
      if (!ready) continue;
      rows.push_back({c, blocked.empty() ? run_apart(c, subject, o.seconds) : skip("needs " + blocked)});
      more = true;
    }
  }
  const auto place = [&](const Row& r) {
    return std::find_if(checks.begin(), checks.end(), [&](const Check& c) { return c.id == r.check.id; });
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
  return rows;
}

struct Counts {
  std::size_t passed = 0, failures = 0, warnings = 0, skipped = 0;
};

Counts counts_of(const std::vector<Row>& rows) {
  Counts n;
  for (const auto& r : rows) {
    n.passed += r.result.verdict == Outcome::pass ? 1 : 0;
    n.skipped += r.result.verdict == Outcome::skip ? 1 : 0;
    if (r.result.verdict == Outcome::fail) ++(r.check.level == Level::required ? n.failures : n.warnings);
  }
  return n;
}

void print_json(const std::string& plugin, const std::vector<Row>& rows, const Counts& n) {
  Json all = Json::array();
  for (const auto& r : rows)
    all.push_back({{"id", std::string(r.check.id)},
                   {"level", name_of(r.check.level)},
                   {"rule", std::string(r.check.rule)},
                   {"verdict", name_of(r.result.verdict)},
                   {"message", r.result.message}});
  fmt::print("{}", mlsysim::detail::json_document(Json{{"schema", "mlsysim/plugin-check@1"},
                                                       {"kit", kKitVersion},
                                                       {"version", MLSYSIM_VERSION_TEXT},
                                                       {"plugin", plugin},
                                                       {"passed", n.passed},
                                                       {"failed", n.failures},
                                                       {"warnings", n.warnings},
                                                       {"skipped", n.skipped},
                                                       {"checks", all}}));
}

void print_text(const std::string& file, const std::vector<Row>& rows, const Counts& n) {
  for (const auto& r : rows) {
    if (r.result.verdict == Outcome::pass) continue;
    const char* label = r.result.verdict == Outcome::skip  ? "skipped"
                        : r.check.level == Level::required ? "FAILED"
                                                           : "warning";
    if (r.result.verdict == Outcome::skip && r.result.message.starts_with("needs ")) continue;
    fmt::print("{}  {:<7}  {}: {}\n", r.check.id, label, r.check.what, r.result.message);
  }
  fmt::print("{}: {} passed, {} failed, {} warnings, {} skipped (checks {} of mlsysim {})\n", file, n.passed,
             n.failures, n.warnings, n.skipped, kKitVersion, MLSYSIM_VERSION_TEXT);
}

/// Finds library and manifest, runs the checks and reports them. @return the exit code
int check_plugin(Options o) {
  Subject subject;
  subject.library = o.path;
  if (o.path.ends_with(".plugin.yaml")) {
    o.manifest = o.path;
    subject.library = read_manifest(o.path).library;
  }
  std::error_code failed;
  const bool zoo_alone = subject.library.empty() && !o.manifest.empty();
  if (!zoo_alone && !std::filesystem::exists(subject.library, failed)) {
    fmt::print(stderr, "mlsysim-plugin-check: error: there is no file '{}'\n", subject.library.string());
    return 3;
  }
  if (o.manifest.empty()) o.manifest = beside(subject.library);
  if (!o.manifest.empty()) subject.manifest = read_manifest(o.manifest);
  if (!zoo_alone) subject.elf = detail::read_elf(subject.library);
  (void)mlsysim::standard_zoo();  // once, before children copy it
  const auto of_zoo = zoo_checks();
  const auto rows =
      run_in_order(zoo_alone ? std::vector<Check>(of_zoo.begin(), of_zoo.end()) : all_checks(), subject, o);
  const Counts n = counts_of(rows);
  if (!o.junit.empty()) write_junit(o.junit, o.path, rows);
  if (o.json)
    print_json(o.path, rows, n);
  else
    print_text((zoo_alone ? subject.manifest->file : subject.library).filename().string(), rows, n);
  return n.failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  std::string problem;
  if (argc > 1 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (!parse(argc, argv, o, problem)) {
    fmt::print(stderr, "mlsysim-plugin-check: error: {}\n{}", problem, kUsage);
    return 2;
  }
  if (o.list) {
    list(o.json);
    return 0;
  }
  try {
    return check_plugin(std::move(o));
  } catch (const std::exception& error) {
    fmt::print(stderr, "mlsysim-plugin-check: error: {}\n", error.what());
    return 3;
  }
}
