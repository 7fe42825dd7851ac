// Old and new plugins and hosts, reloading, options, callbacks.

#include "plugin_support.hpp"

#include <plugin/detail/code.hpp>
#include <plugin/detail/objects.hpp>

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/pipeline/sweep_callbacks.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

namespace {

/// Has no answer above one.
struct Narrow : Model<Narrow> {
  struct Inputs {
    double share;
    static constexpr auto fields() { return rows(field(&Inputs::share, "share", "", "of one")); }
  };
  struct Result {
    double rest;
    static constexpr auto fields() { return rows(field(&Result::rest, "rest", "", "to one")); }
  };
  Result solve(const Inputs& in) const {
    if (in.share > 1) throw DomainError({.id = "test.001", .message = "the share is above one"});
    return {1 - in.share};
  }
};

const std::string kNpu = kBuild + "/plugins/acme_npu/mlsysim-plugin-acme-npu.so";

}  // namespace

TEST_CASE("a plugin with the sizes of an older minor version works like one of today", "[plugin]") {
  for (const bool isolated : {false, true})
    for (const auto& [path, minor] : {std::pair{kProbe + "-old.so", 0}, {kProbe + ".so", MLS_ABI_MINOR}}) {
      INFO(path);
      PluginHost host(closed({path}, isolated ? Isolation::always : Isolation::never));
      const auto report = host.load_all();
      if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
      CHECK(host.description("probe").abi_minor == static_cast<unsigned>(minor));
      PipelineBuilder builder;
      builder.stage(Narrow{}, "narrow").given("share");
      const auto pipeline = builder.build();
      Run broken(pipeline);
      broken.set("share", 2.0);
      const RunOptions watched{.callbacks = host.callbacks(), .callback_faults = CallbackFaults::raise};
      CHECK_THROWS_AS(broken.execute(watched), DomainError);
      const auto run = pipeline_of("probe/Model", "x").run({{"x", 1.0}});
      CHECK(number(run, "y") == 2);
      CHECK(number(run, "breaks") == (minor > 0));  // a member behind the end of the struct is not read
    }
}

TEST_CASE("a host of version 1.0 takes plugins that need no more, and refuses the others with both versions",
          "[plugin]") {
  const auto old = [] {
    auto services = std::make_shared<plugin::detail::LocalServices>();
    services->pretend_minor(0, MLS_HOST_API_SIZE_1_0);
    return services;
  };
  const auto hello = plugin::detail::open_in_process(kHello, kHello, old());
  CHECK(hello->description().resolvers.size() == 1);
  try {
    (void)plugin::detail::open_in_process(kNpu, kNpu, old());
    FAIL("taken");
  } catch (const PluginFault& fault) {
    const std::string text = fault.what();
    CHECK(text.find("plugin: ABI 1.3, needs host >= 1.1; host: ABI 1.0") != std::string::npos);
    CHECK(text.find("upgrade mlsysim to one with ABI >= 1.1") != std::string::npos);
    CHECK(fault.code() == MLS_FAILED_PRECONDITION);
  }
}

TEST_CASE("a backend answers for programs, and predicts as a resolver like any other", "[plugin]") {
  for (const auto isolation : {Isolation::never, Isolation::always}) {
    PluginHost host(closed({kNpu}, isolation));
    const auto report = host.load_all();
    if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
    REQUIRE(host.backends().size() == 1);
    const auto& npu = standard_zoo().at<HardwareNode>("Acme_NPU1");
    Program program{.name = "p",
                    .precision = "bf16",
                    .ops = {{"qkv", "matmul"},
                            {"scan", "recurrence", "", "file.mlir:3", 4},
                            {"conv1", "convolution", "", "", 2}}};
    auto answer = host.support("NPU1", program, "Acme_NPU1", MLS_EFFORT_REWRITE);
    CHECK(answer.verdict == Verdict::no);
    CHECK(answer.effort_used == MLS_EFFORT_TYPES);
    REQUIRE(answer.reasons.size() == 2);  // every one, not the first alone
    CHECK(answer.reasons[0].op == "scan");
    CHECK(answer.reasons[0].count == 4);
    CHECK(answer.reasons[0].location == "file.mlir:3");
    CHECK(answer.reasons[1].code == ReasonCode::unknown_op);
    program.ops.resize(1);
    // More effort turns maybe into yes or no, never one of these into the other.
    CHECK(host.support("NPU1", program, "Acme_NPU1", MLS_EFFORT_NAMES).verdict == Verdict::maybe);
    CHECK(host.support("NPU1", program, "Acme_NPU1", MLS_EFFORT_TYPES).verdict == Verdict::yes);
    program.format = "stablehlo:99.0.0";
    answer = host.support("NPU1", program, "Acme_NPU1");
    CHECK(answer.verdict == Verdict::no);
    CHECK(answer.reasons.at(0).code == ReasonCode::version);
    CHECK(host.support("NPU1", {.name = "empty"}, "Acme_NPU1").verdict == Verdict::yes);
    CHECK_THROWS_AS(host.support("NPU1", program, "H100"), LookupError);
    CHECK_THROWS_AS(host.support("NPU2", program, "Acme_NPU1"), LookupError);
    Program large{.name = "large",
                  .precision = "bf16",
                  .ops = std::vector<ProgramOp>(10000, ProgramOp{"add", "elementwise"})};
    CHECK(host.support("NPU1", large, "Acme_NPU1", MLS_EFFORT_NAMES).seconds < (kSanitized ? 10 : 0.1));
    PipelineBuilder b;
    b.registry(ResolverRegistry::standard())
        .stage("acme_npu/AcmePredict")
        .given("workload")
        .given("hardware");
    const auto run =
        b.build().run({{"workload", &standard_zoo().at<Workload>("Llama3_8B")}, {"hardware", &npu}});
    // 8.03e9 weights of 2 bytes at 400 GB/s.
    CHECK_THAT(number(run, "step_time"), WithinRel(8.03e9 * 2 / 400e9, 1e-12));
  }
}

TEST_CASE("options come from the call, the environment, the manifest, the plugin, in this order",
          "[plugin]") {
  const Folder folder;
  folder.put(kProbe + ".so");
  std::ofstream(folder.path / "probe.plugin.yaml")
      << "schema: mlsysim/plugin@1\nname: probe\nversion: 2.0.0\nlibrary: mlsysim-plugin-probe.so\nconfig: "
         "{gain: 10}\n";
  const auto y_of = [](PluginHost& host) {
    REQUIRE(host.load_all().failed.empty());
    auto run = pipeline_of("probe/Model", "x").run({{"x", 1.0}});
    return number(run, "y");
  };
  {
    PluginHost host(closed({kProbe + ".so"}));
    CHECK(y_of(host) == 2);
  }
  {
    PluginHost host(closed({folder.path}));
    CHECK(y_of(host) == 20);
    CHECK(host.options_of("probe").at(0).origin.find("manifest") == 0);
  }
  ::setenv("MLSYSIM_PLUGIN_PROBE_GAIN", "100", 1);
  {
    PluginHost host(closed({folder.path}));
    CHECK(y_of(host) == 200);
    CHECK(host.options_of("probe").at(0).origin == "environment MLSYSIM_PLUGIN_PROBE_GAIN");
    PipelineBuilder b;
    b.registry(ResolverRegistry::standard()).stage("probe/Model", "s").given("x").given("s.gain");
    const auto run = b.build().run({{"x", 1.0}, {"s.gain", 1000.0}});
    CHECK(number(run, "y") == 2000);
    CHECK(number(run, "instances") == 2);  // one for each set of options
  }
  ::unsetenv("MLSYSIM_PLUGIN_PROBE_GAIN");
  std::ofstream(folder.path / "probe.plugin.yaml")
      << "schema: mlsysim/plugin@1\nname: probe\nversion: 2.0.0\nlibrary: mlsysim-plugin-probe.so\nconfig: "
         "{gian: 10}\n";
  PluginHost host(closed({folder.path}));
  const auto report = host.load_all();
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed[0].failure->hint.find("did you mean 'gain'") != std::string::npos);
}

TEST_CASE("callbacks of plugins watch pipelines, and nothing is made before it is used", "[plugin]") {
  PluginHost host(closed({kProbe + ".so"}));
  host.load_all();
  auto callbacks = host.callbacks();
  REQUIRE(callbacks.size() == 1);
  const auto pipeline = pipeline_of("probe/Model", "x");
  Run run(pipeline);
  run.set("x", 1.0);
  const RunOptions watched{.callbacks = callbacks, .callback_faults = CallbackFaults::raise};
  run.execute(watched);
  CHECK(number(run, "instances") == 1);
  CHECK(number(run, "events") == 0);
  run.set("x", 2.0);
  run.execute(watched);
  CHECK(number(run, "events") == 1);
}

TEST_CASE("callbacks of plugins are told of breaks and sweeps, in this process and in one of their own",
          "[plugin]") {
  for (const bool isolated : {false, true}) {
    PluginHost host(closed({kProbe + ".so"}, isolated ? Isolation::always : Isolation::never));
    host.load_all();
    PipelineBuilder builder;
    builder.stage(Narrow{}, "narrow").given("share");
    const auto pipeline = builder.build();
    Run broken(pipeline);
    broken.set("share", 2.0);
    const RunOptions watched{.callbacks = host.callbacks(), .callback_faults = CallbackFaults::raise};
    CHECK_THROWS_AS(broken.execute(watched), DomainError);
    SweepCallbacks sweep(host.callbacks(), "a sweep");
    sweep.tell(0, 30, 1);
    sweep.tell(20, 30, 1);
    sweep.finish(30);
    sweep.finish(30);
    CHECK(sweep.failures().empty());
    const auto run = pipeline_of("probe/Model", "x").run({{"x", 1.0}});
    CHECK(number(run, "breaks") == 1);
    CHECK(number(run, "sweeps") == 30);
    CHECK(number(run, "events") == 0);
  }
}

TEST_CASE("a thousand reloads leave no memory behind", "[plugin]") {
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, pages = 0;
    file >> total >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  PluginHost host(closed({kProbe + ".so"}));
  host.load_all();
  for (int i = 0; i < 50; ++i) host.reload("probe");
  const auto before = resident();
  for (int i = 0; i < 1000; ++i) host.reload("probe");
  const auto after = resident();
  INFO("from " << before << " to " << after << " bytes");
  // A sanitizer keeps what was freed, to see who still uses it: there only the reloads themselves are tested.
  if (!kSanitized) CHECK(after < before + (5U << 20));
}
