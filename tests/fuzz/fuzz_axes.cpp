/// Fuzzes the texts of axes: lists, ranges, coupled names, divisors. Whatever the text, only mlsysim::Error
/// is thrown, every refusal has an id and words, an axis has values and none is NaN, and what it holds is
/// read again to the same numbers. Nothing is listed that was not typed: a range of 2^32 - 1 values is three
/// numbers.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_axes [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/quantity.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;

DynamicValue value_of(std::string_view, std::string_view text) {
  const auto q = AnyQuantity::parse(text);
  return {Value(q.base()), q.exponents()};
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Its first, last and middle values, written and read again.
void check_values(const SpaceAxis& axis, const std::string& text) {
  if (axis.size() == 0) fail("an axis without values", text);
  if (axis.names.empty() || axis.title().empty()) fail("an axis without a name", text);
  for (const auto row : {std::size_t{0}, axis.size() / 2, axis.size() - 1}) {
    if (axis.label(row).empty()) fail("a value without a label", text);
    std::string again = axis.names[0] + "=";
    const auto v = axis.value(row);
    const auto* x = std::get_if<double>(&v.value);
    if (x == nullptr || axis.names.size() > 1) return;
    if (*x != *x) fail("a value that is no number", text);
    again += format_exact(AnyQuantity::from_base(*x, v.exps));
    const auto read = parse_axis(again, value_of);
    if (read.size() != 1 || !same(read.number(0), *x)) fail("another value when it is read again", again);
  }
}

bool check(const std::string& text) {
  if (text.find('@') != std::string::npos) return false;  // files are of another target
  return fuzz::takes(text, [&] { check_values(parse_axis(text, value_of), text); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  static const std::vector<std::string> seeds{
      "batch_size=1,2,4",        "seq_len=1024..8192*2",        "batch_size=1..64",
      "batch_size=8..64+8",      "bandwidth=1 TB/s..8 TB/s:64", "bandwidth=1 GB/s..8 TB/s:12log",
      "tp_size,pp_size=1x8,2x4", "pp_size=divisors(64)",        "batch_size=8..4294967296+8",
      "price=0.5 USD/h,2 USD/h"};
  static const std::vector<std::string> pieces{
      "=", ",",          "..",   "*",     "+",   ":",   "log", "x",      "divisors(", ")",    "1e308", "-1",
      "0", "4294967296", "1e18", " TB/s", " ms", "nan", "inf", "5e-324", "tp_size",   "\xC3", "\""};
  return mlsysim::fuzz::run(argc, argv, 40000, {seeds, pieces}, check);
}
#endif
