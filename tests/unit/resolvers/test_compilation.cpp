// Steps before and after compiling.

#include "support/catch.hpp"

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/optimizers/compilation.hpp>
#include <mlsysim/resolvers/solvers/compilation.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <random>

using namespace mlsysim;
using Catch::Contains;

namespace {

const Workload& model(const char* name) { return standard_zoo().at<Workload>(name); }
const HardwareNode& device(const char* name) { return standard_zoo().at<HardwareNode>(name); }
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

TEST_CASE("one captured graph of an 8B model at batch 1 gains what is published, a long prompt nothing",
          "[catalogue][compilation]") {
  // 8.4 ms eager to 5.1 ms as one graph: 1.65 (a decode step of Llama 3.1 8B on H100).
  const auto decode = CompilationModel{}.solve(decode_8b());
  INFO("eager " << ms(decode.eager) << " ms, captured " << ms(decode.captured) << " ms, kernels "
                << decode.kernels_eager << " -> " << decode.kernels_fused);
  CHECK(decode.speedup_captured >= 1.3);
  CHECK(decode.speedup_captured <= 2.0);
  CHECK(decode.lost_to_breaks == Time<>());
  REQUIRE(decode.payback_steps);
  CHECK(decode.energy_saved_per_year.has_value());
  CHECK_FALSE(decode.cost_saved_per_year.has_value());
  // Where kernels are long, launches cost nothing: fused or not, the two modes of compiling are one.
  auto large = decode_8b();
  large.batch_size = 512;
  large.seq_len = 4096;
  const auto busy = CompilationModel{}.solve(large);
  CHECK(busy.compiled / busy.captured < 1.05);
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
                                .target_latency = 8.0 * unit::ms,
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

TEST_CASE("what lies outside of the range of a built-in figure is said to be", "[catalogue][compilation]") {
  const auto outside = [](const CompilationModel::Inputs& in) {
    NoteBook book;
    Notes notes(book);
    (void)CompilationModel{}.solve(in, notes);
    std::string all;
    for (std::size_t i = 0; i < book.warnings.size(); ++i)
      if (book.reason_of(i) == BreakReason::out_of_domain) all += book.warnings[i] + "\n";
    return all;
  };
  // 32 layers of 43 operators and more, where compile times are known up to 64 operators.
  auto in = decode_8b();
  CHECK_THAT(outside(in), Contains("the number of operators, ") && Contains("1 to 64"));
  in.compile_time = 10.0 * unit::s;
  CHECK(outside(in).empty());
  for (const double us : {1.1, 5.0, 20.0}) {
    in.dispatch = us * unit::us;
    CHECK(outside(in).empty());
  }
  for (const double us : {1.0, 21.0}) {
    in.dispatch = us * unit::us;
    CHECK_THAT(outside(in), Contains("dispatch, ") && Contains("outside of 1.1 us to 20 us"));
  }
  in.dispatch.reset();
  in.operators_per_kernel = 11;
  CHECK_THAT(outside(in), Contains("operators_per_kernel, 11, lies outside of 1 to 10"));
  in.operators_per_kernel = 10;
  CHECK(outside(in).empty());
}

TEST_CASE("the built-in figures say where and when they were measured, and a use of them is listed",
          "[catalogue][compilation]") {
  NoteBook book;
  Notes notes(book);
  const auto r = CompilationModel{}.solve(decode_8b(), notes);
  for (const char* name : {"dispatch", "operators_per_kernel", "time_per_operator"}) {
    const auto& figure = standard_zoo().scalar(std::string("catalogue.compilation.") + name);
    INFO(figure.name);
    REQUIRE(figure.entry != nullptr);
    CHECK_FALSE(figure.entry->source.ref.empty());
    CHECK_FALSE(figure.entry->source.recorded.empty());
    CHECK_FALSE(figure.entry->source.note.empty());
    CHECK((figure.low && figure.high));
    CHECK(std::any_of(book.assumptions.begin(), book.assumptions.end(),
                      [&](const Assumption& a) { return a.name == figure.name; }));
  }
  // 2.3 us above a launch, and 43 operators for 9 kernels, as ever.
  CHECK(standard_zoo().scalar("catalogue.compilation.operators_per_kernel").value.base() == 43.0 / 9);
  CHECK(r.compile_time / unit::ms == Approx(37 * r.kernels_eager));
}

TEST_CASE("what caches spare is no time to compile", "[catalogue][compilation]") {
  auto in = decode_8b();
  for (const bool given : {false, true}) {
    if (given) in.compile_time = 60.0 * unit::s;
    in.cached = 0;
    const auto cold = CompilationModel{}.solve(in);
    in.cached = 0.75;
    const auto warm = CompilationModel{}.solve(in);
    CHECK(warm.compile_time / cold.compile_time == Approx(0.25).epsilon(1e-12));
    CHECK(warm.compiled == cold.compiled);
    CHECK(*warm.payback_steps == Approx(0.25 * *cold.payback_steps).margin(1));
    in.cached = 1;
    CHECK(*CompilationModel{}.solve(in).payback_steps == 0);
  }
  // A job that is too short for a cold start may be long enough for a warm one.
  CompileModeOptimizer::Inputs job{.workload = in.workload, .hardware = in.hardware, .steps = 5000};
  CHECK(evaluate(CompileModeOptimizer{}, job)->best_mode == CompileMode::eager);
  job.cached = 0.95;
  CHECK(evaluate(CompileModeOptimizer{}, job)->best_mode == CompileMode::compile);
}
TEST_CASE("short jobs stay eager, long ones do not", "[catalogue][compilation]") {
  CompileModeOptimizer::Inputs in{.workload = &model("Llama3_8B"), .hardware = &device("H100"), .steps = 1};
  const auto once = evaluate(CompileModeOptimizer{}, in);
  in.steps = 1e7;
  const auto often = evaluate(CompileModeOptimizer{}, in);
  REQUIRE((once && often));
  CHECK(once->best_mode == CompileMode::eager);
  // On this device both ways of compiling wait for the device, and the first of equals is taken.
  CHECK(often->best_mode == CompileMode::compile);
  CHECK(often->search.total_searched() == 3);
}
