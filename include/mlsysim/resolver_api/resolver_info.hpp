#pragma once
/// Description of a resolver (name, tier, law, source, walls, fallacies), and the three tiers.
///
/// Example: `ResolverRegistry::standard().at("TailLatencyModel").info()` has tier `model`, walls {7} and
/// source "deanbarroso2013tail".

#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The three tiers: Y = f(X); X = f^-1(Y) or the gradient of f; max f(x) subject to g(x) <= c.
enum class Tier : std::uint8_t { model, solver, optimizer };
template <> inline constexpr auto names_of<Tier> = ChoiceNames{"tier"};

/// A common misconception and what is true instead.
struct Fallacy {
  std::string_view misconception;
  std::string_view correction;
};

/// Facts about one resolver, in owned texts, so that resolvers made at run time have them too.
struct ResolverInfo {
  struct Misconception {
    std::string misconception;
    std::string correction;
  };

  std::string name;  ///< unique in a registry; the default name of its pipeline stage
  Tier tier = Tier::model;
  std::string about;           ///< one line
  std::string law;             ///< the equation, where the resolver is one
  std::string source;          ///< key of zoo/references.yaml
  std::string origin = "C++";  ///< who provides it: "C++", "Python", or a plugin's name
  std::vector<int> walls;      ///< numbers of the walls that it covers
  std::vector<Misconception> fallacies;
  bool thread_safe = false;  ///< may run beside others; said by the author, never assumed
};

}  // namespace mlsysim
