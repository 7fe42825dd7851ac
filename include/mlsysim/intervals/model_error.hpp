#pragma once
/// How far predictions lie from measurements that nobody has seen: bands of the nearest groups, made wider by
/// what groups at that distance needed.

#include <mlsysim/intervals/residual_groups.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// Shares of unseen measurements that intervals are asked to hold.
inline constexpr std::array<int, 3> kIntervalLevels{50, 80, 95};

/// Steps between two subjects of one question: the device (another one of the generation 1, of another
/// generation 2), the engine or table (1), the model or shape (1). What is not known is as far as can be.
[[nodiscard]] std::size_t error_distance(const ErrorSubject& a, const ErrorSubject& b);
/// The largest distance there is.
inline constexpr std::size_t kFarthestGroup = 4;

/// What measurements are of a prediction: between `low` and `high` times it.
struct ModelErrorBand {
  int level = 80;            ///< percent that it is to hold
  double low = 1, high = 1;  ///< factors on a time, or on bytes or joules; see `of_rate`
  std::size_t distance = 0;  ///< of the farthest group that was taken
  std::size_t groups = 0, rows = 0;
  double widened = 1;  ///< by what the band of these groups was multiplied
  std::string basis;   ///< "31 rows in 3 groups of the same device and engine"

  /// The band of a rate, which falls where the time grows.
  [[nodiscard]] ModelErrorBand of_rate() const;
};

/// Coverage of bands over groups that were left out.
struct BandCoverage {
  std::string table;
  std::size_t rows = 0, groups = 0;
  std::array<double, kIntervalLevels.size()> group_out{};  ///< shares of the rows; their own group left out
  std::array<double, kIntervalLevels.size()> table_out{};  ///< the whole table left out
};

/// The groups with what the bands of each distance need.
///
/// The band of a subject is that of the residuals of its nearest groups, each group with the same weight: the
/// groups of the smallest distance, and those of the next ones until there are three. Its half width is
/// multiplied by the factor that held the level over the groups of the data when each was asked about as if
/// nothing nearer than this distance had been measured (split conformal at the level of groups); factors do
/// not fall with the distance. Rule: "nearest groups, conformal by distance".
class ErrorBook {
 public:
  explicit ErrorBook(std::vector<ResidualGroup> groups);
  /// The groups that ship with the zoo. Read once.
  [[nodiscard]] static const ErrorBook& standard();

  [[nodiscard]] const std::vector<ResidualGroup>& groups() const { return groups_; }
  /// The band of a subject; none where no table measures its kind of question.
  /// @param level 50, 80 or 95 @throws InputError for another
  [[nodiscard]] std::optional<ModelErrorBand> band(const ErrorSubject& subject, int level) const;
  /// Coverage by table, in the order of the groups.
  [[nodiscard]] std::vector<BandCoverage> coverage() const;

 private:
  struct Left;  // what is left out of the groups that a band is read from
  struct Core;  // centre and half width of the nearest groups
  [[nodiscard]] std::optional<Core> nearest(const ErrorSubject& subject, int level, const Left& left) const;
  [[nodiscard]] double factor(std::size_t distance, std::size_t level, const Left& left) const;

  std::vector<ResidualGroup> groups_;
  struct Score {
    std::size_t group;
    double score, weight;
  };
  /// By distance and level: how many half widths the residuals of left-out groups lie from the centre,
  /// sorted.
  std::array<std::array<std::vector<Score>, kIntervalLevels.size()>, kFarthestGroup + 1> scores_;
};

/// The place of a level among kIntervalLevels. @throws InputError for a level that there is not
[[nodiscard]] std::size_t interval_level(int level);

}  // namespace mlsysim
