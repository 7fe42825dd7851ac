// Steps before and after compiling.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/optimizers/compilation.hpp>
#include <mlsysim/resolvers/solvers/compilation.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <random>

using namespace mlsysim;
using Catch::Contains;

namespace {

CompilationModel::Inputs decode_8b() {
  return {.workload = &model("Llama3_8B"),
          .hardware = &device("H100"),
          .precision = Precision::bf16,
          .seq_len = 512};
}

/// Random inputs of the two steps, over the same model.
struct Random {
  std::mt19937 g{7};
  double below(double most) { return std::uniform_real_distribution<double>(0, most)(g); }
  CompiledStep::Inputs<double> compiled() {
    return {.breaks = std::floor(below(50)),
            .kernels = std::floor(below(1000)),
            .graph_launches = std::floor(below(2)),
            .launch = below(10) * unit::us,
            .guard = below(50) * unit::us,
            .resume = below(50) * unit::us,
            .between = std::floor(below(20)),
            .dispatch = below(30) * unit::us,
            .device = below(20) * unit::ms,
            .boundary = below(100) * unit::MB,
            .bandwidth = (1 + below(3000)) * unit::GB / unit::s,
            .sync_share = below(1),
            .sync = below(30) * unit::us};
  }
};
double ms(Time<> t) { return t / unit::ms; }

}  // namespace

TEST_CASE("compiled steps: worked by hand", "[catalogue][compilation]") {
  // 3 graphs: 3 guards of 10 us, 100 launches of 5 us, 2 resumes of 20 us: 570 us of host work. The device:
  // 400 us, 2 boundaries of 2 x 1 MB at 1 TB/s (4 us each) and half of the breaks drain 35 us: 2 x 4 / 2 + 35
  // = 39 us more.
  const CompiledStep::Inputs<double> in{.breaks = 2,
                                        .kernels = 100,
                                        .graph_launches = 0,
                                        .launch = 5.0 * unit::us,
                                        .guard = 10.0 * unit::us,
                                        .resume = 20.0 * unit::us,
                                        .between = 0,
                                        .dispatch = 20.0 * unit::us,
                                        .device = 400.0 * unit::us,
                                        .boundary = 1.0 * unit::MB,
                                        .bandwidth = 1.0 * unit::TB / unit::s,
                                        .sync_share = 0.5,
                                        .sync = 7.0 * unit::us};
  const auto r = CompiledStep::solve<double>(in);
  CHECK(r.host / unit::us == Approx(570));
  CHECK(r.device / unit::us == Approx(400 + 2 * 2 + 35));
  CHECK(r.latency / unit::us == Approx(577));
}

TEST_CASE("laws of compiled steps hold for whatever is asked", "[catalogue][compilation]") {
  Random random;
  for (int i = 0; i < 10000; ++i) {
    const auto in = random.compiled();
    const auto now = CompiledStep::solve<double>(in);
    auto more = in;
    more.breaks += 1;
    REQUIRE(CompiledStep::solve<double>(more).latency >= now.latency);
    // One graph without guards and a launch for each operator takes as long on the device as eager does.
    auto plain = in;
    plain.breaks = 0;
    plain.guard = Time<>();
    plain.graph_launches = 0;
    const auto eager = EagerStep::solve<double>({in.kernels, in.launch, in.device, 0.0, in.sync});
    REQUIRE(CompiledStep::solve<double>(plain).latency / unit::s ==
            Approx(eager.latency / unit::s).epsilon(1e-12));
    // Where the host is the slower side, eager is the time of the dispatches.
    if (eager.host > in.device) REQUIRE(eager.latency == in.launch * in.kernels);
    // All times, scaled, scale the result.
    auto slow = in;
    for (auto* t : {&slow.launch, &slow.guard, &slow.resume, &slow.dispatch, &slow.device, &slow.sync})
      *t = *t * 3.0;
    slow.bandwidth = slow.bandwidth / 3.0;
    REQUIRE(CompiledStep::solve<double>(slow).latency / now.latency == Approx(3.0).epsilon(1e-12));
    // Payback grows with the time to compile, and is never negative or endless.
    const Time<> gain = random.below(3) * unit::ms, cost = random.below(100) * unit::s;
    const auto pay = CompilePayback::solve<double>({eager.latency + gain, eager.latency, cost, 0.0});
    const auto dearer = CompilePayback::solve<double>({eager.latency + gain, eager.latency, cost * 2.0, 0.0});
    REQUIRE(pay.steps <= dearer.steps);
    REQUIRE((std::isfinite(pay.steps) && pay.steps >= 0));
  }
}

TEST_CASE("a compilation that loses never pays", "[catalogue][compilation]") {
  const auto never = CompilePayback::solve<double>({1.0 * unit::ms, 2.0 * unit::ms, 1.0 * unit::s, 0.0});
  CHECK(never.pays == 0);
  CHECK(never.steps == 0);
  // 1 ms is saved, of which recompiling once in 2000 steps takes a half.
  const auto often = CompilePayback::solve<double>({3.0 * unit::ms, 2.0 * unit::ms, 1.0 * unit::s, 0.0005});
  CHECK(often.steps == 2000);
}

TEST_CASE("time to compile: worked by hand", "[catalogue][compilation]") {
  // 100 calls in two graphs with 3 convolutions: 100 x 6 ms traced, 2 x 1.5 s, 100 x 13 ms and 3 x 0.5 s
  // cold.
  CompileTime::Inputs<double> in{.calls = 100,
                                 .lowered = 100,
                                 .graphs = 2,
                                 .convolutions = 3,
                                 .cached = 0,
                                 .process = 1.6 * unit::s,
                                 .graph = 1.5 * unit::s,
                                 .trace = 6.0 * unit::ms,
                                 .lower = 13.0 * unit::ms,
                                 .convolution = 0.5 * unit::s,
                                 .warm_graph = 1.1 * unit::s};
  const auto at = [&] { return CompileTime::solve<double>(in).compile_time / unit::s; };
  CHECK(at() == Approx(1.6 + 0.6 + 3 + 1.3 + 1.5));
  // Caches that hold all of it leave the trace and a second for each graph.
  in.cached = 1;
  CHECK(at() == Approx(1.6 + 0.6 + 2.2));
  in.cached = 0.5;
  CHECK(at() == Approx(1.6 + 0.6 + (5.8 + 2.2) / 2));
}

TEST_CASE("one captured graph of an 8B model at batch 1 gains much, a long prompt and a training step little",
          "[catalogue][compilation]") {
  const auto decode = CompilationModel{}.solve(decode_8b());
  INFO("eager " << ms(decode.eager) << " ms, captured " << ms(decode.captured) << " ms, kernels "
                << decode.kernels_eager << " -> " << decode.kernels_fused);
  CHECK(decode.speedup_captured >= 1.3);
  CHECK(decode.speedup_captured <= 2.5);
  CHECK(decode.lost_to_breaks == Time<>());
  CHECK(decode.kernels_fused < decode.kernels_eager);
  REQUIRE(decode.payback_steps);
  CHECK(decode.energy_saved_per_year.has_value());
  CHECK_FALSE(decode.cost_saved_per_year.has_value());
  // The answers of the step are those of the resolver that is asked for it alone.
  SingleNodeModel::Inputs alone;
  alone.workload = decode_8b().workload;
  alone.hardware = decode_8b().hardware;
  alone.precision = Precision::bf16;
  alone.seq_len = 512;
  alone.engine = &standard_zoo().at<ServingEngine>("pytorch_eager");
  CHECK(decode.eager == SingleNodeModel{}.solve(alone).latency);
  // Where kernels are long, launches cost nothing: fused or not, the two modes of compiling are one.
  auto large = decode_8b();
  large.batch_size = 512;
  large.seq_len = 4096;
  const auto busy = CompilationModel{}.solve(large);
  CHECK(busy.compiled / busy.captured < 1.05);
  // A prompt and a training step are other steps of the same model.
  auto other = decode_8b();
  other.seq_len = 2048;
  other.step = CompiledStepKind::prompt;
  const auto prompt = CompilationModel{}.solve(other);
  CHECK(prompt.eager > decode.eager);
  CHECK(prompt.speedup_captured < decode.speedup_captured);
  CHECK(prompt.calls == Approx(decode.calls).epsilon(0.02));
  other.workload = &model("Llama3_2_1B");
  const auto one = CompilationModel{}.solve(other);
  other.step = CompiledStepKind::training;
  const auto training = CompilationModel{}.solve(other);
  CHECK(training.eager > one.eager);
  // The backward pass is a second graph with twice as many calls to lower.
  CHECK(training.compile_time > 2.0 * one.compile_time);
  CHECK(training.compile_time < 3.0 * one.compile_time);
}

TEST_CASE("ResNet-50 compiles for its convolutions, and steps that do not exist are refused",
          "[catalogue][compilation]") {
  CompilationModel::Inputs in{
      .workload = &model("ResNet50"), .hardware = &device("H100"), .precision = Precision::bf16};
  in.first = false;
  const auto cold = CompilationModel{}.solve(in);
  // 175 calls and 23 distinct convolutions; 14.7 and 16.7 s were measured, 2.1 and 2.4 s with full caches.
  CHECK(cold.calls == Approx(175).margin(6));
  CHECK(cold.compile_time / unit::s == Approx(16).margin(2));
  in.cached = 1;
  CHECK(CompilationModel{}.solve(in).compile_time / unit::s == Approx(2.25).margin(0.3));
  in.step = CompiledStepKind::decode;
  CHECK_THROWS_WITH(CompilationModel{}.solve(in), Contains("'ResNet50' does not generate tokens"));
  in.step.reset();
  in.mode = CompileMode::eager;
  CHECK_THROWS_WITH(CompilationModel{}.solve(in), Contains("an eager step saves nothing"));
  in.mode = CompileMode::compile;
  in.engine = &standard_zoo().at<ServingEngine>("pytorch_compiled");
  CHECK_THROWS_WITH(CompilationModel{}.solve(in), Contains("has no launch list to compile"));
}

TEST_CASE("breaks cost what the model says, a year of them what it says times a price",
          "[catalogue][compilation]") {
  auto in = decode_8b();
  in.breaks = 23;
  in.device_hour = 2.0 * unit::USD;
  in.accelerators = 8;
  const auto with = CompilationModel{}.solve(in);
  in.breaks = 0;
  const auto without = CompilationModel{}.solve(in);
  CHECK(with.lost_to_breaks / unit::us == Approx((with.compiled - without.compiled) / unit::us));
  CHECK(with.lost_per_break > Time<>());
  CHECK(*with.breaks_cost_per_year / unit::USD ==
        Approx(8 * 8766 * 2.0 * (with.lost_to_breaks / with.compiled)));
  CHECK(*without.breaks_cost_per_year == Money<>());
}

TEST_CASE("the breaks that a latency allows are those with which it is met", "[catalogue][compilation]") {
  const auto base = decode_8b();
  for (const auto mode : {CompileMode::compile, CompileMode::cudagraphs})
    for (const double target : {6.0, 8.0, 20.0}) {
      GraphBreakSolver::Inputs in{.workload = base.workload,
                                  .hardware = base.hardware,
                                  .target_latency = target * unit::ms,
                                  .precision = base.precision,
                                  .seq_len = base.seq_len,
                                  .mode = mode};
      const auto found = GraphBreakSolver{}.solve(in);
      if (!found) continue;
      const auto check = GraphBreakSolver{}.verify(in, *found);
      CHECK(check.passed());
      CHECK(check.residual() <= 1e-9);
      auto at = base;
      at.breaks = found->breaks;
      const auto met = CompilationModel{}.solve(at);
      CHECK((mode == CompileMode::compile ? met.compiled : met.captured) <= target * 1.000001 * unit::ms);
      at.breaks += 1;
      const auto missed = CompilationModel{}.solve(at);
      CHECK((mode == CompileMode::compile ? missed.compiled : missed.captured) > target * unit::ms);
    }
  // The time to compile that so many steps pay for is that with which the model says so many steps.
  for (const double steps : {1.0, 50.0, 16069.0, 1e9}) {
    GraphBreakSolver::Inputs in{.workload = base.workload,
                                .hardware = base.hardware,
                                .target_latency = 13.0 * unit::ms,
                                .precision = base.precision,
                                .seq_len = base.seq_len,
                                .steps = steps};
    const auto found = GraphBreakSolver{}.solve(in);
    REQUIRE((found && found->longest_compile_time));
    auto at = base;
    at.breaks = found->breaks;
    at.compile_time = *found->longest_compile_time;
    const auto pays = CompilationModel{}.solve(at);
    REQUIRE(pays.payback_steps);
    CHECK(*pays.payback_steps == steps);
    CHECK(*at.compile_time / pays.saved_per_step == Approx(steps).epsilon(1e-9));
    at.compile_time = *at.compile_time * (1 + 1e-9) + 2.0 * pays.saved_per_step * 1e-9 * steps;
    CHECK(*CompilationModel{}.solve(at).payback_steps > steps);
    in.steps.reset();
    CHECK_FALSE(GraphBreakSolver{}.solve(in)->longest_compile_time);
  }
  GraphBreakSolver::Inputs none{
      .workload = base.workload, .hardware = base.hardware, .target_latency = 1.0 * unit::us};
  CHECK_FALSE(GraphBreakSolver{}.solve(none));
}

TEST_CASE("times of the compiler have a source and a range, and a use of them is listed",
          "[catalogue][compilation]") {
  NoteBook book;
  Notes notes(book);
  (void)CompilationModel{}.solve(decode_8b(), notes);
  const auto& compiler = standard_zoo().at<ServingEngine>("pytorch_compiled");
  REQUIRE(compiler.entry != nullptr);
  for (const char* name :
       {"process", "graph", "trace", "lower", "convolution", "warm_graph", "call", "tensor", "launch"}) {
    const Figure* figure = compiler.entry->figure(std::string("compile.") + name);
    INFO(name);
    REQUIRE(figure != nullptr);
    CHECK((figure->low && figure->high));
    CHECK_FALSE(compiler.entry->source_of(std::string("compile.") + name).ref.empty());
  }
  for (const char* name : {"engine", "dispatch", "compile_time"})
    CHECK(std::any_of(book.assumptions.begin(), book.assumptions.end(),
                      [&](const Assumption& a) { return a.name == name; }));
}

TEST_CASE("what caches spare is no time to compile", "[catalogue][compilation]") {
  auto in = decode_8b();
  for (const bool given : {false, true}) {
    if (given) in.compile_time = 60.0 * unit::s;
    in.cached = 0;
    const auto cold = CompilationModel{}.solve(in);
    in.cached = 0.75;
    const auto warm = CompilationModel{}.solve(in);
    const double share = warm.compile_time / cold.compile_time;
    CHECK(share < 0.6);
    if (given) CHECK(share == Approx(0.25).epsilon(1e-12));
    CHECK(warm.compiled == cold.compiled);
    CHECK(*warm.payback_steps == Approx(share * *cold.payback_steps).margin(1));
    in.cached = 1;
    CHECK((*CompilationModel{}.solve(in).payback_steps == 0) == given);
  }
  // A job that is too short for a cold start may be long enough for a warm one.
  CompileModeOptimizer::Inputs job{.workload = in.workload, .hardware = in.hardware, .steps = 2500};
  CHECK(evaluate(CompileModeOptimizer{}, job)->best_mode == CompileMode::eager);
  job.cached = 0.95;
  CHECK(evaluate(CompileModeOptimizer{}, job)->best_mode != CompileMode::eager);
}
TEST_CASE("short jobs stay eager, long ones do not", "[catalogue][compilation]") {
  CompileModeOptimizer::Inputs in{.workload = &model("Llama3_8B"), .hardware = &device("H100"), .steps = 1};
  const auto once = evaluate(CompileModeOptimizer{}, in);
  in.steps = 1e7;
  const auto often = evaluate(CompileModeOptimizer{}, in);
  REQUIRE((once && often));
  CHECK(once->best_mode == CompileMode::eager);
  // Generated code launches its kernels more slowly than the device runs them.
  CHECK(often->best_mode == CompileMode::cudagraphs);
  CHECK(often->search.total_searched() == 3);
}
