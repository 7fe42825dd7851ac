#pragma once
/// Pictures of answers about many points: tornado, difference, curve, heat map, histogram and Pareto front.
///
/// A tornado shows the change of one result when each input moves by the report's step and the others stay. A
/// difference shows the Shapley value of each changed input. Points that do not fit are left out and counted.
/// Example: ITL of Llama3_70B on 8 H100 over batch_size {1, 16, 4096} and seq_len {1024, 2048}: the heat map
/// draws 4 cells, and its note counts 2 of 6 points that do not fit.

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/plot/front_beside.hpp>
#include <mlsysim/plot/picture.hpp>

#include <string_view>

namespace mlsysim {

/// The effects of the inputs that move a result most, at most `most` of them.
[[nodiscard]] Picture tornado_picture(const SensitivityReport& report, std::size_t most = 14);

/// The part of each changed input in a difference. Parts beyond the first `most` are one bar.
[[nodiscard]] Picture difference_picture(const DifferenceReport& report, std::size_t most = 14);

/// The error of a curve or a heat map of which no point fits.
inline constexpr std::string_view kNothingFits = "mlsysim.picture.014";

/// A result over one axis of numbers, a line for each choice of an axis beside it. Kinks are marked where
/// another part of the time becomes the longest.
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
