// A tape is the law that was recorded, bit for bit, also after it was reduced, joined or replayed.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/tape.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

using namespace mlsysim;
using sample::cases;
using sample::point;

namespace {

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return same(x, y); });
}

std::size_t count(const Tape& tape, TapeOp op) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < tape.size(); ++i) n += tape.node(i).op == op ? 1 : 0;
  return n;
}

/// Two results of three inputs with a comparison, limits, a rounding and a loop.
std::vector<Recorded> mixed(std::span<const Recorded> in) {
  const Recorded &x = in[0], &y = in[1], &n = in[2];
  const Recorded grown = repeat(n, x, [&](const Recorded& s, const Recorded& k) { return s * 1.5 + y + k; });
  return {select(x < y, max(x, 10.0) * grown, min(y, grown)), ceil(x / y) + n};
}

}  // namespace

TEST_CASE("a tape at a point is the law on double, bit for bit", "[tape]") {
  for (const auto& c : cases()) {
    const Tape& tape = c.law->tape();
    CHECK(tape.inputs() == c.law->inputs.size());
    CHECK(tape.results() == c.law->results.size());
    std::vector<double> values, out(tape.results());
    for (unsigned p = 0; p < 200; ++p) {
      const auto at = point(c, p);
      CAPTURE(c.law->info.id, p);
      CHECK(same(tape(at), (*c.law)(at)));
      tape.evaluate(at, out, values);  // with workspace that was used before
      CHECK(same(out, (*c.law)(at)));
      for (std::size_t r = 0; r < out.size(); ++r) CHECK(same(values[tape.output(r)], out[r]));
    }
  }
}

TEST_CASE("operands are earlier nodes, so that one walk is enough", "[tape]") {
  for (const auto& c : cases()) {
    const Recording& r = c.law->tape().recording();
    for (std::uint32_t n = 0; n < r.nodes.size(); ++n)
      for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { CHECK(o < n); });
  }
}

TEST_CASE("a constant result is known without a point", "[tape]") {
  const Tape tape = record_tape(1, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{in[0] * 0.0 + 4.0, in[0]};
  });
  CHECK(tape.fixed(tape.output(0)) == 4.0);
  CHECK_FALSE(tape.fixed(tape.output(1)).has_value());
}

TEST_CASE("fixing inputs folds what hangs on them and keeps every bit", "[tape]") {
  for (const auto& c : cases()) {
    const Tape& tape = c.law->tape();
    const std::size_t n = tape.inputs();
    for (std::size_t kept = 0; kept < n; ++kept)
      for (unsigned p = 0; p < 20; ++p) {
        const auto at = point(c, p);
        std::vector<std::optional<double>> fixed(at.begin(), at.end());
        fixed[kept].reset();
        const Tape part = reduced(tape, {.fixed = fixed});
        CAPTURE(c.law->info.id, kept, p);
        CHECK(part.inputs() == n);
        CHECK(part.size() <= tape.size() + n);
        for (unsigned q = 0; q < 5; ++q) {
          auto moved = at;
          moved[kept] = point(c, 100 + q)[kept];
          // The other inputs are not looked at any more.
          std::vector<double> given(n, -1.0);
          given[kept] = moved[kept];
          CHECK(same(part(given), (*c.law)(moved)));
          // Nor is there a place for them where the part has its own inputs alone.
          const Tape own = reduced(tape, {.fixed = fixed, .inputs = std::span<const std::size_t>(&kept, 1)});
          REQUIRE(own.inputs() == 1);
          CHECK(same(own(std::vector<double>{moved[kept]}), (*c.law)(moved)));
        }
      }
    const auto at = point(c, 0);
    const std::vector<std::optional<double>> all(at.begin(), at.end());
    const Tape nothing = reduced(tape, {.fixed = all});
    const Tape alone = reduced(tape, {.fixed = all, .inputs = std::span<const std::size_t>()});
    CHECK(alone.inputs() == 0);
    CHECK(same(alone({}), (*c.law)(at)));
    CHECK(same(nothing(std::vector<double>(n, -1.0)), (*c.law)(at)));
    if (tape.recording().loops.empty())
      for (std::size_t r = 0; r < nothing.results(); ++r) CHECK(nothing.fixed(nothing.output(r)).has_value());
  }
}

TEST_CASE("a loop whose count is fixed may stay, and gives the same", "[tape]") {
  const Tape tape = record_tape(3, mixed);
  const std::optional<double> fixed[] = {std::nullopt, 2.5, 4.0};
  const Tape part = reduced(tape, {.fixed = fixed});
  for (const double x : {0.5, 2.5, 3.0, 40.0}) {
    CAPTURE(x);
    CHECK(same(part(std::vector<double>{x, 0, 0}), tape(std::vector<double>{x, 2.5, 4.0})));
  }
}

TEST_CASE("a box takes out what it decides", "[tape]") {
  const Tape tape = record_tape(3, mixed);
  const Interval box[] = {{11, 20}, {30, 40}, {0, 3}};
  const Tape part = reduced(tape, {.box = box});
  CHECK(count(part, TapeOp::less) == 0);  // x < y everywhere
  CHECK(count(part, TapeOp::select) == 0);
  CHECK(count(part, TapeOp::max) == 0);  // x is above 10
  CHECK(count(part, TapeOp::min) == 0);  // of the side that is not taken
  CHECK(count(tape, TapeOp::less) == 1);
  for (const double x : {11.0, 15.5, 20.0})
    for (const double y : {30.0, 33.3, 40.0})
      for (const double n : {0.0, 1.0, 3.0})
        CHECK(same(part(std::vector<double>{x, y, n}), tape(std::vector<double>{x, y, n})));
  // A box that decides nothing leaves all.
  const Interval wide[] = {{1, 50}, {1, 50}, {0, 3}};
  CHECK(count(reduced(tape, {.box = wide}), TapeOp::less) == 1);
  CHECK(count(reduced(tape, {.box = wide}), TapeOp::max) == 1);
}

TEST_CASE("a box keeps the bits of every law inside it", "[tape]") {
  for (const auto& c : cases())
    for (unsigned p = 0; p < 20; ++p) {
      const auto a = point(c, 2 * p), b = point(c, 2 * p + 1);
      std::vector<Interval> box;
      for (std::size_t i = 0; i < a.size(); ++i) box.emplace_back(a[i], b[i]);
      const Tape part = reduced(c.law->tape(), {.box = box});
      sample::Case inside{c.law, {}, {}, c.counts};
      for (const auto& x : box) inside.low.push_back(x.low), inside.high.push_back(x.high);
      for (unsigned q = 0; q < 20; ++q) {
        CAPTURE(c.law->info.id, p, q);
        CHECK(same(part(point(inside, q)), (*c.law)(point(inside, q))));
      }
      CHECK(same(part(a), (*c.law)(a)));
      CHECK(same(part(b), (*c.law)(b)));
    }
}

TEST_CASE("wanted results come in the order that was asked for, and nothing else is kept", "[tape]") {
  const Tape tape = record_tape(3, mixed);
  const std::size_t second[] = {1};
  const Tape one = reduced(tape, {.results = second, .all = false});
  CHECK(one.results() == 1);
  CHECK(one.inputs() == 3);
  CHECK(one.recording().loops.empty());
  CHECK(count(one, TapeOp::select) == 0);
  const std::size_t turned[] = {1, 0, 1};
  const Tape three = reduced(tape, {.results = turned, .all = false});
  const std::vector<double> at{3, 7, 2};
  const auto all = tape(at);
  CHECK(same(one(at), {all[1]}));
  CHECK(same(three(at), {all[1], all[0], all[1]}));
  CHECK(reduced(tape, {.results = {}, .all = false}).results() == 0);
}

TEST_CASE("two tapes in a row are one", "[tape]") {
  const Tape before = record_tape(2, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{in[0] * in[1], in[0] / in[1], Recorded(4.0)};
  });
  const Tape after = record_tape(3, mixed);
  // x: the quotient; y: the second input of the first tape; n: its constant.
  const std::size_t wiring[] = {1, 3 + 1, 2};
  const Tape both = joined(before, after, wiring);
  CHECK(both.inputs() == 2);
  CHECK(both.results() == 2);
  for (const double x : {1.0, 9.0, 50.0})
    for (const double y : {0.25, 3.0}) {
      const auto between = before(std::vector<double>{x, y});
      CAPTURE(x, y);
      CHECK(same(both(std::vector<double>{x, y}), after(std::vector<double>{between[1], y, between[2]})));
    }
  // The product is nobody's business.
  CHECK(count(reduced(both, {}), TapeOp::multiply) <= count(after, TapeOp::multiply));
}

TEST_CASE("a replay inside another recording shares its operations", "[tape]") {
  const Tape law =
      record_tape(2, [](std::span<const Recorded> in) { return std::vector<Recorded>{sqrt(in[0] * in[1])}; });
  const Tape twice = record_tape(2, [&](std::span<const Recorded> in) {
    const Recorded turned[] = {in[1], in[0]};
    return std::vector<Recorded>{replay(law, in)[0] + replay(law, turned)[0] + sqrt(in[0] * in[1])};
  });
  CHECK(count(twice, TapeOp::sqrt) == 1);
  CHECK(count(twice, TapeOp::multiply) == 1);
  const std::vector<double> at{3, 5};
  CHECK(same(twice(at)[0], std::sqrt(15.0) + std::sqrt(15.0) + std::sqrt(15.0)));
  // Constants in, a constant out.
  const Tape fixed = record_tape(1, [&](std::span<const Recorded>) {
    const Recorded given[] = {Recorded(2.0), Recorded(8.0)};
    return replay(law, given);
  });
  CHECK(fixed.fixed(fixed.output(0)) == 4.0);
}
