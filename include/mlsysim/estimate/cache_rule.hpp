#pragma once
/// The pool of an engine's KV cache, by the rule with which it divides the memory of a device.
///
///     total: pool = share memory - weights - reserve - activations - margin
///     free:  pool = share (memory - reserve) - weights - margin
///     rest:  pool = share (memory - weights - reserve - activations) - margin
///
/// activations: of the largest pass of prompts. A pool whose bytes are stated replaces that, where the device
/// has room for it. The same law answers `memory`, `fit` and every steady load.
/// Example: total, share 0.9 of 80 GiB, weights 16, reserve 1, activations 2 GiB: the pool is 53 GiB.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/specs/memory_rule.hpp>

namespace mlsysim {

/// Memory of a device, and all that it holds beside the pool.
template <class T = double> struct PoolDemand {
  Data<T> total;  ///< of the device
  Data<T> weights, reserve, activations;
  Data<T> margin;  ///< kept free besides
};

/// The pool; below zero where the rest leaves none. @param share of the memory, in the engine's own sense
template <class T> [[nodiscard]] Data<T> pool_of(ShareOf share_of, const T& share, const PoolDemand<T>& d) {
  switch (share_of) {
    case ShareOf::total:
      return share * d.total - d.weights - d.reserve - d.activations - d.margin;
    case ShareOf::free:
      return share * (d.total - d.reserve) - d.weights - d.margin;
    case ShareOf::rest:
      break;
  }
  return share * (d.total - d.weights - d.reserve - d.activations) - d.margin;
}

/// The rule of the engine of a replica; its share stands beside it.
template <class T = double> struct CacheRule {
  Data<T> margin;
  Data<T> stated;       ///< bytes of the pool, where they are given; 0: what the rule leaves
  T pass_tokens{1.0};   ///< of the largest pass of prompts of a rank
  T spare_tokens{0.0};  ///< of blocks that hold nothing
  bool known = false;   ///< else the share is of what all else leaves free
  ShareOf share_of = ShareOf::total;

  static constexpr auto fields() {
    using R = CacheRule;
    return rows(
        field(&R::margin, "margin", "MiB", "memory that the engine leaves free").non_negative().fixed(),
        field(&R::stated, "stated", "GB", "bytes of the pool, 0 for what is left").non_negative().fixed(),
        field(&R::pass_tokens, "pass_tokens", "", "tokens of the largest pass of a rank").positive().fixed(),
        field(&R::spare_tokens, "spare_tokens", "", "tokens of blocks that hold nothing")
            .non_negative()
            .fixed());
  }
  static constexpr auto categories() {
    using R = CacheRule;
    return rows(category(&R::known, "known", "the engine has a rule for its memory"),
                category(&R::share_of, "share_of", "what its share is a share of"));
  }
};

}  // namespace mlsysim
