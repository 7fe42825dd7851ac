// Blocks of points give the bytes of the law on double.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/columns.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace mlsysim;
using sample::bits;
using sample::cases;
using sample::law;
using sample::point;

namespace {

/// Runs a program over points; the columns are longer than asked for by a guard that must survive.
std::vector<std::vector<double>> run(const ColumnProgram& program, const std::vector<std::vector<double>>& in,
                                     std::size_t points) {
  constexpr std::size_t guard = 3;
  ColumnProgram::Workspace workspace(program);
  std::vector<std::vector<double>> out(program.results(), std::vector<double>(points + guard, -7.0));
  std::vector<const double*> from;
  std::vector<double*> to;
  for (const auto& column : in) from.push_back(column.data());
  for (auto& column : out) to.push_back(column.data());
  program.run(from.data(), to.data(), points, workspace);
  for (auto& column : out) {
    for (std::size_t i = 0; i < guard; ++i) CHECK(column[points + i] == -7.0);
    column.resize(points);
  }
  return out;
}

/// Every operation of the overload set, and a loop with its own count per point.
template <class T> T everything(const T& x, const T& y) {
  const T a = x * y + x / y - y;
  const T b = max(a, x) + min(a, y) + abs(x - y) + clamp(x, T(0.5), T(2.0));
  const T c = ceil(x) + floor(y) + ceil_div(x, y) + sqrt(x + y) + quadrature(x, y);
  const T d = pow(x, y * 0.1) + log(y) + log2(x + 1.0) + exp(-y);
  const T e =
      select(x > y, a, b) + select(x <= y && !(y < 1.0), T(1.0), c) + select(x == y || x != 3.0, c, d);
  return sum(a, b, c, d, e) +
         repeat(ceil(y), T(1.0), [&](const T& s, const T& k) { return s * 0.5 + x + k; });
}

}  // namespace

TEST_CASE("any number of points gives the bytes of the double law", "[tape]") {
  for (const auto& c : cases()) {
    const ColumnProgram program(c.law->tape());
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, kBlock - 1, kBlock, kBlock + 1, std::size_t{333}}) {
      std::vector<std::vector<double>> in(program.inputs(), std::vector<double>(n));
      for (unsigned p = 0; p < n; ++p) {
        const auto at = point(c, p);
        for (std::size_t i = 0; i < at.size(); ++i) in[i][p] = at[i];
      }
      const auto out = run(program, in, n);
      for (unsigned p = 0; p < n; ++p) {
        const auto one = (*c.law)(point(c, p));
        for (std::size_t r = 0; r < one.size(); ++r)
          if (bits(out[r][p]) != bits(one[r])) {
            CAPTURE(c.law->info.id, n, p, r, out[r][p], one[r]);
            FAIL_CHECK("a column and the law on double differ");
          }
      }
    }
  }
}

TEST_CASE("every operation in a column is that of double", "[tape]") {
  const ColumnProgram program(record_tape(
      2, [](std::span<const Recorded> in) { return std::vector<Recorded>{everything(in[0], in[1])}; }));
  std::vector<std::vector<double>> in(2);
  for (int i = 0; i < 400; ++i) {
    in[0].push_back(0.01 + 0.037 * i);
    in[1].push_back(7.3 / (1.0 + i / 8) + 0.11 * (i % 8));
  }
  in[0].push_back(3.0), in[1].push_back(3.0);
  const auto out = run(program, in, in[0].size());
  for (std::size_t p = 0; p < in[0].size(); ++p) {
    CAPTURE(p, in[0][p], in[1][p]);
    CHECK(bits(out[0][p]) == bits(everything(in[0][p], in[1][p])));
  }
}

TEST_CASE("zeros with signs, infinities and what is no number go through as in double", "[tape]") {
  const auto law = []<class T>(const T& x, const T& y) {
    return std::vector<T>{min(x, y), max(x, y), select(x < y, x, y), select(x == y, T(1.0), T(2.0)),
                          abs(x) / y};
  };
  const ColumnProgram program(
      record_tape(2, [&](std::span<const Recorded> in) { return law(in[0], in[1]); }));
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> in(2);
  for (const double x : {0.0, -0.0, 1.0, nan, inf, -inf})
    for (const double y : {0.0, -0.0, 1.0, nan, inf, -inf}) in[0].push_back(x), in[1].push_back(y);
  const auto out = run(program, in, in[0].size());
  for (std::size_t p = 0; p < in[0].size(); ++p) {
    const auto expected = law(in[0][p], in[1][p]);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      CAPTURE(in[0][p], in[1][p], r, out[r][p], expected[r]);
      // Which "not a number" it is, is nobody's promise.
      CHECK((bits(out[r][p]) == bits(expected[r]) || (std::isnan(out[r][p]) && std::isnan(expected[r]))));
    }
  }
}

TEST_CASE("a loop runs each point for its own count", "[tape]") {
  const ColumnProgram program(record_tape(1, [](std::span<const Recorded> in) {
    const auto pair = repeat<100>(in[0], std::array<Recorded, 2>{1.0, 0.0},
                                  [](const std::array<Recorded, 2>& s, const Recorded& k) {
                                    return std::array<Recorded, 2>{s[0] * 2.0, s[1] + k};
                                  });
    return std::vector<Recorded>{pair[0], pair[1] + 1.0};
  }));
  std::vector<std::vector<double>> in(1);
  for (int i = 0; i < 70; ++i) in[0].push_back(i % 37 - 2);
  const auto out = run(program, in, 70);
  for (std::size_t p = 0; p < 70; ++p) {
    const double n = std::max(in[0][p], 0.0);
    CHECK(out[0][p] == std::exp2(n));
    CHECK(out[1][p] == n * (n - 1) / 2 + 1);
  }
  in[0][69] = 101;
  CHECK_THROWS_AS(run(program, in, 70), DomainError);
  CHECK_NOTHROW(run(program, in, 69));  // what lies behind the last point is not looked at
  in[0][69] = std::nan("");
  CHECK_THROWS_AS(run(program, in, 70), DomainError);
}

TEST_CASE("results that are inputs, constants or the same as others are written too", "[tape]") {
  const ColumnProgram program(record_tape(2, [](std::span<const Recorded> in) {
    const Recorded x = in[0] + 1.0;
    return std::vector<Recorded>{in[1], Recorded(2.5), x, x, in[1]};
  }));
  const auto out = run(program, {{1, 2, 3}, {4, 5, 6}}, 3);
  CHECK(out[0] == std::vector<double>{4, 5, 6});
  CHECK(out[1] == std::vector<double>{2.5, 2.5, 2.5});
  CHECK(out[2] == std::vector<double>{2, 3, 4});
  CHECK(out[3] == out[2]);
  CHECK(out[4] == out[0]);
}

TEST_CASE("a workspace serves again, for other points", "[tape]") {
  const ColumnProgram program(cases()[4].law->tape());
  ColumnProgram::Workspace workspace(program);
  std::vector<double> first(program.results() * kBlock), again(first);
  const auto run_at = [&](unsigned index, std::vector<double>& to) {
    const auto at = point(cases()[4], index);
    std::vector<const double*> from;
    std::vector<double*> out;
    for (const double& x : at) from.push_back(&x);
    for (std::size_t r = 0; r < program.results(); ++r) out.push_back(to.data() + r * kBlock);
    program.run(from.data(), out.data(), 1, workspace);
  };
  run_at(1, first);
  run_at(2, again);
  CHECK(bits(again[0]) != bits(first[0]));
  run_at(1, again);
  for (std::size_t r = 0; r < program.results(); ++r)
    CHECK(bits(again[r * kBlock]) == bits(first[r * kBlock]));
}

TEST_CASE("a division by what divides several columns, or by a constant, is rounded as a division",
          "[tape]") {
  // Dividends and divisors whose quotients lie next to the middle between two numbers are the hard ones; bits
  // at random meet them, and sizes at the ends leave the range in which a division may be corrected.
  const double divisors[] = {3.0, 0.1, 1.0 - 0x1p-53, 1.0 + 0x1p-52, 8.0, 989e12, 3.35e12, 1e-60, 1e60, -7.0};
  const ColumnProgram program(record_tape(3, [&](std::span<const Recorded> in) {
    std::vector<Recorded> out{in[0] / in[2], in[1] / in[2], 5.0 / in[2], 1e-250 / in[2]};
    for (const double d : divisors) out.push_back(in[0] / d);
    return out;
  }));
  std::uint64_t state = 1;
  const auto random = [&](double most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double mantissa = 1.0 + static_cast<double>(state >> 11) * 0x1p-53;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return std::ldexp(mantissa, static_cast<int>((static_cast<double>(state >> 40) * 0x1p-24 - 0.5) * most));
  };
  const double special[] = {0.0, 1e-310, 1e300, -0.0, INFINITY, 4e-300};
  std::vector<std::vector<double>> in(3);
  for (std::size_t p = 0; p < 200 * kBlock; ++p) {
    // Blocks of harmless sizes, blocks of wild ones, and blocks with a special number or two.
    const double most = p / kBlock % 4 == 3 ? 1800 : 60;
    for (auto& column : in) column.push_back(random(most));
    if (p / kBlock % 4 == 1 && p % 50 == 0) in[p / 50 % 3].back() = special[p / 50 % 6];
    if (p / kBlock % 4 == 2) in[2].back() = 2.0 - 0x1p-52 * static_cast<double>(p % 7);
  }
  const auto out = run(program, in, in[0].size());
  std::size_t wrong = 0;
  for (std::size_t p = 0; p < in[0].size(); ++p) {
    std::vector<double> expected{in[0][p] / in[2][p], in[1][p] / in[2][p], 5.0 / in[2][p], 1e-250 / in[2][p]};
    for (const double d : divisors) expected.push_back(in[0][p] / d);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const bool same = bits(out[r][p]) == bits(expected[r]) || (out[r][p] == 0 && expected[r] == 0) ||
                        (std::isnan(out[r][p]) && std::isnan(expected[r]));
      wrong += same ? 0 : 1;
      if (!same && wrong < 5) {
        CAPTURE(p, r, in[0][p], in[1][p], in[2][p], out[r][p], expected[r]);
        FAIL_CHECK("a quotient is rounded otherwise");
      }
    }
  }
  CHECK(wrong == 0);
}
