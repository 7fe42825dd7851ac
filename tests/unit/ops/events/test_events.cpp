// Events of runs and sweeps, and what exporters make of them.

#include "support/catch.hpp"

#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace mlsysim;
using Json = nlohmann::json;

namespace {

struct StepModel : Model<StepModel> {
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const {
    if (in.hfu > 0.9) throw DomainError({.id = "test.001", .message = "the value is too large\nby far"});
    return {in.hfu / 2};
  }
};

/// Two stages, one behind the other.
Pipeline chain() {
  PipelineBuilder b("chain");
  b.given("first.hfu");
  b.stage(StepModel{}, "first").stage(StepModel{}, "second").link("first.mfu", "second.hfu");
  return b.build();
}

struct Kept final : EventSink {
  std::vector<std::string> lines;
  void take(const Event& e) override { lines.push_back(json_line(e)); }
};
struct Throwing final : EventSink {
  void take(const Event& /*event*/) override { throw std::runtime_error("full"); }
};

/// A folder that goes with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mlsysim-observe-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path / name).rdbuf();
    return out.str();
  }
  void put(const std::string& name, const std::string& what) const { std::ofstream(path / name) << what; }
};

/// Runs the chain with one observer; what it throws is the business of the caller. @return the result where
/// there is one
double watched(Observer& observer, double hfu, CallbackFaults faults = CallbackFaults::record) {
  Run run(chain());
  run.set("first.hfu", hfu).execute({.callbacks = {&observer}, .callback_faults = faults});
  return run.get<StepModel>("second").mfu;
}

std::vector<std::string> kinds(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const auto& line : lines) out.push_back(Json::parse(line).at("kind"));
  return out;
}

}  // namespace

TEST_CASE("a run is a stream of events in their order, with results in base units", "[observe]") {
  Observer o("abc", EventTimes::none);
  const auto sink = std::make_shared<Kept>();
  o.add(sink);
  CHECK(watched(o, 0.8) == 0.2);
  CHECK(kinds(sink->lines) == std::vector<std::string>{"pipeline_start", "stage_start", "stage_end",
                                                       "stage_start", "stage_end", "pipeline_end"});
  const auto end = Json::parse(sink->lines[2]);
  CHECK(end.at("pipeline") == "chain");
  CHECK(end.at("stage") == "first");
  CHECK(end.at("commit") == "abc");
  CHECK(end.at("run") == 1);
  CHECK(end.at("results").at("mfu").at("value") == 0.4);
  CHECK(Json::parse(sink->lines[5]).at("status") == "ok");
  // Without times two runs give the same bytes.
  Observer again("abc", EventTimes::none);
  const auto other = std::make_shared<Kept>();
  again.add(other);
  (void)watched(again, 0.8);
  CHECK(sink->lines == other->lines);
}

TEST_CASE("a stage that fails is an error and a break with a reason of the list; ends come all the same",
          "[observe]") {
  Observer o("abc", EventTimes::clock);
  const auto sink = std::make_shared<Kept>();
  o.add(sink);
  CHECK_THROWS_AS(watched(o, 0.95), DomainError);
  CHECK(kinds(sink->lines) ==
        std::vector<std::string>{"pipeline_start", "stage_start", "error", "break", "skip", "pipeline_end"});
  const auto fault = Json::parse(sink->lines[3]);
  CHECK(fault.at("reason") == "out_of_domain");
  CHECK(fault.at("id") == "MB010");
  CHECK(Json::parse(sink->lines[4]).at("detail").get<std::string>().find("'first' failed") !=
        std::string::npos);
  CHECK(Json::parse(sink->lines[5]).at("status") == "incomplete");
}

TEST_CASE("a sink that throws changes nothing, and is told of where that is asked for", "[observe]") {
  Observer o("abc", EventTimes::none);
  o.add(std::make_shared<Throwing>());
  CHECK(watched(o, 0.8) == 0.2);
  CHECK_NOTHROW(watched(o, 0.8, CallbackFaults::raise));  // it failed before, and is told nothing more
  Observer again("abc", EventTimes::none);
  again.add(std::make_shared<Throwing>());
  CHECK_THROWS_AS(watched(again, 0.8, CallbackFaults::raise), PipelineError);
}

TEST_CASE("what throws is named once to all others, who are told of everything else", "[observe]") {
  Observer o("abc", EventTimes::none), plain("abc", EventTimes::none);
  const auto before = std::make_shared<Kept>(), behind = std::make_shared<Kept>(),
             calm = std::make_shared<Kept>();
  o.add(before);
  o.add(std::make_shared<Throwing>(), "csv x.csv");
  o.add(behind);
  plain.add(calm);
  struct Angry final : Callback {
    [[nodiscard]] std::string name() const override { return "angry"; }
    void on_stage_end(const StageEvent& /*event*/) override { throw std::runtime_error("no"); }
  } angry;
  Run run(chain());
  run.set("first.hfu", 0.8).execute({.callbacks = {&o, &angry}});
  CHECK(run.get<StepModel>("second").mfu == 0.2);
  (void)watched(plain, 0.8);
  const auto failed = [](const Kept& sink) {
    std::vector<std::string> out;
    for (const auto& line : sink.lines)
      if (const auto e = Json::parse(line); e.at("kind") == "callback_failed") out.push_back(e.at("detail"));
    return out;
  };
  const std::vector<std::string> said{"csv x.csv: full", "angry in on_stage_end: no"};
  CHECK(failed(*before) == said);
  CHECK(failed(*behind) == said);
  const auto others = [&](const Kept& sink) {
    auto out = kinds(sink.lines);
    std::erase(out, "callback_failed");
    return out;
  };
  CHECK(others(*before) == kinds(calm->lines));
  CHECK(others(*behind) == kinds(calm->lines));
  // Callbacks of a sweep that throw are not called again, so that one sink would silence the others.
  Observer sweeps("abc", EventTimes::none);
  const auto kept = std::make_shared<Kept>();
  sweeps.add(std::make_shared<Throwing>());
  sweeps.add(kept);
  for (const double done : {1.0, 2.0, 3.0})
    CHECK_NOTHROW(sweeps.on_sweep({.title = "s", .done = done, .total = 3}));
  CHECK(others(*kept) == std::vector<std::string>{"sweep", "sweep", "sweep"});
  CHECK_THROWS_WITH(sweeps.finish(), "full");
}

namespace {

struct AskedModel : Model<AskedModel> {
  struct Inputs {
    const Workload* workload;
    const HardwareNode* hardware;
    MLSYSIM_FIELDS(Inputs, workload, hardware)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const {
    if (in.hardware->name == "T4") throw DomainError({.id = "test.002", .message = "not there"});
    return {0.5};
  }
};

}  // namespace

TEST_CASE("every event of a stage says what it is about, also the first and that of a skip", "[observe]") {
  PipelineBuilder b("asked");
  b.given("workload").given("hardware").stage(AskedModel{}, "ask");
  b.stage(StepModel{}, "step").link("ask.mfu", "step.hfu");
  Observer o("abc", EventTimes::none);
  const auto sink = std::make_shared<Kept>();
  o.add(sink);
  Run run(b.build());
  const auto& zoo = standard_zoo();
  for (const auto* name : {"H100", "A100", "T4"}) {
    sink->lines.clear();
    run.set("workload", &zoo.at<Workload>("Llama3_8B")).set("hardware", &zoo.at<HardwareNode>(name));
    try {
      run.execute({.callbacks = {&o}});
    } catch (const DomainError&) {
      CHECK(name == std::string("T4"));
    }
    REQUIRE(sink->lines.size() >= 6);
    for (std::size_t i = 1; i < sink->lines.size(); ++i) {
      const auto e = Json::parse(sink->lines[i]);
      INFO(sink->lines[i]);
      if (e.contains("stage") && e.at("stage") == "step") continue;  // it has neither model nor device
      CHECK(e.at("hardware") == name);
      CHECK(e.at("model_name") == "Llama3_8B");
      CHECK(e.at("model_family") == "language");
    }
  }
}

TEST_CASE("every reason has an id of its own, a severity, words and a hint", "[observe]") {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < Choices<BreakReason>::names.size(); ++i) {
    const auto& info = about(static_cast<BreakReason>(i));
    CHECK(info.id == "MB" + std::string(i < 9 ? "00" : "0") + std::to_string(i + 1));
    CHECK((info.severity == "error" || info.severity == "degraded"));
    CHECK(info.text.size() > 10);
    CHECK(info.hint.size() > 5);
  }
  const auto reason = [](auto error) { return break_reason(std::make_exception_ptr(error)); };
  CHECK(reason(UnitError({.message = "x"})) == BreakReason::unit_error);
  CHECK(reason(DimensionError({.message = "x"})) == BreakReason::unit_error);
  CHECK(reason(LookupError({.message = "x", .key = "hardware"})) == BreakReason::unknown_hardware);
  CHECK(reason(LookupError({.message = "x", .key = "workload"})) == BreakReason::unknown_model);
  CHECK(reason(LookupError({.message = "x", .reason = BreakReason::unknown_model})) ==
        BreakReason::unknown_model);
  CHECK(reason(LookupError({.message = "there is no model 'memory' of this device"})) ==
        BreakReason::unknown_name);
  CHECK(reason(LookupError({.message = "x"})) == BreakReason::unknown_name);
  CHECK(reason(PipelineError({.message = "x"})) == BreakReason::missing_stage_input);
  CHECK(reason(PluginError({.message = "x"})) == BreakReason::plugin_error);
  CHECK(reason(SolverError({.message = "x"})) == BreakReason::no_solution);
  CHECK(reason(InputError({.message = "x", .reason = BreakReason::missing_field})) ==
        BreakReason::missing_field);
  CHECK(reason(InputError({.message = "x", .reason = BreakReason::infeasible_memory})) ==
        BreakReason::infeasible_memory);
  CHECK(reason(PluginError({.message = "x", .reason = BreakReason::timeout})) == BreakReason::timeout);
  CHECK(reason(LookupError(
            {.message = "x", .key = "precision", .reason = BreakReason::unsupported_precision})) ==
        BreakReason::unsupported_precision);
  CHECK(reason(InputError({.message = "x"})) == BreakReason::invalid_input);
  CHECK(reason(std::bad_alloc()) == BreakReason::internal);
  CHECK(break_reason(Infeasible{.reason = "x", .facts = {{"binding", "memory_utilization"}}}) ==
        BreakReason::infeasible_memory);
  CHECK(break_reason(Infeasible{.reason = "no replica has the memory"}) ==
        BreakReason::infeasible_constraint);
}

TEST_CASE("a real device that lacks a figure, a format or memory breaks for that reason", "[observe]") {
  const auto reason = [](auto&& run) {
    try {
      run();
    } catch (...) {
      return break_reason(std::current_exception());
    }
    return BreakReason::internal;
  };
  CHECK(reason([] { (void)standard_zoo().at<HardwareNode>("H1000"); }) == BreakReason::unknown_hardware);
  CHECK(reason([] { (void)standard_zoo().at<Workload>("Lama"); }) == BreakReason::unknown_model);
  CHECK(reason([] { (void)rate_at(standard_zoo().at<HardwareNode>("V100"), Precision::fp8); }) ==
        BreakReason::unsupported_precision);
}

TEST_CASE("one file says where events go, and each form can be read by what reads it", "[observe]") {
  const Folder folder;
  folder.put("observability.yaml", R"(version: "1"
commit: abc
times: none
exporters:
- {form: jsonl, file: events.jsonl}
- {form: logfmt, file: events.log}
- {form: csv, file: events.csv}
- {form: chrome, file: trace.json}
- {form: otlp, file: otlp.json}
- {form: prometheus, file: events.prom}
- {form: loki, file: loki.json}
)");
  for (int i = 0; i < 2; ++i) {  // what it wrote before is its own to replace
    const auto observer = observer_of(read_observability(folder.path / "observability.yaml"));
    (void)watched(*observer, 0.8);
    CHECK_THROWS_AS(watched(*observer, 0.95), DomainError);
    observer->on_sweep({.title = "space", .done = 10, .total = 20});
    observer->finish();
  }
  std::size_t lines = 0;
  std::istringstream jsonl(folder.text("events.jsonl"));
  for (std::string line; std::getline(jsonl, line); ++lines) CHECK(Json::parse(line).contains("kind"));
  CHECK(lines == 13);
  CHECK(read_logfmt(folder.text("events.log")).size() == 13);  // a reason of two lines is one record
  CHECK(folder.text("events.csv").find(",mfu,0.4,") != std::string::npos);
  const auto chrome = Json::parse(folder.text("trace.json")).at("traceEvents");
  std::size_t whole = 0;
  for (const auto& e : chrome) whole += e.at("ph") == "X" ? 1 : 0;
  CHECK(whole == 5);  // two pipelines, two stages, one that failed
  const auto spans =
      Json::parse(folder.text("otlp.json")).at("resourceSpans")[0].at("scopeSpans")[0].at("spans");
  REQUIRE(spans.size() == 6);  // and one that was skipped
  CHECK(spans[0].at("parentSpanId") == spans[2].at("spanId"));
  CHECK(spans[0].at("traceId").get<std::string>().size() == 32);
  CHECK(spans[3].at("status").at("code") == 2);
  CHECK(spans[3].at("events")[0].at("attributes")[0].at("value").at("stringValue") == "out_of_domain");
  CHECK(spans[0].at("startTimeUnixNano").is_string());
  const auto prom = folder.text("events.prom");
  CHECK(prom.find("mlsysim_runs_total{commit=\"abc\",pipeline=\"chain\",status=\"ok\"} 1\n") !=
        std::string::npos);
  CHECK(prom.find("reason=\"out_of_domain\"} 1\n") != std::string::npos);
  CHECK(prom.find("reason=\"none\"} 0\n") != std::string::npos);
  CHECK(prom.find("mlsysim_callback_failures_total{commit=\"abc\",pipeline=\"chain\"} 0\n") !=
        std::string::npos);
  CHECK(prom.find("mlsysim_sweep_points{commit=\"abc\",sweep=\"space\"} 10\n") != std::string::npos);
  CHECK(Json::parse(folder.text("loki.json")).at("streams")[0].at("stream").at("kind") == "event");
}

namespace {

/// Stages beside each other, and one that fails among them.
struct SlowModel : Model<SlowModel> {
  static constexpr bool thread_safe = true;
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const {
    if (in.hfu > 0.9) throw DomainError({.id = "test.001", .message = "too large"});
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += std::sqrt(in.hfu + i);
    return {sum};
  }
};

/// What the published format asks of an event, whatever reads it. The format: "Trace Event Format", Google.
void check_trace_event(const Json& e) {
  INFO(e.dump());
  const auto phase = e.at("ph").get<std::string>();
  CHECK(e.at("name").is_string());
  CHECK(e.at("pid").is_number_integer());
  CHECK(e.at("tid").is_number_integer());
  CHECK((phase == "X" || phase == "i" || phase == "C" || phase == "M"));  // no B that could lack its E
  if (phase == "M") {
    CHECK((e.at("name") == "thread_name" || e.at("name") == "process_name"));
    CHECK(e.at("args").at("name").is_string());
    return;
  }
  CHECK(e.at("ts").get<double>() >= 0);
  CHECK(e.at("cat").is_string());
  if (phase == "X") CHECK(e.at("dur").get<double>() >= 0);
  if (phase == "i") CHECK((e.at("s") == "t" || e.at("s") == "p" || e.at("s") == "g"));
  if (phase == "C")
    for (const auto& [name, value] : e.at("args").items()) CHECK(value.is_number());
}

}  // namespace

TEST_CASE("a trace is what the published format asks for, and events of a lane never cut each other",
          "[observe]") {
  const Folder folder;
  const auto file = folder.path / "trace.json";
  PipelineBuilder b("wide");
  for (int i = 0; i < 6; ++i)
    b.stage(SlowModel{}, "S" + std::to_string(i)).given("S" + std::to_string(i) + ".hfu");
  const auto wide = b.build();
  Observer o("abc", EventTimes::clock);
  o.add(sink_of({.form = ExportForm::chrome, .file = file}));
  for (const unsigned threads : {1U, 3U}) {
    Run run(wide);
    for (int i = 0; i < 6; ++i) run.set("S" + std::to_string(i) + ".hfu", i == 4 ? 0.95 : 0.1 * i);
    CHECK_THROWS_AS(run.execute({.callbacks = {&o}, .threads = threads}), DomainError);
  }
  o.finish();
  std::map<int, std::vector<std::pair<double, double>>> lanes;
  std::size_t pipelines = 0, stages = 0;
  const auto trace = Json::parse(folder.text("trace.json"));
  for (const auto& e : trace.at("traceEvents")) {
    check_trace_event(e);
    if (e.at("ph") != "X") continue;
    ++(e.at("cat") == "pipeline" ? pipelines : stages);
    const double from = e.at("ts"), to = from + e.at("dur").get<double>();
    lanes[e.at("tid")].emplace_back(from, to);
  }
  CHECK(pipelines == 2);
  CHECK(stages == 12);               // also those that failed
  constexpr double rounding = 1e-6;  // [us] of ends that are sums
  for (const auto& [lane, events] : lanes)
    for (const auto& a : events)
      for (const auto& c : events) {
        INFO("lane " << lane << ": " << a.first << " to " << a.second << ", " << c.first << " to "
                     << c.second);
        const bool apart = a.second <= c.first + rounding || c.second <= a.first + rounding;
        const bool inside = (a.first >= c.first - rounding && a.second <= c.second + rounding) ||
                            (c.first >= a.first - rounding && c.second <= a.second + rounding);
        CHECK((apart || inside));
      }
}

TEST_CASE("a configuration is read strictly, and secrets stay where they are", "[observe]") {
  const Folder folder;
  const auto fault = [&](const std::string& text) -> std::string {
    folder.put("o.yaml", text);
    try {
      (void)observer_of(read_observability(folder.path / "o.yaml"));
    } catch (const ErrorList& error) {
      std::string out;
      for (const auto& p : error.problems()) out += render(p) + "\n";
      return out;
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string head = "version: \"1\"\nexporters:\n";
  CHECK(fault(head + "- {form: jsonl, fil: a}\n").find("did you mean 'file'") != std::string::npos);
  CHECK(fault(head + "- {form: jsonls, file: a}\n").find("one of jsonl") != std::string::npos);
  CHECK(fault(head + "- {form: jsonl, url: \"http://h\"}\n").find("is not sent") != std::string::npos);
  CHECK(fault(head + "- {form: otlp}\n").find("a file or a url") != std::string::npos);
  CHECK(fault("exporters: []\n").find("version") != std::string::npos);
  const auto secret = fault(head + "- {form: otlp, url: \"http://h\", credentials: \"me:canary\"}\n");
  CHECK(secret.find("reference") != std::string::npos);
  CHECK(secret.find("canary") == std::string::npos);
  CHECK(fault(head + "- {form: otlp, url: \"http://h\", credentials: \"env:NOT_THERE_AT_ALL\"}\n")
            .find("no variable") != std::string::npos);
  folder.put("foreign.txt", "a file of somebody else");
  CHECK(!fault(head + "- {form: jsonl, file: foreign.txt}\n").empty());
  CHECK(folder.text("foreign.txt") == "a file of somebody else");
  folder.put("o.yaml",
             head + "- {form: otlp, url: \"http://me:canary@h/v1/traces\", credentials: \"env:NAME\"}\n");
  std::map<std::string, Setting> in_force;
  for (auto& s : settings_of(read_observability(folder.path / "o.yaml"))) {
    CHECK(s.value.find("canary") == std::string::npos);
    CHECK(s.from.find("canary") == std::string::npos);
    in_force[s.name] = s;
  }
  CHECK(in_force.at("exporters[0].url").value == "http://***@h/v1/traces");
  CHECK(in_force.at("exporters[0].url").from.find("o.yaml:3") != std::string::npos);
  CHECK(in_force.at("exporters[0].job").value == "mlsysim");
  CHECK(in_force.at("exporters[0].job").from == "default");
  CHECK(in_force.at("exporters[0].credentials").value.find("env:NAME (credentials are missing") == 0);
  CHECK(in_force.at("times").from == "default");
}
