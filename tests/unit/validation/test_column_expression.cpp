#include "support/catch.hpp"

#include <mlsysim/validation/column_expression.hpp>

#include <random>

using namespace mlsysim;

namespace {
const CsvTable& table() {
  static const CsvTable t = CsvTable::parse("tp,pp,empty,word\n8,2,,x\n", "t.csv");
  return t;
}
double value(const std::string& text) {
  return ColumnExpression::parse(text, table()).at(table(), 0).value();
}
}  // namespace

TEST_CASE("expressions: precedence and functions", "[validation]") {
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("(1 + 2) * 3 - -1") == 10);
  CHECK(value("tp / pp / 2") == 2);
  CHECK(value("tp * pp == 16 and pp == 1 or 1") == 1);
  CHECK(value("max(tp, 3) + min(pp, 3) + ceil(1.2) + floor(1.8) + round(2.5) + log2(8)") ==
        8 + 2 + 2 + 1 + 3 + 3);
  CHECK(value("tp >= 8 and pp < 2") == 0);
  CHECK(value("given(empty) + 2 * given(tp)") == 2);
  CHECK(value("sqrt(2 * tp) + max(tp, pp, 9) + (1 s < 2 s)") == 4 + 9 + 1);
}

TEST_CASE("expressions: an empty value makes the result absent", "[validation]") {
  CHECK_FALSE(ColumnExpression::parse("tp * empty", table()).at(table(), 0).has_value());
}

TEST_CASE("expressions: faults", "[validation]") {
  CHECK_THROWS_WITH(value("tp +"), Catch::Contains("a number, a name or a parenthesis"));
  CHECK_THROWS_WITH(value("tp tp"),
                    Catch::Contains("an operator or the end") && Catch::Contains("at column 4"));
  CHECK_THROWS_WITH(value("tan(tp)"), Catch::Contains("no function 'tan'"));
  CHECK_THROWS_WITH(value("tp + 2 GB"), Catch::Contains("different units"));
  CHECK_THROWS_WITH(value("tq"), Catch::Contains("no column 'tq'") && Catch::Contains("tp"));
  CHECK_THROWS_WITH(value("tp / 0"), Catch::Contains("not finite"));
  CHECK_THROWS_WITH(value("word"), Catch::Contains("'x'"));
  CHECK_THROWS_WITH(value(std::string(100, '(')), Catch::Contains("nested"));
}

TEST_CASE("expressions: any text is read or refused", "[validation][fuzz]") {
  std::mt19937 random(11);
  const char* const tokens[] = {"tp", "pp", "empty", "1",  "2.5",  "(", ")",      "+", "-", "*",    "/",
                                "==", "<",  "and",   "or", "min(", ",", "given(", " ", "$", "1e400"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 10; n > 0; --n) text += tokens[random() % std::size(tokens)];
    try {
      const auto e = ColumnExpression::parse(text, table());
      const auto x = e.at(table(), 0);
      if (x) CHECK(std::isfinite(*x));
    } catch (const Error&) {
    }
  }
}
