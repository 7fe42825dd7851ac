#pragma once
/// What is known of the requests and jobs in a waiting line.

#include <mlsysim/price/line.hpp>
#include <mlsysim/resolve/score.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

class QueueRules {
 public:
  QueueRules() = default;
  QueueRules(const QueueRules&) = delete;
  QueueRules& operator=(const QueueRules&) = delete;
  virtual ~QueueRules() = default;

  /// Wait and service together that this share of the arrivals does not exceed.
  [[nodiscard]] virtual Time<> response(const Line& line, Time<> service, double service_cv,
                                        double quantile) const = 0;
  /// Variation of the durations of jobs. @param asked what the request says
  [[nodiscard]] virtual double job_cv(double asked) const = 0;
  /// Variation of the gaps between batches of requests that arrive at random.
  [[nodiscard]] virtual double batch_cv(double batch) const = 0;
  /// Time that the first request of a batch waits for the others.
  [[nodiscard]] virtual Time<> filling(double batch, RequestRate<> arrivals) const = 0;
  /// What the best batch has most of.
  [[nodiscard]] virtual Objective batch_aim(double batch, RequestRate<> capacity) const = 0;
};

}  // namespace mlsysim
