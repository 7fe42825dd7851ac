#pragma once
/// Splits the difference of one result between two setups into parts, one for each input that differs
/// (Shapley values).
///
///   part_k = sum over sets S of other changed inputs:  s! (n - 1 - s)! / n! * (f(S + k) - f(S))
///
/// f(S): the result where the inputs in S have their new value. s: inputs in S. n: inputs that differ. Parts
/// do not depend on an order of the changes, and add up to f(all) - f(none). All sets are evaluated for up to
/// 12 inputs. Beyond, 16 to 512 fixed random orders and their reverses are averaged, until the standard error
/// of each effect is a thousandth of all effects.
/// Example: time = traffic / bandwidth from 2 B at 1 B/s to 6 B at 2 B/s, 2 s to 3 s: traffic +3 s, bandwidth
/// -2 s.
/// @cite shapley1953value

#include <mlsysim/explore/subject/subject.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One changed input and its part of the difference.
struct DifferenceTerm {
  std::string input;  ///< "structure" for changes that are no numbers: operators, kernels, schedule
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

/// Shapley values of the inputs that differ.
/// @throws InputError where the subjects lack the result or are of different kinds; DomainError where a
///         mixture of the two has no finite result
[[nodiscard]] DifferenceReport compare(const Subject& from, const Subject& to, std::string_view result);

}  // namespace mlsysim
