#include "support/catch.hpp"

#include <mlsysim/specs/detail/default_precision.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/units/unit.hpp>

using namespace mlsysim;

namespace {

HardwareNode device() {
  HardwareNode h;
  h.name = "Card";
  h.compute.dense[Precision::fp16] = 100 * unit::TFLOP / unit::s;
  h.compute.dense[Precision::int8] = 200 * unit::TFLOP / unit::s;
  return h;
}

}  // namespace

TEST_CASE("rate_at gives the dense rate or names the precisions that there are", "[spec]") {
  const auto h = device();
  CHECK(rate_at(h, Precision::int8).base() == 200e12);
  try {
    (void)rate_at(h, Precision::fp8);
    FAIL("no error");
  } catch (const LookupError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("'Card' has no fp8 arithmetic"));
    CHECK_THAT(error.what(), ContainsSubstring("one of fp16, int8"));
    CHECK(error.facts().key == "precision");
  }
  CHECK_THROWS_WITH(rate_at(HardwareNode{}, Precision::fp16), ContainsSubstring("the device has no fp16"));
}

TEST_CASE("peak_flops is the dense rate at the default precision", "[spec]") {
  auto h = device();
  CHECK(h.compute.peak_flops().base() == 100e12);
  h.compute.default_precision = Precision::int8;
  CHECK(h.compute.peak_flops().base() == 200e12);
  h.compute.default_precision = Precision::bf16;
  CHECK_THROWS_WITH(h.compute.peak_flops(), ContainsSubstring("found bf16, expected one of fp16, int8"));
  CHECK_THROWS_AS(ComputeCore{}.peak_flops(), InputError);
}

TEST_CASE("a core without fp16 takes the format that it has, where none was stated", "[spec]") {
  ComputeCore core;
  detail::settle_default_precision(core);  // no rate at all
  CHECK(core.default_precision == Precision::fp16);
  const auto rate = 100 * unit::TFLOP / unit::s;
  for (const auto p : {Precision::int8, Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16}) {
    core.dense[p] = rate;
    core.default_precision = Precision::fp16;
    detail::settle_default_precision(core);
    CHECK(core.default_precision == p);
  }
}

TEST_CASE("the names of the rates are in the order of the precisions", "[spec]") {
  CHECK(device().compute.dense.names() == std::vector<std::string>{"fp16", "int8"});
  CHECK(RatePerPrecision{}.empty());
  CHECK_FALSE(device().compute.dense.empty());
}

TEST_CASE("every precision has a name and a width", "[spec]") {
  CHECK(Choices<Precision>::names.size() == kPrecisions);
  CHECK(bytes_per_element(Precision::bf16) == 2);
  CHECK(bytes_per_element(Precision::int4) == 0.5);
  CHECK(bytes_per_element(Precision::mxint8) == 1);
  CHECK(name_of(static_cast<Precision>(kPrecisions - 1)) == "mxint8");
}
