#pragma once
/// Prediction interval from the errors on measured groups, nearest first (conformal prediction for groups).
///
///   weight(d) = outside * n / (n + 1)              d = 0, 1, ..., 7, from outside = 1
///   outside  := outside / (n + 1)                  half of it lies on either side of all residuals
///   low, high = exp(center -+ widened * half)      factors on a predicted time
///
/// d: `error_distance` of groups. n: groups at d, or their devices, releases or links if none is the
/// subject's. center, half: of the range between the quantiles (1 -+ level) / 2 of the weighted residuals
/// log(measured / predicted). A range without 0 is moved to end at 0. widened: factor that held the level
/// over left-out groups. A metric that no table measures has no band.
/// Example: one group at distance 0 with residuals 0.01, 0.02, ..., 0.10: the 80 % band is 1 to exp(0.10) =
/// 1.105.

#include <mlsysim/intervals/residual_groups.hpp>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// Levels of intervals: percent of unseen measurements that an interval should contain.
inline constexpr std::array<int, 3> kIntervalLevels{50, 80, 95};

/// Steps between two subjects of one metric: the device (another one of the generation 1, of another
/// generation 2), the software (another release 1, another engine, family of kernels or table 2), the model
/// or shape (1), the kind of link between devices (1), and a device with measured kernels against one with
/// the parameters of its class (1). An unknown device, software or model counts as different.
///
/// Example: a step of Llama 3 70B under vLLM 0.12 on an H100 against one of the same model under vLLM 0.18 on
/// an H200: another device of the generation 1, another release 1, together 2.
[[nodiscard]] std::size_t error_distance(const ErrorSubject& a, const ErrorSubject& b);
/// The largest distance there is.
inline constexpr std::size_t kFarthestGroup = 7;
/// Bits say what none of the nearest groups shares with a subject: its device, its software.
inline constexpr std::size_t kKnown = 0, kOtherDevice = 1, kOtherSoftware = 2, kAparts = 4;

/// The range that should contain a measurement: `low` to `high` times the prediction.
struct ModelErrorBand {
  int level = 80;                    ///< percent of measurements that it should contain
  double low = 1, high = 1;          ///< factors on a time, or on bytes or joules; see `of_rate`
  std::size_t distance = 0;          ///< of the nearest groups
  std::size_t groups = 0, rows = 0;  ///< the nearest
  double widened = 1;                ///< factor on the half width
  std::string basis;                 ///< "31 rows in 3 groups, 1 step away"

  /// The band of a rate, which falls where the time grows.
  [[nodiscard]] ModelErrorBand of_rate() const;
};

/// Coverage of bands over groups that were left out.
struct BandCoverage {
  std::string table;
  std::size_t rows = 0, groups = 0;
  std::array<double, kIntervalLevels.size()> group_out{};  ///< shares of the rows; their own group left out
  std::array<double, kIntervalLevels.size()> table_out{};  ///< the whole table left out
  struct Range {
    double low = 0, high = 1;
  };
  /// The central 90 % of the coverage that these rows would show if bands held exactly their level. Rows of a
  /// group are held or missed together, with the correlation over all tables. The rows therefore count as
  /// fewer independent ones, and the number held among these is binomial.
  std::array<Range, kIntervalLevels.size()> allowed{};
};

/// Coverage of 80 % bands for one kind of quantity, if all groups are left out that ...
struct StratumCoverage {
  std::string stratum;  ///< "token time", "kernels"
  struct Kept {
    double held = 0;  ///< share of the rows
    double half = 0;  ///< median half width of the bands, a logarithm
    std::size_t rows = 0;
  };
  Kept group;     ///< ... are the group itself
  Kept device;    ///< ... are of its device, which then has the parameters of its class
  Kept software;  ///< ... are of its release, family of kernels or table
  Kept link;      ///< ... have its kind of link; of groups with several devices
};

/// The central 90 % of the shares k / n of a binomial number k.
/// @param n at least 1 @param p from 0 to 1, both ends excluded
[[nodiscard]] BandCoverage::Range binomial_range(std::size_t n, double p);

/// Groups of residuals, and the factors that widen the bands of each distance.
///
/// n counts devices, releases or kinds of link if the groups share none of them with the subject. Forty
/// groups of one device are one witness of another device's error. If both quantiles lie on one side of the
/// prediction, the band ends at the prediction and keeps its probability.
///
/// A widening factor is the one that held the level over the rows of other groups of the kind of quantity
/// ("kernels"), each predicted as if nothing had been measured on its device, under its software or both,
/// where the nearest groups of the subject are of other devices, other software or both. The groups of all
/// other kinds count together as five. There is no further (n + 1) / n: the mixture keeps 1 / (n + 1) outside
/// of all residuals. A device without measured kernels is predicted with the parameters of its class. Its
/// band uses devices in that case, and the errors that measured devices would have with the parameters of
/// their class (`ResidualGroup::unmeasured`). Those errors do not count for a measured device. A group's
/// parents stand in place of an infinite interval. References: Lee, Barber and Willett, "Distribution-free
/// inference with hierarchical data" (2023); Dunn, Wasserman and Ramdas, "Distribution-free prediction sets
/// for two-layer hierarchical models" (2023); Vovk, "Conditional validity of inductive conformal predictors"
/// (2012).
class ErrorBook {
 public:
  /// @param factors as `factors` gives them for these groups; computed here if empty
  explicit ErrorBook(std::vector<ResidualGroup> groups, BandFactors factors = {});
  /// The groups that ship with the zoo. Read once.
  [[nodiscard]] static const ErrorBook& standard();
  /// The shipped groups of one metric only. Its bands are those of `standard`. Read once.
  [[nodiscard]] static const ErrorBook& standard_of(std::string_view metric);

  [[nodiscard]] const std::vector<ResidualGroup>& groups() const { return groups_; }
  /// Widening of bands by kind of quantity, then by what the nearest groups do not share, then by level.
  [[nodiscard]] const BandFactors& factors() const { return factors_; }
  /// The band of a subject; none where no table measures its metric.
  /// @param level 50, 80 or 95 @throws InputError for another
  [[nodiscard]] std::optional<ModelErrorBand> band(const ErrorSubject& subject, int level) const;
  /// Coverage by table, in the order of the groups.
  [[nodiscard]] std::vector<BandCoverage> coverage() const;
  /// Coverage of 80 % bands by kind of quantity, in alphabetical order.
  [[nodiscard]] std::vector<StratumCoverage> strata() const;

 private:
  struct Left;     // the groups that a band must not use
  struct Mixture;  // of residuals, for one subject
  using ByDistance = std::array<std::vector<std::size_t>, kFarthestGroup + 1>;
  struct Held {
    double share = 0;  ///< of the residuals of a group inside its band
    double half = 0;   ///< width of the band, a logarithm
  };
  [[nodiscard]] ByDistance by_distance(const ErrorSubject& subject, const Left& left) const;
  [[nodiscard]] std::size_t witnesses(const ErrorSubject& subject, std::span<const std::size_t> groups) const;
  /// The mixture of groups; none without groups.
  [[nodiscard]] std::optional<Mixture> mixture(const ErrorSubject& subject, const ByDistance& at) const;
  [[nodiscard]] double factor(std::string_view kind, std::size_t apart, std::size_t level,
                              const Left& left) const;
  [[nodiscard]] std::optional<Held> held(const ResidualGroup& group, const Left& left,
                                         std::size_t level) const;
  [[nodiscard]] bool speaks(std::size_t group, const ErrorSubject& about) const;
  void allow(std::vector<BandCoverage>& tables, std::span<const double> held, std::size_t level) const;

  std::vector<ResidualGroup> groups_;
  std::vector<std::size_t>
      twins_;  ///< for each group, the group of the same rows predicted the other way, or none
  std::map<std::string, std::vector<std::size_t>, std::less<>> of_metric_;  ///< groups
  struct Residual {
    double value;
    std::size_t group;
  };
  std::map<std::string, std::vector<Residual>, std::less<>> measured_;  ///< their residuals, sorted
  struct Score {
    std::size_t group;
    double score, weight;
    std::string_view kind;
  };
  /// By what the nearest groups do not share and by level: how many half widths the residuals of left-out
  /// groups lie from the center, sorted.
  struct Scores {
    std::once_flag once;
    std::array<std::array<std::vector<Score>, kIntervalLevels.size()>, kAparts> lists;
  };
  std::shared_ptr<Scores> scores_ = std::make_shared<Scores>();  ///< made at their first use
  [[nodiscard]] const Scores& scores() const;
  BandFactors factors_;  ///< of all groups
};

/// The index of a level in kIntervalLevels. @throws InputError for another level
[[nodiscard]] std::size_t interval_level(int level);

}  // namespace mlsysim
