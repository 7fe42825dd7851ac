#pragma once
/// Routing of tokens to experts: how many experts a batch touches, and how uneven their loads are.

#include <mlsysim/table/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Distinct experts that at least one token of a batch visits, and the load of the fullest one over the mean.
///
/// touched = experts (1 - (1 - top_k / experts)^tokens); imbalance = min(1 + sqrt(2 log(experts) / mean),
/// experts / top_k) with mean = tokens top_k / experts tokens on an expert: the fullest of `experts` bins
/// exceeds the mean by sqrt(2 mean log(experts)). Every router of equal probabilities has this much by
/// chance; a learned one has more. Ranges: experts >= 1; top_k >= 1 and at most experts (more counts as all);
/// tokens >= 1.
/// @cite raabsteger1998balls, theorem 1 (many balls); fedus2022switch, section 2.2 (capacity)
struct ExpertLoad {
  static constexpr LawInfo info{
      "ExpertLoad",
      "touched = experts (1 - (1 - top_k / experts)^tokens); imbalance = 1 + sqrt(2 log(experts) / mean)",
      "raabsteger1998balls", "theorem 1", "independent tokens, equal probabilities"};
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

}  // namespace mlsysim
