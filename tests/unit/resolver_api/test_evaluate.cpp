#include "samples.hpp"

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::literals;
using namespace sample;

namespace {

Workload eight_billion() {
  Workload w;
  w.name = "llama8b";
  w.parameters = 8.03_Gparam;
  return w;
}

double tick() {
  static double now = 0;
  return now += 0.25;
}

/// How many devices keep a step below a target: a law over a count, and solvers that invert it.
struct Sharded {
  static constexpr LawInfo info{
      .id = "Sharded", .equation = "time = weights / (devices * hbm)", .source = "test"};
  template <class T> struct Inputs {
    Data<T> weights;
    Bandwidth<T> hbm;
    T devices;
    static constexpr auto fields() {
      return rows(field(&Inputs::weights, key::weights), field(&Inputs::hbm, key::hbm),
                  field(&Inputs::devices, key::devices).at_least(1).counted());
    }
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T> static Result<T> solve(const Inputs<T>& in) {
    return {in.weights / (in.hbm * in.devices)};
  }
};

/// `Extra` spoils the answer on purpose.
template <int Extra> struct DevicesSolver : Solver<DevicesSolver<Extra>> {
  using inverts = Sharded;
  struct Inputs {
    Data<> weights;
    Bandwidth<> hbm;
    Time<> time;
    MLSYSIM_FIELDS(Inputs, weights, hbm, time)
  };
  struct Result {
    double devices;
    static constexpr auto fields() { return rows(field(&Result::devices, key::devices).counted()); }
  };
  Result solve(const Inputs& in) const { return {std::ceil(in.weights / in.hbm / in.time) + Extra}; }
};

struct NoNumberModel : Model<NoNumberModel> {
  struct Inputs {
    Time<> time;
    MLSYSIM_FIELDS(Inputs, time)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const { return {in.time / in.time}; }
};

/// Without ranges: nothing refuses an input that was left out.
struct BareModel : Model<BareModel> {
  struct Inputs {
    Data<> weights;
    Time<> time;
    MLSYSIM_FIELDS(Inputs, weights, time)
  };
  struct Result {
    Bandwidth<> hbm;
    MLSYSIM_FIELDS(Result, hbm)
  };
  Result solve(const Inputs& in) const { return {in.weights / in.time}; }
};

}  // namespace

TEST_CASE("a resolver is called directly or checked", "[resolve]") {
  const auto llama = eight_billion();
  const auto direct = RequiredBandwidthSolver{}.solve({.workload = &llama, .target_latency = 10 * unit::ms});
  CHECK_THAT(direct.required_bw.in(unit::GB / unit::s), WithinRel(1606.0, 1e-12));
  const auto answer =
      evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = 10 * unit::ms});
  REQUIRE(answer);
  CHECK(answer->required_bw == direct.required_bw);
  CHECK(answer.report().resolver == "RequiredBandwidthSolver");
  CHECK(answer.report().verification.passed());
  CHECK(answer.report().verification.checks.at(0).residual() < 1e-12);
  CHECK_FALSE(answer.report().seconds);
}

TEST_CASE("inputs are checked once, at the border", "[resolve]") {
  const auto llama = eight_billion();
  CHECK_THROWS_AS(evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = 0 * unit::ms}),
                  DomainError);
  CHECK_THROWS_WITH(
      evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = -1 * unit::ms}),
      ContainsSubstring("more than 0") && ContainsSubstring("in the inputs of RequiredBandwidthSolver"));
  const double nan = std::nan("");
  CHECK_THROWS_WITH(
      evaluate(RequiredBandwidthSolver{}, {.workload = &llama, .target_latency = nan * unit::ms}),
      ContainsSubstring("finite"));
  CHECK_THROWS_WITH(evaluate(RequiredBandwidthSolver{}, {.target_latency = 1 * unit::ms}),
                    ContainsSubstring("input 'workload' of RequiredBandwidthSolver is missing"));
  CHECK_THROWS_WITH(evaluate(NoNumberModel{}, {}), ContainsSubstring("mfu = nan"));
}

TEST_CASE("infeasible is a value, with notes and defaults in the report", "[resolve]") {
  const auto fits = evaluate(FitModel{}, {.weights = 40_GB, .capacity = 80_GB}, {.clock = tick});
  REQUIRE(fits);
  CHECK_THAT(fits->memory_utilization, WithinRel(0.5, 1e-12));
  const auto assumed = fits.report().assumptions();
  REQUIRE(assumed.size() == 2);
  CHECK(assumed[0].name == "batch_size");
  CHECK(assumed[0].value == "1");
  CHECK(assumed[0].source == "one request at a time");
  CHECK(assumed[1].name == "activations");
  CHECK_THAT(fits.report().seconds.value(), WithinRel(0.25, 1e-12));
  CHECK(fits.report().verification.text() ==
        "not checked: only answers of solvers are put back into an equation");

  const auto supplied = evaluate(FitModel{}, {.weights = 40_GB, .capacity = 80_GB, .batch_size = 128});
  CHECK(supplied.report().assumptions().size() == 1);
  CHECK(supplied.report().warnings().size() == 1);

  const auto none = evaluate(FitModel{}, {.weights = 141_GB, .capacity = 80_GB});
  CHECK_FALSE(none);
  CHECK(none.why()->reason == "weights do not fit");
  CHECK_THROWS_WITH(none.value(), ContainsSubstring("infeasible: weights do not fit"));
}

TEST_CASE("nobody listens: notes cost nothing and keep nothing", "[resolve]") {
  Notes silent;
  int made = 0;
  silent.assume(
      "x", [&] { return ++made, std::string("text"); }, "nowhere");
  silent.warn([&] { return ++made, std::string("text"); });
  CHECK(made == 0);
  NoteBook book;
  Notes heard(book);
  heard.assume(
      "x", [&] { return ++made, std::string("text"); }, "nowhere");
  heard.assume("y", 3 * unit::ms, "measured");
  CHECK(made == 1);
  CHECK(book.assumptions.at(1).value == "3 ms");
}

TEST_CASE("one assumption is noted once, however often it is made", "[resolve]") {
  NoteBook book;
  Notes notes(book);
  for (int i = 0; i < 3; ++i) {
    notes.assume("share", 0.5, "zoo/defaults.yaml");
    notes.assume("share", 0.5, "a caller");
    notes.assume("share", 0.5000000001, "zoo/defaults.yaml");  // reads the same
    notes.assume("share", 0.50001, "zoo/defaults.yaml");
    notes.assume(std::string("share"), std::string("0.5"), std::string("zoo/defaults.yaml"));
  }
  REQUIRE(book.assumptions.size() == 3);
  CHECK(book.assumptions[0].value == "0.5");
  CHECK(book.assumptions[1].source == "a caller");
  CHECK(book.assumptions[2].value == "0.50001");

  // What others write into the book counts as well, and what they take out does not.
  book.assumptions.push_back({"seq_len", 2048.0, "convention"});
  notes.assume("seq_len", 2048.0, "convention");
  CHECK(book.assumptions.size() == 4);
  book.assumptions.clear();
  notes.assume("share", 0.5, "zoo/defaults.yaml");
  CHECK(book.assumptions.size() == 1);

  const auto* memory = book.assumptions.data();
  book.clear();
  notes.assume("y", 3 * unit::ms, "measured");
  CHECK(book.assumptions.data() == memory);
}

TEST_CASE("the value of an assumption reads as it was given", "[resolve]") {
  CHECK(AssumedValue(1.0 / 3).str() == "0.333333");
  CHECK(AssumedValue::exact(0.1234567).str() == "0.1234567");
  CHECK(AssumedValue(3.35 * unit::TB / unit::s).str() == "3.35 TB/s");
  CHECK(AssumedValue("none") == AssumedValue(std::string("none")));
  CHECK(AssumedValue(2.0) == AssumedValue("2"));
  CHECK_FALSE(AssumedValue(2.0) == AssumedValue(2.0 * unit::s));
}

TEST_CASE("an answer is put back into the law that it inverts", "[resolve]") {
  const auto right =
      evaluate(DevicesSolver<0>{}, {.weights = 140_GB, .hbm = 1 * unit::TB / unit::s, .time = 50_ms});
  CHECK(right->devices == 3);
  REQUIRE(right.report().verification.checks.size() == 1);
  CHECK(right.report().verification.checks[0].kind() == CheckKind::integer_threshold);
  CHECK(right.report().verification.passed());
  for (const auto& text :
       {evaluate(DevicesSolver<1>{}, {.weights = 140_GB, .hbm = 1 * unit::TB / unit::s, .time = 50_ms})
            .report()
            .verification,
        evaluate(DevicesSolver<-1>{}, {.weights = 140_GB, .hbm = 1 * unit::TB / unit::s, .time = 50_ms})
            .report()
            .verification}) {
    CHECK(text.checked());
    CHECK_FALSE(text.passed());
    CHECK_THAT(text.text(), ContainsSubstring("FAILED"));
  }
  // One device already meets a long target, and there is no count below one.
  CHECK(evaluate(DevicesSolver<0>{}, {.weights = 140_GB, .hbm = 1 * unit::TB / unit::s, .time = 1_s})
            .report()
            .verification.passed());
}

TEST_CASE("checks tell right from wrong", "[resolve]") {
  CHECK(Check(10_ms, 10_ms).passed());
  CHECK_FALSE(Check(10_ms, 10.1_ms).passed());
  CHECK_FALSE(Check(10.0, std::nan("")).passed());
  CHECK_FALSE(Check::equal("x", AnyQuantity(10_ms), AnyQuantity(0.01)).passed());
  CHECK(Check::threshold("n", 3, true, false).passed());
  CHECK_FALSE(Check::threshold("n", 3, true, true).passed());
  CHECK_FALSE(Check::threshold("n", 3, false, false).passed());
  const auto cube = [](double x) { return x * x * x; };
  CHECK(Check::gradient("slope", 12.0, cube, 2.0).passed());
  CHECK_FALSE(Check::gradient("slope", 11.0, cube, 2.0).passed());
}

TEST_CASE("a law needs neither base class nor name", "[resolve]") {
  const auto answer = evaluate(OffloadModel{}, {.weights = 100_GB,
                                                .capacity = 80_GB,
                                                .hbm = 1 * unit::TB / unit::s,
                                                .host = 0.05 * unit::TB / unit::s});
  CHECK_THAT(answer->spill.in(unit::GB), WithinRel(20.0, 1e-12));
  CHECK_THAT(answer->time.in(unit::ms), WithinRel(400.0, 1e-12));
  CHECK(answer.report().resolver == "OffloadModel");
}

TEST_CASE("a number that was forgotten does not become an infinite result", "[resolve]") {
  try {
    (void)evaluate(BareModel{}, {.weights = 16_GB});
    FAIL("an infinite bandwidth was taken for an answer");
  } catch (const SolverError& e) {
    CHECK(e.facts().key == "hbm");
    CHECK_THAT(e.what(), ContainsSubstring("not finite") && ContainsSubstring("inputs at zero: time"));
  }
  CHECK(evaluate(BareModel{}, {.weights = 16_GB, .time = 10 * unit::ms}));
}

TEST_CASE("counts are whole wherever they come from", "[resolve]") {
  const auto* devices = find_field(describe<Sharded::Inputs<double>>(), "devices");
  REQUIRE(devices != nullptr);
  CHECK_NOTHROW(check_range(*devices, 2));
  CHECK_THROWS_WITH(check_range(*devices, 1.5),
                    ContainsSubstring("a whole number") && ContainsSubstring("1 or 2"));
  CHECK_FALSE(BaseRange::of(*devices).holds(1.5));
  CHECK(BaseRange::of(*devices).holds(2));
  Sharded::Inputs<double> in{1_GB, 1_GB / unit::s, 1.5};
  const InputGuard guard(describe<Sharded::Inputs<double>>());
  CHECK_THROWS_AS(guard.check(&in, "Sharded"), DomainError);
  // Beyond kMostCount whole numbers are refused as well, at every border.
  for (const double x : {1.0, kMostCount}) {
    CHECK(is_count(x));
    CHECK(BaseRange::of(*devices).holds(x));
    CHECK_NOTHROW(check_range(*devices, x));
  }
  for (const double x : {kMostCount + 1, 0x1p53, 1e154, 1e300}) {
    CHECK_FALSE(is_count(x));
    CHECK_FALSE(BaseRange::of(*devices).holds(x));
    CHECK_THROWS_WITH(check_range(*devices, x),
                      ContainsSubstring("out of range") && ContainsSubstring("1e+15"));
    in.devices = x;
    CHECK_THROWS_AS(guard.check(&in, "Sharded"), DomainError);
  }
}
