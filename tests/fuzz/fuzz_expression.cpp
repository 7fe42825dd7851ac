/// Fuzzes expressions and constraints over the columns of a table. Whatever the text, only mlsysim::Error is
/// thrown, every refusal has an id and words, evaluating never fails, and what was read is read again to the
/// same value.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_expression [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/resolver_api/expression.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;
using fuzz::takes;

const std::vector<std::string>& columns() {
  static const std::vector<std::string> all{"time", "batch", "tp", "size"};
  return all;
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

void check_value(const Expression& e, const ExpressionScope& scope, const std::string& text) {
  const std::array<double, 8> ordinary{0.25, 8, 2, 1e9, 1, 1, 1, 0}, odd{0, -1, 1e308, 5e-324, 0, 0, 0, 0};
  const auto again = Expression::parse(e.text(), scope);
  for (const auto& slots : {ordinary, odd})
    if (const double x = e(slots), y = again(slots); !same(x, y) && !(x != x && y != y))
      fail("read again it has another value", text);
  for (const auto slot : e.slots())
    if (slot >= ordinary.size()) fail("a slot that there is not", text);
}

bool check(const std::string& text) {
  const ExpressionScope scope{{}, {}, columns()};
  const bool value = takes(text, [&] { check_value(Expression::parse(text, scope), scope, text); });
  const bool condition = takes(text, [&] {
    const auto c = ConstraintExpression::parse(text, scope);
    check_value(c.left(), scope, text);
    check_value(c.right(), scope, text);
    if (!c.possible(Interval(-1e300, 1e300), Interval(-1e300, 1e300)))
      fail("no number of any size may hold", text);
  });
  return value || condition;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  static const std::vector<std::string> seeds{"time",
                                              "batch / (tp * 2)",
                                              "max(time, 10 * size) < 2 or batch == 1",
                                              "(tp > 4) and batch <= 8",
                                              "2 GB / 1 s",
                                              "-abs(sqrt(size)) + floor(1.5)",
                                              "time <= 500",
                                              "min(1, 2, 3)",
                                              "log2(batch) != 3"};
  static const std::vector<std::string> pieces{
      "(",     ")",    " and ", " or ",  "<=",   "==",     "!=",   "<",    "+",     "-",
      "*",     "/",    "^2",    "1e308", "0",    "500 ms", "GB/s", "time", "batch", "tp",
      "timee", "max(", "sqrt(", ",",     "\xC3", "'",      "\"",   "nan",  "inf"};
  return mlsysim::fuzz::run(argc, argv, 60000, {seeds, pieces}, check);
}
#endif
