#include "support/catch.hpp"

#include <mlsysim/files/csv.hpp>

#include <random>

using namespace mlsysim;

TEST_CASE("csv: quotes, doubled quotes, line breaks and CRLF", "[validation]") {
  const auto t = CsvTable::parse("a,b\r\n\"x, \"\"y\"\"\",2\r\n\"two\nlines\",-1.5e3", "t.csv");
  REQUIRE(t.rows() == 2);
  CHECK(t.text(0, 0) == "x, \"y\"");
  CHECK(t.text(1, 0) == "two\nlines");
  CHECK(t.number(1, 1) == -1500);
  CHECK(t.where(1, 1).line == 4);
  CHECK(t.where(1, 1).column == 8);
}

TEST_CASE("csv: faults name line and column", "[validation]") {
  struct Case {
    const char *text, *message;
    int line, column;
  };
  for (const auto& c :
       {Case{"", "empty", 1, 1}, Case{"a,a\n", "twice", 1, 3}, Case{"a,\n", "no name", 1, 3},
        Case{"a,b\n1\n", "another number", 2, 1}, Case{"a,b\n1,2,3\n", "another number", 2, 5},
        Case{"a\n\n", "line is empty", 2, 1}, Case{"a\nx\"y\n", "quote stands inside", 2, 2},
        Case{"a\n\"x\"y\n", "follows a closing quote", 2, 4}, Case{"a\n\"x", "does not end", 2, 1},
        Case{"a\rb\n", "carriage return", 1, 3}}) {
    INFO(c.text);
    try {
      (void)CsvTable::parse(c.text, "t.csv");
      FAIL("accepted");
    } catch (const InputError& e) {
      CHECK(e.facts().message.find(c.message) != std::string::npos);
      CHECK(e.facts().where.file == "t.csv");
      CHECK(e.facts().where.line == c.line);
      CHECK(e.facts().where.column == c.column);
    }
  }
}

TEST_CASE("csv: a number that is none says where", "[validation]") {
  const auto t = CsvTable::parse("a,b\n1,12x\n", "t.csv");
  CHECK_THROWS_WITH(t.number(0, 1), Catch::Contains("t.csv:2:3") && Catch::Contains("'12x'"));
  CHECK_THROWS_WITH(t.column("c"), Catch::Contains("no column 'c'"));
}

TEST_CASE("csv: columns of a second table are found by values that both have", "[validation]") {
  auto t = CsvTable::parse("run,half,ms\nr1,a,5\nr2,b,7\n", "t.csv");
  const std::vector<std::size_t> here{0, 1}, there{1, 0}, taken{2};
  t.join(CsvTable::parse("half,run,tp\nb,r2,8\na,r2,4\n", "plans.csv"), here, there, taken);
  REQUIRE(t.columns() == std::vector<std::string>{"run", "half", "ms", "tp"});
  CHECK(t.text(0, 3).empty());
  CHECK(t.number(1, 3) == 8);
  CHECK(t.where(1, 3).line == 3);
  const std::vector<std::size_t> run{0}, other{1}, ms{0};
  CHECK_THROWS_AS(t.join(CsvTable::parse("tp,run\n1,r1\n2,r1\n", "twice.csv"), run, other, {}), InputError);
  CHECK_THROWS_AS(t.join(CsvTable::parse("ms,run\n1,r1\n", "taken.csv"), run, other, ms), InputError);
}

TEST_CASE("csv: any bytes are read or refused, never anything else", "[validation][fuzz]") {
  std::mt19937 random(7);
  const std::string alphabet("a,\"\n\r1.;\0 \xEF", 11);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      const auto t = CsvTable::parse(text, "fuzz");
      for (std::size_t r = 0; r < t.rows(); ++r)
        for (std::size_t c = 0; c < t.columns().size(); ++c) CHECK(t.where(r, c).line >= 1);
    } catch (const Error& e) {
      CHECK(e.facts().where.line >= 1);
    }
  }
}
