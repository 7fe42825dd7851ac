#pragma once
/// The model that bench_plugin asks, built in and from a plugin.

#include <mlsysim/resolver_api/contract.hpp>

namespace mlsysim::bench {

/// Twice as much.
struct Twice : Model<Twice> {
  static constexpr std::string_view about = "Twice as much";
  struct Inputs {
    Time<> x;
    static constexpr auto fields() { return rows(field(&Inputs::x, "x", "s", "what is doubled").positive()); }
  };
  struct Result {
    Time<> y;
    static constexpr auto fields() {
      return rows(field(&Result::y, "y", "s", "twice as much").non_negative());
    }
  };
  Result solve(const Inputs& in) const { return {2.0 * in.x}; }
};

}  // namespace mlsysim::bench
