// Axes and their grid.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <random>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {
std::vector<double> numbers(const SpaceAxis& a) {
  std::vector<double> out;
  for (const auto& row : a.rows) out.push_back(std::get<double>(row[0].value));
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

TEST_CASE("axes that cannot be are refused", "[explore][space]") {
  for (const char* bad : {"b", "=1", "b=", "b=1,,2", "b=4..1", "b=1..64*1", "b=0..8*2", "b=1..8:0", "b=1..1e12", "b=nan..4", "b=1..2:1e30",
                          "b=1 GB/s..2 GB/s", "a,b=1x2x3", "a,b=1", "b=divisors(0.5)", "b=-1..4:8log"}) {
    INFO(bad);
    CHECK_THROWS_AS(axis(bad), Error);
  }
}

TEST_CASE("spaces that cannot be are refused with what to do", "[explore][space]") {
  CHECK_THROWS_WITH(Space(ring(), {}), ContainsSubstring("needs an axis"));
  CHECK_THROWS_WITH(Space(ring(), {SpaceAxis{{"ranks"}, {}, {}}}), ContainsSubstring("is empty"));
  CHECK_THROWS_WITH(Space(ring(), {axis("ranks=2,4"), axis("ranks=8")}), ContainsSubstring("on two axes"));
  CHECK_THROWS_WITH(Space(ring(), {axis("rank=2,4")}), ContainsSubstring("rank"));
  CHECK_THROWS_AS(Space(ring(), {axis("bandwidth=1 s, 2 s")}), DimensionError);
  CHECK_THROWS_AS(Space(ring(), {axis("ranks=0, 2")}), DomainError);
  CHECK_THROWS_WITH(Space(ring(), {axis("ranks=1..1e6"), axis("message=1 GB..2 GB:1000000"), axis("bandwidth=1 GB/s..2 GB/s:1000000"),
                                   axis("alpha=1 us..2 us:1000000")}),
                    ContainsSubstring("too many points"));
}

TEST_CASE("a point is its index: structural axes slowest, the last axis fastest", "[explore][space]") {
  const auto s = scenario("Llama3_8B", "H100", 8, Mode::serve, 1);
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
  const std::string_view pieces[] = {"a", "b", "=", "1", "8", "..", "*", "+", ":", "log", ",", "x", " ", "GB", "/s", "1e9", "-", "divisors(", ")", "degrees(", "nan"};
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
  conventions.idle_fraction = 0.123;
  CHECK(own_conventions != after);
  CHECK(Space(problem_of(s), {axis("batch_size=1,2")}).fingerprint() != own_conventions);
}
