#include "price/rules/rules.hpp"

#include <mlsysim/physics/data_path.hpp>
#include <mlsysim/physics/scaling_laws.hpp>
#include <mlsysim/physics/training.hpp>
#include <mlsysim/price/rules/planning.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// A rate that limits nothing: the path does not exist, and another one does.
constexpr Bandwidth<> kNone = Bandwidth<>::from_base(1e30);
constexpr auto kWorkPerPair = 6.0 * unit::FLOP / unit::param / unit::token;

/// A fitted loss.
struct Fit {
  double irreducible, a, b, alpha, beta;

  [[nodiscard]] double loss(Params<> params, Tokens<> tokens) const {
    return ChinchillaLoss::solve<double>({params, tokens, irreducible, a, b, alpha, beta}).loss;
  }
  /// Tokens that bring a model of this size to a loss; infinite when it cannot get there.
  [[nodiscard]] double tokens_for(double params, double wanted) const {
    const double rest = wanted - irreducible - a * std::pow(params, -alpha);
    return rest > 0 ? std::pow(b / rest, 1 / beta) : kUnbounded;
  }
};

Fit fit_of(LossFit fit, const Figures& figures) {
  const std::string head = fmt::format("catalogue.chinchilla.{}.", name_of(fit));
  const auto at = [&](const char* name) { return figures.number(head + name); };
  return {at("irreducible"), at("params_coefficient"), at("tokens_coefficient"), at("params_exponent"),
          at("tokens_exponent")};
}

/// Size with the least work over its life among the models of one loss: golden section over the logarithm of
/// the size.
Params<> thrifty_size(const Fit& fit, double wanted, Params<> start, Tokens<> served) {
  const auto work = [&](double log_params) {
    const double n = std::exp(log_params), d = fit.tokens_for(n, wanted);
    return d < 1e30 ? LifetimeWork::solve<double>({Params<>::from_base(n), Tokens<>::from_base(d), served})
                          .work.base()
                    : 1e300;
  };
  // Smaller than the compute-optimal model, and large enough to reach the loss at all.
  double high = std::log(start.base());
  double low = std::log(std::pow(fit.a / (wanted - fit.irreducible), 1 / fit.alpha));
  constexpr double golden = 0.6180339887498949;
  for (int i = 0; i < 200 && high - low > 1e-10; ++i) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (work(left) < work(right))
      high = right;
    else
      low = left;
  }
  return Params<>::from_base(std::exp((low + high) / 2));
}

/// Rules of thumb.
class TextbookPlanning final : public PlanningRules {
 public:
  /// The smaller of local storage and host link of one device.
  DataSupply supply(const DataStores& s, Notes&) const override {
    const auto& storage = s.hardware.storage.bandwidth;
    const auto& host = s.hardware.host_link.bandwidth;
    DataSupply r;
    if (storage) r = {*storage, DataPath::storage};
    if (host && (!storage || *host < *storage)) r = {*host, DataPath::host_link};
    return r;
  }
  /// 20 tokens per parameter.
  TrainedModel best_model(const TrainingBudget& b, const Figures&) const override {
    if (b.params) return {*b.params, b.work / (*b.params * kWorkPerPair), b.work};
    const auto best = ChinchillaOptimal::solve<double>({.work = b.work});
    return {best.params, best.tokens, b.work};
  }
  std::optional<double> privacy_slowdown(double epsilon, const Figures& figures) const override {
    const double factor = 1.0 + figures.number("catalogue.privacy.slowdown") / epsilon;
    figures.notes().warn(
        "a slow-down by epsilon is a teaching device: the cost of DP-SGD does not depend on epsilon");
    return factor;
  }
  PlacementScope placement() const override { return {"US_Avg,Quebec,Iowa", false, false}; }
  double drawn(double /*utilization*/) const override { return 1; }
};

/// What is known of stores, losses and regions.
class OperatorPlanning final : public PlanningRules {
 public:
  /// Per node a cache that holds a share of the data set, shared storage behind it, and the host links of all
  /// devices.
  DataSupply supply(const DataStores& s, Notes& notes) const override {
    DataSupply r;
    r.nodes = s.fleet != nullptr ? s.fleet->count : 1.0;
    const double devices = s.fleet != nullptr ? s.fleet->node->accelerators_per_node : 1.0;
    const auto cache = s.cache_bandwidth ? s.cache_bandwidth : s.hardware.storage.bandwidth;
    const auto room = s.cache ? s.cache : s.hardware.storage.capacity;
    if (!cache)
      r.hit_ratio = 0;
    else if (s.dataset && room)
      r.hit_ratio = std::min(1.0, *room / *s.dataset);
    else if (s.dataset)
      notes.warn("the capacity of the local storage is not known: the whole data set is taken to fit");
    if (r.hit_ratio < 1 && !s.shared_bandwidth) {
      notes.warn("a part of the data is in no local storage and no shared storage was given",
                 BreakReason::infeasible_constraint);
      return r;  // nothing can be supplied
    }
    const Bandwidth<> shared = s.shared_bandwidth ? *s.shared_bandwidth / r.nodes : kNone;
    const auto& link = s.hardware.host_link.bandwidth;
    const Bandwidth<> host = link ? *link * devices : kNone;
    if (!link) notes.assume("host_link", "no limit", "the device has no figure for its host link");
    const Bandwidth<> node =
        CachedSupply::solve<double>({cache.value_or(kNone), shared, host, r.hit_ratio}).supply;
    r.rate = node * r.nodes;
    const bool misses =
        r.hit_ratio < 1 && (r.hit_ratio == 0 || shared / (1.0 - r.hit_ratio) <= *cache / r.hit_ratio);
    r.limit = node == host ? DataPath::host_link : misses ? DataPath::shared_storage : DataPath::storage;
    return r;
  }
  /// The least loss of a fitted curve; of the models of that loss the one with the least work over its life.
  TrainedModel best_model(const TrainingBudget& b, const Figures& figures) const override {
    const Fit fit = fit_of(b.fit, figures);
    const auto best = ChinchillaAllocation::solve<double>({b.work, fit.a, fit.b, fit.alpha, fit.beta});
    TrainedModel m{.params = b.params.value_or(best.params), .work = b.work};
    m.tokens = b.work / (m.params * kWorkPerPair);
    m.loss = fit.loss(m.params, m.tokens);
    if (b.served_tokens && !b.params) {
      m.params = thrifty_size(fit, *m.loss, best.params, *b.served_tokens);
      m.tokens = Tokens<>::from_base(fit.tokens_for(m.params.base(), *m.loss));
      m.work = TrainingWork::solve<double>({m.params, m.tokens}).work;
    }
    if (m.params.base() < 4e7 || m.params.base() > 2e10)
      figures.notes().warn(
          "the loss was fitted for models from 44 million to 16 billion parameters: this one lies outside",
          BreakReason::out_of_domain);
    return m;
  }
  std::optional<double> privacy_slowdown(double /*epsilon*/, const Figures&) const override {
    return std::nullopt;
  }
  PlacementScope placement() const override { return {}; }
  double drawn(double utilization) const override { return utilization; }
};

}  // namespace

const PlanningRules& textbook_planning() {
  static const TextbookPlanning rules;
  return rules;
}
const PlanningRules& operator_planning() {
  static const OperatorPlanning rules;
  return rules;
}

}  // namespace mlsysim::detail
