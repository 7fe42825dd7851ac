#pragma once
/// Routing of tokens to experts: experts that a batch touches, load imbalance, ranks that a token visits.
///
///   touched   = experts (1 - (1 - top_k / experts)^tokens)
///   imbalance = min(1 + sqrt(2 log(experts) / mean), experts / top_k),  mean = tokens top_k / experts
///   visited   = parts (1 - sum_j P_j C(n - j m, top_k) / C(n, top_k))                      see DistinctParts
///   rank load = min(1 + z sqrt((experts - top_k) / (experts - 1) / (tokens top_k / ranks)), ranks)
///
/// imbalance, rank load: fullest expert or rank over the mean. z: mean of the largest of `ranks` normals.
/// Limits: independent tokens and equal probabilities. TouchedExperts alone takes lognormal popularity.
/// Example: 256 experts, top_k 8, 64 tokens: 222.4 experts touched (86.9 %), fullest 3.35 times the mean.
/// Example: 256 experts on 8 parts, top_k 8: 5.29 parts visited. 4096 tokens on 32 ranks: rank load 1.064.
/// @cite raabsteger1998balls, theorem 1
/// @cite feller1968probability, section II.6
/// @cite blom1958statistical, chapter 6

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>

namespace mlsysim {

/// Distinct experts that at least one token of a batch visits, and the load of the fullest one over the mean.
///
/// The fullest of `experts` bins exceeds the mean by sqrt(2 mean log(experts)). Every router of equal
/// probabilities has this much by chance; a learned one has more. Ranges: experts >= 1; top_k >= 1 and at
/// most experts (more counts as all); tokens >= 1.
/// @cite raabsteger1998balls, theorem 1 (many balls); fedus2022switch, section 2.2 (capacity)
struct ExpertLoad {
  static constexpr LawInfo info{"ExpertLoad",
                                "touched = experts (1 - (1 - top_k / experts)^tokens); imbalance = min(1 + "
                                "sqrt(2 log(experts) / mean), experts / top_k)",
                                "raabsteger1998balls", "theorem 1",
                                "independent tokens, equal probabilities"};
  template <class T> struct Inputs {
    T experts, top_k, tokens;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::experts, "experts", "", "routed experts of a layer").at_least(1).counted(),
          field(&Inputs::top_k, "top_k", "", "experts that a token visits").at_least(1).counted(),
          field(&Inputs::tokens, "tokens", "", "tokens that are routed together").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    T touched, imbalance;
    static constexpr auto fields() {
      return rows(field(&Result::touched, "touched", "", "experts that have work"),
                  field(&Result::imbalance, "imbalance", "", "load of the fullest expert over the mean"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T share = named("share", min(T(in.top_k / in.experts), T(1.0)));
    const T chance = 1.0 + sqrt(2.0 * log(in.experts) / (in.tokens * share));
    return {.touched = in.experts * (1.0 - pow(max(T(1.0 - share), T(1e-300)), in.tokens)),
            .imbalance = min(chance, T(1.0 / share))};
  }
};

/// Distinct experts that a batch touches where some are more popular than others, over all of them.
///
/// The popularity w of an expert, over the mean, is lognormal: w = exp(spread z) / mean with z normal. An
/// expert of popularity w sees as many choices as one of mean popularity among w tokens' worth:
///     share = max(top_k / experts, E_z[1 - (1 - top_k / experts)^(w tokens)])
/// E_z by five points of Gauss and Hermite, right to 1 % for spreads up to 1.5. spread 0 is even routing.
/// A batch touches no fewer experts than one token does. Worked: 256 experts, top_k 8, 64 tokens: 87 % where
/// routing is even, 67 % with spread 1. Ranges: experts >= 1; top_k >= 1 and at most experts (more counts as
/// all); tokens > 0; spread in [0, 3].
/// @cite abramowitz1964handbook, eq. 25.4.46 (quadrature); fedus2022switch, section 2.2 (uneven routing)
struct TouchedExperts {
  static constexpr LawInfo info{
      "TouchedExperts",
      "share = max(top_k / experts, E[1 - (1 - top_k / experts)^(w tokens)]), w = exp(spread z) / mean",
      "abramowitz1964handbook", "eq. 25.4.46", "independent tokens; popularity is lognormal"};
  template <class T> struct Inputs {
    T experts, top_k, tokens, spread;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::experts, "experts", "", "routed experts of a layer").at_least(1).counted(),
          field(&Inputs::top_k, "top_k", "", "experts that a token visits").at_least(1).counted(),
          field(&Inputs::tokens, "tokens", "", "tokens that are routed together").positive(),
          field(&Inputs::spread, "spread", "", "standard deviation of the logarithm of the popularity")
              .within(0, 3));
    }
  };
  template <class T> struct Result {
    T share;
    static constexpr auto fields() {
      return rows(field(&Result::share, "share", "", "experts that have work, over all"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    // Roots of the fifth polynomial of Hermite beside 0, and their weights; 8 / 15 for 0.
    constexpr double inner = 1.3556261799742658, outer = 2.8569700138728056, middle_weight = 8.0 / 15.0,
                     inner_weight = 0.22207592200561266, outer_weight = 0.011257411327720693;
    const T near = exp(in.spread * inner), far = exp(in.spread * outer);
    const T mean =
        named("mean", middle_weight + inner_weight * (near + 1.0 / near) + outer_weight * (far + 1.0 / far));
    const T chance = named("chance", min(T(in.top_k / in.experts), T(1.0)));
    const T missed = max(T(1.0 - chance), T(1e-300)), worth = in.tokens / mean;
    const auto left = [&](const T& popularity) { return pow(missed, T(popularity * worth)); };
    const T idle =
        named("idle", middle_weight * left(T(1.0)) + inner_weight * (left(near) + left(T(1.0 / near))) +
                          outer_weight * (left(far) + left(T(1.0 / far))));
    return {.share = max(T(1.0 - idle), chance)};
  }
};

/// Distinct parts of the experts, ranks or nodes, that a token visits, in the mean.
///
/// Experts lie in order on `parts` parts of e = experts / parts each. A token takes limited_groups of the
/// groups, then top_k of the n = limited_groups s experts in them (s = experts / groups), all equally likely.
/// A part has m experts of each of c groups (c = ceil(groups / parts), m = e / c); of these the token takes j
/// with the hypergeometric probability P_j, and then misses the part where all its experts are among the
/// others:
///     visited = parts (1 - sum_j P_j C(n - j m, top_k) / C(n, top_k))
/// Exact where parts hold whole groups or groups whole parts. Without groups (1 of 1) it is parts
/// (1 - C(experts - e, top_k) / C(experts, top_k)). Ranges: experts, top_k, groups, limited_groups, parts >=
/// 1; more limited_groups than groups count as all, and more than n experts as n.
/// @cite feller1968probability, section II.6 (hypergeometric distribution); deepseek-v3-report, section 2.1.2
/// (node-limited routing)
struct DistinctParts {
  static constexpr LawInfo info{
      "DistinctParts", "visited = parts (1 - sum_j P_j C(n - j m, top_k) / C(n, top_k))",
      "feller1968probability", "section II.6", "all choices of groups and experts are equally likely"};
  template <class T> struct Inputs {
    T experts, top_k, groups, limited_groups, parts;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::experts, "experts", "", "routed experts of a layer").within(1, 65536).counted(),
          field(&Inputs::top_k, "top_k", "", "experts that a token visits").within(1, 256).counted(),
          field(&Inputs::groups, "groups", "", "groups of experts").within(1, 64).counted(),
          field(&Inputs::limited_groups, "limited_groups", "", "groups that a token may visit")
              .within(1, 64)
              .counted(),
          field(&Inputs::parts, "parts", "", "ranks or nodes between which the experts are divided")
              .at_least(1)
              .counted());
    }
  };
  template <class T> struct Result {
    T visited;
    static constexpr auto fields() {
      return rows(field(&Result::visited, "visited", "", "parts to which a token goes, in the mean"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T& all = in.groups;
    const T taken = min(in.limited_groups, all), open = taken * (in.experts / all);
    const T drawn_experts = min(in.top_k, open);
    const T held = ceil_div(all, in.parts), each = in.experts / in.parts / held;
    // Draws without replacement from `from` of which `without` miss: the probability that all of them do.
    const auto missed = [](const T& draws, const T& without, const T& from) {
      return repeat<4096>(draws, T(1.0), [&](const T& so_far, const T& i) {
        return T(so_far * (max(T(without - i), T(0.0)) / max(T(from - i), T(1.0))));
      });
    };
    // j of the `taken` groups are held here and the others are not. The number of orders and the probability
    // of j draws follow from those of j - 1 by a factor each.
    using State = std::array<T, 3>;
    const auto held_here = [&](const State& s, const T& j) -> State {
      const T others = missed(max(T(taken - j), T(0.0)), T(all - held), T(all - j));
      const T past = missed(drawn_experts, T(open - j * each), open);
      const T ways = s[1] * (max(T(taken - j), T(0.0)) / (j + 1.0));
      const T drawn = s[2] * (max(T(held - j), T(0.0)) / max(T(all - j), T(1.0)));
      return {T(s[0] + s[1] * s[2] * others * past), ways, drawn};
    };
    const State sum = repeat<65536>(T(held + 1.0), State{T(0.0), T(1.0), T(1.0)}, held_here);
    return {.visited = in.parts * (1.0 - min(sum[0], T(1.0)))};
  }
};

/// Rows of the fullest of the ranks between which the experts are divided, over the mean.
///
/// The row counts of equal ranks are nearly normal, their variance is that of draws without replacement,
/// and they add up to all rows. z is the mean of the largest of `ranks` normal variables, the normal
/// quantile of (ranks - 3/8) / (ranks + 1/4), by a rational formula that is right to 0.00045. The result is
/// the mean imbalance by chance alone (ExpertLoad bounds it for single experts). A learned router has more.
/// Ranges: experts, top_k, tokens, ranks >= 1.
/// @cite blom1958statistical, chapter 6 (mean of the largest); abramowitz1964handbook, eq. 26.2.23
/// (quantile)
struct FullestRank {
  static constexpr LawInfo info{
      "FullestRank", "imbalance = min(1 + z sqrt((experts - top_k) / (experts - 1) / mean), ranks)",
      "blom1958statistical", "chapter 6", "independent tokens, equal probabilities"};
  template <class T> struct Inputs {
    T experts, top_k, tokens, ranks;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::experts, "experts", "", "routed experts of a layer").at_least(1).counted(),
          field(&Inputs::top_k, "top_k", "", "experts that a token visits").at_least(1).counted(),
          field(&Inputs::tokens, "tokens", "", "tokens that are routed together").at_least(1).counted(),
          field(&Inputs::ranks, "ranks", "", "ranks between which the experts are divided")
              .at_least(1)
              .counted());
    }
  };
  template <class T> struct Result {
    T imbalance;
    static constexpr auto fields() {
      return rows(field(&Result::imbalance, "imbalance", "", "rows of the fullest rank over the mean"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T tail = 0.625 / (in.ranks + 0.25), t = sqrt(-2.0 * log(tail));
    const T above = 2.515517 + t * (0.802853 + t * 0.010328),
            below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    const T z = named("largest", t - above / below);
    const T mean = named("mean", in.tokens * in.top_k / in.ranks);
    const T spread = max(T(in.experts - in.top_k), T(0.0)) / max(T(in.experts - 1.0), T(1.0));
    // A rank alone has all, whatever the formula's last digit says.
    const T several = min(T(in.ranks - 1.0), T(1.0));
    return {.imbalance = min(T(1.0 + several * z * sqrt(spread / mean)), in.ranks)};
  }
};

}  // namespace mlsysim
