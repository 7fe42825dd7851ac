#include <mlsysim/explore/ask/compare.hpp>

#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace mlsysim {
namespace {

constexpr std::size_t kAllOrders = 12;                        // figures up to which every subset is evaluated
constexpr std::size_t kFewestOrders = 16, kMostOrders = 512;  // sampled, each with its reverse
constexpr double kStandardError = 0.001;  // of an effect, over all effects, at which sampling ends
constexpr double kRounding = 1e-12;       // of a result; a smaller part of a difference is none

/// A figure that both subjects have, with different values.
struct Changed {
  std::size_t in_from, in_to;  ///< indices of the input; both npos for the structure
};
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// The result where some figures already have their new value.
class Mixture {
 public:
  Mixture(const Subject& from, const Subject& to, std::string_view result, std::vector<Changed> changed)
      : from_(from),
        to_(to),
        result_from_(from.result(result)),
        result_to_(to.result(result)),
        changed_(std::move(changed)) {}

  double operator()(const std::vector<bool>& is_new) {
    bool structure = false;
    for (std::size_t k = 0; k < changed_.size(); ++k)
      if (changed_[k].in_from == kNowhere) structure = is_new[k];
    const Subject& s = structure ? to_ : from_;
    auto point = s.point;
    for (std::size_t k = 0; k < changed_.size(); ++k) {
      const auto& c = changed_[k];
      if (c.in_from == kNowhere) continue;
      const std::size_t at = structure ? c.in_to : c.in_from;
      point[at] = is_new[k] ? to_.point[c.in_to] : from_.point[c.in_from];
    }
    const double x = s.entry(point)[structure ? result_to_ : result_from_];
    if (!std::isfinite(x))
      throw DomainError({.id = "mlsysim.explore.060",
                         .message = "a mixture of the two configurations has no finite result",
                         .found = fmt::format("{}", x),
                         .expected = "a finite number",
                         .hint = "compare configurations that differ in less"});
    return x;
  }

 private:
  const Subject& from_;
  const Subject& to_;
  std::size_t result_from_, result_to_;
  std::vector<Changed> changed_;
};

std::vector<double> every_order(Mixture& value, std::size_t n) {
  std::vector<double> all(std::size_t{1} << n);
  for (std::size_t set = 0; set < all.size(); ++set) {
    std::vector<bool> is_new(n);
    for (std::size_t k = 0; k < n; ++k) is_new[k] = (set >> k & 1) != 0;
    all[set] = value(is_new);
  }
  // Weight of a set of s others: s! (n - 1 - s)! / n!.
  std::vector<double> weight(n, 1.0 / static_cast<double>(n));
  for (std::size_t s = 1; s < n; ++s)
    weight[s] = weight[s - 1] * static_cast<double>(s) / static_cast<double>(n - s);
  std::vector<double> part(n, 0.0);
  for (std::size_t set = 0; set < all.size(); ++set)
    for (std::size_t k = 0; k < n; ++k)
      if ((set >> k & 1) == 0)
        part[k] += weight[static_cast<std::size_t>(std::popcount(set))] *
                   (all[set | std::size_t{1} << k] - all[set]);
  return part;
}

/// The effect of an input over the sampled orders.
struct Effect {
  double sum = 0, squares = 0;
};

/// Whether the mean of each effect is as good as known.
bool settled(const std::vector<Effect>& effects, double orders) {
  double all = 0, variance = 0;
  for (const auto& e : effects) {
    const double mean = e.sum / orders;
    all += std::fabs(mean);
    variance = std::max(variance, (e.squares / orders - mean * mean) / (orders - 1));
  }
  return std::sqrt(variance) <= kStandardError * all;
}

std::vector<double> sampled_orders(Mixture& value, std::size_t n) {
  std::vector<Effect> effects(n);
  std::vector<std::size_t> order(n);
  std::size_t sample = 0;
  const double none = value(std::vector<bool>(n, false)), all = value(std::vector<bool>(n, true));
  while (sample < kFewestOrders || (sample < kMostOrders && !settled(effects, static_cast<double>(sample)))) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t k = n; k-- > 1;)
      std::swap(order[k],
                order[static_cast<std::size_t>(uniform_draw(1, static_cast<std::uint32_t>(sample), k) *
                                               static_cast<double>(k + 1))]);
    std::vector<double> both(n, 0.0);
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<bool> is_new(n);
      double before = none;
      for (const std::size_t k : order) {
        is_new[k] = true;
        const double after = k == order.back() ? all : value(is_new);
        both[k] += (after - before) / 2;
        before = after;
      }
      std::reverse(order.begin(), order.end());
    }
    for (std::size_t k = 0; k < n; ++k) {
      effects[k].sum += both[k];
      effects[k].squares += both[k] * both[k];
    }
    ++sample;
  }
  std::vector<double> part(n);
  for (std::size_t k = 0; k < n; ++k) part[k] = effects[k].sum / static_cast<double>(sample);
  return part;
}

/// @throws unless both subjects are of one kind and have a finite result
void check_comparable(const Subject& from, const Subject& to, std::string_view result) {
  if (from.entry.info.id != to.entry.info.id)
    throw InputError({.id = "mlsysim.explore.061",
                      .message = "two different kinds of things are compared",
                      .found = fmt::format("{} and {}", from.title, to.title),
                      .expected = "two scenarios of one mode, or one resolver twice"});
  const FieldInfo& field = from.entry.results[from.result(result)];
  for (const Subject* s : {&from, &to}) {
    const double here = s->entry(s->point)[s->result(result)];
    if (!std::isfinite(here))
      throw DomainError({.id = "mlsysim.explore.062",
                         .message = fmt::format("'{}' of {} is no finite number", field.name,
                                                s == &from ? "the first" : "the second"),
                         .key = field.name,
                         .found = std::isnan(here) ? "nothing" : fmt::format("{}", here),
                         .expected = "a finite number on both sides",
                         .hint = "a result may be absent, as a latency is where a queue has no steady state",
                         .reason = BreakReason::numeric});
  }
}

/// Inputs that differ between two subjects: indices for the mixtures, and a term of the answer for each.
struct Differences {
  std::vector<Changed> changed;
  std::vector<DifferenceTerm> terms;
  bool same_inputs = true;  ///< both subjects have the same inputs

  void add(const Changed& c, DifferenceTerm term) {
    changed.push_back(c);
    terms.push_back(std::move(term));
  }
};

Differences differing_inputs(const Subject& from, const Subject& to) {
  Differences d;
  d.same_inputs = from.entry.inputs.size() == to.entry.inputs.size();
  for (std::size_t i = 0; i < from.entry.inputs.size(); ++i) {
    const FieldInfo& f = from.entry.inputs[i];
    const FieldInfo* other = find_field(to.entry.inputs, f.name);
    if (other == nullptr) {
      d.same_inputs = false;
      continue;
    }
    const auto j = static_cast<std::size_t>(other - to.entry.inputs.data());
    if (from.point[i] == to.point[j]) continue;
    d.add({i, j}, {.input = f.name,
                   .meaning = f.meaning,
                   .unit = f.unit,
                   .exps = f.exps,
                   .from = from.point[i],
                   .to = to.point[j]});
  }
  return d;
}

/// Whether the result changes with the structure alone, at the old and at the new numbers.
bool structure_matters(const Subject& from, const Subject& to, std::string_view result,
                       const std::vector<Changed>& changed) {
  Mixture value(from, to, result, changed);
  std::vector<bool> only(changed.size(), false);
  const double before = value(only);
  only.back() = true;
  std::vector<bool> rest(changed.size(), true);
  const double whole = value(rest);
  rest.back() = false;
  return value(only) != before || value(rest) != whole;
}

/// The numbers that differ, and the structure last where it makes a difference or nothing else does.
Differences differences_of(const Subject& from, const Subject& to, std::string_view result) {
  Differences d = differing_inputs(from, to);
  // Categories are no inputs: what remains when all common numbers agree is due to them.
  d.add({kNowhere, kNowhere},
        {.input = "structure", .meaning = "what is no number: operators, formats, schedule"});
  const bool structure = !d.same_inputs || structure_matters(from, to, result, d.changed);
  if (!structure && d.changed.size() > 1) {
    d.changed.pop_back();
    d.terms.pop_back();
  }
  return d;
}

}  // namespace

DifferenceReport compare(const Subject& from, const Subject& to, std::string_view result) {
  check_comparable(from, to, result);
  const FieldInfo& field = from.entry.results[from.result(result)];
  Differences d = differences_of(from, to, result);
  const std::size_t n = d.changed.size();
  Mixture mixture(from, to, result, std::move(d.changed));
  DifferenceReport r{.from = from.title,
                     .to = to.title,
                     .result = field.name,
                     .meaning = field.meaning,
                     .unit = field.unit,
                     .exps = field.exps,
                     .at_from = mixture(std::vector<bool>(n, false)),
                     .at_to = 0,
                     .terms = {},
                     .exact = n <= kAllOrders};
  r.at_to = to.entry(to.point)[to.result(result)];
  const auto part = n <= kAllOrders ? every_order(mixture, n) : sampled_orders(mixture, n);
  const double whole = r.at_to - r.at_from,
               rounding = kRounding * std::max(std::fabs(r.at_from), std::fabs(r.at_to));
  for (std::size_t k = 0; k < n; ++k) {
    d.terms[k].part = std::fabs(part[k]) > rounding ? part[k] : 0;
    d.terms[k].share = whole != 0 ? d.terms[k].part / whole : 0;
  }
  std::stable_sort(d.terms.begin(), d.terms.end(), [](const DifferenceTerm& a, const DifferenceTerm& b) {
    return std::fabs(a.part) > std::fabs(b.part);
  });
  r.terms = std::move(d.terms);
  return r;
}

}  // namespace mlsysim
