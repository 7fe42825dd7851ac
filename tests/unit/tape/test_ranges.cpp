// Bounds hold what they bound, trends are true, and what is monotone is exact.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/ranges.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace mlsysim;
using sample::cases;
using sample::point;

namespace {

/// Room for the functions of the C library, which are not monotone to the last bit.
double room(double x) { return std::isfinite(x) ? 1e-14 * std::fabs(x) : 0.0; }

template <class F> Tape tape_of(std::size_t inputs, F f) {
  return record_tape(inputs, [&](std::span<const Recorded> in) { return std::vector<Recorded>{f(in)}; });
}

/// Boxes of a case: between two of its points, or narrow about one.
std::vector<Interval> box_of(const sample::Case& c, unsigned index) {
  const auto a = point(c, 2 * index), b = point(c, 2 * index + 1);
  std::vector<Interval> box;
  for (std::size_t i = 0; i < a.size(); ++i)
    box.emplace_back(a[i], index % 2 == 0 ? b[i] : c.counts[i] ? a[i] + 1 : std::min(a[i] * 1.02, c.high[i]));
  return box;
}

sample::Case inside(const sample::Case& c, std::span<const Interval> box) {
  sample::Case out{c.law, {}, {}, c.counts};
  for (const auto& x : box) out.low.push_back(x.low), out.high.push_back(x.high);
  return out;
}

}  // namespace

TEST_CASE("both bounds contain every sampled value, and the tight one is never wider", "[tape]") {
  for (const auto& c : cases()) {
    Ranges ranges(c.law->tape());
    for (unsigned n = 0; n < 40; ++n) {
      const auto box = box_of(c, n);
      ranges.run(box);
      std::vector<Interval> outer, tight;
      for (std::size_t r = 0; r < c.law->results.size(); ++r) outer.push_back(ranges.result(r));
      for (std::size_t r = 0; r < outer.size(); ++r) tight.push_back(ranges.tight(r, box));
      for (unsigned q = 0; q < 60; ++q) {
        const auto value = (*c.law)(point(inside(c, box), q));
        for (std::size_t r = 0; r < value.size(); ++r) {
          CAPTURE(c.law->info.id, n, q, r, value[r], outer[r].low, outer[r].high, tight[r].low,
                  tight[r].high);
          CHECK(value[r] >= outer[r].low - room(value[r]));
          CHECK(value[r] <= outer[r].high + room(value[r]));
          CHECK(value[r] >= tight[r].low - room(value[r]));
          CHECK(value[r] <= tight[r].high + room(value[r]));
        }
      }
      for (std::size_t r = 0; r < outer.size(); ++r) {
        CAPTURE(c.law->info.id, n, r);
        CHECK(tight[r].low >= outer[r].low);
        CHECK(tight[r].high <= outer[r].high);
      }
    }
  }
}

TEST_CASE("a range that is a point gives the value", "[tape]") {
  for (const auto& c : cases()) {
    Ranges ranges(c.law->tape());
    for (unsigned p = 0; p < 20; ++p) {
      const auto at = point(c, p);
      ranges.run(std::vector<Interval>(at.begin(), at.end()));
      for (std::size_t r = 0; r < c.law->results.size(); ++r) {
        CHECK(ranges.result(r).low == (*c.law)(at)[r]);
        CHECK(ranges.result(r).high == (*c.law)(at)[r]);
      }
    }
  }
}

TEST_CASE("what rises rises, what falls falls, and a constant stays", "[tape]") {
  int claims = 0, silent = 0;
  for (const auto& c : cases()) {
    Ranges ranges(c.law->tape());
    for (unsigned n = 0; n < 40; ++n) {
      const auto box = box_of(c, n);
      const auto in_box = inside(c, box);
      for (std::size_t r = 0; r < c.law->results.size(); ++r) {
        ranges.run(box);
        const auto found = ranges.trends(r);
        const std::vector<Trend> trend(found.begin(), found.end());
        for (std::size_t i = 0; i < box.size(); ++i) {
          if (trend[i] == Trend::unknown) {
            ++silent;
            continue;
          }
          ++claims;
          for (unsigned q = 0; q < 10; ++q) {
            auto low = point(in_box, 2 * q), high = low;
            high[i] = point(in_box, 2 * q + 1)[i];
            if (high[i] < low[i]) std::swap(low, high);
            const double a = (*c.law)(low)[r], b = (*c.law)(high)[r];
            CAPTURE(c.law->info.id, n, r, i, a, b, static_cast<int>(trend[i]));
            if (trend[i] != Trend::falling) CHECK(a <= b + room(b));
            if (trend[i] != Trend::rising) CHECK(a >= b - room(b));
          }
        }
      }
    }
  }
  CAPTURE(claims, silent);
  CHECK(claims > silent);  // nothing is learnt from saying nothing
}

TEST_CASE("trends of the roofline are known over any box", "[tape]") {
  const auto& c = cases()[0];
  Ranges ranges(c.law->tape());
  const std::vector<Interval> box{{1e12, 1e15}, {1e9, 1e12}, {1e14, 1e15}, {1e11, 2e12}};
  ranges.run(box);
  const auto trend = ranges.trends(0);
  CHECK(trend[0] == Trend::rising);
  CHECK(trend[1] == Trend::rising);
  CHECK(trend[2] == Trend::falling);
  CHECK(trend[3] == Trend::falling);
  // Where the arithmetic always takes longer, the memory has no say.
  const std::vector<Interval> compute_bound{{1e15, 2e15}, {1e9, 2e9}, {1e14, 1e15}, {1e11, 2e12}};
  ranges.run(compute_bound);
  CHECK(ranges.trends(0)[1] == Trend::constant);
  CHECK(ranges.trends(0)[3] == Trend::constant);
}

TEST_CASE("bounds are exact where every input has a direction", "[tape]") {
  // x occurs three times: by itself interval arithmetic takes each for a variable of its own.
  const Tape tape = tape_of(2, [](auto in) { return in[0] / (in[0] + in[1]) - 1.0 / in[0]; });
  Ranges ranges(tape);
  const std::vector<Interval> box{{2, 3}, {4, 5}};
  ranges.run(box);
  const Interval outer = ranges.result(0), tight = ranges.tight(0, box);
  CHECK(tight.low == 2.0 / (2.0 + 5.0) - 1.0 / 2.0);
  CHECK(tight.high == 3.0 / (3.0 + 4.0) - 1.0 / 3.0);
  CHECK(outer.width() > 1.2 * tight.width());
}

TEST_CASE("jumps have a direction", "[tape]") {
  const std::vector<Interval> box{{0.5, 7.5}, {2, 4}};
  const auto tight = [&](const Tape& tape) { return Ranges(tape).tight(0, box); };
  const Tape rounded = tape_of(2, [](auto in) { return ceil(in[0]) * in[1] - 1.0 / in[0]; });
  CHECK(tight(rounded).low == 1 * 2 - 1 / 0.5);
  CHECK(tight(rounded).high == 8 * 4 - 1 / 7.5);
  // Up by a jump where the condition begins to hold.
  const Tape jump = tape_of(2, [](auto in) {
    return select(in[0] > in[1], Recorded(10.0), Recorded(1.0)) + in[0] - in[1] + in[0];
  });
  CHECK(tight(jump).low == 1.0 + 0.5 - 4 + 0.5);
  CHECK(tight(jump).high == 10.0 + 7.5 - 2 + 7.5);
  Ranges ranges(jump);
  ranges.run(box);
  CHECK(ranges.trends(0)[0] == Trend::rising);
  CHECK(ranges.trends(0)[1] == Trend::falling);
  // A jump against the slope leaves no direction.
  const Tape torn =
      tape_of(2, [](auto in) { return select(in[0] > in[1], Recorded(1.0), Recorded(10.0)) + in[0]; });
  Ranges of_torn(torn);
  of_torn.run(box);
  CHECK(of_torn.trends(0)[0] == Trend::unknown);
}

TEST_CASE("partials over a box hold the slopes inside it", "[tape]") {
  const Tape tape =
      tape_of(2, [](auto in) { return sqrt(in[0]) * log(in[1]) + exp(-in[0]) / in[1] + pow(in[0], in[1]); });
  const std::vector<Interval> box{{0.5, 1.5}, {1.5, 2.0}};
  Ranges ranges(tape);
  ranges.run(box);
  const auto found = ranges.partials(0);
  const std::vector<Interval> partial(found.begin(), found.end());
  for (const double x : {0.5001, 0.8, 1.4999})
    for (const double y : {1.5001, 1.7, 1.9999}) {
      const double h = 1e-6;
      const auto f = [&](double a, double b) { return tape(std::vector<double>{a, b})[0]; };
      const double by_x = (f(x + h, y) - f(x - h, y)) / (2 * h), by_y = (f(x, y + h) - f(x, y - h)) / (2 * h);
      CAPTURE(x, y, by_x, by_y);
      CHECK(by_x >= partial[0].low - 1e-6);
      CHECK(by_x <= partial[0].high + 1e-6);
      CHECK(by_y >= partial[1].low - 1e-6);
      CHECK(by_y <= partial[1].high + 1e-6);
    }
  CHECK(partial[0].width() < 10);  // and say something
}

TEST_CASE("a loop over a range of counts gives the hull of all its ends", "[tape]") {
  const Tape doubled = tape_of(1, [](auto in) {
    return repeat(in[0], Recorded(1.0), [](const Recorded& s, const Recorded&) { return s * 2.0; });
  });
  Ranges ranges(doubled);
  ranges.run(std::vector<Interval>{{1, 3}});
  CHECK(ranges.result(0).low == 2.0);
  CHECK(ranges.result(0).high == 8.0);
  ranges.run(std::vector<Interval>{{0, 0}});
  CHECK(ranges.result(0).high == 1.0);
  ranges.run(std::vector<Interval>{{1, Interval::inf}});
  CHECK(ranges.result(0).high == Interval::inf);
  // States that go up and down: every end counts.
  const Tape swing = tape_of(1, [](auto in) {
    return repeat(in[0], Recorded(1.0), [](const Recorded& s, const Recorded&) { return s * -2.0; });
  });
  Ranges swinging(swing);
  swinging.run(std::vector<Interval>{{2, 3}});
  CHECK(swinging.result(0).contains(4.0));
  CHECK(swinging.result(0).contains(-8.0));
}

TEST_CASE("a division by a range with zero loses only the side that it must", "[tape]") {
  const Tape tape = tape_of(2, [](auto in) { return in[0] / in[1] + 1.0; });
  Ranges ranges(tape);
  const Interval tight = ranges.tight(0, std::vector<Interval>{{1, 2}, {0, 4}});
  CHECK(tight.low == 1.25);
  CHECK(tight.high == Interval::inf);
  const Interval whole = ranges.tight(0, std::vector<Interval>{{1, 2}, {-1, 1}});
  CHECK(whole.low == -Interval::inf);
  CHECK(whole.high == Interval::inf);
}

TEST_CASE("slopes too small for a double are no standstill", "[tape]") {
  // About 1e-276, and its slope by y about 1e-493.
  const Tape tape = tape_of(2, [](auto in) { return in[0] / exp(in[1]) / exp(in[1]); });
  Ranges ranges(tape);
  const std::vector<Interval> box{{1e-60, 2e-60}, {250, 260}};
  ranges.run(box);
  CHECK(ranges.trends(0)[0] == Trend::rising);
  CHECK(ranges.trends(0)[1] == Trend::falling);
  const Interval tight = ranges.tight(0, box);
  CHECK(tight.low == tape(std::vector<double>{1e-60, 260})[0]);
  CHECK(tight.high == tape(std::vector<double>{2e-60, 250})[0]);
  // One end at a time is the same.
  ranges.run(box);
  CHECK(ranges.tight_low(0, box) == tight.low);
  ranges.run(box);
  CHECK(ranges.tight_high(0, box) == tight.high);
}
