#include "sample_entries.hpp"

#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/register.hpp>
#include <mlsysim/tape/tape.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;
using sample::law;

namespace {

/// Two results that step at different sizes.
struct PagesAndBlocks {
  static constexpr LawInfo info{.id = "PagesAndBlocks", .equation = "", .source = ""};
  template <class T> struct Inputs {
    T size;
    static constexpr auto fields() {
      return rows(field(&Inputs::size, "size", "", "what is stored").positive());
    }
  };
  template <class T> struct Result {
    T pages, blocks;
    static constexpr auto fields() {
      return rows(field(&Result::pages, "pages", "", "of one"),
                  field(&Result::blocks, "blocks", "", "of ten"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    return {ceil(in.size), ceil(in.size / 10.0)};
  }
};
/// Whole pages that a side enters in a curved way, and a part without steps.
struct PagesAndRest {
  static constexpr LawInfo info{.id = "PagesAndRest", .equation = "", .source = ""};
  template <class T> struct Inputs {
    T side;
    static constexpr auto fields() {
      return rows(field(&Inputs::side, "side", "", "of what is stored").positive());
    }
  };
  template <class T> struct Result {
    T both, rest;
    static constexpr auto fields() {
      return rows(field(&Result::both, "both", "", "pages and rest"),
                  field(&Result::rest, "rest", "", "rest"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const T rest = in.side * 3.0;
    return {ceil(sqrt(in.side) * 10.0) + rest, rest};
  }
};
}  // namespace

TEST_CASE("the next step of a result is its own", "[tape]") {
  const LawEntry& entry = entry_of<PagesAndBlocks>();
  const std::size_t size[] = {0}, blocks[] = {1};
  const std::vector<double> at{12.5};
  const auto g = gradient(entry, at, size, blocks);
  CHECK(g.at(1, 0).slope == Slope::step);
  CHECK(g.at(1, 0).step == Approx(7.5));
  CHECK(g.at(1, 0).change == 1.0);
}

TEST_CASE("a step farther than a thousand times the input is not followed", "[tape]") {
  const LawEntry& entry = entry_of<PagesAndBlocks>();
  const std::size_t size[] = {0}, blocks[] = {1};
  const std::vector<double> near{0.02}, far{0.005};  // the step at 10 is 499 and 1,999 times as far
  const auto followed = gradient(entry, near, size, blocks), left = gradient(entry, far, size, blocks);
  CHECK(followed.at(1, 0).step == Approx(9.98));
  CHECK(followed.at(1, 0).change == 1.0);
  CHECK(left.at(1, 0).change == 0.0);
  CHECK(*left.at(1, 0).value() == 0.0);
}

TEST_CASE("steps that are only marked keep the slope between them", "[tape]") {
  const LawEntry& entry = entry_of<PagesAndRest>();
  const std::vector<double> at{3.1};
  const auto found = gradient(entry, at), marked = gradient(entry, at, {}, {}, Steps::marked);
  CHECK(found.at(0, 0).step != 0.0);
  CHECK(marked.at(0, 0).slope == Slope::step);
  CHECK(marked.at(0, 0).step == 0.0);
  CHECK(marked.at(0, 0).right == 3.0);
  CHECK_FALSE(marked.at(0, 0).value().has_value());
  CHECK(marked.at(1, 0).slope == Slope::smooth);
  CHECK(marked.at(1, 0).right == 3.0);
  // At the edge of a page there is a jump on one side, which is looked at.
  const auto edge = gradient(entry, std::vector<double>{2.56}, {}, {}, Steps::marked);
  CHECK(edge.at(0, 0).change != 0.0);
  CHECK(edge.at(0, 0).step == 0.0);
  // One input at a tie: both sides, as where steps are followed.
  const std::vector<double> tied{2e13, 4e10, 1e15, 2e12};  // 20 ms of work, 20 ms of traffic
  const std::size_t rate[] = {3}, time[] = {0};
  const auto both = gradient(law(0), tied, rate, time, Steps::marked), all = gradient(law(0), tied);
  CHECK(both.at(0, 3).slope == Slope::kink);
  CHECK(both.at(0, 3).right == all.at(0, 3).right);
  CHECK(both.at(0, 3).left == all.at(0, 3).left);
  // A count is followed all the same.
  const std::size_t latency[] = {0};
  const auto count = gradient(law(3), std::vector<double>{20, 24}, {}, latency, Steps::marked);
  CHECK(count.at(0, 1).step == 1.0);
}

TEST_CASE("a step behind a curved path is found", "[tape]") {
  // 10 sqrt(3.1) = 17.6: the next page begins behind 1.8^2.
  const auto g = gradient(entry_of<PagesAndRest>(), std::vector<double>{3.1});
  CHECK(g.at(0, 0).step == Approx(3.24 - 3.1).epsilon(1e-6));
  CHECK(g.at(0, 0).change == Approx(1.0 + 3.0 * (3.24 - 3.1)).epsilon(1e-6));
}

TEST_CASE("a bound result depends on one side only, with elasticities of one", "[tape]") {
  const std::vector<double> memory_bound{1e12, 1e10, 1e15, 1e12};  // 1 ms of work, 10 ms of traffic
  const auto g = gradient(law(0), memory_bound);
  CHECK(g.at(0, 0).right == 0.0);
  CHECK(g.at(0, 1).slope == Slope::smooth);
  CHECK(g.at(0, 1).right == Approx(1e-12).epsilon(1e-14));
  CHECK(*g.elasticity(0, 1) == Approx(1.0).epsilon(1e-14));
  CHECK(*g.elasticity(0, 3) == Approx(-1.0).epsilon(1e-14));
}

TEST_CASE("at the ridge point both slopes of the roofline are reported", "[tape]") {
  const std::vector<double> ridge{1e15, 1e12, 1e15, 1e12};
  const auto g = gradient(law(0), ridge);
  CHECK(g.at(0, 0).slope == Slope::kink);
  CHECK(g.at(0, 0).right == Approx(1e-15).epsilon(1e-14));
  CHECK(g.at(0, 0).left == 0.0);
  CHECK(g.at(0, 3).slope == Slope::kink);
  CHECK(g.at(0, 3).right == 0.0);
  CHECK(g.at(0, 3).left == Approx(-1e-12).epsilon(1e-14));
  CHECK_FALSE(g.elasticity(0, 0).has_value());
}

TEST_CASE("a count's derivative is the difference to the next count", "[tape]") {
  const std::vector<double> at{20, 24};
  const auto g = gradient(law(3), at);
  const Sensitivity& s = g.at(0, 1);
  CHECK(s.slope == Slope::step);
  CHECK(s.step == 1.0);
  const std::vector<double> next{20, 25};
  CHECK(s.change == law(3)(next)[0] - law(3)(at)[0]);
  CHECK(s.change < 0);
  CHECK(g.at(0, 0).slope == Slope::smooth);
  CHECK(*g.elasticity(0, 1) == Approx(s.change * 24 / g.values[0]).epsilon(1e-12));
}

TEST_CASE("a count at the end of its range looks down", "[tape]") {
  const auto g = gradient(law(3), std::vector<double>{900, 1000});
  CHECK(g.at(0, 1).step == -1.0);
  CHECK(g.at(0, 1).change > 0);
}

TEST_CASE("tile effects are never an elasticity of zero", "[tape]") {
  // 256 rows fill two tiles of 128: one row more begins a third.
  const std::vector<double> at{256, 256, 4, 1e-5, 1e15, 1e12};
  const auto g = gradient(law(4), at);
  CHECK(g.at(1, 0).slope == Slope::step);
  CHECK(g.at(1, 0).step == 1.0);
  CHECK(g.at(1, 0).change == 1.0);  // 8 tiles on 4 cores become 12
  CHECK(g.at(0, 0).slope == Slope::step);
}

namespace {

/// Kinks at the first and at the last input, which lie in different runs of tangents; the others are linear.
template <class T> T two_kinks(const T* in, int n) {
  T out = max(in[0], T(3.0)) + max(in[n - 1], T(3.0));
  for (int i = 1; i < n - 1; ++i) out += in[i] * static_cast<double>(i);
  return out;
}
constexpr int kMany = 36;

}  // namespace

TEST_CASE("more inputs than one run has seeds, with kinks in several runs", "[tape]") {
  LawEntry entry = law(0);
  entry.inputs.assign(kMany, law(0).inputs[0]);
  entry.results.resize(1);
  entry.evaluate = [](const void*, const double* in, double* out) { out[0] = two_kinks(in, kMany); };
  entry.recorded = [](const void*) -> const Tape& {
    static const Tape tape = record_tape(kMany, [](std::span<const Recorded> in) {
      return std::vector<Recorded>{two_kinks(in.data(), kMany)};
    });
    return tape;
  };
  const auto g = gradient(entry, std::vector<double>(kMany, 3.0));
  for (const std::size_t i : {std::size_t{0}, std::size_t{kMany - 1}}) {
    CHECK(g.at(0, i).slope == Slope::kink);
    CHECK(g.at(0, i).right == 1.0);
    CHECK(g.at(0, i).left == 0.0);
  }
  for (std::size_t i = 1; i < kMany - 1; ++i) {
    CHECK(g.at(0, i).slope == Slope::smooth);
    CHECK(g.at(0, i).right == static_cast<double>(i));
    CHECK(g.at(0, i).left == static_cast<double>(i));
  }
  // Only the inputs that are asked for, in any order.
  const std::size_t wanted[] = {20, 0};
  const auto some = gradient(entry, std::vector<double>(kMany, 3.0), wanted);
  CHECK(some.at(0, 20).right == 20.0);
  CHECK(some.at(0, 0).slope == Slope::kink);
  CHECK(some.at(0, 1).right == 0.0);
}

TEST_CASE("inputs out of range are refused", "[tape]") {
  CHECK_THROWS_AS(gradient(law(0), std::vector<double>{1.0, 1.0, 0.0, 1.0}), DomainError);
  CHECK_THROWS_WITH(gradient(law(0), std::vector<double>{1.0}),
                    ContainsSubstring("found 1 numbers, expected 4"));
}
