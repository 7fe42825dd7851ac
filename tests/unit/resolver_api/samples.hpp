#pragma once
// Resolvers that the tests of this room share: one of each accepted form.

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>

namespace sample {

using namespace mlsysim;

/// A law without any base class and without info of its own.
struct OffloadModel {
  template <class T> struct Inputs {
    Data<T> weights, capacity;
    Bandwidth<T> hbm, host;
    MLSYSIM_FIELDS(Inputs, weights, capacity, hbm, host)
  };
  template <class T> struct Result {
    Data<T> spill;
    Time<T> time;
    MLSYSIM_FIELDS(Result, spill, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const auto spill = max(in.weights - in.capacity, Data<T>());
    return {spill, max((in.weights - spill) / in.hbm, spill / in.host)};
  }
};

/// A Solver with a residual.
struct RequiredBandwidthSolver : Solver<RequiredBandwidthSolver> {
  static constexpr std::string_view about =
      "Memory bandwidth that meets a latency when all weights are read once.";
  static constexpr std::array walls{3};
  static constexpr std::array fallacies{Fallacy{"peak rate decides", "a decoder waits for memory"}};
  struct Inputs {
    const Workload* workload;
    Time<> target_latency;
    static constexpr auto fields() {
      return rows(field(&Inputs::workload, key::workload),
                  field(&Inputs::target_latency, key::target_latency).positive());
    }
  };
  struct Result {
    Bandwidth<> required_bw;
    static constexpr auto fields() {
      return rows(field(&Result::required_bw, "required_bw", "GB/s", "bandwidth that meets the target"));
    }
  };
  Result solve(const Inputs& in) const { return {in.workload->size() / in.target_latency}; }
  Check verify(const Inputs& in, const Result& r) const {
    return {in.target_latency, in.workload->size() / r.required_bw, "target_latency"};
  }
};

/// An Optimizer over the zoo.
struct CheapestHardwareOptimizer : Optimizer<CheapestHardwareOptimizer> {
  struct Inputs {
    const Zoo* zoo;
    ComputeRate<> min_rate;
    MLSYSIM_FIELDS(Inputs, zoo, min_rate)
  };
  struct Result {
    SearchSummary search;
    Money<> cheapest_cost;
    std::string hardware_name;
    static constexpr auto fields() {
      return rows(field(&Result::search, "search", "", "what was tried"),
                  field(&Result::cheapest_cost, "cheapest_cost", "USD", "price of one device"),
                  field(&Result::hardware_name, "hardware_name", "", "the device"));
    }
  };
  std::optional<Result> solve(const Inputs& in, Search& search) const {
    const auto found = search.minimize(in.zoo->all<HardwareNode>(), [&](const HardwareNode& hw) -> Score {
      if (!hw.unit_cost) return {.skip = "no unit_cost"};
      return {*hw.unit_cost, {at_least("peak", hw.compute.peak_flops(), in.min_rate)}};
    });
    if (!found) return std::nullopt;
    return Result{found.summary, *found->unit_cost, found->name};
  }
};

/// Says no in its own words, and notes what it assumed. `batch_size` has a default.
struct FitModel : Model<FitModel> {
  struct Inputs {
    Data<> weights, capacity;
    double batch_size = 1;
    static constexpr auto fields() {
      return rows(field(&Inputs::weights, key::weights).positive(),
                  field(&Inputs::capacity, key::capacity).positive(),
                  field(&Inputs::batch_size, key::batch_size).defaulted("one request at a time").at_least(1));
    }
  };
  struct Result {
    double memory_utilization;
    MLSYSIM_FIELDS(Result, memory_utilization)
  };
  Outcome<Result> solve(const Inputs& in, Notes& notes) const {
    notes.assume("activations", Data<>(), "weights only");
    if (in.batch_size > 64) notes.warn("batch beyond what was fitted");
    if (in.weights > in.capacity)
      return Infeasible{"weights do not fit", "a device with more memory", {{"weights", "too many"}}};
    return Result{in.weights / in.capacity};
  }
};

}  // namespace sample
