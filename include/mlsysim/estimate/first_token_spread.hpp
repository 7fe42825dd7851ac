#pragma once
/// Distribution of time to first token of requests that arrive spread over the passes of a steady state.
///
///     P(ttft <= t) = sum over kinds, and k of Poisson(k, min(crowd, 1)), of rest(t - fixed - k prompt)
///     rest(x)      = part - busy share max(pass - x, 0) / mean_pass
///
/// The kinds of arrivals are those in a pass with prompts, and all others. part: their share of all. rest: of
/// them, those that wait at most x for the pass under way. share: passes of the kind over all. fixed: own
/// passes and what follows [s]. prompt: time that each other prompt adds [s]. crowd: mean of the other
/// prompts in the own pass, more after a long pass. Its excess over 1 is part of `fixed`. busy: probability
/// that a pass is under way. Up to 9 other prompts are counted. Quantiles of the wait in a queue of prompts
/// are added to the quantiles of this distribution. What a longer prompt of its own takes adds in squares.
///
/// Example: passes of 10 ms without pause, own pass 50 ms, no other prompts: P50 is 55 ms, P99 is 59.9 ms.

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <span>
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

/// Value at any share of what is known at these, linear in the logarithm of the share above it.
template <class T> [[nodiscard]] Time<T> beyond_at(const std::array<Time<T>, 4>& known, double share) {
  if (share <= kKnownShares[0]) return known[0];
  std::size_t i = 1;
  while (i + 1 < known.size() && share > kKnownShares[i]) ++i;
  const double below = 1 - kKnownShares[i - 1],
               part = std::log(below / (1 - share)) / std::log(below / (1 - kKnownShares[i]));
  return known[i - 1] + (known[i] - known[i - 1]) * part;
}

/// A quantile of the time to first token where the own prompt takes `beyond` the mean at the same quantile.
/// The prompt does not depend on the line before it: what exceeds the mean adds in squares, with its sign.
template <class T>
[[nodiscard]] Time<T> with_own(const Time<T>& mean, const Time<T>& quantile, const Time<T>& beyond) {
  const T line = (quantile - mean).base(), own = beyond.base();
  const T square = line * abs(line) + own * abs(own), root = sqrt(abs(square));
  return mean + Time<T>::from_base(select(square < T{0.0}, T(-root), root));
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
  /// @param beyond what longer own prompts take, at `kKnownShares`; none where all have the mean length
  template <class Step, class Arrivals>
  SpreadFirstToken(const Step& step, const Arrivals& arrivals,
                   const std::optional<std::array<Time<T>, 4>>& beyond)
      : each_(arrivals.prompt.base()),
        queued_(arrivals.queued),
        wait_(arrivals.wait.base()),
        mean_(arrivals.terms.sum()),
        beyond_(beyond) {
    const T share = step.prompt_passes, prompt = step.mixed_step_time.base(), decode = step.block.base(),
            in_pass = arrivals.busy / step.mean_pass().base(), among = in_pass * share * prompt;
    const T fixed = (arrivals.own + arrivals.late).base();
    const Kind long_pass{among, in_pass * share, prompt},
        others{T(1.0 - among), in_pass * (1.0 - share), decode};
    if (!arrivals.crowd_among) {
      groups_[0] = group(arrivals.crowd, fixed, {long_pass, others}, 2);
      return;
    }
    // The mean over both is `crowd`.
    const T& crowd = *arrivals.crowd_among;
    groups_[0] = group(crowd, fixed, {long_pass, {}}, 1);
    groups_[1] = group(max(T((arrivals.crowd - among * crowd) / max(others.part, T{1e-12})), T{0.0}), fixed,
                       {others, {}}, 1);
    different_ = 2;
  }

  /// Share of the requests that have their token by `t`, by bisection where prompts queue or differ.
  [[nodiscard]] double by(Time<> t) const {
    const double alike = at(t.base()).after;
    if (!beyond_ && (wait_ <= 0 || alike <= 0)) return alike;
    return share_within(t, beyond_ ? 1 - 1e-12 : alike,
                        [&](double share) { return quantiles<1>({share})[0]; });
  }
  /// Times by which these shares of the requests have their token. Between the ends of the passes for which a
  /// request may have waited the distribution is linear.
  template <std::size_t N>
  [[nodiscard]] std::array<Time<T>, N> quantiles(const std::array<double, N>& shares) const {
    struct Reached {
      T time, share;
    };
    std::array<Reached, N> below, above;
    std::array<Time<T>, N> out;
    T begin = groups_[0].fixed, end{0.0};
    for (const Group& group : groups()) {
      begin = min(begin, group.fixed);
      for (const Kind& kind : group.kinds())
        end = max(end, T(group.fixed + each_ * (kOthers - 1.0) + kind.pass));
    }
    for (std::size_t i = 0; i < N; ++i) {
      below[i] = {begin, T{0.0}};
      above[i] = {end, T{1.0}};
    }
    const auto look = [&](const T& t) {
      const Share f = at(t);
      for (std::size_t i = 0; i < N; ++i) {
        const T wanted{shares[i]};
        const auto lower = (f.after < wanted) && (below[i].time <= t),
                   upper = (f.after >= wanted) && (t < above[i].time);
        below[i] = {select(lower, t, below[i].time), select(lower, f.after, below[i].share)};
        above[i] = {select(upper, t, above[i].time), select(upper, f.before, above[i].share)};
      }
    };
    for (const Group& group : groups())
      for (int k = 0; k < kOthers; ++k) {
        const T t = group.fixed + each_ * static_cast<double>(k);
        look(t);
        for (const Kind& kind : group.kinds()) look(T(t + kind.pass));
      }
    for (std::size_t i = 0; i < N; ++i) {
      const T wanted{shares[i]}, rise = above[i].share - below[i].share;
      const T part =
          clamp(T((wanted - below[i].share) / select(rise > T{0.0}, rise, T{1.0})), T{0.0}, T{1.0});
      // Where the share jumps at the end of the interval, it is reached there.
      const T inside = below[i].time + (above[i].time - below[i].time) * part;
      out[i] = Time<T>::from_base(
          select((above[i].share < wanted) || (rise <= T{0.0}), above[i].time, inside) + queue_by(shares[i]));
      if (beyond_) out[i] = with_own(mean_, out[i], beyond_at(*beyond_, shares[i]));
    }
    return out;
  }

 private:
  /// Other prompts that are counted: of a Poisson number with mean 1, one in ten million is larger.
  static constexpr int kOthers = 10;

  struct Share {
    T before{0.0}, after{0.0};  ///< without and with those whose moment this is
  };
  /// Arrivals that meet passes of one length, or none.
  struct Kind {
    T part{0.0}, rate{0.0}, pass{0.0};
  };
  /// Those whose own passes hold equally many other prompts.
  struct Group {
    T fixed{0.0};
    std::array<T, kOthers> weights;
    std::array<Kind, 2> members;
    std::size_t size = 0;
    [[nodiscard]] std::span<const Kind> kinds() const { return std::span(members).first(size); }
  };
  [[nodiscard]] std::span<const Group> groups() const { return std::span(groups_).first(different_); }
  [[nodiscard]] Group group(const T& crowd, const T& fixed, const std::array<Kind, 2>& kinds,
                            std::size_t size) const {
    const T random = min(crowd, T{1.0});
    Group out{.fixed = fixed + each_ * (crowd - random), .weights = {}, .members = kinds, .size = size};
    T weight = exp(-random);
    for (int k = 0; k < kOthers; ++k) {
      out.weights[k] = weight;
      weight = weight * (random / (k + 1.0));
    }
    return out;
  }
  [[nodiscard]] Share at(const T& t) const {
    Share sum;
    for (const Group& group : groups())
      for (int k = 0; k < kOthers; ++k) {
        const T left = t - group.fixed - each_ * static_cast<double>(k);
        // The own sum may miss the moment of k by a rounding.
        const T close = 1e-12 * t;
        if constexpr (std::is_same_v<T, double>)
          if (left < -close) break;
        T rest{0.0};
        for (const Kind& kind : group.kinds())
          rest = rest + (kind.part - kind.rate * max(T(kind.pass - max(left, T{0.0})), T{0.0}));
        const T share = group.weights[k] * rest;
        sum.after = sum.after + select(left >= -close, share, T{0.0});
        sum.before = sum.before + select(left > close, share, T{0.0});
      }
    return {min(sum.before, T{1.0}), min(sum.after, T{1.0})};
  }

  /// Queueing time that this share of the prompts does not exceed [s].
  [[nodiscard]] T queue_by(double share) const {
    const T safe = max(queued_, T{1e-12});
    return wait_ / safe * log(max(T(queued_ / (1.0 - share)), T{1.0}));
  }

  T each_, queued_, wait_;
  Time<T> mean_;
  std::array<Group, 2> groups_;
  std::size_t different_ = 1;
  std::optional<std::array<Time<T>, 4>> beyond_;
};

}  // namespace mlsysim::detail
