// Bad plugins against the host: whatever they do, the host lives and its answers are those of before.

#include "plugin_support.hpp"

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

namespace {

/// Little time and memory: what loops and eats should not take long. A sanitized program takes more to begin.
constexpr std::chrono::milliseconds kLimit{kSanitized ? 10000 : 1500};
HostOptions strict(std::vector<fs::path> paths, Isolation isolation) {
  auto out = closed(std::move(paths), isolation);
  out.limits = {.timeout = kLimit, .memory = 1ULL << 30};
  return out;
}

/// Name of every case of the list.
std::vector<std::string> cases() {
  std::ifstream file(std::string(MLSYSIM_SOURCE_DIR) + "/tests/plugin/bad/cases.txt");
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') out.push_back(line.substr(0, line.find(' ')));
  return out;
}

/// What a resolver says to a number, as text.
std::string answer(const std::string& name, double x) {
  try {
    const auto resolver = ResolverRegistry::standard().share(name);
    Record in(*resolver, Side::inputs);
    for (const auto& f : resolver->inputs()) {
      if (f.kind == ValueKind::object)
        in.set(f.name, DynamicValue(&standard_zoo().at<HardwareNode>("H100")));
      else if (f.kind == ValueKind::quantity)
        in.set(f.name, {Value(x), f.exps});
    }
    const auto got = evaluate(*resolver, in);
    if (!got.outcome.feasible()) return "infeasible: " + got.outcome.why()->reason;
    return got.outcome->get(resolver->outputs().front().name).text();
  } catch (const PluginFault& fault) {
    return "fault " + std::string(status_name(fault.code())) + ": " + fault.what();
  }
}

std::string of_hello() { return answer("hello/DecodeFloor", 16e9); }

}  // namespace

TEST_CASE("no bad plugin in a process of its own harms the host", "[plugin]") {
  REQUIRE(cases().size() >= 40);
  std::string before;
  {
    PluginHost host(strict({kHello}, Isolation::never));
    host.load_all();
    before = of_hello();
  }
  for (const auto& name : cases()) {
    INFO(name);
    PluginHost host(strict({kHello, kBad + name + ".so"}, Isolation::always));
    const auto report = host.load_all();
    for (const auto& f : report.failed) {
      CHECK(f.name != "hello-c");
      CHECK_FALSE(f.failure->message.empty());
    }
    if (ResolverRegistry::standard().find("bad/Model") != nullptr) {
      (void)answer("bad/Model", 1);
      (void)answer("bad/Model", 5);
    }
    CHECK(of_hello() == before);
  }
}

TEST_CASE("what a plugin can do in this process is kept from doing harm by the rules", "[plugin]") {
  // Those that vetting, the versions or the registration catch, and those whose answers are wrong.
  for (const auto* name : {"no_entry",
                           "null_table",
                           "table_too_small",
                           "other_major",
                           "needs_newer_host",
                           "null_attributes",
                           "attribute_no_utf8",
                           "name_is_a_path",
                           "initialize_fails",
                           "register_throws",
                           "duplicate_names",
                           "half_registered",
                           "host_namespace",
                           "bare_name",
                           "name_no_utf8",
                           "unknown_tier",
                           "unknown_ownership",
                           "duplicate_fields",
                           "lying_field_size",
                           "null_fields",
                           "too_many_fields",
                           "unit_taken",
                           "unit_base_unknown",
                           "field_unit_unknown",
                           "object_type_unknown",
                           "default_of_wrong_kind",
                           "zoo_wrong"}) {
    INFO(name);
    PluginHost host(strict({kBad + name + ".so"}, Isolation::never));
    const auto report = host.load_all();
    REQUIRE(report.failed.size() == 1);
    INFO(report.failed[0].failure->message);
    CHECK(ResolverRegistry::standard().find("bad/Model") == nullptr);
    for (const auto* half : {"bad/Two", "bad/Four", "bad/Five"})
      CHECK(ResolverRegistry::standard().find(half) == nullptr);
    CHECK_THROWS(UnitRegistry::standard().parse_unit("smoot"));
    CHECK(UnitRegistry::standard().parse_unit("min").mul == 60);
  }
  const std::pair<const char*, const char*> wrong[] = {{"nan", "expected a finite number"},
                                                       {"infinite", "expected a finite number"},
                                                       {"negative", "from 0 to 1000000000 s"},
                                                       {"wrong_unit", "unit error"},
                                                       {"unknown_unit", "unit error"},
                                                       {"missing_result", "'y' of bad/Model"},
                                                       {"text_for_a_number", "'y' of bad/Model"},
                                                       {"result_behind", "does not declare"},
                                                       {"wrong_count", "another number of results"},
                                                       {"infeasible_without_reason", "gives no reason"},
                                                       {"always_fails", "not today"},
                                                       {"create_fails", "no instance today"},
                                                       {"no_solve", "UNIMPLEMENTED"},
                                                       {"searched_nothing", "searched nothing"}};
  for (const auto& [name, part] : wrong) {
    INFO(name);
    PluginHost host(strict({kBad + name + ".so"}, Isolation::never));
    CHECK(host.load_all().failed.empty());
    CHECK_THAT(answer("bad/Model", 5), ContainsSubstring(part));
  }
}

TEST_CASE("each way to die gives one error that names plugin, call and signal", "[plugin]") {
  const auto late = "no answer after " + std::to_string(kLimit.count()) + " ms";
  const std::pair<const char*, std::string> ways[] = {{"aborts", "SIGABRT"},
                                                      {"exits", "exit with status 0"},
                                                      {"crashes", "SIGSEGV"},
                                                      {"divides_by_zero", "SIGFPE"},
                                                      {"loops", late},
                                                      {"floods_the_log", late},
                                                      {"memory_bomb", "SIGABRT"},
                                                      {"stack_overflow", "SIGSEGV"}};
  for (const auto& [name, part] : ways) {
    // A sanitizer needs more address space than any limit on it, so its programs have none.
    if (kSanitized && std::string_view(name) == "memory_bomb") continue;
    INFO(name);
    PluginHost host(strict({kBad + name + ".so"}, Isolation::always));
    REQUIRE(host.load_all().failed.empty());
    const auto text = answer("bad/Model", 1);
    CHECK_THAT(text, ContainsSubstring(part));
    CHECK_THAT(text, ContainsSubstring("'bad'"));
    CHECK_THAT(text, ContainsSubstring("solve of bad/Model"));
    CHECK(answer("bad/Model", 5) == "10 s");  // started again
  }
}

TEST_CASE("a plugin whose process is killed in the middle of a sweep costs one point", "[plugin]") {
  PluginHost host(strict({kBad + "good.so"}, Isolation::always));
  REQUIRE(host.load_all().failed.empty());
  const auto resolver = ResolverRegistry::standard().share("bad/Model");
  Record in(*resolver, Side::inputs);
  in.set("x", {Value(2.0), dim::time::exps});
  std::vector<double> x;
  for (int i = 2; i <= 20001; ++i) x.push_back(i);
  const Space space(problem_of(resolver, in.data()), {numbers_axis("x", x, dim::time::exps)});
  // The only child of this process is the worker. It waits for every call, which the kernel counts.
  const auto calls_of = [](pid_t child) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    for (std::string word; status >> word;)
      if (long n = 0; word == "voluntary_ctxt_switches:" && status >> n) return n;
    return 0L;
  };
  std::atomic<bool> over{false};
  std::thread killer([&] {
    for (bool killed = false; !killed && !over;)
      for (const auto& task : fs::directory_iterator("/proc/self/task")) {
        std::ifstream children(task.path() / "children");
        for (pid_t child = 0; children >> child;)
          if (calls_of(child) > 1000) killed = ::kill(child, SIGKILL) == 0;
      }
  });
  const auto answer = explore(space, {.objectives = {{Goal::maximize, "y"}}}, {.threads = 1});
  over = true;
  killer.join();
  CHECK(answer.total == 20000);
  CHECK(answer.skipped == 1);
  CHECK(answer.evaluated == 19999);
  CHECK(answer.feasible == 19999);
  CHECK(answer.complete);
  REQUIRE(answer.skip_reasons.size() == 1);
  CHECK_THAT(
      answer.skip_reasons[0].first,
      ContainsSubstring(
          "plugin_error: the process of the plugin 'bad' ended during solve of bad/Model: signal SIGKILL"));
  REQUIRE(answer.best.size() == 1);
  CHECK(answer.best[0].objectives[0] == 40002);
}

TEST_CASE("what an isolated plugin prints is logged", "[plugin]") {
  std::string log;
  auto options = strict({kBad + "prints.so"}, Isolation::always);
  options.log = [&](std::int32_t, std::string_view text) { log += std::string(text) + "\n"; };
  PluginHost host(options);
  REQUIRE(host.load_all().failed.empty());
  CHECK(answer("bad/Model", 5) == "10 s");
  CHECK(answer("bad/Model", 5) == "10 s");
  CHECK_THAT(log, ContainsSubstring("[bad] y = 10"));
}

TEST_CASE("an answer that nobody asked for ends the process, not the host", "[plugin]") {
  PluginHost host(strict({kBad + "answers_twice.so"}, Isolation::always));
  REQUIRE(host.load_all().failed.empty());
  for (int i = 0; i < 3; ++i) {
    const auto text = answer("bad/Model", 5);
    CHECK_THAT(text, ContainsSubstring("fault DATA_LOSS"));
    CHECK_THAT(text, ContainsSubstring("answered what nobody asked"));
  }
}
