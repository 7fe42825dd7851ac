// Every row of misbehave/behaviors.txt, with the plugin in a process of its own and in the host's: what is
// said is what the row says, with the plugin's name; the host lives, its other answers are those of before,
// and no descriptor and no process is left.

#include "plugin_support.hpp"

#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <span>
#include <sstream>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

/// As the program mlsysim has it: a plugin that leaves is noticed.
extern "C" __attribute__((visibility("default"))) void _exit(int status) { end_process(status); }

namespace {

const std::string kMisbehave = kBuild + "/tests/plugin/misbehave/mlsysim-plugin-misbehave.so";

struct Behaviour {
  std::string row, apart, inside;
  /// A time limit ends it; all others have as long as a busy machine takes.
  [[nodiscard]] bool hangs() const { return row.ends_with(" sleeps") || row.ends_with(" stops"); }
};

std::string trimmed(const std::string& s) {
  const auto begin = s.find_first_not_of(' ');
  return begin == std::string::npos ? "" : s.substr(begin, s.find_last_not_of(' ') - begin + 1);
}

/// Lines "<place> <what> <how> | in a process of its own | in the host's", the last "=" for the same and "-"
/// for no promise.
std::vector<Behaviour> behaviours() {
  std::ifstream file(std::string(MLSYSIM_SOURCE_DIR) + "/tests/plugin/misbehave/behaviours.txt");
  std::vector<Behaviour> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    std::array<std::string, 3> cell;
    for (auto& c : cell) {
      std::getline(cells, c, '|');
      c = trimmed(c);
    }
    out.push_back({cell[0], cell[1], cell[2] == "=" ? cell[1] : cell[2]});
  }
  return out;
}

std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// One step of a host's day: its outcome in a line.
template <class F> void step(const char* name, F&& f) {
  std::string said;
  try {
    said = f();
  } catch (const PluginFault& fault) {
    said = std::string(status_name(fault.code())) + " [" + fault.plugin() + ", " + fault.call() + "] " +
           fault.what();
  } catch (const Error& error) {
    said = std::string("error ") + error.what();
  }
  std::replace(said.begin(), said.end(), '\n', ' ');
  std::cout << name << ": " << said.substr(0, 2000) << std::endl;
}

std::string doubled(const std::string& name) {
  const auto resolver = ResolverRegistry::standard().share(name);
  Record in(*resolver, Side::inputs);
  for (const auto& f : resolver->inputs()) {
    if (f.kind == ValueKind::object)
      in.set(f.name, DynamicValue(&standard_zoo().at<HardwareNode>("H100")));
    else if (f.kind == ValueKind::quantity)
      in.set(f.name, {Value(5.0), f.exps});
  }
  const auto got = evaluate(*resolver, in);
  if (!got.outcome.feasible()) return "infeasible: " + got.outcome.why()->reason;
  return "fine " + got.outcome->get(resolver->outputs().front().name).text();
}

/// Everything that a host can ask of a plugin, one after the other.
void use_all(PluginHost& host) {
  std::string name;
  step("load", [&] {
    name = host.load(kMisbehave);
    return "fine";
  });
  if (name.empty()) return;
  step("can_create", [&]() -> std::string {
    const auto answer = host.can_create("misbehave/Model");
    return answer.held ? "held: " + answer.held->stage + ": " + answer.held->message : "fine";
  });
  step("solve", [&] { return doubled("misbehave/Model"); });
  step("predict", [&] { return doubled("misbehave/Predict"); });
  step("pipeline", [&]() -> std::string {
    PipelineBuilder b;
    b.registry(ResolverRegistry::standard()).stage("misbehave/Predict", "s").given("x");
    const std::vector<Supplied> given{{"x", AnyQuantity::parse("5 s")}};
    const auto run =
        b.build().run(given, {.callbacks = host.callbacks(), .callback_faults = CallbackFaults::raise});
    return number(run, "z") == 15 ? "fine" : "another number";
  });
  step("support", [&] {
    const auto answer =
        host.support("misbehave/Chip",
                     {.name = "p", .precision = "bf16", .ops = {{.name = "m", .kind = "matmul"}}}, "H100");
    return "fine " + std::string(name_of(answer.verdict)) +
           (answer.reasons.empty() ? "" : ", " + answer.reasons[0].op);
  });
  step("import", [&] { return "fine " + host.import_text("misbehave/Read", "a.txt", "a"); });
  step("export", [&] {
    return "fine " +
           host.export_text("misbehave/Write", {&standard_zoo().at<HardwareNode>("H100"), "hardware"});
  });
  step("has_feature", [&] { return host.has_feature(name, "speed") ? "fine" : "no"; });
  step("unload", [&] {
    host.unload(name);
    return "fine";
  });
}

/// The whole day in this process, which is a child of the test; tells on its standard output.
void live_through(const Behaviour& row, bool apart) {
  ::setenv("MISBEHAVE", row.row.c_str(), 1);
  if (!apart) name_crashes();
  ::alarm(60);  // a row that hangs against its promise fails, and holds nobody up
  const bool orphans = row.row.ends_with("forks");  // they would be handed to init, and live on
  if (orphans) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto files = open_files();
  {
    auto options = closed({}, apart ? Isolation::always : Isolation::never);
    options.limits = {.timeout = std::chrono::milliseconds(row.hangs() ? 5000 : 60000), .memory = 1ULL << 30};
    options.log = [](std::int32_t, std::string_view text) {
      std::cout << "log: " << text.substr(0, 200) << std::endl;
    };
    PluginHost host(options);
    host.load(kHello, {.isolation = Isolation::never});
    const auto before = doubled("hello/DecodeFloor");
    use_all(host);
    step("others", [&] { return doubled("hello/DecodeFloor") == before ? "fine" : "not what they were"; });
  }
  step("left", [&]() -> std::string {
    while (orphans && ::waitpid(-1, nullptr, 0) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD) return "a process";
    return open_files() == files ? "nothing" : "descriptors";
  });
}

struct Report {
  std::string text;
  int status = 0;
};

class Child {
 public:
  Child(const Behaviour& row, bool apart) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::cout.flush();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      live_through(row, apart);
      std::cout.flush();
      ::syscall(SYS_exit_group, 0);
    }
    ::close(ends[1]);
    file_ = ends[0];
  }
  Report end() {
    Report out;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; (n = ::read(file_, buffer.data(), buffer.size())) > 0;)
      out.text.append(buffer.data(), static_cast<std::size_t>(n));
    ::close(file_);
    ::waitpid(pid_, &out.status, 0);
    return out;
  }

 private:
  pid_t pid_ = -1;
  int file_ = -1;
};

/// The first line that is not as it should be; "fine" without one.
std::string first_trouble(const std::string& report) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    const auto said = colon == std::string::npos ? line : line.substr(colon + 2);
    if (line.starts_with("log: ") || said.starts_with("fine") || said == "nothing") continue;
    return line;
  }
  return "fine";
}

void check(const Behaviour& row, const std::string& expected, bool apart, const Report& report) {
  INFO(row.row << (apart ? ", apart" : ", inside") << ", expected " << expected << "\n" << report.text);
  const auto found = first_trouble(report.text);
  if (std::getenv("MISBEHAVE_SHOW") != nullptr)  // to write the table
    std::cout << row.row << (apart ? " | " : " || ") << found << '\n';
  const bool may_end = !apart && expected.starts_with("ends ");
  if (may_end) {
    CHECK_FALSE((WIFEXITED(report.status) && WEXITSTATUS(report.status) == 0));
    CHECK_THAT(report.text, ContainsSubstring("mlsysim: error: the plugin '"));
    CHECK_THAT(report.text,
               ContainsSubstring("mlsysim-plugin-misbehave.so' ended the process by " + expected.substr(5)));
    return;
  }
  CHECK(report.status == 0);
  CHECK_THAT(report.text, ContainsSubstring("others: fine"));
  CHECK_THAT(report.text, ContainsSubstring("left: nothing"));
  if (expected == "fine") {
    CHECK(found == "fine");
    return;
  }
  const auto colon = expected.find(": ");
  REQUIRE(colon != std::string::npos);
  CHECK(found.substr(0, found.find(": ")) == expected.substr(0, colon));
  CHECK_THAT(found, ContainsSubstring(expected.substr(colon + 2)));
  // Every fault has the plugin's name; that there is no result, or no such feature, is an answer.
  if (found.find("infeasible: ") == std::string::npos && found != "has_feature: no")
    CHECK_THAT(found, ContainsSubstring("misbehave"));
}

/// Runs rows side by side, so many at a time.
void run_rows(std::span<const Behaviour> rows, std::size_t at_a_time, bool apart) {
  for (; !rows.empty(); rows = rows.subspan(std::min(at_a_time, rows.size()))) {
    const auto now = rows.first(std::min(at_a_time, rows.size()));
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(now.size());
    for (const auto& row : now) children.push_back(std::make_unique<Child>(row, apart));
    for (std::size_t k = 0; k < now.size(); ++k)
      check(now[k], apart ? now[k].apart : now[k].inside, apart, children[k]->end());
  }
}

void run_all(bool apart) {
  const auto cache = fs::temp_directory_path() / ("mlsysim-misbehave-" + std::to_string(::getpid()));
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  ::setenv("MISBEHAVE", "", 1);
  (void)standard_zoo();
  const char* only = std::getenv("MISBEHAVE_ONLY");
  std::vector<Behaviour> rows;
  for (auto& row : behaviours()) {
    if (only != nullptr && row.row.find(only) == std::string::npos) continue;
    if (!apart && row.inside == "-") continue;
    // A sanitizer has words of its own where memory is wrong, no limit of memory, and takes longer to start
    // than what hangs may take.
    const bool memory =
        row.row.ends_with("_free") || row.row.ends_with("frees_foreign") || row.row.ends_with("eats_memory");
    if (kSanitized && (memory || row.hangs() || (!apart && row.inside.starts_with("ends ")))) continue;
    rows.push_back(std::move(row));
  }
  // Those that hang wait for their time limit and need no processor: all of them wait together.
  const auto busy = std::stable_partition(rows.begin(), rows.end(), std::mem_fn(&Behaviour::hangs));
  run_rows({rows.begin(), busy}, 24, apart);
  run_rows({busy, rows.end()}, 6, apart);
  fs::remove_all(cache);
  std::cout << rows.size() << " behaviours of plugins "
            << (apart ? "in a process of their own" : "in the process of the host") << '\n';
  if (only == nullptr) CHECK(rows.size() > (apart ? 250U : kSanitized ? 100U : 200U));
}

}  // namespace

TEST_CASE("every misbehaviour in a process of its own is one error with a name, and the host lives",
          "[plugin]") {
  run_all(true);
}

TEST_CASE("every misbehaviour in the host's process is an error, or the plugin that ends it is named",
          "[plugin]") {
  run_all(false);
}
