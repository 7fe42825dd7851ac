// The batch that serves most within a latency and a memory.
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/units/unit.hpp>

#include <vector>

namespace {

using namespace mlsysim;

struct BestBatch : Optimizer<BestBatch> {
  static constexpr std::string_view about = "Batch that serves most within a latency and a memory";
  static constexpr std::string_view law =
      "max b token / token_time(b), token_time(b) = (weights + b cache) / bandwidth";
  struct Inputs {
    Data<> weights, cache;
    Bandwidth<> bandwidth;
    Data<> capacity;
    Time<> target_latency;
    double most = 1;
    static constexpr auto fields() {
      return rows(field(&Inputs::weights, "weights", "GB", "bytes of the weights").non_negative(),
                  field(&Inputs::cache, "cache", "GB", "of one request").non_negative(),
                  field(&Inputs::bandwidth, "bandwidth", "TB/s", "of the memory").positive(),
                  field(&Inputs::capacity, "capacity", "GB", "of the memory").non_negative(),
                  field(&Inputs::target_latency, key::target_latency),
                  field(&Inputs::most, "most", "", "largest batch that is tried").at_least(1).counted());
    }
  };
  struct Result {
    double best_batch = 0;
    TokenRate<> token_rate;
    double total_searched = 0;
    static constexpr auto fields() {
      return rows(
          field(&Result::best_batch, "best_batch", "", "requests in the batch").counted(),
          field(&Result::token_rate, "token_rate", "token/s", "tokens of all requests"),
          field(&Result::total_searched, "total_searched", "", "candidates that were looked at").counted());
    }
  };
  Outcome<Result> solve(const Inputs& in, Search& search) const {
    // Yours: search.maximize(candidates, [&](double b) -> Score { return {objective, {at_most("latency", ...,
    // ...)}}; });
    (void)search;
    return Infeasible{"not written yet: BestBatch up to " + std::to_string(in.most), "", {}};
  }
};

}  // namespace

MLSYSIM_PLUGIN(
    ({.name = "a4-optimizer", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<BestBatch>();
}
