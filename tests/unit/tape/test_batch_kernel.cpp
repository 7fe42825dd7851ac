#include "sample_entries.hpp"

#include <mlsysim/tape/batch.hpp>

#include "support/catch.hpp"

#include <cmath>

using namespace mlsysim;

namespace {
const LawEntry& roofline() { return *sample::cases()[0].law; }
}  // namespace

TEST_CASE("a constant column is the same value at every point", "[tape]") {
  std::vector<double> work(100), time(100);
  for (std::size_t i = 0; i < work.size(); ++i) work[i] = 1e12 * static_cast<double>(i);
  BatchKernel kernel(roofline());
  const Column in[] = {work, 1e9, 1e15, 1e12};
  const std::span<double> out[] = {time};
  kernel.run(in, out, 100);
  CHECK(time[0] == 1e-3);
  CHECK(time[99] == 0.099);
}

TEST_CASE("a warm kernel runs again on other columns", "[tape]") {
  BatchKernel kernel(roofline());
  std::vector<double> work{1e12, 2e12, 3e12}, peak{1e15, 1e12, 1e13}, time(3);
  const std::span<double> out[] = {time};
  kernel.run(std::vector<Column>{work, 0.0, 1e15, 1e12}, out, 3);
  CHECK(time[1] == 2e12 / 1e15);
  kernel.run(std::vector<Column>{1e12, 0.0, peak, 1e12}, out, 3);
  CHECK(time[1] == 1.0);
  CHECK(time[2] == 0.1);
}

TEST_CASE("a kernel of some results of inputs that are said to vary keeps every bit", "[tape]") {
  for (const auto& c : sample::cases()) {
    const std::size_t results = c.law->results.size(), last = results - 1;
    const auto at = sample::point(c, 3);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double moved = c.counts[i] ? at[i] + 1 : at[i] + 0.25 * (c.high[i] - at[i]);
      const std::vector<double> xs{at[i], moved};
      std::vector<Column> in(at.begin(), at.end());
      in[i] = Column(xs);
      std::vector<double> whole(2 * results), part(2);
      std::vector<std::span<double>> all;
      for (std::size_t r = 0; r < results; ++r) all.push_back(std::span(whole).subspan(2 * r, 2));
      BatchKernel(*c.law).run(in, all, 2);
      BatchKernel some(*c.law, {last});
      some.vary({&i, 1}, at);
      const std::span<double> out[] = {part};
      some.run(in, out, 2);
      CHECK(part[0] == whole[2 * last]);
      CHECK(part[1] == whole[2 * last + 1]);
    }
  }
}

TEST_CASE("nothing is written beyond the points asked for", "[tape]") {
  std::vector<double> work(16, 1e12), time(16, -1.0);
  BatchKernel kernel(roofline());
  const std::span<double> out[] = {time};
  kernel.run(std::vector<Column>{work, 0.0, 1e15, 1e12}, out, 11);
  CHECK(time[10] == 1e-3);
  CHECK(time[11] == -1.0);
  CHECK(time[15] == -1.0);
}

TEST_CASE("columns that do not fit are refused with their name", "[tape]") {
  const std::vector<double> short_one(3);
  CHECK_THROWS_WITH(batch(roofline(), std::vector<Column>{1.0, short_one, 1.0, 1.0}, 4),
                    ContainsSubstring("column 'traffic' is too short; found 3 numbers, expected 4"));
  CHECK_THROWS_WITH(batch(roofline(), std::vector<Column>{1.0, 1.0}, 4),
                    ContainsSubstring("found 2 columns, expected 4"));
}

TEST_CASE("values that are not admissible are refused with the point", "[tape]") {
  std::vector<double> peak(300, 1e12);
  CHECK_NOTHROW(batch(roofline(), std::vector<Column>{1.0, 1.0, peak, 1.0}, 300));
  peak[271] = 0.0;
  CHECK_THROWS_WITH(batch(roofline(), std::vector<Column>{1.0, 1.0, peak, 1.0}, 300),
                    ContainsSubstring("'peak'") && ContainsSubstring("at point 271"));
  peak[271] = std::nan("");
  CHECK_THROWS_AS(batch(roofline(), std::vector<Column>{1.0, 1.0, peak, 1.0}, 300), DomainError);
  CHECK_THROWS_AS(batch(roofline(), std::vector<Column>{1.0, 1.0, -1e12, 1.0}, 300), DomainError);
}
