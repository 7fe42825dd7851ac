#pragma once
/// Why two configurations differ: which changed figure makes how much of the difference.

#include <mlsysim/explore/subject/subject.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One changed figure and its part of the difference.
struct DifferenceTerm {
  std::string input;  ///< "structure" for what is no number: operators, precision's kernels, schedule
  std::string_view meaning, unit;
  Exponents exps{};
  double from = 0, to = 0;  ///< base unit; zero for the structure
  double part = 0;          ///< of the difference, in the result's base unit
  double share = 0;         ///< of the difference; shares add up to 1
};

/// Difference of one result between two subjects.
struct DifferenceReport {
  std::string from, to, result;
  std::string_view meaning, unit;
  Exponents exps{};
  double at_from = 0, at_to = 0;      ///< base unit
  std::vector<DifferenceTerm> terms;  ///< largest first; parts add up to at_to - at_from
  bool exact = true;                  ///< every order of changes was averaged; else a fixed sample of orders
};

/// Shapley values of the figures that differ: the mean, over the orders in which the figures could change one
/// after the other, of what each change does. They do not depend on an order and add up to the whole
/// difference.
///
/// Every order is taken for up to 12 figures, else 512 orders and their reverses, always the same ones.
/// @throws InputError where the subjects lack the result or are of different kinds; DomainError where a
/// mixture of the two
///         has no finite result
/// @cite shapley1953value
[[nodiscard]] DifferenceReport compare(const Subject& from, const Subject& to, std::string_view result);

}  // namespace mlsysim
