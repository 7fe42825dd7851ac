#pragma once
// What the tests of the catalogue share.

#include <support/catch.hpp>

#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

namespace worked {

using namespace mlsysim;

inline const Workload& model(const char* name) { return standard_zoo().at<Workload>(name); }
inline const HardwareNode& device(const char* name) { return standard_zoo().at<HardwareNode>(name); }
inline const Fleet& fleet(const char* name) { return standard_zoo().at<Fleet>(name); }
/// Agrees with a figure of six digits.
inline auto is(double x) { return Catch::Matchers::WithinRel(x, 1e-5); }
inline constexpr auto per_s = unit::request / unit::s;

}  // namespace worked
