#pragma once
/// The counting half of a search: knows scores and indices, not candidates.

#include <mlsysim/resolve/search_summary.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Names a candidate when somebody wants to read it.
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

  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t feasible() const { return feasible_; }
  [[nodiscard]] double best_objective() const { return sign_ * best_; }
  [[nodiscard]] SearchSummary summary() const;

 private:
  struct Miss {
    double objective = std::numeric_limits<double>::infinity();  // signed: smaller is better
    double excess = std::numeric_limits<double>::infinity();
    double value = 0, limit = 0;
    std::string candidate;
  };
  struct Limit {
    std::string_view name;
    Exponents exps;
    Sense sense;
    Miss best;     // the best objective among those that miss this constraint alone
    Miss nearest;  // the smallest excess among those
  };

  /// Counts a skip or a miss; true when neither.
  bool admit(double objective, const InlineList<Constraint, 8>& constraints, std::string_view skip,
             const Namer& name);
  void miss_one(double objective, const Constraint& c, const Namer& name);
  void miss_many(const InlineList<Constraint, 8>& constraints, const Namer& name);
  static std::string relaxation(const Limit& limit, const Miss& miss);

  double sign_;
  double best_ = std::numeric_limits<double>::infinity();
  Exponents exps_{};
  std::string best_name_;
  std::size_t total_ = 0, feasible_ = 0, infeasible_ = 0, skipped_ = 0;
  bool cancelled_ = false;
  std::vector<SearchSummary::Skipped> reasons_;
  std::vector<Limit> limits_;
  double nearest_of_many_ = std::numeric_limits<double>::infinity();
  std::string many_names_, many_text_;
};

}  // namespace mlsysim::detail
