// All-reduce by recursive halving and doubling [s].
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>

namespace {

using namespace mlsysim;

/// time = 2 log2(ranks) alpha + 2 (1 - 1/ranks) message / bandwidth. Ranges: message, alpha >= 0, bandwidth >
/// 0, ranks >= 1.
struct HalvingDoubling {
  template <class T> struct Inputs {
    Data<T> message;
    Bandwidth<T> bandwidth;
    Time<T> alpha;
    T ranks;
    static constexpr auto fields() {
      return rows(field(&Inputs::message, "message", "GB", "bytes to be summed").non_negative(),
                  field(&Inputs::bandwidth, "bandwidth", "GB/s", "one way, of each device").positive(),
                  field(&Inputs::alpha, "alpha", "us", "start-up of one transfer").non_negative(),
                  field(&Inputs::ranks, "ranks", "", "devices, a power of two").at_least(1));
    }
  };
  template <class T> struct Result {
    Time<T> time, startup, transfer;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "ms", "until every device has the sum"),
                  field(&Result::startup, "startup", "us", "part of the start-up"),
                  field(&Result::transfer, "transfer", "ms", "part of the transfer"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    // Yours: the equation, by + - * / and log2. `if` on a value does not compile; mlsysim::select does the
    // same.
    return {.time = 0.0 * in.alpha, .startup = 0.0 * in.alpha, .transfer = 0.0 * in.alpha};
  }
};

// The plugin is there only where the struct takes every scalar of the library.
static_assert(detail::HasTemplateStructs<HalvingDoubling>);

}  // namespace

MLSYSIM_PLUGIN(({.name = "a1-law", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<HalvingDoubling>();
}
