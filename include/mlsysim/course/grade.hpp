#pragma once
/// Grades a student's resolvers against the checks of an assignment.
///
/// A check passes when it has no complaints. Each complaint states what was found, what was expected, and the
/// usual cause.
/// Example: a result of 2 s where 4 s is expected gives "time: found 2 s, expected 4 s (half: a factor of 2
/// left out?)". `factor_words(1000)` is "1000 times: a decimal prefix?".

#include <mlsysim/course/assignment.hpp>

#include <string>
#include <vector>

namespace mlsysim {
class ResolverRegistry;
class Zoo;
}  // namespace mlsysim

namespace mlsysim::course {

/// The outcome of one check.
struct Grade {
  std::string check;
  double points = 1;
  std::vector<std::string> complaints{};  ///< found and expected, a sentence each; none: it passed
  std::string call{}, hint{};             ///< how it was called, and what to look at

  [[nodiscard]] bool passed() const { return complaints.empty(); }
};

/// Runs the checks in order, but for those of the kit, over the resolvers of a registry: course/NAME, else
/// NAME. Whatever a resolver throws is a complaint. Relations, zeros and tiers count once a check has shown a
/// value other than zero, so that a file to begin with has no points.
/// @throws InputError where a check itself cannot be read
[[nodiscard]] std::vector<Grade> grade(const Assignment& assignment, const ResolverRegistry& registry,
                                       const Zoo& zoo);

/// Names the usual cause of a number that is `factor` times too large: "1000 times: a decimal prefix?".
/// A factor without a usual cause gives "3.7 times"; 0 and non-finite factors give an empty text.
[[nodiscard]] std::string factor_words(double factor);

/// Points of what passed, and of everything.
struct Score {
  double points = 0, of = 0;
  std::size_t passed = 0, checks = 0;
};
[[nodiscard]] Score score_of(const std::vector<Grade>& grades);

}  // namespace mlsysim::course
