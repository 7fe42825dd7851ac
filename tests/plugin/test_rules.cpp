// Rules of the interface that have no test of their own elsewhere: versions of one name, discovery, forks,
// codes, tiers.

#include "plugin_support.hpp"

#include <mlsysim/plugin/fault.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "support/catch.hpp"

#include <fmt/format.h>

#include <sys/wait.h>
#include <chrono>
#include <cstdlib>
#include <fstream>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

namespace {

/// What bad/Model says to x seconds.
MlsStatus code_of(double x) {
  const auto resolver = ResolverRegistry::standard().share("bad/Model");
  Record in(*resolver, Side::inputs);
  in.set("x", {Value(x), dim::time::exps});
  try {
    (void)evaluate(*resolver, in);
    return MLS_OK;
  } catch (const PluginFault& fault) {
    return fault.code();
  }
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("of one name the first stays, another version is an error with both", "[plugin]") {
  const Folder folder;
  fs::copy(kProbe + ".so", folder.path / "mlsysim-plugin-copy.so");
  std::string log;
  auto options = closed({});
  options.log = [&](std::int32_t, std::string_view text) { log += text; };
  PluginHost host(options);
  CHECK(host.load(kProbe + ".so") == "probe");
  CHECK(host.load((folder.path / "mlsysim-plugin-copy.so").string()) == "probe");
  CHECK_THAT(log, ContainsSubstring("is found twice") && ContainsSubstring("mlsysim-plugin-copy.so"));
  try {
    (void)host.load(kProbe + "-3.so");
    FAIL("taken");
  } catch (const PluginFault& fault) {
    CHECK(fault.code() == MLS_ALREADY_EXISTS);
    CHECK_THAT(fault.what(), ContainsSubstring("3.0.0 from") && ContainsSubstring("2.0.0 from"));
  }
  CHECK(number(pipeline_of("probe/Model", "x").run({{"x", 1.0}}), "y") == 2);
}

TEST_CASE("the first source wins, or the newest version where that is asked", "[plugin]") {
  const Folder folder;
  for (const auto& [name, suffix] : {std::pair{"one", ""}, std::pair{"two", "-3"}}) {
    const auto place = folder.path / name;
    fs::create_directories(place);
    fs::copy(kProbe + suffix + ".so", place / "mlsysim-plugin-probe.so");
    write(place / "probe.plugin.yaml", std::string("schema: mlsysim/plugin@1\nname: probe\nversion: ") +
                                           (*suffix == 0 ? "2.0.0" : "3.0.0") +
                                           "\nlibrary: mlsysim-plugin-probe.so\n");
  }
  for (const auto prefer : {Prefer::first, Prefer::newest}) {
    auto options = closed({folder.path / "one", folder.path / "two"});
    options.prefer = prefer;
    PluginHost host(options);
    const auto report = host.load_all();
    CHECK(report.failed.empty());
    CHECK(host.description("probe").version == (prefer == Prefer::first ? "2.0.0" : "3.0.0"));
  }
}

TEST_CASE("a library that crashes is listed safely behind its manifest", "[plugin]") {
  const Folder folder;
  fs::copy(kBad + "constructor_crashes.so", folder.path / "mlsysim-plugin-crash.so");
  write(folder.path / "crash.plugin.yaml",
        "schema: mlsysim/plugin@1\nname: crash\nversion: 1.0.0\nlibrary: mlsysim-plugin-crash.so\nregisters: "
        "[model bad/Model]\n");
  PluginHost host(closed({folder.path}));
  host.discover();
  const auto records = host.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == PluginState::found);
  CHECK(records[0].provides == std::vector<std::pair<std::string, std::string>>{{"model", "bad/Model"}});
}

TEST_CASE("a secure process looks only at what is named and installed", "[plugin]") {
  const Folder folder;
  fs::create_directories(folder.path / "data/mlsysim/plugins");
  fs::copy(kHello, folder.path / "data/mlsysim/plugins/mlsysim-plugin-hello-c.so");
  ::setenv("MLSYSIM_PLUGIN_PATH", (folder.path / "data/mlsysim/plugins").c_str(), 1);
  ::setenv("XDG_DATA_HOME", (folder.path / "data").c_str(), 1);
  HostOptions options;
  options.install = Look::no;
  options.allowed = "all";
  const auto found = [&] {
    PluginHost host(options);
    host.discover();
    return host.records().size();
  };
  CHECK(found() == 2);
  ::setenv("MLSYSIM_SECURE", "1", 1);
  CHECK(found() == 0);
  options.paths = {kHello};
  CHECK(found() == 1);

  // Options of a plugin that is named are not for the user and the environment to set either.
  fs::create_directories(folder.path / "config/mlsysim");
  write(folder.path / "config/mlsysim/plugins.yaml", "probe: {gain: 10}\n");
  ::setenv("XDG_CONFIG_HOME", (folder.path / "config").c_str(), 1);
  const auto y = [] {
    PluginHost host(closed({kProbe + ".so"}));
    REQUIRE(host.load_all().failed.empty());
    return number(pipeline_of("probe/Model", "x").run({{"x", 1.0}}), "y");
  };
  CHECK(y() == 2);
  ::setenv("MLSYSIM_PLUGIN_PROBE_GAIN", "100", 1);
  CHECK(y() == 2);
  ::unsetenv("MLSYSIM_SECURE");
  CHECK(y() == 200);
  ::unsetenv("MLSYSIM_PLUGIN_PROBE_GAIN");
  CHECK(y() == 20);
  for (const auto* name : {"MLSYSIM_PLUGIN_PATH", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}) ::unsetenv(name);
}

TEST_CASE("in one folder the manifest of the highest priority wins, across folders the first", "[plugin]") {
  const Folder folder;
  for (const auto* place : {"one", "two"}) fs::create_directories(folder.path / place);
  const auto put = [&](const char* place, const char* file, const char* suffix, const char* version,
                       int priority) {
    fs::copy(kProbe + suffix + ".so", folder.path / place / (std::string(file) + ".so"));
    write(folder.path / place / (std::string(file) + ".plugin.yaml"),
          std::string("schema: mlsysim/plugin@1\nname: probe\nversion: ") + version + "\nlibrary: " + file +
              ".so\npriority: " + std::to_string(priority) + "\n");
  };
  put("one", "a", "", "2.0.0", 100);
  put("one", "b", "-3", "3.0.0", 200);
  put("two", "c", "", "2.0.0", 900);
  PluginHost host(closed({folder.path / "one", folder.path / "two"}));
  CHECK(host.load_all().failed.empty());
  CHECK(host.description("probe").version == "3.0.0");
  for (const auto& r : host.records())
    if (r.state == PluginState::skipped) CHECK_THAT(r.note, ContainsSubstring("b.plugin.yaml"));
}

TEST_CASE("a bare name that two plugins have is an error with both, in pipelines too", "[plugin]") {
  PluginHost host(closed({kProbe + ".so", kBad + "good.so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK_THROWS_WITH(ResolverRegistry::standard().at("Model"),
                    ContainsSubstring("several resolvers are called 'Model'"));
  CHECK_THROWS_WITH(pipeline_of("Model", "x"), ContainsSubstring("several resolvers are called 'Model'") &&
                                                   ContainsSubstring("bad/Model, probe/Model") &&
                                                   ContainsSubstring("[mlsysim.resolve.041]"));
}

TEST_CASE("one load asks for a process of its own, and a plugin stays where it is", "[plugin]") {
  const Placement apart{.isolation = Isolation::always,
                        .limits = IsolationLimits{.timeout = std::chrono::milliseconds(5000)}};
  for (const auto isolated : {true, false}) {
    PluginHost host(closed({kProbe + ".so"}));
    CHECK(host.load_all(isolated ? apart : Placement{}).failed.empty());
    CHECK(host.records().at(0).isolated == isolated);
    CHECK(number(pipeline_of("probe/Model", "x").run({{"x", 1.0}}), "y") == 2);
    const auto again = host.load_all(apart);
    CHECK(again.failed.size() == (isolated ? 0 : 1));
    if (isolated)
      CHECK(host.load("probe", apart) == "probe");
    else
      CHECK_THROWS_WITH(host.load("probe", apart), ContainsSubstring("runs in this process already"));
    (void)host.reload("probe");
    CHECK(host.records().at(0).isolated == isolated);
  }
}

TEST_CASE("a variable that names no option is a warning", "[plugin]") {
  std::string log;
  auto options = closed({kProbe + ".so"});
  options.log = [&](std::int32_t level, std::string_view text) { log += fmt::format("{}: {}", level, text); };
  ::setenv("MLSYSIM_PLUGIN_PROBE_GAINN", "5", 1);
  PluginHost host(options);
  CHECK(host.load_all().failed.empty());
  ::unsetenv("MLSYSIM_PLUGIN_PROBE_GAINN");
  CHECK_THAT(log, ContainsSubstring(fmt::format("{}: the variable MLSYSIM_PLUGIN_PROBE_GAINN names no option",
                                                int{MLS_LOG_WARNING})) &&
                      ContainsSubstring("did you mean"));
  CHECK(host.records().at(0).note == log.substr(log.find(' ') + 1));
}

TEST_CASE("a failed initialise is remembered until plugins are looked for again", "[plugin]") {
  const Folder folder;
  fs::copy(kBad + "initialize_fails.so", folder.path / "mlsysim-plugin-bad.so");
  PluginHost host(closed({folder.path}));
  CHECK(host.load_all().failed.size() == 1);
  CHECK_THROWS_WITH(host.load("bad"), ContainsSubstring("the licence server is away"));
  fs::remove(folder.path / "mlsysim-plugin-bad.so");
  fs::copy(kBad + "good.so", folder.path / "mlsysim-plugin-bad.so");
  CHECK_THROWS_WITH(host.load("bad"), ContainsSubstring("the licence server is away"));
  host.discover();
  CHECK(host.load("bad") == "bad");
}

TEST_CASE("the plugin of the how-to refuses a device without a power limit", "[plugin]") {
  PluginHost host(closed({kBuild + "/tests/plugin/mlsysim-plugin-my_power.so"}));
  REQUIRE(host.load_all().failed.empty());
  PipelineBuilder b;
  b.registry(ResolverRegistry::standard()).stage("my_power/PassEnergy").given("hardware").given("duration");
  const auto pipeline = b.build();
  auto device = standard_zoo().at<HardwareNode>("H100");
  CHECK(number(pipeline.run({{"hardware", &device}, {"duration", 20 * unit::ms}}), "pass_energy") ==
        14);  // 700 W
  device.power.tdp.reset();
  device.entry = nullptr;
  CHECK_THROWS_WITH(pipeline.run({{"hardware", &device}, {"duration", 20 * unit::ms}}),
                    ContainsSubstring("H100 has no TDP specified"));
}

TEST_CASE("every code of an error arrives as it was sent", "[plugin]") {
  for (const auto isolation : {Isolation::never, Isolation::always}) {
    PluginHost host(closed({kBad + "any_code.so"}, isolation));
    REQUIRE(host.load_all().failed.empty());
    for (MlsStatus code = MLS_CANCELLED; code <= MLS_UNAUTHENTICATED; ++code) CHECK(code_of(code) == code);
    CHECK(code_of(100) == MLS_OK);
  }
}

TEST_CASE("a plugin that throws is not called again in this process", "[plugin]") {
  PluginHost host(closed({kBad + "throws_in_solve.so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK(code_of(5) == MLS_OK);
  CHECK(code_of(1) == MLS_INTERNAL);
  CHECK(code_of(5) == MLS_UNAVAILABLE);
}

TEST_CASE("a model may not ask a solver", "[plugin]") {
  PluginHost host(closed({kBad + "asks_a_solver.so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK(code_of(5) == MLS_FAILED_PRECONDITION);
}

TEST_CASE("a child process may not call a plugin that does not say it survives a fork", "[plugin]") {
  PluginHost host(closed({kProbe + ".so"}));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  CHECK(number(pipeline.run({{"x", 1.0}}), "y") == 2);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      (void)pipeline.run({{"x", 1.0}});
    } catch (const PluginFault& fault) {
      ::_exit(fault.code() == MLS_FAILED_PRECONDITION ? 7 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(number(pipeline.run({{"x", 1.0}}), "y") == 2);
}
