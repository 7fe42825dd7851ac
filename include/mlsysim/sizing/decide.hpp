#pragma once
/// Ranks machines for one load or run by least cost, with intervals, regret, flip points and next
/// measurements.
///
///   cost = price * devices (from `size`)    regret = max over errors of (cost of the choice - least cost)
///
/// An error scales all times of a machine: factor = common factor * own factor. The machines share the common
/// factor. In logarithms, the common part is sqrt(shared) of the interval and the own part sqrt(1 - shared).
/// Their product stays within the interval of the machine. The regret is certified by branch and bound over
/// the common factor. Without two prices, devices are compared.
/// Example: Llama3_8B, 20 requests/s, 1,024 tokens in, 256 out, p99 TTFT <= 2 s, ITL <= 30 ms: H200 costs
/// 1.67 USD/h (1 device), H100 2.89 USD/h (2 devices). H100 wins where its device costs less than 0.836
/// USD/h.

#include <mlsysim/sizing/size.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {

/// A sizing question about one load or run on several machines.
struct DecideQuestion {
  SizeQuestion ask;                ///< its scenario names no machine
  std::vector<Scenario> machines;  ///< the scenario of `ask` on each of them, with the price of each
};

/// One machine.
struct DecideOption {
  std::string machine;
  std::optional<SizeAnswer> size;  ///< absent where no plan meets the limits
  std::string why_not, change;     ///< then: the reason, and the smallest change
  bool fits = false;               ///< some plan fits in memory, whatever the limits
  std::optional<double> price;     ///< of one device and hour [USD/h]; absent where none is known
  double cost = 0;       ///< what is compared: USD an hour, or devices where fewer than two have a price
  bool compared = true;  ///< false: without a price among machines that have one
  double lower = 0, upper = 0;  ///< of the interval
  double time_low = 1,
         time_high = 1;  ///< factors on all times at its ends, the part that is the machine's own
  double against_low = 0, against_high = 0;  ///< cost over that of the choice, interval of the quotient
  bool apart = true;                         ///< that interval does not hold 1

  [[nodiscard]] bool meets_limits() const { return size.has_value(); }
  [[nodiscard]] bool priced() const { return price.has_value(); }
};

/// The least cost of an option over all plans, at one factor on its times, for the certificate.
struct CostAt {
  std::string machine;
  double factor = 1, devices = 0, cost = 0;
  Degrees plan;        ///< of a replica of the plan that costs least
  bool pools = false;  ///< the plan has workers for prompts of their own
};
/// One part of the range of a factor, with the bound of the regret in it: the cost of the choice at its upper
/// end less the least cost of the others at its lower end. Costs do not fall with the factor.
struct RegretPart {
  double low = 1, high = 1;
  CostAt choice;  ///< at high, and at the upper end of its own factor, within its interval
  CostAt other;   ///< at low, and at the lower end of its own factor, within its interval
  double bound = 0;
};

/// A value of one input at which another machine is the choice.
struct FlipPoint {
  std::string figure, unit;
  std::optional<double> now;  ///< in `unit`; absent where no price is known
  double at = 0;
  std::string winner;                ///< beyond it
  std::optional<double> deviations;  ///< distance in standard deviations, where the zoo gives a range
};

/// A kernel that `mlsysim measure --points` times on one device.
struct KernelPoint {
  std::string table, op;                              ///< "gemm" and "mm", "attention" and "decode"
  std::vector<std::pair<std::string, double>> sizes;  ///< "m", "n", "k"; "batch", "context", "heads", ...
  /// "mm m 24 n 7168 k 2048"
  [[nodiscard]] std::string text() const;
  /// {"table": "gemm", "op": "mm", "size": {"m": 24, "n": 7168, "k": 2048}}
  [[nodiscard]] std::string json() const;
  bool operator==(const KernelPoint&) const = default;
};

/// A measurement that makes the regret smaller.
///
/// The error of a machine's time is taken as made of errors of its kernels that do not depend on each other,
/// each in proportion to the kernel's time: a kernel with the share w of a step takes w^2 over the sum of all
/// w^2 from the variance. A run of the whole plan takes all but the width of measured bands.
struct NextMeasurement {
  std::string machine, device;        ///< as asked, and its device
  std::string what;                   ///< "31 % of a decode step, tp 8", or a run of the plan
  std::optional<KernelPoint> kernel;  ///< absent: a run of the whole plan with its software
  double minutes = 0;                 ///< of all its devices together
  double regret = 0;                  ///< that would be left, after the points before it as well
};

struct DecideAnswer {
  std::vector<DecideOption> options;       ///< the choice first; machines on which no plan fits last
  std::string unit;                        ///< "USD/h", or "devices"
  bool priced = true;                      ///< machines are compared by their price
  double regret = 0;                       ///< the most that the choice can lose over the box [unit]
  double shared = 0;                       ///< correlation of the errors of two machines
  double common_low = 1, common_high = 1;  ///< of the factor that all machines have in common
  std::vector<RegretPart> certificate;     ///< by the common factor
  std::vector<RegretPart> same_device;     ///< by the factor that machines with the device of the choice have
  std::vector<FlipPoint> flips;
  std::vector<NextMeasurement> next;   ///< up to five kernels, the one that tells most first
  std::optional<NextMeasurement> run;  ///< of the plan that tells most
  int level = 80;
};

/// The machine with the least cost, of those on which a plan meets the limits. Where two have a price, one
/// without is not compared with them: the price below which it would be the choice is a flip.
///
/// The common factor is the error that residuals of one model and engine on different devices share. The
/// interval of a quotient of two costs comes from the own factors. In the regret each own factor stands at
/// the end that is worst for the choice. Machines of one device share their whole factor: there the branches
/// are over that factor, and parts of a ten thousandth are compared at their ends.
/// @return the answer, or why no machine does it
/// @throws as size
[[nodiscard]] Outcome<DecideAnswer> decide(const DecideQuestion& question);

/// Correlation of the residuals of two devices with one model and engine, from 0 to 1: the mean product of
/// the medians of such groups over their mean square. 0 where there is no such pair.
[[nodiscard]] double shared_error(std::string_view metric);

}  // namespace mlsysim
