// Axes and their grid.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {
std::vector<double> numbers(const SpaceAxis& a) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a.number(i));
  return out;
}
}  // namespace

TEST_CASE("axes are read from text", "[explore][space]") {
  CHECK(numbers(axis("b=1,2,8")) == std::vector<double>{1, 2, 8});
  CHECK(numbers(axis("b=1..4")) == std::vector<double>{1, 2, 3, 4});
  CHECK(numbers(axis("b=8..64+28")) == std::vector<double>{8, 36, 64});
  CHECK(numbers(axis("b=1..64*4, 100")) == std::vector<double>{1, 4, 16, 64, 100});
  CHECK(numbers(axis("b=0..1:5")) == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  CHECK(numbers(axis("b=1 GB/s..100 GB/s:3log"))[1] == Approx(10e9));
  CHECK(numbers(axis("b=divisors(12)")) == std::vector<double>{1, 2, 3, 4, 6, 12});
  const auto pairs = axis("tp_size,pp_size=1x8,2x4");
  CHECK(pairs.names == std::vector<std::string>{"tp_size", "pp_size"});
  CHECK(std::get<double>(pairs.rows[1][1].value) == 4);
  // 4 = 2^2: pairs of exponents with a sum of at most 2.
  CHECK(axis("tp_size,pp_size=degrees(4)").size() == 6);
}

TEST_CASE("a range holds no values, whatever its length", "[explore][space]") {
  for (const char* text : {"b=1..{}", "b=0..1:{}", "b=1 GB/s..2 GB/s:{}log", "b=5..{}+1"}) {
    const auto at = [&](const char* length) {
      std::string t = text;
      return axis(t.replace(t.find("{}"), 2, length).c_str());
    };
    const auto few = at("6"), many = at("4000000000");
    CHECK(many.size() > 3999999000);
    CHECK(many.rows.empty());
    CHECK(many.numbers.memory() == few.numbers.memory());
  }
  const auto ratios = axis("b=1..1e100*1.0000001");
  CHECK(ratios.size() == Approx(std::log(1e100) / std::log(1.0000001)).epsilon(1e-6));
  CHECK(ratios.numbers.memory() == axis("b=1..2*2").numbers.memory());
  CHECK(ratios.number(10000000) == Approx(std::exp(1e7 * std::log(1.0000001))).epsilon(1e-9));
}

TEST_CASE("a range answers as the list of its members", "[explore][space]") {
  Question q;
  q.objectives.push_back({Goal::minimize, "time * bandwidth / 1 GB + 3e8 / (message / 1 B)"});
  q.constraints = {"time >= 90 us"};
  q.top = 50;
  q.histogram = "time";
  const auto others = {axis("ranks=2,8"), axis("bandwidth=100 GB/s, 50 GB/s")};
  for (const char* text :
       {"message=1 MB..100 MB:10000", "message=1 MB..100 MB:10000log", "message=1 MB..100 MB+9901",
        "message=1 MB..100 MB*1.0005", "message=7 MB, 1 MB..100 MB:9000, 3 MB"}) {
    INFO(text);
    std::vector<SpaceAxis> axes = others;
    axes.push_back(axis(text));
    const Space ranges(ring(), axes);
    CHECK(axes.back().numbers.memory() < 1000);
    axes.back() = numbers_axis("message", numbers(axes.back()), dim::data::exps);
    CHECK(axes.back().numbers.memory() > 8 * axes.back().size());
    const Space lists(ring(), axes);
    for (const auto strategy : {Strategy::exhaustive, Strategy::branch_and_bound}) {
      Question asked = q;
      if (strategy == Strategy::branch_and_bound) asked.top = 1, asked.histogram.reset();
      const ExploreOptions options{.strategy = strategy, .threads = 2};
      const auto a = explore(ranges, asked, options), b = explore(lists, asked, options);
      REQUIRE(a.best.size() == b.best.size());
      for (std::size_t k = 0; k < a.best.size(); ++k) {
        CHECK(a.best[k].index == b.best[k].index);
        CHECK(a.best[k].objectives == b.best[k].objectives);
        CHECK(a.best[k].labels == b.best[k].labels);
      }
      CHECK(a.feasible == b.feasible);
      CHECK(a.boxes == b.boxes);
      if (a.histogram) CHECK(a.histogram->bins == b.histogram->bins);
    }
  }
}

TEST_CASE("what an axis tells of its members is so", "[explore][space]") {
  for (const char* text : {"b=1..9", "b=9, 1..4, 2", "b=1..64*2, 64..100:5", "b=0.1..10:7log", "b=5",
                           "b=1..2:1", "b=3,1,2", "b=1..4, 3..9:2, 0"}) {
    INFO(text);
    const auto a = axis(text);
    const auto all = numbers(a);
    const Axis& n = a.numbers;
    CHECK(n.ascending() == std::is_sorted(all.begin(), all.end()));
    CHECK(n.whole() == std::all_of(all.begin(), all.end(), [](double x) { return x == std::floor(x); }));
    const Axis table = n.listed_up_to(100);
    for (std::size_t first = 0; first < all.size(); ++first) {
      CHECK(table[first] == all[first]);
      for (std::size_t last = first + 1; last <= all.size(); ++last) {
        const auto [low, high] = std::minmax_element(all.begin() + static_cast<long>(first),
                                                     all.begin() + static_cast<long>(last));
        CHECK(n.extent(first, last).low == *low);
        CHECK(n.extent(first, last).high == *high);
        std::vector<double> copied(last - first);
        n.copy(first, last - first, copied.data());
        CHECK(std::equal(copied.begin(), copied.end(), all.begin() + static_cast<long>(first)));
      }
    }
    for (double x = -1; x < 70; x += 0.37) {
      const auto near = std::min_element(
          all.begin(), all.end(), [&](double p, double q) { return std::fabs(p - x) < std::fabs(q - x); });
      CHECK(n.nearest(x) == static_cast<std::size_t>(near - all.begin()));
    }
  }
  Axis mine = axis("b=1..3").numbers, copy = mine;
  mine.add(7);
  Axis other = mine;
  other.add(8);
  CHECK(copy.size() == 3);
  CHECK(mine.size() == 4);
  other.add(other);
  CHECK(other.size() == 10);
  CHECK(other[9] == 8);
  CHECK(mine[3] == 7);
}

TEST_CASE("axes that cannot be are refused", "[explore][space]") {
  for (const char* bad : {"b", "=1", " =1", "b,,c=1x2x3", "b=1..42949672,4$", "b=", "b=1,,2", "b=4..1",
                          "b=1..64*1", "b=0..8*2", "b=1..8:0", "b=1..1e12", "b=nan..4", "b=1..2:1e30",
                          "b=1 GB/s..2 GB/s", "a,b=1x2x3", "a,b=1", "b=divisors(0.5)", "b=-1..4:8log"}) {
    INFO(bad);
    CHECK_THROWS_AS(axis(bad), Error);
  }
  CHECK_THROWS_WITH(axis(" =1"), ContainsSubstring("a name of the axis is empty") &&
                                     ContainsSubstring("found ' =1'") && ContainsSubstring("NAME=VALUES"));
  CHECK_THROWS_WITH(axis("b=4$,1..42949672"), ContainsSubstring("a range of 42949672 values") &&
                                                  ContainsSubstring("at most 65536") &&
                                                  ContainsSubstring("an axis of their own"));
}

TEST_CASE("numbers before a value of another kind stay what they are", "[explore][space]") {
  SpaceAxis mixed{.names = {"b"}, .rows = {}, .labels = {}, .numbers = {}};
  for (const double x : {4.0, 2.0, 8.0}) mixed.add(DynamicValue(Value(x), Exponents{}));
  mixed.add(DynamicValue(Value(std::string("auto")), Exponents{}));
  REQUIRE(mixed.size() == 4);
  CHECK(std::get<double>(mixed.value(0).value) == 4);
  CHECK(std::get<double>(mixed.value(1).value) == 2);
  CHECK(std::get<double>(mixed.value(2).value) == 8);
  CHECK(std::get<std::string>(mixed.value(3).value) == "auto");
}

TEST_CASE("spaces that cannot be are refused with what to do", "[explore][space]") {
  CHECK_THROWS_WITH(Space(ring(), {}), ContainsSubstring("needs an axis"));
  CHECK_THROWS_WITH(Space(ring(), {SpaceAxis{{"ranks"}, {}, {}}}), ContainsSubstring("is empty"));
  CHECK_THROWS_WITH(Space(ring(), {axis("ranks=2,4"), axis("ranks=8")}), ContainsSubstring("on two axes"));
  CHECK_THROWS_WITH(Space(ring(), {axis("rank=2,4")}), ContainsSubstring("rank"));
  CHECK_THROWS_AS(Space(ring(), {axis("bandwidth=1 s, 2 s")}), DimensionError);
  CHECK_THROWS_AS(Space(ring(), {axis("ranks=0, 2")}), DomainError);
  CHECK_THROWS_WITH(
      Space(ring(), {axis("ranks=1..1e6"), axis("message=1 GB..2 GB:1000000"),
                     axis("bandwidth=1 GB/s..2 GB/s:1000000"), axis("alpha=1 us..2 us:1000000")}),
      ContainsSubstring("too many points"));
}

TEST_CASE("a point is its index: structural axes slowest, the last axis fastest", "[explore][space]") {
  auto s = scenario("Llama3_8B", "H100", 8, Mode::serve, 1);
  s.load = Load::burst;  // chunks of prompts make their length structural
  SpaceAxis precision{{"precision"}, {{DynamicValue("fp16")}, {DynamicValue("fp8")}}, {}};
  const Space space(problem_of(s), {axis("batch_size=1,2,4"), precision, axis("seq_len=128,256")});
  CHECK(space.size() == 12);
  CHECK(space.structural_axes() == 1);
  CHECK(space.axes()[0].names[0] == "precision");
  CHECK(space.rows_at(0) == std::vector<std::size_t>{0, 0, 0});
  CHECK(space.rows_at(7) == std::vector<std::size_t>{1, 0, 1});
  CHECK(space.rows_at(11) == std::vector<std::size_t>{1, 2, 1});
}

TEST_CASE("any text of an axis is read or refused", "[explore][space][fuzz]") {
  const std::string_view pieces[] = {"a",  "b",   "=",   "1",         "8", "..",       "*",
                                     "+",  ":",   "log", ",",         "x", " ",        "GB",
                                     "/s", "1e9", "-",   "divisors(", ")", "degrees(", "nan"};
  std::mt19937 random(5);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (auto k = random() % 10; k > 0; --k) text += pieces[random() % std::size(pieces)];
    try {
      if (axis(("a=" + text).c_str()).size() > 0) ++read;
    } catch (const Error&) {
    }
  }
  CHECK(read > 0);
}

TEST_CASE("a space over other figures is another space", "[explore][space]") {
  const auto fingerprint = [](double bandwidth, const char* second) {
    HardwareNode own = standard_zoo().at<HardwareNode>("H100");  // made by hand: the zoo does not know it
    own.memory.bandwidth = bandwidth * unit::TB / unit::s;
    auto s = scenario("Llama3_8B", "H100", 8, Mode::serve, 1);
    SpaceAxis hardware{{"hardware"}, {{DynamicValue(s.hardware)}, {DynamicValue(&own)}}, {"one", second}};
    return Space(problem_of(s), {hardware, axis("batch_size=1,2")}).fingerprint();
  };
  CHECK(fingerprint(3, "other") == fingerprint(3, "other"));
  CHECK(fingerprint(3, "other") != fingerprint(3.1, "other"));
  CHECK(fingerprint(3, "other") == fingerprint(3, "another name of it"));
  auto s = scenario("Llama3_8B", "H100", 8, Mode::serve, 1);
  HardwareNode own = *s.hardware;
  s.hardware = &own;
  const auto before = Space(problem_of(s), {axis("batch_size=1,2")}).fingerprint();
  own.memory.bandwidth = 9 * unit::TB / unit::s;
  const auto after = Space(problem_of(s), {axis("batch_size=1,2")}).fingerprint();
  CHECK(after != before);
  Conventions conventions = conventions_of(standard_zoo());
  s.conventions = &conventions;
  const auto own_conventions = Space(problem_of(s), {axis("batch_size=1,2")}).fingerprint();
  conventions.memory_fragmentation = 0.123;
  CHECK(own_conventions != after);
  CHECK(Space(problem_of(s), {axis("batch_size=1,2")}).fingerprint() != own_conventions);
}
