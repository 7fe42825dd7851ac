#include <support/catch.hpp>
#include <support/stencil.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/tape/tangents.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

using namespace mlsysim;

namespace {

Scenario scenario(const char* model, const char* device, double devices, Mode mode) {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>(model);
  s.hardware = &zoo.at<HardwareNode>(device);
  s.accelerators = devices;
  s.mode = mode;
  s.precision = Precision::fp16;
  return s;
}

/// Outer bounds of all results, and tight ones, which are never wider.
std::vector<Interval> bounds_of(const LawEntry& law, std::span<const Interval> box) {
  Ranges ranges(law.tape());
  ranges.run(box);
  std::vector<Interval> outer, tight;
  for (std::size_t r = 0; r < law.results.size(); ++r) outer.push_back(ranges.result(r));
  for (std::size_t r = 0; r < law.results.size(); ++r) tight.push_back(ranges.tight(r, box));
  for (std::size_t r = 0; r < law.results.size(); ++r) {
    INFO(law.results[r].name);
    CHECK(tight[r].low >= outer[r].low);
    CHECK(tight[r].high <= outer[r].high);
  }
  return tight;
}

/// Results in columns, of the tape alone; the same at every point of an odd number.
std::vector<double> in_columns(const LawEntry& law, const std::vector<double>& point) {
  constexpr std::size_t points = 3;
  const ColumnProgram program(law.tape());
  ColumnProgram::Workspace workspace(program);
  std::vector<std::vector<double>> in, out(law.results.size(), std::vector<double>(points));
  std::vector<const double*> from;
  std::vector<double*> to;
  for (const double x : point) in.emplace_back(points, x);
  for (const auto& column : in) from.push_back(column.data());
  for (auto& column : out) to.push_back(column.data());
  program.run(from.data(), to.data(), points, workspace);
  std::vector<double> last;
  for (const auto& column : out) {
    CHECK(std::bit_cast<std::uint64_t>(column[0]) == std::bit_cast<std::uint64_t>(column[points - 1]));
    last.push_back(column[points - 1]);
  }
  return last;
}

/// Every metric of the scorecard that the tape gives too, in columns, bit for bit.
int compare_with_scorecard(const Scenario& s) {
  const auto card = SystemEvaluator::evaluate(s);
  const auto subject = subject_of(s);
  const auto out = in_columns(subject.entry, subject.point);
  int compared = 0;
  for (const auto* level : {&card.feasibility, &card.performance, &card.macro})
    for (const auto& m : level->metrics) {
      if (!std::holds_alternative<double>(m.value) || m.name == "kv_cache_size" || m.name == "pue" ||
          m.name == "duration_days" || m.name == "training_tokens")
        continue;
      const std::string name =
          m.name == "energy" && level == &card.performance ? "energy_per_batch" : m.name.str();
      INFO(s.workload->name << " on " << s.hardware->name << ": " << name);
      const double found = out[subject.result(name)];
      if (name == "memory_shortfall" && std::get<double>(m.value) == 0) continue;
      CHECK(found == std::get<double>(m.value));
      ++compared;
    }
  return compared;
}

}  // namespace

TEST_CASE("a scenario as a law gives the numbers of its scorecard", "[explore][subject]") {
  for (const char* model : {"Llama3_8B", "Llama3_70B", "Mixtral_8x7B", "DeepSeek_V3"})
    for (const char* device : {"H100", "A100", "MI300X"}) {
      auto serve = scenario(model, device, 8, Mode::serve);
      serve.batch_size = 24;
      serve.output_tokens = 200;
      CHECK(compare_with_scorecard(serve) > 15);
      // Fewer sequences than replicas, a number that does not divide into them, a single token.
      serve.tp_size = 1;
      for (const double batch : {3.0, 9.0}) {
        serve.batch_size = batch;
        serve.output_tokens = batch == 3 ? 1 : 200;
        CHECK(compare_with_scorecard(serve) > 15);
      }
      serve.batch_size = 24;
      serve.output_tokens.reset();
      serve.tp_size = 2;
      serve.prefill_chunk_tokens = 512;
      CHECK(compare_with_scorecard(serve) > 15);
      auto train = scenario(model, device, 64, Mode::train);
      train.batch_size = 512;
      train.tp_size = 4;
      train.pp_size = 2;
      train.zero_stage = 1;
      CHECK(compare_with_scorecard(train) > 15);
      train.gradient_accumulation_steps = 3;  // of 64 sequences
      CHECK(compare_with_scorecard(train) > 15);
      train.gradient_accumulation_steps = 1;
      train.microbatch_count = 16;
      train.v_stages = 2;
      train.tp_size = 1;
      train.recomputation = Recomputation::full;
      CHECK(compare_with_scorecard(train) > 15);
    }
  for (const char* model : {"ResNet50", "Llama3_70B"}) {
    auto infer = scenario(model, "A100", 2, Mode::infer);
    for (const double batch : {1.0, 33.0}) {
      infer.batch_size = batch;
      CHECK(compare_with_scorecard(infer) > 10);
    }
    infer.fidelity = Fidelity::textbook;
    CHECK(compare_with_scorecard(infer) > 10);
  }
}

TEST_CASE("all that reads the tape of a scenario agrees", "[explore][subject]") {
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    auto s = scenario("Llama3_8B", "H100", 8, mode);
    s.batch_size = 16;
    const auto subject = subject_of(s);
    REQUIRE(subject.entry.is_law());
    const auto expected = subject.entry(subject.point);
    const std::vector<Column> columns(subject.point.begin(), subject.point.end());
    const auto batched = batch(subject.entry, columns, 11);
    const auto g = gradient(subject.entry, subject.point);
    std::vector<Interval> box(subject.point.begin(), subject.point.end());
    for (auto& x : box) x = Interval(x.low * (1 - 1e-3), x.high * (1 + 1e-3));
    const auto bounds = bounds_of(subject.entry, box);
    const auto taped = subject.entry.tape()(subject.point);
    Tangents tangents(subject.entry.tape());
    const std::size_t first[] = {0};
    tangents.run(subject.point, first, 1.0);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      INFO(name_of(mode) << " " << subject.entry.results[r].name);
      CHECK(g.values[r] == expected[r]);
      CHECK(taped[r] == expected[r]);
      CHECK(tangents.value(r) == expected[r]);  // steps are told from the difference
      for (const double x : batched.columns[r]) CHECK(x == expected[r]);
      if (subject.entry.results[r].name == "plan_fits") continue;
      CHECK(bounds[r].low <= expected[r] * (1 + 1e-12));
      CHECK(bounds[r].high >= expected[r] * (1 - 1e-12));
    }
  }
}

TEST_CASE("bounds hold every batch that does not divide into the replicas", "[explore][subject]") {
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    auto s = scenario(mode == Mode::infer ? "ResNet50" : "Llama3_8B", "H100", 8, mode);
    s.tp_size = 1;
    s.batch_size = 16;
    if (mode == Mode::serve) s.output_tokens = 20;
    const auto subject = subject_of(s);
    const LawEntry& law = subject.entry;
    const std::size_t batch = subject.input("batch_size");
    std::vector<Interval> box(subject.point.begin(), subject.point.end());
    box[batch] = Interval(3.0, 21.0);
    const auto bounds = bounds_of(law, box);
    auto at = subject.point;
    for (at[batch] = 3; at[batch] <= 21; ++at[batch]) {
      const auto out = law(at);
      for (std::size_t r = 0; r < out.size(); ++r) {
        INFO(name_of(mode) << " batch " << at[batch] << " " << law.results[r].name);
        CHECK(bounds[r].low <= out[r] * (1 + 1e-12));
        CHECK(bounds[r].high >= out[r] * (1 - 1e-12));
      }
    }
  }
}

TEST_CASE("points of a batch are what each gives alone, bit for bit", "[explore][subject]") {
  std::mt19937 random(11);
  const auto one_of = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    auto s = scenario(mode == Mode::train ? "Mixtral_8x7B" : "Llama3_8B", "H100",
                      mode == Mode::infer ? 4 : 64, mode);
    s.batch_size = 64;
    if (mode == Mode::serve) s.output_tokens = 100;
    if (mode == Mode::train) {
      s.recomputation = Recomputation::full;
      s.zero_stage = 1;
      s.microbatch_count = 4;
    }
    const auto subject = subject_of(s);
    const LawEntry& law = subject.entry;
    const std::size_t inputs = law.inputs.size(), points = 12 * kBlock + 5;
    BatchKernel kernel(law);
    std::vector<std::vector<double>> found(law.results.size(), std::vector<double>(points));
    const std::vector<std::span<double>> out(found.begin(), found.end());
    std::vector<double> at(inputs), alone(law.results.size());
    // Round i varies input i; then everything varies: a few of the inputs in runs, as a sweep does, or point
    // by point.
    for (std::size_t round = 0; round < inputs + 12; ++round) {
      std::vector<std::vector<double>> varied(inputs);
      std::vector<Column> columns;
      columns.reserve(inputs);
      for (std::size_t i = 0; i < inputs; ++i) {
        const double x = subject.point[i];
        const bool vary = round < inputs ? i == round : one_of(6) == 0;
        if (!vary) {
          columns.emplace_back(x);
          continue;
        }
        const std::array<double, 3> values =
            law.inputs[i].integral ? std::array{x, 2 * x, x + 1} : std::array{x, 0.75 * x, 0.9 * x + 0.01};
        const std::size_t stride = std::array<std::size_t, 4>{1, 6, 72, 256}[random() % 4];
        for (std::size_t p = 0; p < points; ++p) varied[i].push_back(values[p / stride % 3]);
        columns.emplace_back(varied[i]);
      }
      kernel.run(columns, out, points);
      for (std::size_t p = 0; p < points; p += 1 + random() % 7) {
        for (std::size_t i = 0; i < inputs; ++i) at[i] = varied[i].empty() ? subject.point[i] : varied[i][p];
        law.evaluate(law.self.get(), at.data(), alone.data());
        for (std::size_t r = 0; r < alone.size(); ++r) {
          if (std::isnan(alone[r]) && std::isnan(found[r][p])) continue;
          if (alone[r] == found[r][p]) continue;
          INFO(name_of(mode) << " round " << round << " point " << p << ", " << law.results[r].name);
          REQUIRE(found[r][p] == alone[r]);
        }
      }
    }
    CHECK(found[0][0] > 0);
  }
}

TEST_CASE("bounds of a box whose plans have their operators in common hold its points",
          "[explore][subject]") {
  auto s = scenario("Llama3_70B", "H100", 64, Mode::train);
  s.batch_size = 128;
  s.tp_size = 8;
  s.pp_size = 4;
  s.microbatch_count = 16;
  const auto subject = subject_of(s);
  const LawEntry& law = subject.entry;
  const std::size_t overlap = subject.input("overlap_efficiency"), tensor = subject.input("tp_overlap");
  std::vector<Interval> box(subject.point.begin(), subject.point.end());
  box[overlap] = box[tensor] = Interval(0.0, 1.0);
  const auto bounds = bounds_of(law, box);
  const std::size_t step = subject.result("step_latency");
  CHECK(bounds[step].low < bounds[step].high);
  auto at = subject.point;
  for (at[overlap] = 0; at[overlap] <= 1; at[overlap] += 0.25)
    for (at[tensor] = 0; at[tensor] <= 1; at[tensor] += 0.25) {
      const auto out = law(at);
      for (std::size_t r = 0; r < out.size(); ++r) {
        INFO(law.results[r].name);
        CHECK(bounds[r].low <= out[r] * (1 + 1e-12));
        CHECK(bounds[r].high >= out[r] * (1 - 1e-12));
      }
    }
  // A point is its own bound.
  const std::vector<Interval> point(subject.point.begin(), subject.point.end());
  const auto same = bounds_of(law, point);
  CHECK(same[step].low == law(subject.point)[step]);
  CHECK(same[step].high == same[step].low);
}

TEST_CASE("derivatives of a scenario are those of differences of sixth order", "[explore][subject]") {
  for (const Mode mode : {Mode::serve, Mode::train}) {
    auto s = scenario("Llama3_70B", "H100", 8, mode);
    s.batch_size = 16;
    const auto subject = subject_of(s);
    const auto g = gradient(subject.entry, subject.point);
    int smooth = 0, compared = 0;
    for (std::size_t i = 0; i < subject.point.size(); ++i) {
      if (subject.entry.inputs[i].integral || subject.point[i] == 0) continue;
      const auto slopes = test::sixth_order_slopes(
          [&](double x) {
            auto at = subject.point;
            at[i] = x;
            return subject.entry(at);
          },
          subject.point[i]);
      for (std::size_t r = 0; r < g.values.size(); ++r) {
        const auto& slope = g.at(r, i);
        if (slope.slope != Slope::smooth || g.values[r] == 0) continue;
        ++smooth;
        const double scale = std::max(std::fabs(g.values[r] / subject.point[i]), std::fabs(slopes[r].slope));
        if (!(slopes[r].error <= 1e-9 * scale)) continue;  // a kink within the stencil
        INFO(subject.entry.results[r].name << " by " << subject.entry.inputs[i].name);
        CAPTURE(slope.right, slopes[r].slope, slopes[r].error);
        CHECK(std::fabs(slope.right - slopes[r].slope) <= 4 * slopes[r].error + 1e-11 * scale);
        ++compared;
      }
    }
    CAPTURE(compared, smooth);
    CHECK(compared > 1000);
    CHECK(compared > 0.8 * smooth);
  }
}

TEST_CASE("a resolver is a subject too", "[explore][subject]") {
  const auto& registry = ResolverRegistry::standard();
  const auto model = registry.share("SingleNodeModel");
  Record in(*model, Side::inputs);
  const Zoo& zoo = standard_zoo();
  in.set("workload", &zoo.at<Workload>("ResNet50")).set("hardware", &zoo.at<HardwareNode>("A100"));
  const auto subject = subject_of(model, in.data());
  CHECK_FALSE(subject.entry.is_law());
  CHECK(subject.point[subject.input("batch_size")] == 1);
  CHECK(subject.entry(subject.point)[subject.result("latency")] > 0);
}

TEST_CASE("more accumulation steps than sequences do not fit", "[explore][subject]") {
  auto s = scenario("Llama3_8B", "H100", 8, Mode::train);
  s.batch_size = 32;  // 4 a replica
  const auto subject = subject_of(s);
  auto at = subject.point;
  for (const auto& [steps, fits] :
       {std::pair{1.0, 1.0}, std::pair{3.0, 1.0}, std::pair{4.0, 1.0}, std::pair{5.0, 0.0}}) {
    at[subject.input("gradient_accumulation_steps")] = steps;
    CHECK(subject.entry(at)[subject.result("plan_fits")] == fits);
  }
}

TEST_CASE("a subject knows the names of the scorecard and near misses", "[explore][subject]") {
  const auto subject = subject_of(scenario("Llama3_8B", "H100", 1, Mode::serve));
  CHECK(subject.result("performance.itl") == subject.result("itl"));
  CHECK_THROWS_WITH(subject.input("device.memory_bandwith"), ContainsSubstring("hardware.memory.bandwidth"));
  CHECK_THROWS_WITH(subject.result("itll"), ContainsSubstring("itl"));
  // What a plan calls by the scenario's own name has that name.
  auto offloaded = scenario("Llama3_8B", "H100", 8, Mode::train);
  offloaded.offload_weights = 0.5;
  const auto training = subject_of(offloaded);
  CHECK(training.entry.inputs[training.input("offload_weights")].name == "offload_weights");
}

namespace {

/// Whether eval takes the scenario, and the law calls it a plan.
struct Verdicts {
  bool eval, law;
};
Verdicts verdicts(const Scenario& s, const Subject& law,
                  const std::vector<std::pair<std::string, double>>& moved) {
  Scenario given = s;
  auto point = law.point;
  for (const auto& [name, x] : moved) {
    find_field(describe<Scenario>(), name)->write(&given, Value(x));
    point[law.input(name)] = x;
  }
  Verdicts v{true, law.entry(point)[law.result("plan_fits")] == 1};
  try {
    (void)SystemEvaluator::evaluate(given);
  } catch (const Error&) {
    v.eval = false;
  }
  return v;
}

}  // namespace

TEST_CASE("a plan that the law calls one is never refused by eval, and the other way round",
          "[explore][subject][plan]") {
  const std::vector<std::string> all{"accelerators", "tp_size", "pp_size",           "ep_size",   "cp_size",
                                     "v_stages",     "seq_len", "cached_prefix_len", "batch_size"};
  int plans = 0, none = 0;
  const auto check = [&](const Scenario& s, const Subject& law,
                         const std::vector<std::pair<std::string, double>>& moved) {
    const auto v = verdicts(s, law, moved);
    std::string words;
    for (const auto& [name, x] : moved) words += name + "=" + std::to_string(x) + " ";
    INFO(s.workload->name << ": " << words);
    CHECK(v.law == v.eval);
    ++(v.eval ? plans : none);
  };
  for (const char* model : {"Llama3_70B", "Mixtral_8x7B"}) {
    auto s = scenario(model, "H100", 1024, Mode::serve);
    s.tp_size = 1;
    s.batch_size = 2048;
    s.load = Load::burst;
    const auto serve = subject_of(s, all);
    for (const double tp : {1.0, 3.0, 8.0, 64.0, 128.0})
      for (const double pp : {1.0, 2.0, 128.0})
        for (const double ep : {1.0, 2.0, 16.0})
          check(s, serve, {{"tp_size", tp}, {"pp_size", pp}, {"ep_size", ep}});
    for (const double prompt : {1.0, 1024.0})
      for (const double cached : {0.0, 1.0, 1023.0, 1024.0, 4096.0})
        check(s, serve, {{"seq_len", prompt}, {"cached_prefix_len", cached}});
    s.mode = Mode::train;
    s.load.reset();
    s.seq_len = 64;
    const auto train = subject_of(s, all);
    for (const double tp : {1.0, 2.0, 128.0})
      for (const double stages : {1.0, 8.0, 16.0})
        for (const double cp : {1.0, 64.0, 128.0})
          check(s, train, {{"tp_size", tp}, {"pp_size", 4.0}, {"v_stages", stages}, {"cp_size", cp}});
    s.shard_size = 8;
    s.microbatch_size = 2;
    s.microbatch_count = 1;
    const auto sharded = subject_of(s, all);
    for (const double tp : {1.0, 8.0, 64.0, 1024.0})
      for (const double batch : {1024.0, 2048.0, 4096.0})
        check(s, sharded, {{"tp_size", tp}, {"batch_size", batch}});
  }
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    auto s = scenario("Llama3_8B", "H100", 8, mode);
    s.tp_size = 1;
    const auto follows = subject_of(s, all);
    for (double n = 1; n <= 34; ++n) check(s, follows, {{"accelerators", n}});
    s.accelerators_per_node = 4;
    const auto given = subject_of(s, all);
    for (double n = 1; n <= 34; ++n) check(s, given, {{"accelerators", n}});
  }
  CHECK(plans > 100);
  CHECK(none > 100);
}

TEST_CASE("a plan that eval refuses is no subject, with eval's reason", "[explore][subject][plan]") {
  auto s = scenario("Llama3_70B", "H100", 8, Mode::serve);
  s.tp_size = 4;
  s.ep_size = 2;
  CHECK_THROWS_WITH(subject_of(s), ContainsSubstring("no experts"));
  const std::vector<std::string> batch{"output_tokens"}, degrees{"ep_size"};
  CHECK_THROWS_WITH(subject_of(s, batch), ContainsSubstring("no experts"));
  CHECK_NOTHROW(subject_of(s, degrees));
}

TEST_CASE("figures of specs are inputs of what is no law", "[explore][subject][figures]") {
  const Zoo& zoo = standard_zoo();
  const auto& h100 = zoo.at<HardwareNode>("H100");
  const double bandwidth = h100.memory.bandwidth->base();
  const auto serving = ResolverRegistry::standard().share("ServingModel");
  const auto asked = [&](const HardwareNode& device) {
    Record in(*serving, Side::inputs);
    in.set("workload", &zoo.at<Workload>("Llama3_70B"))
        .set("hardware", &device)
        .set("tp_size", 8.0)
        .set("seq_len", 2048.0)
        .set("fidelity", "textbook");
    return subject_of(serving, in.data());
  };
  const auto subject = asked(h100);
  CHECK_FALSE(subject.entry.is_law());
  const auto moved = [](const Subject& of, std::string_view input, double factor, std::string_view result) {
    auto point = of.point;
    point[of.input(input)] *= factor;
    return of.entry(point)[of.result(result)];
  };
  CHECK(subject.point[subject.input("hardware.memory.bandwidth")] == bandwidth);
  // The same as a device of one's own.
  HardwareNode fast = h100;
  fast.memory.bandwidth = *fast.memory.bandwidth * 2.0;
  const auto other = asked(fast);
  CHECK(moved(subject, "hardware.memory.bandwidth", 2, "itl") ==
        other.entry(other.point)[other.result("itl")]);
  CHECK(moved(subject, "conventions.textbook_efficiency", 0.5, "ttft") >
        1.5 * moved(subject, "batch_size", 1, "ttft"));
  CHECK(moved(subject, "workload.stacks[0].layers[0].times", 1, "itl") ==
        moved(subject, "batch_size", 1, "itl"));
  CHECK(subject.entry.inputs[subject.input("workload.stacks[0].layers[0].times")].integral);
  CHECK(h100.memory.bandwidth->base() == bandwidth);  // on a copy
  CHECK_THROWS_WITH(subject.input("hardware.memory.bandwith"),
                    ContainsSubstring("hardware.memory.bandwidth"));

  // A figure behind two pointers: the fleet's node's device.
  const auto economics = ResolverRegistry::standard().share("EconomicsModel");
  Record in(*economics, Side::inputs);
  in.set("fleet", &zoo.at<Fleet>("Research_256")).set("duration_days", 30.0);
  const auto books = subject_of(economics, in.data());
  CHECK(moved(books, "fleet.node.accelerator.power.tdp", 2, "it_energy") ==
        Approx(2 * moved(books, "duration_days", 1, "it_energy")).epsilon(1e-9));
  CHECK(moved(books, "fleet.node_count", 2, "capex") ==
        Approx(2 * moved(books, "duration_days", 1, "capex")));
  CHECK(moved(books, "duration_days", 1, "it_energy") == books.entry(books.point)[books.result("it_energy")]);
}

TEST_CASE("a range reaches as far as subjects made with its figure at the ends", "[explore]") {
  for (const Mode mode : {Mode::serve, Mode::train, Mode::infer}) {
    const auto asked = scenario("Llama3_8B", "H100", 8, mode);
    const auto base = subject_of(asked);
    std::size_t seen = 0;
    for (const auto& e : estimates_behind(asked)) {
      const auto* field = find_field(describe<Conventions>(), e.figure.substr(e.figure.find('.') + 1));
      if (!e.figure.starts_with("default.") || field == nullptr) continue;
      const auto& written = *standard_zoo().scalar(e.figure).entry->figure("value");
      if (!written.low) continue;  // an estimate with a spread
      const std::size_t i = base.input(e.input);
      double low = base.point[i], high = low;
      for (const double end : {*written.low, *written.high}) {
        Conventions moved = conventions_or_standard(nullptr);
        field->write(&moved, Value(end));
        auto there = asked;
        there.conventions = &moved;
        const double x = subject_of(there).point[i];
        low = std::min(low, x);
        high = std::max(high, x);
      }
      INFO(e.input << " by " << e.figure);
      CHECK(e.low == low);
      CHECK(e.high == high);
      ++seen;
    }
    CHECK(seen > 3);
  }
}
