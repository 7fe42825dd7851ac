#pragma once
/// Pictures of answers to questions about many points: what a number hangs on, fronts, curves, heat maps,
/// histograms, differences.

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/plot/front_beside.hpp>
#include <mlsysim/plot/picture.hpp>

#include <string_view>

namespace mlsysim {

/// Tornado: what the largest levers do to a result when each moves by the step of the report.
[[nodiscard]] Picture tornado_picture(const SensitivityReport& report, std::size_t most = 14);

/// Which changed figure makes how much of a difference.
[[nodiscard]] Picture difference_picture(const DifferenceReport& report, std::size_t most = 14);

/// A result over one axis of numbers, a line for each choice of an axis beside it. Kinks are marked where
/// another part of the time becomes the longest; points that do not fit are left out and counted.
/// @throws InputError for a space of another shape
[[nodiscard]] Picture curve_picture(const Space& space, std::string_view result);

/// A result over two axes. @throws InputError for a space of another shape
[[nodiscard]] Picture heat_map_picture(const Space& space, std::string_view result);

/// How a number is distributed over a space. @throws InputError for an answer without a histogram
[[nodiscard]] Picture histogram_picture(const ExploreAnswer& answer);

/// The first two objectives of a front, with intervals of its points and measured ones where they are given.
/// @throws InputError for fewer than two objectives or an empty front
[[nodiscard]] Picture front_picture(const ExploreAnswer& answer, const FrontBeside& beside = {});

}  // namespace mlsysim
