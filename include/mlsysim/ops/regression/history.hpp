#pragma once
/// History of predictions by commit in an SQLite file, and the first commit from which a number is worse.
///
///   worse: value > good * (1 + tolerance)    where lower is better
///
/// `first_bad` walks back from the last commit while the number is worse than at `good`, by more than the
/// tolerance. A commit that is stored again replaces its numbers. `prune` removes commits and cells.
/// Example: values 1.0, 1.2, 1.0, 1.005, 1.3, 1.4, 1.3 of commits 0 to 6, lower is better, tolerance 1 %:
/// commit 4 is the first bad one, and commit 3 the last good one.

#include <mlsysim/ops/regression/results.hpp>

#include <cstdint>
#include <optional>

namespace mlsysim {

/// One commit and the number that a cell had there.
struct HistoryPoint {
  std::string commit;
  std::int64_t time = 0;  ///< s since 1970
  double value = 0;       ///< base unit
};

/// One cell over all commits.
struct TrendRow {
  std::string cell;
  std::size_t commits = 0;
  double first = 0, last = 0, low = 0, high = 0;
};

/// One metric over the stored commits.
struct MetricTrend {
  std::string metric, unit;
  Exponents exps{};
  std::vector<TrendRow> rows;  ///< by cell
};

/// The first commit from which on a number is worse.
struct FirstBad {
  HistoryPoint good, bad;          ///< neighbors among the stored commits
  std::size_t between_stored = 0;  ///< commits that were looked at
};

/// Limits of `prune`. It removes a commit if no given limit keeps it.
struct PruneLimits {
  std::optional<std::size_t> keep{};                ///< the newest commits that stay, whatever their age
  std::optional<std::int64_t> before{};             ///< s since 1970; later commits stay
  std::optional<std::vector<std::string>> cells{};  ///< the cells that stay; absent: all
};
/// Commits, cells and numbers that `prune` removed or would remove.
struct Pruned {
  std::vector<std::string> commits, cells;
  std::size_t numbers = 0;
};

/// An open history. It is append-only except for `prune` and for a commit that is stored again.
class CiHistory {
 public:
  enum class Open : std::uint8_t { read, change, write };  ///< write makes a file where there is none
  /// @throws InputError for a file that is no history, or is missing where it is read
  CiHistory(const std::filesystem::path& file, Open how);
  CiHistory(CiHistory&&) noexcept;
  CiHistory& operator=(CiHistory&&) noexcept;
  ~CiHistory();

  /// Stores the numbers of a run, all or none. @param time s since 1970
  void put(const std::string& commit, std::int64_t time, const std::vector<CellResult>& cells);
  /// Removes commits and cells. @param dry says what would go and changes nothing
  /// @throws InputError where no commit would stay
  Pruned prune(const PruneLimits& limits, bool dry);
  /// Commits in the order in which they were first stored.
  [[nodiscard]] std::vector<std::string> commits() const;
  [[nodiscard]] std::vector<std::string> metrics() const;
  [[nodiscard]] std::vector<std::string> cells() const;
  /// Every cell that has the metric. @throws LookupError with near misses
  [[nodiscard]] MetricTrend trend(const std::string& metric) const;
  /// One cell, commit by commit. @throws LookupError with near misses
  [[nodiscard]] std::vector<HistoryPoint> points(const std::string& metric, const std::string& cell) const;
  /// Unit in which a metric is shown, and its dimension.
  [[nodiscard]] std::pair<std::string, Exponents> unit_of(const std::string& metric) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The first of the bad commits in a row that end at `bad`.
/// @param relative tolerance, a share of the number of `good`
/// @param good, bad commits; empty for the first and the last
/// @return nothing where the last is not worse than the first
/// @throws LookupError for commits that are not stored
[[nodiscard]] std::optional<FirstBad> first_bad(const std::vector<HistoryPoint>& points, Better better,
                                                double relative, const std::string& good = {},
                                                const std::string& bad = {});

}  // namespace mlsysim
