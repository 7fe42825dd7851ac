// From a scenario to the inputs of the resolvers: nothing is out of reach, and nothing gets lost on the way.

#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

using namespace mlsysim;

namespace {

Scenario training() {
  return {.workload = &standard_zoo().at<Workload>("Llama3_8B"),
          .fleet = &standard_zoo().at<Fleet>("Research_256"),
          .mode = Mode::train,
          .batch_size = 512,
          .precision = Precision::bf16,
          .zero_stage = 1};
}
Scenario serving() {
  return {.workload = &standard_zoo().at<Workload>("Llama3_70B"),
          .hardware = &standard_zoo().at<HardwareNode>("H100"),
          .mode = Mode::serve,
          .batch_size = 4,
          .seq_len = 1024,
          .output_tokens = 256,
          .precision = Precision::bf16,
          .accelerators = 8};
}

ResolvedScenario resolved(const Scenario& s) {
  Notes quiet;
  return ResolvedScenario(s, quiet);
}

/// Names of the table of `S`.
template <class S> std::vector<std::string> field_names_of() {
  std::vector<std::string> out;
  for (const auto& f : describe<S>()) out.push_back(f.name);
  return out;
}

/// Another admissible value of the field.
DynamicValue moved(const FieldInfo& f, const void* object) {
  const DynamicValue now = read_dynamic(f, object);
  if (f.kind == ValueKind::flag) {
    const auto* flag = std::get_if<bool>(&now.value);
    return {Value(flag == nullptr || !*flag)};
  }
  if (f.kind == ValueKind::choice) {
    const auto* text = std::get_if<std::string>(&now.value);
    return {Value(std::string(text != nullptr && *text == f.choices[1] ? f.choices[0] : f.choices[1]))};
  }
  const auto* number = std::get_if<double>(&now.value);
  const double x = number == nullptr ? 0.0 : *number;
  const double low = std::isfinite(f.low) && f.low > -1e300 ? f.low : 0.0;
  return {Value(x == low ? (f.integral ? low + 1 : low + 0.25) : low), f.exps};
}

double metric(const Scenario& s, const char* path) {
  const auto card = SystemEvaluator::evaluate(s);
  const Metric* m = card.find(path);
  REQUIRE(m != nullptr);
  return m->number();
}

}  // namespace

TEST_CASE("every plan field of the resolvers is a field of the scenario", "[engine][requests]") {
  // Resolved from the scenario, or in need of a second kind of device, which is a second fleet.
  const std::vector<std::string> resolved_otherwise{"hardware", "fleet", "decode_hardware",
                                                    "network_bandwidth", "dp_size"};
  const auto scenario = field_names_of<Scenario>();
  for (const auto& names :
       {field_names_of<DistributedModel::Inputs>(), field_names_of<TrainingMemoryModel::Inputs>(),
        field_names_of<ServingModel::Inputs>()})
    for (const auto& name : names) {
      INFO(name);
      const bool known = std::find(scenario.begin(), scenario.end(), name) != scenario.end();
      CHECK((known || std::find(resolved_otherwise.begin(), resolved_otherwise.end(), name) !=
                          resolved_otherwise.end()));
    }
}

TEST_CASE("what is asked of a scenario reaches the resolver", "[engine][requests]") {
  const auto fields = describe<Scenario>();
  int checked = 0;
  for (const Mode mode : {Mode::serve, Mode::train}) {
    const auto used = fields_used_in(mode);
    for (const auto& f : fields) {
      const bool number =
          f.kind == ValueKind::number || f.kind == ValueKind::flag || f.kind == ValueKind::choice;
      const auto inputs =
          mode == Mode::train ? describe<DistributedModel::Inputs>() : describe<ServingModel::Inputs>();
      const auto* target = find_field(inputs, f.name);
      if (!number || target == nullptr || f.name == "batch_size" ||
          std::find(used.begin(), used.end(), f.name) == used.end())
        continue;
      Scenario s = mode == Mode::train ? training() : serving();
      if (f.name == "pp_size" || f.name == "ep_size" || f.name == "cp_size") s.tp_size = 1;
      if (f.name == "microbatch_count") s.microbatch_size.reset();
      const DynamicValue asked = f.name == "tp_size" || f.name == "pp_size" || f.name == "ep_size"
                                     ? DynamicValue(2.0)
                                     : moved(f, &s);
      INFO(name_of(mode) << " " << f.name << " = " << asked.text());
      write_checked(f, &s, asked);
      const auto r = resolved(s);
      if (mode == Mode::train) {
        const auto in = detail::train_request(r);
        CHECK(read_dynamic(*target, &in) == read_dynamic(f, &s));
      } else {
        const auto in = detail::serve_request(r);
        CHECK(read_dynamic(*target, &in) == read_dynamic(f, &s));
      }
      ++checked;
    }
  }
  CHECK(checked > 40);
}

TEST_CASE("every field has a key in plan files, and every mode uses some", "[engine][requests]") {
  const auto keys = plan_keys();
  for (const auto& name : field_names_of<Scenario>()) {
    if (name == "fleet" || name == "conventions") continue;  // a plan names a fleet as its hardware
    INFO(name);
    CHECK(std::count_if(keys.begin(), keys.end(), [&](const PlanKey& k) { return k.field == name; }) == 1);
  }
  const auto infer = fields_used_in(Mode::infer), serve = fields_used_in(Mode::serve),
             train = fields_used_in(Mode::train);
  CHECK(infer.size() < serve.size());
  CHECK(serve.size() < train.size());
  CHECK(std::find(train.begin(), train.end(), "kernel_fusion") != train.end());
  CHECK(std::find(serve.begin(), serve.end(), "kernel_fusion") == serve.end());
}

TEST_CASE("the training fields of a scenario move its numbers", "[engine][requests]") {
  const double plain = metric(training(), "performance.step_latency"),
               memory = metric(training(), "feasibility.memory_used");
  const auto with = [](auto change) {
    Scenario s = training();
    change(s);
    return s;
  };
  CHECK(metric(with([](Scenario& s) { s.kernel_fusion = false; }), "performance.step_latency") > plain);
  CHECK(metric(with([](Scenario& s) { s.dropout = true; }), "feasibility.memory_used") > memory);
  CHECK(metric(with([](Scenario& s) { s.trainable_fraction = 0.01; }), "feasibility.memory_used") < memory);
  CHECK(metric(with([](Scenario& s) { s.straggler_factor = 1.2; }), "performance.step_latency") >
        1.19 * plain);
  CHECK(metric(with([](Scenario& s) { s.congestion_factor = 2; }), "performance.step_latency") > plain);
  CHECK(metric(with([](Scenario& s) { s.overlap_slowdown = 0.9; }), "performance.step_latency") > plain);
  const auto sharded = [&](bool ahead) {  // in one node, where the gathers hide beside the kernels
    return metric(with([&](Scenario& s) {
                    s.fleet = nullptr;
                    s.hardware = &standard_zoo().at<HardwareNode>("H100");
                    s.accelerators = 8;
                    s.batch_size = 16;
                    s.zero_stage = 3;
                    s.backward_prefetch = ahead;
                  }),
                  "performance.step_latency");
  };
  CHECK(sharded(false) > sharded(true));
}

TEST_CASE("a draft model of a scenario brings tokens sooner and takes its room", "[engine][requests]") {
  Scenario s = serving();
  const double plain = metric(s, "performance.itl"), room = metric(s, "feasibility.memory_used");
  s.draft_model = &standard_zoo().at<Workload>("Llama3_2_1B");
  s.draft_acceptance_rate = 0.9;
  CHECK(metric(s, "performance.itl") < plain);
  CHECK(metric(s, "feasibility.memory_used") >
        room + 2.4 / 8);  // its weights, divided like those of its target
  CHECK(metric(s, "feasibility.memory_used") < room + 3.2 / 8);
  const auto text = explain(s, "itl");
  CHECK_THAT(text, Catch::Contains("the check of") && Catch::Contains("steps of Llama"));
  // The terms add up: the check and the steps of the draft, over the tokens that they yield.
  s.draft_acceptance_rate = 0;
  CHECK(metric(s, "performance.itl") > plain);
  for (const auto& row : operator_table(s, "itl")) CHECK(row.time > 0);
}

TEST_CASE("a straggler and a draft model are part of the law", "[engine][requests]") {
  Scenario train = training(), serve = serving();
  train.straggler_factor = 1.5;
  serve.draft_model = &standard_zoo().at<Workload>("Llama3_8B");
  for (const Scenario& s : {train, serve}) {
    const char* name = s.mode == Mode::train ? "step_latency" : "itl";
    const auto subject = subject_of(s);
    CHECK(subject.entry.is_law());
    const auto out = subject.entry(subject.point);
    const auto card = SystemEvaluator::evaluate(s);
    CHECK(out[subject.result(name)] ==
          Approx(std::get<double>(card.find(std::string("performance.") + name)->value)).epsilon(1e-12));
  }
  // A factor that varies is part of the question even where it is 1 now.
  const std::array<std::string, 1> varied{"congestion_factor"};
  const auto subject = subject_of(training(), varied);
  const auto at = std::find_if(subject.entry.inputs.begin(), subject.entry.inputs.end(),
                               [](const FieldInfo& f) { return f.name == "congestion_factor"; });
  REQUIRE(at != subject.entry.inputs.end());
  auto point = subject.point;
  point[static_cast<std::size_t>(at - subject.entry.inputs.begin())] = 3;
  CHECK(subject.entry(point)[subject.result("step_latency")] >
        subject.entry(subject.point)[subject.result("step_latency")]);
}

TEST_CASE("defaults that the mode does not use are not listed", "[engine][requests]") {
  const auto lists = [](const Scenario& s, std::string_view name) {
    const auto card = SystemEvaluator::evaluate(s);
    return std::any_of(card.assumptions.begin(), card.assumptions.end(),
                       [&](const Assumption& a) { return a.name == name; });
  };
  CHECK(lists(training(), "kernel_fusion"));
  CHECK_FALSE(lists(serving(), "kernel_fusion"));
  CHECK_FALSE(lists(serving(), "draft_acceptance_rate"));
  CHECK(lists(serving(), "cached_prefix_len"));
}

TEST_CASE("models without an operator list are answered by their own pass", "[engine][requests]") {
  const auto infer = [](const char* model, double batch) {
    return Scenario{.workload = &standard_zoo().at<Workload>(model),
                    .hardware = &standard_zoo().at<HardwareNode>("H100"),
                    .batch_size = batch,
                    .precision = Precision::fp16};
  };
  // Rows of the tables are read, not the tables: 52 GB at 3.35 TB/s would take 15.6 ms.
  CHECK(metric(infer("DLRM", 1), "performance.latency") < 1);
  CHECK(metric(infer("DLRM", 1), "feasibility.memory_used") > 50);
  // Every denoising step runs the network.
  const auto diffusion = infer("StableDiffusion_v1_5", 1);
  const double runs = metric(diffusion, "performance.evaluations");
  CHECK(runs > 1);
  CHECK(metric(diffusion, "performance.latency") > runs * 0.1);
  CHECK_THAT(explain(diffusion, "latency"), Catch::Contains("runs of the network"));
  CHECK_THAT(explain(infer("Mamba_2_8B", 4), "memory"), Catch::Contains("kv_cache"));
  // The numbers are those of the resolver.
  const auto r = resolved(infer("Mamba_2_8B", 4));
  CHECK(metric(infer("Mamba_2_8B", 4), "performance.latency") ==
        Approx(InferencePassModel{}.solve(detail::pass_request(r)).latency.in(unit::ms)).epsilon(1e-12));
  CHECK_FALSE(detail::is_whole_pass(resolved(infer("ResNet50", 1))));
  // A model that does not fit says what would.
  auto large = infer("DLRM", 1);
  large.hardware = &standard_zoo().at<HardwareNode>("A10");
  const auto card = SystemEvaluator::evaluate(large);
  CHECK_FALSE(card.passed_all());
}

TEST_CASE("a batch that does not divide into the replicas is counted as it is, with a warning",
          "[engine][requests]") {
  Scenario s = serving();
  s.workload = &standard_zoo().at<Workload>("Llama3_8B");
  s.tp_size = 1;  // 8 replicas
  Scenario one = s;
  one.accelerators = 1;
  s.load = one.load = Load::burst;
  const auto card_of = [&](double batch) {
    s.batch_size = batch;
    return SystemEvaluator::evaluate(s);
  };
  const auto rate = [&](double batch) {
    return card_of(batch).find("performance.token_throughput")->number();
  };
  const auto warned = [](const SystemEvaluation& card) {
    std::string all;
    for (const auto& w : card.warnings) all += w + "\n";
    return all;
  };
  one.batch_size = 1;
  const double alone = metric(one, "performance.token_throughput");
  for (const double batch : {1.0, 2.0, 4.0, 8.0}) CHECK(rate(batch) == Approx(batch * alone).epsilon(1e-12));
  one.batch_size = 2;
  const double pair = metric(one, "performance.token_throughput") / 2;  // for each of two
  CHECK(rate(9) == Approx(9 * pair).epsilon(1e-12));
  CHECK(rate(16) == Approx(16 * pair).epsilon(1e-12));
  CHECK_THAT(warned(card_of(3)),
             Catch::Contains("batch of 3 is smaller than the 8 replicas: 5 of them idle"));
  CHECK_THAT(warned(card_of(9)),
             Catch::Contains("batch of 9 does not divide into the 8 replicas: each is priced with 2"));
  CHECK(warned(card_of(8)).empty());
  // Idle replicas draw idle power, and what they cost falls on fewer tokens.
  CHECK(card_of(1).find("macro.energy")->number() < card_of(8).find("macro.energy")->number());
  CHECK(card_of(1).find("macro.cost_per_token")->number() >
        7 * card_of(8).find("macro.cost_per_token")->number());
  CHECK(card_of(1).find("performance.mfu")->number() ==
        Approx(card_of(8).find("performance.mfu")->number() / 8));

  // Inference without generation spreads the same way, at either fidelity and for models with a pass of their
  // own.
  for (const auto& [model, fidelity] :
       {std::pair{"ResNet50", Fidelity::operator_level}, std::pair{"ResNet50", Fidelity::textbook},
        std::pair{"DLRM", Fidelity::textbook}}) {
    Scenario infer{.workload = &standard_zoo().at<Workload>(model),
                   .hardware = &standard_zoo().at<HardwareNode>("H100"),
                   .precision = Precision::fp16,
                   .accelerators = 1,
                   .fidelity = fidelity};
    const double single = metric(infer, "performance.throughput");
    infer.accelerators = 8;
    INFO(model);
    CHECK(metric(infer, "performance.throughput") == Approx(single).epsilon(1e-12));
    CHECK_THAT(warned(SystemEvaluator::evaluate(infer)), Catch::Contains("7 of them idle"));
    infer.batch_size = 8;
    CHECK(metric(infer, "performance.throughput") == Approx(8 * single).epsilon(1e-12));
  }
}

TEST_CASE("the tokens of a second are those of the time that a request takes", "[engine][requests]") {
  for (const double output : {1.0, 2.0, 100.0}) {
    Scenario s = serving();
    s.load = Load::burst;
    s.output_tokens = output;
    const double latency = metric(s, "performance.request_latency") / 1e3;  // ms
    CHECK(metric(s, "performance.token_throughput") ==
          Approx(s.batch_size * output / latency).epsilon(1e-12));
  }
}

TEST_CASE("a sequence is as long as the model takes, and longer ones are named", "[engine][requests]") {
  const auto with = [](const char* model, std::optional<double> seq_len, Mode mode = Mode::infer) {
    return Scenario{.workload = &standard_zoo().at<Workload>(model),
                    .hardware = &standard_zoo().at<HardwareNode>("H100"),
                    .mode = mode,
                    .batch_size = 4,
                    .seq_len = seq_len,
                    .precision = Precision::fp16};
  };
  const auto assumed = [](const Scenario& s) {
    std::string all;
    for (const auto& a : SystemEvaluator::evaluate(s).assumptions)
      if (a.name == "seq_len") all += a.value;
    return all;
  };
  const auto warned = [](const Scenario& s) {
    std::string all;
    for (const auto& w : SystemEvaluator::evaluate(s).warnings) all += w + "\n";
    return all;
  };
  for (const auto& [model, longest] : {std::pair{"ViT_B_16", 197.0}, std::pair{"BERT_Base", 512.0}}) {
    INFO(model);
    CHECK(metric(with(model, std::nullopt), "performance.throughput") ==
          metric(with(model, longest), "performance.throughput"));
    CHECK(assumed(with(model, std::nullopt)) == fmt::format("{}", longest));
    CHECK_THAT(warned(with(model, std::nullopt)), !Catch::Contains("max_positions"));
    CHECK_THAT(warned(with(model, longest + 1)),
               Catch::Contains(fmt::format("takes at most {} tokens", longest)));
    const auto subject = subject_of(with(model, std::nullopt));
    CHECK(subject.point[subject.input("seq_len")] == longest);
  }
  CHECK(assumed(with("Llama3_8B", std::nullopt, Mode::serve)) == "2048");
  CHECK(assumed(with("ResNet50", std::nullopt)).empty());
  for (const Fidelity fidelity : {Fidelity::operator_level, Fidelity::textbook})
    for (const Mode mode : {Mode::infer, Mode::serve, Mode::train}) {
      INFO(name_of(fidelity) << " " << name_of(mode));
      auto s = with("GPT2", 100000, mode);
      s.fidelity = fidelity;
      if (mode == Mode::serve) s.load = Load::burst;  // no answer is added to the prompt
      const auto text = warned(s);
      CHECK_THAT(text,
                 Catch::Contains("'GPT2' takes at most 1024 tokens (max_positions): 100000 are priced"));
      CHECK(text.find("max_positions") == text.rfind("max_positions"));  // once
    }
  for (const Mode mode : {Mode::infer, Mode::serve, Mode::train}) {
    const auto subject = subject_of(with("GPT2", 100000, mode));
    CHECK(std::any_of(subject.warnings.begin(), subject.warnings.end(),
                      [](const std::string& w) { return w.find("max_positions") != std::string::npos; }));
  }
  // What is generated takes room too.
  auto s = with("GPT2", std::nullopt, Mode::serve);
  s.output_tokens = 100;
  CHECK(assumed(s) == "924");
  CHECK_THAT(warned(s), !Catch::Contains("max_positions"));
  s.seq_len = 1000;
  CHECK_THAT(warned(s), Catch::Contains("1100 are priced"));
  // A further resolver hears of the same length.
  auto more = with("ViT_B_16", std::nullopt);
  more.also = "SingleNodeModel";
  CHECK_THAT(warned(more), !Catch::Contains("max_positions"));
}

TEST_CASE("a model without layers is refused where one device does not hold it", "[engine][requests]") {
  // 1.76e12 weights of two bytes are 3.5 TB; nothing says how they would be divided.
  Scenario s{.workload = &standard_zoo().at<Workload>("GPT4"),
             .hardware = &standard_zoo().at<HardwareNode>("H100")};
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::fail);
  s.accelerators = 64;
  CHECK_THROWS_WITH(SystemEvaluator::evaluate(s), Catch::Contains("engine.010") && Catch::Contains("GPT4") &&
                                                      Catch::Contains("layers with their width"));
  Workload small = *s.workload;  // copies on every device
  small.parameters = Params<>::from_base(1e9);
  s.workload = &small;
  CHECK(SystemEvaluator::evaluate(s).feasibility.status == EvaluationLevel::Status::pass);
}

TEST_CASE("what is not served is what arrives beyond the capacity", "[engine][requests]") {
  for (const bool workers : {false, true}) {
    CAPTURE(workers);
    Scenario s{.workload = &standard_zoo().at<Workload>("Llama3_8B"),
               .hardware = &standard_zoo().at<HardwareNode>("H100"),
               .seq_len = 1000,
               .output_tokens = 200};
    s.load = Load::rate;
    s.arrival_rate = RequestRate<>::from_base(1000);
    if (workers) s.prefill_replicas = 1;
    const double capacity = metric(s, "performance.capacity");
    CHECK(metric(s, "performance.overload") == Approx(1000 - capacity).epsilon(1e-9));
    s.arrival_rate = RequestRate<>::from_base(capacity / 2);
    CHECK(SystemEvaluator::evaluate(s).find("performance.overload") == nullptr);
  }
}
