// Fronts against the obvious quadratic program.

#include <mlsysim/resolver_api/non_dominated.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlsysim;

namespace {

using Point = std::vector<double>;

/// A point beats another when it is no larger in every objective and smaller in one, or equal in all and
/// earlier.
bool beats(const Point& a, std::uint64_t ia, const Point& b, std::uint64_t ib) {
  bool less = false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] > b[k]) return false;
    less = less || a[k] < b[k];
  }
  return less || ia < ib;
}

std::vector<std::uint64_t> obvious(const std::vector<Point>& points) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < points.size() && !beaten; ++j)
      beaten = j != i && beats(points[j], j, points[i], i);
    if (!beaten) out.push_back(i);
  }
  return out;
}

std::vector<std::uint64_t> one_by_one(const std::vector<Point>& points,
                                      const std::vector<std::uint64_t>& order) {
  NonDominated front;
  for (const auto i : order) front.add(points[i], i);
  std::vector<std::uint64_t> out;
  Point before;
  for (const auto& e : front.entries()) {
    CHECK(e.values == points[e.index]);
    CHECK(before <= e.values);  // lexicographic
    before = e.values;
    out.push_back(e.index);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("a front is that of the quadratic program", "[resolve][front]") {
  std::mt19937 random(11);
  const double infinity = HUGE_VAL;
  std::size_t largest = 0;
  for (std::size_t objectives = 1; objectives <= 6; ++objectives)
    for (const int kind : {0, 1, 2, 3})
      for (const std::size_t n : {1u, 2u, 7u, 40u, 300u, 2500u}) {
        std::uniform_real_distribution<double> real(0, 1);
        std::vector<Point> points(n, Point(objectives));
        for (auto& p : points) {
          double rest = 0;
          for (auto& x : p) {
            x = real(random);
            if (kind == 1) x = std::floor(4 * x);  // ties and duplicates
            if (kind == 2) x = x < 0.1 ? -infinity : x > 0.9 ? infinity : std::floor(50 * x);
            rest += &x == &p.back() ? 0 : x;
          }
          if (kind == 3) p.back() = -rest + 0.01 * real(random);  // nearly all on the front
        }
        if (kind == 0 && n > 10)
          std::copy_n(points.begin(), 5, points.end() - 5);  // duplicates of different indices
        INFO(objectives << " objectives, kind " << kind << ", " << n << " points");
        const auto expected = obvious(points);
        largest = std::max(largest, expected.size());
        std::vector<std::uint64_t> order(n);
        for (std::size_t i = 0; i < n; ++i) order[i] = i;
        CHECK(one_by_one(points, order) == expected);
        std::shuffle(order.begin(), order.end(), random);
        CHECK(one_by_one(points, order) == expected);
        std::vector<double> values;
        for (const auto i : order) values.insert(values.end(), points[i].begin(), points[i].end());
        std::vector<std::uint64_t> all;
        for (const auto position : non_dominated(values, order, objectives)) all.push_back(order[position]);
        std::sort(all.begin(), all.end());
        CHECK(all == expected);
      }
  CHECK(largest > 2000);
}

TEST_CASE("a front holds no more than twice itself and some that wait", "[resolve][front]") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> real(0, 1);
  NonDominated front;
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const double x = real(random), y = real(random);
    front.add(Point{x, y, 1 / (x + 0.1) + 1 / (y + 0.1) + 10 * real(random)}, i);
    most = std::max(most, front.held());
  }
  CHECK(front.entries().size() > 50);
  CHECK(most <= 2 * std::max<std::size_t>(512, 2 * front.entries().size()));
}

TEST_CASE("no points have no front", "[resolve][front]") {
  CHECK(NonDominated().entries().empty());
  CHECK(non_dominated({}, {}, 3).empty());
}
