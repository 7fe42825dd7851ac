#pragma once
/// The 22 walls of MLSys-im: limits of a machine-learning system, each with its constraint and equation.
///
/// They fall into six domains: node, data, algorithm, fleet, operations and analysis.
/// Example: `wall(7)` is "Tail latency" in the domain "node", with the equation "P(wait) = C(servers, load)".
/// `resolvers_of_wall(7)` begins with "TailLatencyModel".

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A limit and where it applies.
struct Wall {
  int number = 0;
  std::string_view name;
  std::string_view domain;      ///< node, data, algorithm, fleet, operations or analysis
  std::string_view constraint;  ///< what cannot be exceeded, in words
  std::string_view equation;    ///< its headline, in plain text
};

inline constexpr int kWalls = 22;

/// All walls, by number.
[[nodiscard]] std::span<const Wall> walls();
/// The wall of this number. @throws LookupError for a number outside 1 to 22
[[nodiscard]] const Wall& wall(int number);
/// Names of the resolvers of the standard registry that cover a wall, in order of registration; the first
/// owns it.
[[nodiscard]] std::vector<std::string> resolvers_of_wall(int number);

/// Ids of the laws that a shipped resolver uses. Empty for other resolvers. A law lists itself.
[[nodiscard]] std::span<const std::string_view> laws_of(std::string_view resolver);
/// A call of a resolver of the catalogue as arguments of the command line, e.g. "--workload Llama3_8B
/// --hardware H100".
[[nodiscard]] std::string_view example_of(std::string_view resolver);

}  // namespace mlsysim
