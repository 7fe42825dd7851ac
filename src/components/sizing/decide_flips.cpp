// Values of single numbers at which another machine is the choice.

#include "sizing/detail/decide_costs.hpp"

#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace mlsysim::detail {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::infinity();

/// A number of the question that may change the answer.
struct MovedNumber {
  std::string figure, unit;
  double now, low, high;  ///< the value, and the range in which it is varied
  double sign;            ///< -1: machines need fewer devices where it is larger
  std::function<void(SizeQuestion&, double)> set;
  FewestDevices::Varies varies = FewestDevices::Varies::any;

  /// The value at a part of the way to an end: shares by steps as long, others by factors.
  [[nodiscard]] double on_the_way(double end, double t) const {
    return unit.empty() ? now + (end - now) * t : now * std::pow(end / now, t);
  }
};

std::vector<MovedNumber> moved_numbers(const SizeQuestion& q) {
  std::vector<MovedNumber> out;
  const Scenario& s = q.scenario;
  if (s.mode == Mode::train || q.within) return out;
  const double rate = q.rate.in(unit::request / unit::s);
  out.push_back({"rate", "request/s", rate, rate / 8, rate * 8, 1,
                 [](SizeQuestion& ask, double x) { ask.rate = x * (unit::request / unit::s); },
                 FewestDevices::Varies::rate});
  const double length = s.seq_len.value_or(UsualRequest::prompt);
  out.push_back({"seq_len", "tokens", length, std::max(s.cached_prefix_len + 1, length / 8), length * 8, 1,
                 [](SizeQuestion& ask, double x) { ask.scenario.seq_len = std::round(x); }});
  const double answer = s.output_tokens.value_or(UsualRequest::answer);
  out.push_back({"output_tokens", "tokens", answer, std::max(2.0, answer / 8), answer * 8, 1,
                 [](SizeQuestion& ask, double x) { ask.scenario.output_tokens = std::round(x); }});
  out.push_back(
      {"share of the prompt that is cached", "", s.cached_prefix_len / length, 0, 0.95, -1,
       [length](SizeQuestion& ask, double x) { ask.scenario.cached_prefix_len = std::floor(x * length); }});
  if (s.draft_model != nullptr)
    out.push_back({"draft_acceptance_rate", "", s.draft_acceptance_rate, 0.1, 0.95, -1,
                   [](SizeQuestion& ask, double x) { ask.scenario.draft_acceptance_rate = x; }});
  return out;
}

/// Machines where one number varies.
class MovedCosts {
 public:
  MovedCosts(const std::vector<Costs>& costs, const MovedNumber& moved) : costs_(&costs), moved_(&moved) {
    for (const Costs& c : costs)
      needed_.emplace_back(
          c.question(),
          [this](VariedQuestion& varied, double x) { moved_->set(varied.question, moved_->sign * x); },
          moved.varies);
  }
  MovedCosts(const MovedCosts&) = delete;
  MovedCosts& operator=(const MovedCosts&) = delete;

  /// The first value on the way to an end, and the machine that costs least from there on.
  [[nodiscard]] std::optional<FlipPoint> flip(double end) {
    constexpr int halvings = 6;  // of the way
    auto found = first(end, 0, 1, halvings);
    if (!found) return std::nullopt;
    auto [same, other] = *found;
    for (int i = 0; i < halvings; ++i) {
      const double middle = 0.5 * (same + other);
      (winner(moved_->on_the_way(end, middle)) == 0 ? same : other) = middle;
    }
    const double at = moved_->on_the_way(end, other);
    return FlipPoint{moved_->figure, moved_->unit, moved_->now, at, (*costs_)[winner(at)].name(),
                     std::nullopt};
  }

 private:
  [[nodiscard]] double cost(std::size_t i, double x) {
    const double devices = needed_[i].at(moved_->sign * x).devices;
    return std::isfinite(devices) ? devices * (*costs_)[i].price() : devices;
  }
  [[nodiscard]] double least_of_others(double x) {
    double least = kNoEnd;
    for (std::size_t i = 1; i < needed_.size(); ++i) least = std::min(least, cost(i, x));
    return least;
  }
  [[nodiscard]] std::size_t winner(double x) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < needed_.size(); ++i)
      if (cost(i, x) < cost(best, x)) best = i;
    return best;
  }
  /// The first part of the way, of the smallest that are looked at, at whose end another machine costs less.
  /// Costs do not fall on the way or do not rise, so that whole parts are ruled out by their ends.
  [[nodiscard]] std::optional<std::pair<double, double>> first(double end, double from, double to,
                                                               int halvings) {
    const double near = moved_->on_the_way(end, from), far = moved_->on_the_way(end, to);
    const auto [cheap, dear] =
        moved_->sign * near < moved_->sign * far ? std::pair(near, far) : std::pair(far, near);
    if (cost(0, dear) <= least_of_others(cheap)) return std::nullopt;
    if (halvings == 0) return winner(far) == 0 ? std::nullopt : std::optional(std::pair(from, to));
    const double middle = 0.5 * (from + to);
    if (auto found = first(end, from, middle, halvings - 1)) return found;
    return first(end, middle, to, halvings - 1);
  }

  const std::vector<Costs>* costs_;
  const MovedNumber* moved_;
  std::vector<FewestDevices> needed_;
};

/// Standard deviation of the price of a device, where the zoo gives the range of its market.
std::optional<double> spread_of_price(const Scenario& machine) {
  const HardwareNode* device = machine.hardware;
  if (device == nullptr || device->rental.empty() || machine.rent) return std::nullopt;
  const auto& f = standard_zoo().scalar(device->rental);
  if (!f.low || !f.high) return std::nullopt;
  return (f.high->base() - f.low->base()) * 3600 / (2 * 1.2816);  // the range holds 80 %
}

/// Prices at which a machine and the choice cost as much.
void add_price_flips(const std::vector<DecideOption>& options, const std::vector<Scenario>& machines,
                     std::vector<FlipPoint>& out) {
  const auto add = [&](std::size_t i, double at, std::size_t winner) {
    const double now = *options[i].price;
    FlipPoint p{fmt::format("price of {}", options[i].machine),
                "USD/h",
                now,
                at,
                options[winner].machine,
                std::nullopt};
    if (const auto sd = spread_of_price(machines[i])) p.deviations = std::fabs(at - now) / *sd;
    out.push_back(std::move(p));
  };
  add(0, options[1].cost / options[0].size->best.devices, 1);
  for (std::size_t i = 1; i < options.size(); ++i) add(i, options[0].cost / options[i].size->best.devices, i);
}

}  // namespace

std::vector<FlipPoint> flips_of(const std::vector<Costs>& costs, const std::vector<DecideOption>& options,
                                const std::vector<Scenario>& machines, bool priced) {
  std::vector<FlipPoint> out;
  if (costs.size() < 2) return out;
  if (priced) add_price_flips(options, machines, out);
  for (const MovedNumber& moved : moved_numbers(costs[0].question())) {
    MovedCosts moving(costs, moved);
    for (const double end : {moved.low, moved.high})
      if (end != moved.now)
        if (auto found = moving.flip(end)) out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace mlsysim::detail
