// Cost of the scalars: batch kernels against the same law written by hand over raw arrays, and each scalar against double.
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/register.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

using namespace mlsysim;

namespace {

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define BY_HAND                                                                                             \
  __attribute__((noinline, target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"),                     \
                 optimize("O3,no-math-errno,no-trapping-math,fp-contract=off")))
#else
#define BY_HAND __attribute__((noinline))
#endif

struct Roofline {
  static constexpr LawInfo info{.id = "Roofline", .equation = "time = max(work / peak, traffic / bandwidth)"};
  template <class T>
  struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    MLSYSIM_FIELDS(Inputs, work, traffic, peak, bandwidth)
  };
  template <class T>
  struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double>
  static Result<T> solve(const Inputs<T>& in) {
    return {max(in.work / in.peak, in.traffic / in.bandwidth)};
  }

  BY_HAND static void by_hand(const double* const* in, double* const* out, std::size_t n) {
    const double *work = in[0], *traffic = in[1], *peak = in[2], *bandwidth = in[3];
    double* __restrict time = out[0];
    for (std::size_t i = 0; i < n; ++i) {
      const double a = work[i] / peak[i], b = traffic[i] / bandwidth[i];
      time[i] = a < b ? b : a;
    }
  }
};

/// About twenty operations: attention-like, with selects and a soft maximum of order two.
struct Mixed {
  static constexpr LawInfo info{.id = "Mixed", .equation = "twenty operations"};
  template <class T>
  struct Inputs {
    Work<T> work;
    Data<T> traffic, message;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth, host;
    Time<T> alpha;
    T ranks;
    MLSYSIM_FIELDS(Inputs, work, traffic, message, peak, bandwidth, host, alpha, ranks)
  };
  template <class T>
  struct Result {
    Time<T> time, latency;
    MLSYSIM_FIELDS(Result, time, latency)
  };
  template <class T = double>
  static Result<T> solve(const Inputs<T>& in) {
    const auto compute = in.work / in.peak, memory = in.traffic / in.bandwidth;
    const auto soft = sqrt(compute * compute + memory * memory);
    const T share = 1.0 - 1.0 / in.ranks;
    const auto ring = in.message / in.host * (2.0 * share) + in.alpha * (2.0 * (in.ranks - 1.0));
    const auto direct = in.message / in.host + in.alpha * 2.0;
    const auto network = select(in.ranks > 1.0, min(ring, direct), Time<T>());
    const auto hidden = clamp(network, Time<T>(), soft * 0.5);
    return {soft + network - hidden, max(soft, network)};
  }

  BY_HAND static void by_hand(const double* const* in, double* const* out, std::size_t n) {
    const double *work = in[0], *traffic = in[1], *message = in[2], *peak = in[3], *bandwidth = in[4], *host = in[5],
                 *alpha = in[6], *ranks = in[7];
    double* __restrict time = out[0];
    double* __restrict latency = out[1];
    for (std::size_t i = 0; i < n; ++i) {
      const double compute = work[i] / peak[i], memory = traffic[i] / bandwidth[i];
      const double soft = std::sqrt(compute * compute + memory * memory);
      const double share = 1.0 - 1.0 / ranks[i];
      const double ring = message[i] / host[i] * (2.0 * share) + alpha[i] * (2.0 * (ranks[i] - 1.0));
      const double direct = message[i] / host[i] + alpha[i] * 2.0;
      const double less = direct < ring ? direct : ring;
      const double network = ranks[i] > 1.0 ? less : 0.0;
      const double floor = network < 0.0 ? 0.0 : network, half = soft * 0.5;
      const double hidden = half < floor ? half : floor;
      time[i] = soft + network - hidden;
      latency[i] = soft < network ? network : soft;
    }
  }
};

/// The same with the C library's functions in the middle.
struct Transcendental {
  static constexpr LawInfo info{.id = "Transcendental", .equation = "with log2 and pow"};
  template <class T>
  using Inputs = Mixed::Inputs<T>;
  template <class T>
  using Result = Mixed::Result<T>;
  template <class T = double>
  static Result<T> solve(const Inputs<T>& in) {
    const auto base = Mixed::solve<T>(in);
    return {base.time + in.alpha * ceil(log2(in.ranks)), base.latency * pow(in.ranks, 0.3)};
  }

  BY_HAND static void by_hand(const double* const* in, double* const* out, std::size_t n) {
    Mixed::by_hand(in, out, n);
    const double *alpha = in[6], *ranks = in[7];
    double* __restrict time = out[0];
    double* __restrict latency = out[1];
    for (std::size_t i = 0; i < n; ++i) {
      time[i] = time[i] + alpha[i] * std::ceil(std::log2(ranks[i]));
      latency[i] = latency[i] * std::pow(ranks[i], 0.3);
    }
  }
};

/// Columns of one block, in the first-level cache, as a kernel sees them.
struct Block {
  static constexpr std::size_t n = BatchKernel::kBlock;
  std::vector<std::vector<double>> columns;
  std::vector<const double*> in;
  std::vector<double*> out;

  explicit Block(const LawEntry& law) : columns(law.inputs.size() + law.results.size()) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      columns[k].reserve(n + 8 * (k + 1));  // apart by other than 4 KiB
      for (std::size_t i = 0; i < n; ++i) columns[k].push_back(1.0 + static_cast<double>((i * 37 + k * 11) % 101));
      (k < law.inputs.size() ? void(in.push_back(columns[k].data())) : void(out.push_back(columns[k].data())));
    }
  }
};

void per_point(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(Block::n));
  state.counters["ns_per_point"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * Block::n * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class L>
void by_hand(benchmark::State& state) {
  Block b(entry_of<L>());
  for (auto _ : state) {
    L::by_hand(b.in.data(), b.out.data(), Block::n);
    benchmark::ClobberMemory();
  }
  per_point(state);
}

template <class L>
void batch_kernel(benchmark::State& state) {
  Block b(entry_of<L>());
  for (auto _ : state) {
    entry_of<L>().batch(nullptr, b.in.data(), b.out.data(), Block::n);
    benchmark::ClobberMemory();
  }
  per_point(state);
}

/// One evaluation at a time, over points of a block, so that no scalar sees constants.
template <class L, class T>
void one_by_one(benchmark::State& state) {
  using Inputs = typename L::template Inputs<T>;
  const Block b(entry_of<L>());
  std::vector<Inputs> points(Block::n);
  for (std::size_t p = 0; p < Block::n; ++p) {
    int seed = 0;
    write_leaves(points[p], [&](std::size_t i) {
      if constexpr (std::is_same_v<T, Dual<8>>) return T::variable(b.in[i][p], seed++ % 8);
      else if constexpr (std::is_same_v<T, Interval>) return T(b.in[i][p], b.in[i][p] * 1.05);
      else return T(b.in[i][p]);
    });
  }
  Trace trace;
  const TraceScope recording(trace);
  if (state.range(0) == 1) trace.open(std::string(L::info.id));
  for (auto _ : state) {
    for (std::size_t p = 0; p < points.size(); ++p) {
      const Inputs& in = points[p];
      if (p % 16 == 0) trace.clear();  // a step of a model is about that many calls
      auto r = apply<L, T>(in);
      benchmark::DoNotOptimize(r);
    }
  }
  per_point(state);
}

BENCHMARK(by_hand<Roofline>);
BENCHMARK(batch_kernel<Roofline>);
BENCHMARK(by_hand<Mixed>);
BENCHMARK(batch_kernel<Mixed>);
BENCHMARK(by_hand<Transcendental>);
BENCHMARK(batch_kernel<Transcendental>);
BENCHMARK(one_by_one<Mixed, double>)->Arg(0);
BENCHMARK(one_by_one<Mixed, Interval>)->Arg(0);
BENCHMARK(one_by_one<Mixed, Dual<8>>)->Arg(0);
BENCHMARK(one_by_one<Mixed, Traced>)->Arg(0)->Arg(1);
BENCHMARK(one_by_one<Transcendental, double>)->Arg(0);
BENCHMARK(one_by_one<Transcendental, Interval>)->Arg(0);
BENCHMARK(one_by_one<Transcendental, Dual<8>>)->Arg(0);
BENCHMARK(one_by_one<Transcendental, Traced>)->Arg(0)->Arg(1);

}  // namespace
