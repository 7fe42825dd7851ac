#pragma once
// What the tests of the catalogue share.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <string_view>

namespace worked {

using namespace mlsysim;

/// Whether a warning has these words.
inline bool says(const NoteBook& book, std::string_view words) {
  return std::any_of(book.warnings.begin(), book.warnings.end(),
                     [&](const auto& w) { return w.find(words) != w.npos; });
}
inline const Fleet& fleet(const char* name) { return standard_zoo().at<Fleet>(name); }
/// Agrees with a figure of six digits.
inline auto is(double x) { return Catch::Matchers::WithinRel(x, 1e-5); }
inline constexpr auto per_s = unit::request / unit::s;

}  // namespace worked
