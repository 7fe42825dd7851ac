#pragma once
// Costs of machines at errors of the prediction, and where one costs less than another.

#include "sizing/detail/fewest_devices.hpp"

#include <mlsysim/sizing/decide.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// A machine that is compared: its least cost at a factor on its times.
class Costs {
 public:
  /// @param price of a device
  Costs(const SizeQuestion& question, const DecideOption& option, const Scenario& machine, double price);
  [[nodiscard]] CostAt at(double factor);
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double price() const { return price_; }
  /// The question on this machine.
  [[nodiscard]] const SizeQuestion& question() const { return question_; }

 private:
  SizeQuestion question_;
  FewestDevices needed_;
  std::string name_, device_;
  double price_;
  std::map<double, CostAt> seen_;
};

/// Factors on the times of machines: their own, and the common one. Their product stays within the interval
/// of the machine, which is what answers print.
struct ErrorBox {
  std::vector<double> low, high;    ///< own factors
  std::vector<double> least, most;  ///< ends of the interval of a machine
  double common_low = 1, common_high = 1;

  /// The factor of a machine where the common one is at `low` or `high` of a part, and its own at its end.
  [[nodiscard]] double lowest(std::size_t i, double common) const {
    return std::max(common * low[i], least[i]);
  }
  [[nodiscard]] double highest(std::size_t i, double common) const {
    return std::min(common * high[i], most[i]);
  }
};

struct Regret {
  double value = 0;
  std::vector<RegretPart> parts, same_device;
};
/// The most that the first machine can cost more than the others. @param most_parts of each certificate
[[nodiscard]] Regret certified(std::vector<Costs>& costs, const ErrorBox& box, std::size_t most_parts);

/// Interval of the cost of machine i over that of the first.
struct QuotientRange {
  double low = 1, high = 1;
};
[[nodiscard]] QuotientRange quotient_range(std::vector<Costs>& costs, const ErrorBox& box, std::size_t i);

/// Values of single numbers at which another machine costs less than the first.
[[nodiscard]] std::vector<FlipPoint> flips_of(const std::vector<Costs>& costs,
                                              const std::vector<DecideOption>& options,
                                              const std::vector<Scenario>& machines, bool priced);

}  // namespace mlsysim::detail
