#include "price/rules/rules.hpp"

#include <mlsysim/price/rules/detail/queue.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

/// Arrivals at random, jobs of one length, and a tail of the wait alone.
class TextbookQueues final : public QueueRules {
 public:
  Time<> response(const Line& line, Time<> service, double /*service_cv*/, double quantile) const override {
    return wait_quantile(line, quantile) + service;
  }
  double job_cv(double /*asked*/) const override { return 0; }
  double batch_cv(double /*batch*/) const override { return 1; }
  Time<> filling(double /*batch*/, RequestRate<> /*arrivals*/) const override { return {}; }
  Objective batch_aim(double batch, RequestRate<> /*capacity*/) const override { return batch; }
};

/// Waits and services that vary together.
class OperatorQueues final : public QueueRules {
 public:
  Time<> response(const Line& line, Time<> service, double service_cv, double quantile) const override {
    return response_quantile(line, service, service_cv, quantile);
  }
  double job_cv(double asked) const override { return asked; }
  /// The gap between two batches is the sum of as many gaps between requests, so it varies less.
  double batch_cv(double batch) const override { return 1.0 / std::sqrt(batch); }
  Time<> filling(double batch, RequestRate<> arrivals) const override {
    return (batch - 1) * unit::request / arrivals;
  }
  Objective batch_aim(double /*batch*/, RequestRate<> capacity) const override { return capacity; }
};

}  // namespace

const QueueRules& textbook_queues() {
  static const TextbookQueues rules;
  return rules;
}
const QueueRules& operator_queues() {
  static const OperatorQueues rules;
  return rules;
}

}  // namespace mlsysim::detail
