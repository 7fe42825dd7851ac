#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include "plugin/detail/formats.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <unistd.h>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

using namespace mlsysim;
using namespace mlsysim::plugin;
namespace fs = std::filesystem;

namespace {

const std::string kPlugins = std::string(MLSYSIM_BINARY_DIR) + "/plugins/";
const std::string kHello = kPlugins + "hello_c/mlsysim-plugin-hello-c.so";
const std::string kEfficiency = kPlugins + "acme_efficiency/acme-efficiency.plugin.yaml";

/// Looks nowhere but where it is told.
HostOptions closed(std::vector<fs::path> paths = {}) {
  return {.paths = std::move(paths),
          .environment = Look::no,
          .user = Look::no,
          .install = Look::no,
          .allowed = "all"};
}

double run_number(const char* resolver, std::initializer_list<Supplied> values, const char* field) {
  PipelineBuilder b;
  b.registry(ResolverRegistry::standard()).stage(resolver);
  for (const auto& [key, value] : values) b.given(key);
  const auto run = b.build().run(values);
  return std::get<double>(run.value(field).value);
}

const HardwareNode& h100() { return standard_zoo().at<HardwareNode>("H100"); }

/// A folder that vanishes with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("mlsysim-host-" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

}  // namespace

TEST_CASE("a plugin in C becomes a resolver like any other, and goes again", "[plugin]") {
  CHECK(ResolverRegistry::standard().find("hello/DecodeFloor") == nullptr);
  {
    PluginHost host(closed({kHello}));
    CHECK(host.load(kHello) == "hello-c");
    CHECK(host.load(kHello) == "hello-c");  // the same again, no error
    const auto& r = ResolverRegistry::standard().at("hello/DecodeFloor");
    CHECK(r.info().origin == "hello-c");
    CHECK(r.info().thread_safe);
    CHECK(&ResolverRegistry::standard().at("DecodeFloor") == &r);
    const auto bandwidth = h100().memory.bandwidth->in(unit::GB / unit::s);
    CHECK_THAT(run_number("hello/DecodeFloor", {{"weights", 16 * unit::GB}, {"hardware", &h100()}}, "floor"),
               WithinRel(16 / bandwidth, 1e-15));
    const auto records = host.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].state == PluginState::initialised);
    host.unload("hello-c");
    CHECK(ResolverRegistry::standard().find("hello/DecodeFloor") != nullptr);  // it was loaded twice
    host.unload("hello-c");
    CHECK(ResolverRegistry::standard().find("hello/DecodeFloor") == nullptr);
    CHECK_THROWS_AS(host.unload("hello-c"), LookupError);
  }
  CHECK(ResolverRegistry::standard().find("hello/DecodeFloor") == nullptr);
}

TEST_CASE("classes of the three tiers cross the interface", "[plugin]") {
  PluginHost host(closed({kEfficiency}));
  CHECK(host.load_all().loaded == std::vector<std::string>{"acme-efficiency"});
  const auto efficiency = run_number("acme/PowerEfficiencyModel", {{"hardware", &h100()}}, "flops_per_watt");
  CHECK(efficiency == (h100().compute.peak_flops() / *h100().power.tdp).base());
  const auto& llama = standard_zoo().at<Workload>("Llama3_8B");
  CHECK(run_number("acme/RequiredBandwidthSolver", {{"workload", &llama}, {"target_latency", 10 * unit::ms}},
                   "required_bw") == (llama.size() / (10 * unit::ms)).base());
  CHECK(run_number("acme/CheapestHardwareOptimizer", {{"min_rate", 300 * unit::TFLOP / unit::s}},
                   "total_searched") == static_cast<double>(standard_zoo().all<HardwareNode>().size()));
  CHECK(AnyQuantity::parse("2 wafer").in("USD") == 34000);
  CHECK(host.has_feature("acme-efficiency", "zoo_search"));
  CHECK_FALSE(host.has_feature("acme-efficiency", "dynamic_shapes"));
}

TEST_CASE("an error of a plugin is an error of the stage, with its message", "[plugin]") {
  PluginHost host(closed({kEfficiency}));
  host.load_all();
  auto bare = h100();
  bare.name = "NoTDP";
  bare.power.tdp.reset();
  bare.entry = nullptr;
  try {
    (void)run_number("acme/PowerEfficiencyModel", {{"hardware", &bare}}, "flops_per_watt");
    FAIL("no error");
  } catch (const PluginFault& fault) {
    CHECK(std::string(fault.what()).find("NoTDP has no TDP") != std::string::npos);
    CHECK(fault.plugin() == "acme-efficiency");
    CHECK(fault.call() == "solve of acme/PowerEfficiencyModel");
    CHECK(fault.code() == MLS_INVALID_ARGUMENT);
  }
  // The next run is as if nothing had happened.
  CHECK(run_number("acme/PowerEfficiencyModel", {{"hardware", &h100()}}, "flops_per_watt") > 0);
}

TEST_CASE("infeasible crosses as an answer", "[plugin]") {
  PluginHost host(closed({kEfficiency}));
  host.load_all();
  const auto& r = ResolverRegistry::standard().at("acme/CheapestHardwareOptimizer");
  Record in(r, Side::inputs);
  in.set("min_rate", DynamicValue(AnyQuantity::parse("1e30 FLOP/s")));
  const auto answer = evaluate(r, in);
  CHECK_FALSE(answer.outcome.feasible());
}

TEST_CASE("a bad plugin keeps nobody else from loading, and says why", "[plugin]") {
  const Folder folder;
  fs::copy(kHello, folder.path / "mlsysim-plugin-good.so");
  std::ofstream(folder.path / "mlsysim-plugin-cut.so", std::ios::binary)
      << std::string(std::istreambuf_iterator<char>(std::ifstream(kHello).rdbuf()), {}).substr(0, 6000);
  folder.write("mlsysim-plugin-text.so", "no library");
  folder.write("typo.plugin.yaml", "schema: mlsysim/plugin@1\nname: typo\nversion: 1\nlibary: x.so\n");
  folder.write("wrong.plugin.yaml",
               "schema: mlsysim/plugin@1\nname: wrong\nversion: 9.9.9\nlibrary: mlsysim-plugin-good.so\n");
  folder.write("notes.txt", "ignored");
  folder.write("mlsysim-plugin-old.so~", "ignored");
  folder.write(".hidden.plugin.yaml", "ignored");
  PluginHost host(closed({folder.path}));
  host.discover();
  CHECK(host.records().size() == 4);  // good.so belongs to the manifest that names it
  const auto report = host.load_all();
  CHECK(report.loaded.empty());
  REQUIRE(report.failed.size() == 4);
  std::string all;
  for (const auto& r : report.failed)
    all += r.failure->stage + ": " + r.failure->message + "; " + r.failure->hint + "\n";
  INFO(all);
  CHECK(all.find("truncated: headers say") != std::string::npos);
  CHECK(all.find("no ELF library") != std::string::npos);
  CHECK(all.find("did you mean 'library'") != std::string::npos);
  CHECK(all.find("disagree about the name") != std::string::npos);
  fs::remove(folder.path / "wrong.plugin.yaml");
  host.discover();
  CHECK(host.load_all().loaded == std::vector<std::string>{"hello-c"});
}

TEST_CASE("names may be allowed, and those that everybody can write to are refused", "[plugin]") {
  const Folder folder;
  fs::copy(kHello, folder.path / "mlsysim-plugin-hello-c.so");
  auto options = closed();
  options.environment = Look::yes;
  ::setenv("MLSYSIM_PLUGIN_PATH", folder.path.c_str(), 1);
  options.allowed = "other";
  {
    PluginHost host(options);
    host.discover();
    const auto records = host.records();
    REQUIRE(records.size() == 2);
    CHECK(records[0].note == "skipped (not allowed by MLSYSIM_PLUGINS)");
    CHECK(records[1].failure->code == MLS_NOT_FOUND);
    CHECK_THROWS_AS(host.load("hello-c"), PluginFault);
  }
  options.allowed = "none";
  {
    PluginHost host(options);
    CHECK(host.load_all().loaded.empty());
  }
  ::unsetenv("MLSYSIM_PLUGIN_PATH");
  fs::permissions(folder.path / "mlsysim-plugin-hello-c.so", fs::perms(0666));
  PluginHost host(closed({folder.path}));
  const auto report = host.load_all();
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed[0].failure->message.find("mode 0666") != std::string::npos);
  options = closed({folder.path});
  options.insecure = Look::yes;
  PluginHost trusting(options);
  CHECK(trusting.load_all().loaded.size() == 1);
}

TEST_CASE("a digest that does not fit is refused before anything is opened", "[plugin]") {
  const Folder folder;
  fs::copy(kHello, folder.path / "mlsysim-plugin-hello-c.so");
  folder.write("hello-c.plugin.yaml",
               "schema: mlsysim/plugin@1\nname: hello-c\nversion: 1.0.0\nlibrary: "
               "mlsysim-plugin-hello-c.so\nsha256: " +
                   std::string(64, 'a') + "\n");
  PluginHost host(closed({folder.path}));
  const auto report = host.load_all();
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed[0].failure->code == MLS_DATA_LOSS);
  CHECK(report.failed[0].failure->stage == "vet");
}

TEST_CASE("entries of a plugin carry its name", "[plugin]") {
  const Folder folder;
  folder.write("tiny.yaml",
               "schema: mlsysim/hardware@1\nentries:\n- name: Acme_T1\n  source: {kind: estimate, note: a "
               "sketch, spread: 30 %, recorded: 2026-11-21}\n"
               "  compute: {dense: {fp16: 10 TFLOP/s}}\n  memory: {capacity: 8 GiB, bandwidth: 100 GB/s}\n");
  folder.write("tiny.plugin.yaml",
               "schema: mlsysim/plugin@1\nname: tiny\nversion: 1.0.0\nzoo: [tiny.yaml]\n");
  const Zoo* before = &standard_zoo();
  {
    PluginHost host(closed({folder.path}));
    const auto report = host.load_all();
    if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
    const auto& device = standard_zoo().at<HardwareNode>("Acme_T1");
    CHECK(device.entry->origin == "tiny");
    CHECK(before->find<HardwareNode>("Acme_T1") == nullptr);
  }
  CHECK(standard_zoo().find<HardwareNode>("Acme_T1") == nullptr);
  folder.write("tiny.yaml",
               "schema: mlsysim/hardware@1\nentries:\n- name: H100\n  memory: {capacity: 8 furlong}\n");
  PluginHost host(closed({folder.path}));
  const auto report = host.load_all();
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed[0].failure->message.find("furlong") != std::string::npos);
  CHECK(standard_zoo().at<HardwareNode>("H100").entry->origin != "tiny");
}

TEST_CASE("a plugin is reloaded from a copy", "[plugin]") {
  PluginHost host(closed({kHello}));
  host.load_all();
  const auto share = ResolverRegistry::standard().share("hello/DecodeFloor");
  for (int i = 0; i < 20; ++i) {
    const auto report = host.reload("hello-c");
    CHECK(report.same_interface);
    CHECK(report.old_code == "old code is unloaded when its last run ends");
  }
  CHECK(ResolverRegistry::standard().share("hello/DecodeFloor") == share);
  CHECK(run_number("hello/DecodeFloor", {{"weights", 16 * unit::GB}, {"hardware", &h100()}}, "floor") > 0);
}

TEST_CASE("an importer makes entries that the zoo takes, an exporter writes every figure", "[plugin]") {
  PluginHost host(closed({kPlugins + "acme_reader/acme-reader.plugin.yaml"}));
  const auto report = host.load_all();
  if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
  CHECK(host.converters().size() == 2);
  const auto zoo =
      load_text(host.import_text("Ops", "folder/net.acmeops",
                                 "# two layers\nproduct mlp/up 8 256 64 2\npointwise mlp/act 2048\n"),
                "imported", standard_zoo());
  const auto& w = zoo.at<Workload>("Acme_net");
  REQUIRE(w.operators.size() == 2);
  CHECK(w.operators[0].times == 2.0);
  CHECK(w.operators[0].stored == 256.0 * 64);
  CHECK(w.operators[1].flops == 2048.0);
  // What is no operator is refused with its line, not guessed.
  for (const char* wrong : {"product up 8 256", "pointwise act -1", "scan x 3", "product up 8 0 64"})
    CHECK_THROWS_WITH(host.import_text("Ops", "x.acmeops", std::string("# x\n") + wrong),
                      ContainsSubstring("a line is no operator") && ContainsSubstring("x.acmeops:2"));
  const auto csv = host.export_text("FiguresCsv", {&h100(), "hardware"});
  CHECK_THAT(csv, ContainsSubstring("memory.bandwidth,"));
  CHECK_THAT(csv, ContainsSubstring(",B/s\n"));
}

TEST_CASE("a plugin reads files of its ending wherever a model is named, as long as it is loaded",
          "[plugin]") {
  const Folder folder;
  folder.write("net.acmeops", "product mlp/up 8 256 64\n");
  const auto path = (folder.path / "net.acmeops").string();
  CHECK_FALSE(names_model(path));
  {
    PluginHost host(closed({kPlugins + "acme_reader/acme-reader.plugin.yaml"}));
    REQUIRE(host.load_all().failed.empty());
    REQUIRE(names_model(path));
    const auto model = model_of_path(path);
    CHECK(model.entry.name == "Acme_net");
    CHECK(model.notes == std::vector<std::string>{"read by acme_reader/Ops"});
    // The library's own endings stay its own.
    CHECK_FALSE(has_other_reader("model.onnx"));
  }
  CHECK_FALSE(names_model(path));
}

TEST_CASE("a program is handed over in a version that the plugin takes, or not at all", "[plugin]") {
  using plugin::detail::handover;
  const std::string takes = "operators, stablehlo:0.9.0..1.8.0, onnx:13..17";
  const auto format = [&](const char* source) { return handover(takes, source).format; };
  CHECK(format("") == "operators");
  CHECK(format("stablehlo:0.9.0") == "stablehlo:0.9.0");
  CHECK(format("stablehlo:1.8.3") == "stablehlo:1.8.3");  // the patch does not count
  CHECK(format("stablehlo") == "stablehlo");              // text states none
  CHECK(format("stablehlo:>1.0.0") == "stablehlo:>1.0.0");
  CHECK(format("onnx:17") == "onnx:17");
  CHECK(format("torch.export:8.2") == "operators");  // the host makes operators of it
  const auto why = [](std::string_view accepted, const char* source) {
    const auto h = handover(accepted, source);
    REQUIRE(h.refused);
    CHECK(h.refused->code == ReasonCode::version);
    return h.refused->hint;
  };
  CHECK_THAT(why(takes, "stablehlo:1.20.0"), ContainsSubstring("ask the producer to target <= 1.8"));
  CHECK_THAT(why(takes, "stablehlo:>1.8.0"), ContainsSubstring("ask the producer to target <= 1.8"));
  CHECK_THAT(why(takes, "stablehlo:0.8.0"), ContainsSubstring("export it again"));
  CHECK_THAT(why(takes, "onnx:18"), ContainsSubstring("it takes onnx 13..17"));
  CHECK_THAT(why("stablehlo:0.9.0..1.8.0", "onnx:17"),
             ContainsSubstring("takes stablehlo:0.9.0..1.8.0 only"));
  CHECK_THAT(why("stablehlo:new", "stablehlo:1.0.0"), ContainsSubstring("not understood"));
  CHECK_FALSE(handover("", "stablehlo:1.20.0").refused);  // silence means operators
}

TEST_CASE("a plugin of data alone is a plugin", "[plugin]") {
  PluginHost host(closed({std::string(MLSYSIM_SOURCE_DIR) + "/plugins/class_devices"}));
  const auto report = host.load_all();
  if (!report.failed.empty()) FAIL(report.failed[0].failure->message);
  CHECK(standard_zoo().at<HardwareNode>("Class_NarrowBus").entry->origin == "class-devices");
}

TEST_CASE("two hundred manifests are found without opening a library", "[plugin]") {
  const Folder folder;
  for (int i = 0; i < 200; ++i)
    folder.write("p" + std::to_string(i) + ".plugin.yaml",
                 "schema: mlsysim/plugin@1\nname: p" + std::to_string(i) +
                     "\nversion: 1.0.0\nlibrary: mlsysim-plugin-none.so\nregisters: [model p/X, unit "
                     "u]\nabi: {major: 1, min_minor: 0}\n");
  PluginHost host(closed({folder.path}));
  const auto start = std::chrono::steady_clock::now();
  host.discover();
  const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CHECK(host.records().size() == 200);
  for (const auto& r : host.records()) CHECK(r.state == PluginState::found);
  if (!kSanitized) CHECK(ms < 500);  // the budget is 50 ms; a busy machine may take longer
  WARN("discovery of 200 manifests: " << ms << " ms");
}
