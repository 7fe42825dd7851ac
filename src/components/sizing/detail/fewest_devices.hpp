#pragma once
// The fewest devices over all plans, where one number of a question varies.

#include <mlsysim/sizing/size.hpp>

#include <functional>
#include <memory>

namespace mlsysim::detail {

/// A question whose times are all so many times as long as they are predicted.
struct VariedQuestion {
  SizeQuestion question;
  double time_factor = 1;
};

/// The fewest devices over all plans, at any value of one number of the question. No plan needs fewer where
/// that number is larger, so that what plans need at some values bounds what they need at others, and few of
/// them are priced. Pools keep the degrees that are best at the first value that is
/// asked; where others need no more devices there, pools are no plan.
class FewestDevices {
 public:
  /// Numbers that vary. The most that a replica serves does not hang on the rate.
  enum class Varies { any, rate };
  /// @param change sets the number
  FewestDevices(const SizeQuestion& question, std::function<void(VariedQuestion&, double)> change,
                Varies varies = Varies::any);
  struct Needed {
    double devices = 0;  ///< infinite where no plan meets the limits
    Degrees plan;        ///< of a replica
    bool pools = false;  ///< the plan has workers for prompts of their own; its degrees are not told
  };
  /// @throws as size
  [[nodiscard]] Needed at(double x);

 private:
  struct Plans;
  std::shared_ptr<Plans> plans_;
};

}  // namespace mlsysim::detail
