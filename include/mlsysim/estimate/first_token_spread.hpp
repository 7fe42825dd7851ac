#pragma once
/// Distribution of time to first token of requests that arrive spread over the passes of a steady state.
///
///     P(ttft <= t) = sum over k of Poisson(k, min(crowd, 1)) rest(t - fixed - k prompt)
///     rest(x)      = 1 - busy ((1 - share) max(step - x, 0) + share max(mixed - x, 0)) / mean_pass
///
/// rest: share of the arrivals that wait at most x for the pass under way. share: passes with prompts over
/// all. fixed: own passes and what follows [s]. prompt: time that each other prompt adds [s]. crowd: mean of
/// the other prompts in the own pass. Its excess over 1 is part of `fixed`. busy: probability that a pass is
/// under way. Up to 9 other prompts are counted. Quantiles of the wait in a queue of prompts, and of what a
/// longer prompt of its own takes, are added to the quantiles of this distribution.
///
/// Example: passes of 10 ms without pause, own pass 50 ms, no other prompts: P50 is 55 ms, P99 is 59.9 ms.

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>
#include <cmath>
#include <type_traits>

namespace mlsysim::detail {

/// The five terms of time to first token (estimate/first_token.hpp).
template <class T> struct FirstTokenTerms {
  Time<T> ingress, queue, dispatch, prefill, egress;

  [[nodiscard]] Time<T> without_queue() const { return ingress + dispatch + prefill + egress; }
  /// Assigns to the queue whatever the other terms leave of `whole`.
  void fill_queue(const Time<T>& whole) { queue = max(whole - without_queue(), Time<T>()); }
  [[nodiscard]] Time<T> sum() const { return ingress + queue + dispatch + prefill + egress; }
  /// Writes the members of these names, and their sum.
  template <class R> void report(R& r) const {
    r.ttft_ingress = ingress;
    r.ttft_queue = queue;
    r.ttft_dispatch = dispatch;
    r.ttft_prefill = prefill;
    r.ttft_egress = egress;
    r.ttft = sum();
  }
  /// Mean where the first of a run are `share` of all.
  [[nodiscard]] FirstTokenTerms with_start(const FirstTokenTerms& first, const T& share) const {
    const auto mean = [&](const Time<T>& a, const Time<T>& b) { return a * (1.0 - share) + b * share; };
    return {.ingress = mean(ingress, first.ingress),
            .queue = mean(queue, first.queue),
            .dispatch = mean(dispatch, first.dispatch),
            .prefill = mean(prefill, first.prefill),
            .egress = mean(egress, first.egress)};
  }
};

/// Shares of the requests at which what a longer prompt of its own takes is known.
inline constexpr std::array<double, 4> kKnownShares{0.5, 0.9, 0.95, 0.99};

/// The same at any share, linear in the logarithm of the share above it.
template <class T> [[nodiscard]] Time<T> beyond_at(const std::array<Time<T>, 4>& known, double share) {
  if (share <= kKnownShares[0]) return known[0];
  std::size_t i = 1;
  while (i + 1 < known.size() && share > kKnownShares[i]) ++i;
  const double below = 1 - kKnownShares[i - 1],
               part = std::log(below / (1 - share)) / std::log(below / (1 - kKnownShares[i]));
  return known[i - 1] + (known[i] - known[i - 1]) * part;
}

/// Share of the requests whose time, a rising function of the share, is at most `t`; by bisection.
template <class F> [[nodiscard]] double share_within(Time<> t, double most, F&& time) {
  double low = 0, high = most;
  while (high - low > 1e-12) {
    const double middle = 0.5 * (low + high);
    (time(middle) <= t ? low : high) = middle;
  }
  return low;
}

/// Distribution of the time to the first token after an arrival at a random moment: the rest of the pass
/// under way, then the own passes and what each of the other prompts adds to them, of which those beyond one
/// are a fixed number and the others a Poisson one; the share `queued` of the prompts waits longer, an
/// exponential time with mean `wait` over all. Quantiles of both are added: a request that is late in one is
/// taken to be late in the other.
template <class T> class SpreadFirstToken {
 public:
  /// @param step with the passes of a steady state @param arrivals how requests meet them
  /// @param beyond what longer own prompts take, at `kKnownShares`
  template <class Step, class Arrivals>
  SpreadFirstToken(const Step& step, const Arrivals& arrivals, const std::array<Time<T>, 4>& beyond)
      : decode_(step.block.base()),
        prompt_(step.mixed_step_time.base()),
        each_(arrivals.prompt.base()),
        share_(step.prompt_passes),
        mean_(step.mean_pass().base()),
        busy_(arrivals.busy),
        queued_(arrivals.queued),
        wait_(arrivals.wait.base()),
        beyond_(beyond) {
    const T random = min(arrivals.crowd, T{1.0});
    fixed_ = (arrivals.own + arrivals.late).base() + each_ * (arrivals.crowd - random);
    T weight = exp(-random);
    for (int k = 0; k < kOthers; ++k) {
      weights_[k] = weight;
      weight = weight * (random / (k + 1.0));
    }
  }

  /// Share of the requests that have their token by `t`, by bisection where prompts queue or differ.
  [[nodiscard]] double by(Time<> t) const {
    const bool differ = beyond_.back() != Time<>();
    const double alike = at(t.base()).after;
    if (!differ && (wait_ <= 0 || t.base() <= fixed_)) return alike;
    return share_within(t, differ ? 1 - 1e-12 : alike,
                        [&](double share) { return quantiles<1>({share})[0]; });
  }
  /// Times by which these shares of the requests have their token. Between the ends of the passes for which a
  /// request may have waited the distribution is linear.
  template <std::size_t N>
  [[nodiscard]] std::array<Time<T>, N> quantiles(const std::array<double, N>& shares) const {
    const T first = min(decode_, prompt_), second = max(decode_, prompt_);
    struct Reached {
      T time, share;
    };
    std::array<Reached, N> below, above;
    std::array<Time<T>, N> out;
    const T end = fixed_ + each_ * (kOthers - 1.0) + second;
    for (std::size_t i = 0; i < N; ++i) {
      below[i] = {fixed_, T{0.0}};
      above[i] = {end, T{1.0}};
    }
    for (int k = 0; k < kOthers; ++k)
      for (const T& more : {T{0.0}, first, second}) {
        const T t = fixed_ + each_ * static_cast<double>(k) + more;
        const Share f = at(t);
        for (std::size_t i = 0; i < N; ++i) {
          const T wanted{shares[i]};
          const auto lower = (f.after < wanted) && (below[i].time <= t),
                     upper = (f.after >= wanted) && (t < above[i].time);
          below[i] = {select(lower, t, below[i].time), select(lower, f.after, below[i].share)};
          above[i] = {select(upper, t, above[i].time), select(upper, f.before, above[i].share)};
        }
      }
    for (std::size_t i = 0; i < N; ++i) {
      const T wanted{shares[i]}, rise = above[i].share - below[i].share;
      const T part =
          clamp(T((wanted - below[i].share) / select(rise > T{0.0}, rise, T{1.0})), T{0.0}, T{1.0});
      // Where the share jumps at the end of the interval, it is reached there.
      const T inside = below[i].time + (above[i].time - below[i].time) * part;
      out[i] =
          Time<T>::from_base(select((above[i].share < wanted) || (rise <= T{0.0}), above[i].time, inside) +
                             queue_by(shares[i])) +
          beyond_at(beyond_, shares[i]);
    }
    return out;
  }

 private:
  /// Other prompts that are counted: of a Poisson number with mean 1, one in ten million is larger.
  static constexpr int kOthers = 10;

  struct Share {
    T before{0.0}, after{0.0};  ///< without and with those whose moment this is
  };
  [[nodiscard]] Share at(const T& t) const {
    Share sum;
    for (int k = 0; k < kOthers; ++k) {
      const T left = t - fixed_ - each_ * static_cast<double>(k);
      // The own sum may miss the moment of k by a rounding.
      const T close = 1e-12 * t;
      if constexpr (std::is_same_v<T, double>)
        if (left < -close) break;
      const T share = weights_[k] * rest_by(max(left, T{0.0}));
      sum.after = sum.after + select(left >= -close, share, T{0.0});
      sum.before = sum.before + select(left > close, share, T{0.0});
    }
    return {min(sum.before, T{1.0}), min(sum.after, T{1.0})};
  }
  /// Share of the arrivals that wait no longer than `t` for the pass under way.
  [[nodiscard]] T rest_by(const T& t) const {
    const T under_way =
        ((1.0 - share_) * max(T(decode_ - t), T{0.0}) + share_ * max(T(prompt_ - t), T{0.0})) / mean_;
    return 1.0 - busy_ * under_way;
  }

  /// Queueing time that this share of the prompts does not exceed [s].
  [[nodiscard]] T queue_by(double share) const {
    const T safe = max(queued_, T{1e-12});
    return wait_ / safe * log(max(T(queued_ / (1.0 - share)), T{1.0}));
  }

  T decode_, prompt_, each_, share_, mean_, busy_, fixed_, queued_, wait_;
  std::array<T, kOthers> weights_;
  std::array<Time<T>, 4> beyond_;
};

}  // namespace mlsysim::detail
