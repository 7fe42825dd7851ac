#pragma once
/// Counts the candidates of a search and keeps the best, the nearest misses and the binding constraint.
///
/// It sees scores and indices, and asks for a candidate's name only when it is reported.
/// Example: minimizing x over 1 to 6 with x >= 3 and x <= 4 counts 2 feasible and 4 infeasible. Best is 3,
/// and "low" binds, because relaxing it would admit a smaller x.

#include <mlsysim/resolver_api/points.hpp>
#include <mlsysim/resolver_api/search_summary.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Names a candidate, when the name is read.
struct Namer {
  const void* item;
  std::size_t index;
  std::string (*name)(const void* item, std::size_t index);
  [[nodiscard]] std::string operator()() const { return name(item, index); }
};

/// Which way the objective should go.
enum class Aim : std::uint8_t { minimize, maximize };

/// Counts candidates and remembers the best, the nearest misses and the constraint that binds.
class Tally {
 public:
  explicit Tally(Aim aim) : sign_(aim == Aim::minimize ? 1.0 : -1.0) {}

  /// Counts one candidate; true when it is the best so far (ties go to the earlier one).
  /// @throws DomainError when the objective or a constraint is not finite
  bool count(const Score& score, const Namer& name);
  /// Counts one candidate of a many-objective search; true when it meets every constraint.
  bool count(const ParetoScore& score, const Namer& name);
  void cancel() { cancelled_ = true; }

  [[nodiscard]] std::size_t total() const { return static_cast<std::size_t>(counts_.total()); }
  [[nodiscard]] std::size_t feasible() const { return static_cast<std::size_t>(counts_.feasible); }
  [[nodiscard]] double best_objective() const { return sign_ * best(); }
  [[nodiscard]] SearchSummary summary() const;

 private:
  /// A candidate that misses a constraint, for the report.
  struct Miss {
    double value = 0, limit = 0;
    std::string candidate;
  };
  struct Limit {
    std::string_view name;
    Exponents exps;
    Sense sense;
    TopK
        best{};  // the best objective (signed: smaller is better) among those that miss this constraint alone
    NearMiss nearest{};  // the smallest excess among those
    Miss best_miss{}, nearest_miss{};
  };

  /// Counts a skip or a miss; true when neither.
  bool admit(double objective, const InlineList<Constraint, 8>& constraints, std::string_view skip,
             const Namer& name);
  void miss_one(double objective, const Constraint& c, const Namer& name);
  void miss_many(const InlineList<Constraint, 8>& constraints, const Namer& name);
  static std::string relaxation(const Limit& limit, const Miss& miss);
  [[nodiscard]] double best() const { return best_.threshold(); }

  double sign_;
  PointCounts counts_;
  TopK best_;
  Exponents exps_{};
  std::string best_name_;
  bool cancelled_ = false;
  std::vector<Limit> limits_;
  NearMiss nearest_of_many_;
  std::string many_names_, many_text_;
};

}  // namespace mlsysim::detail
