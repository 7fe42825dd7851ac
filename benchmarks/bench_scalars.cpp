// Cost of the scalars: batch kernels against the same law written by hand over raw arrays, and each scalar
// against double.
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/tape/register.hpp>
#include <mlsysim/tape/tangents.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace mlsysim;

namespace {

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define BY_HAND                                                                          \
  __attribute__((noinline, target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), \
                 optimize("O3,no-math-errno,no-trapping-math,fp-contract=off")))
#else
#define BY_HAND __attribute__((noinline))
#endif

struct Roofline {
  static constexpr LawInfo info{.id = "Roofline", .equation = "time = max(work / peak, traffic / bandwidth)"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    MLSYSIM_FIELDS(Inputs, work, traffic, peak, bandwidth)
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
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
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic, message;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth, host;
    Time<T> alpha;
    T ranks;
    MLSYSIM_FIELDS(Inputs, work, traffic, message, peak, bandwidth, host, alpha, ranks)
  };
  template <class T> struct Result {
    Time<T> time, latency;
    MLSYSIM_FIELDS(Result, time, latency)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
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
    const double *work = in[0], *traffic = in[1], *message = in[2], *peak = in[3], *bandwidth = in[4],
                 *host = in[5], *alpha = in[6], *ranks = in[7];
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
  template <class T> using Inputs = Mixed::Inputs<T>;
  template <class T> using Result = Mixed::Result<T>;
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
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
  static constexpr std::size_t n = kBlock;
  std::vector<std::vector<double>> columns;
  std::vector<const double*> in;
  std::vector<double*> out;

  explicit Block(const LawEntry& law) : columns(law.inputs.size() + law.results.size()) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      columns[k].reserve(n + 8 * (k + 1));  // apart by other than 4 KiB
      for (std::size_t i = 0; i < n; ++i)
        columns[k].push_back(1.0 + static_cast<double>((i * 37 + k * 11) % 101));
      (k < law.inputs.size() ? void(in.push_back(columns[k].data()))
                             : void(out.push_back(columns[k].data())));
    }
  }
};

void per_point(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(Block::n));
  state.counters["ns_per_point"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * Block::n * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class L> void by_hand(benchmark::State& state) {
  Block b(entry_of<L>());
  for (auto _ : state) {
    L::by_hand(b.in.data(), b.out.data(), Block::n);
    benchmark::ClobberMemory();
  }
  per_point(state);
}

template <class L> void batch_kernel(benchmark::State& state) {
  Block b(entry_of<L>());
  const ColumnProgram program(entry_of<L>().tape());
  ColumnProgram::Workspace workspace(program);
  for (auto _ : state) {
    program.run(b.in.data(), b.out.data(), Block::n, workspace);
    benchmark::ClobberMemory();
  }
  per_point(state);
}

/// One evaluation at a time, over points of a block, so that nothing is constant: the law on double, or its
/// tape.
template <class L, class Run> void over_points(benchmark::State& state, Run run) {
  const Block b(entry_of<L>());
  std::vector<std::vector<double>> points(Block::n);
  for (std::size_t p = 0; p < Block::n; ++p)
    for (const double* column : b.in) points[p].push_back(column[p]);
  for (auto _ : state)
    for (const auto& point : points) run(point);
  per_point(state);
}

template <class L> void on_double(benchmark::State& state) {
  std::vector<double> out(entry_of<L>().results.size());
  over_points<L>(state, [&](const std::vector<double>& point) {
    entry_of<L>().evaluate(nullptr, point.data(), out.data());
    benchmark::DoNotOptimize(out.data());
  });
}

template <class L> void on_tape(benchmark::State& state) {
  const Tape& tape = entry_of<L>().tape();
  std::vector<double> out(tape.results()), values;
  over_points<L>(state, [&](const std::vector<double>& point) {
    tape.evaluate(point, out, values);
    benchmark::DoNotOptimize(out.data());
  });
}

template <class L> void ranges(benchmark::State& state) {
  Ranges ranges(entry_of<L>().tape());
  std::vector<Interval> box;
  over_points<L>(state, [&](const std::vector<double>& point) {
    box.clear();
    for (const double x : point) box.emplace_back(x, x * 1.05);
    ranges.run(box);
    benchmark::DoNotOptimize(ranges.result(0));
  });
}

template <class L> void tangents(benchmark::State& state) {
  Tangents tangents(entry_of<L>().tape());
  std::vector<std::size_t> seeds;
  over_points<L>(state, [&](const std::vector<double>& point) {
    while (seeds.size() < std::min<std::size_t>(point.size(), Tangents::kSeeds))
      seeds.push_back(seeds.size());
    tangents.run(point, seeds, 1.0);
    benchmark::DoNotOptimize(tangents.value(0));
  });
}

template <class L> void record(benchmark::State& state) {
  for (auto _ : state) {
    auto tape = record_law<L>();
    benchmark::DoNotOptimize(tape);
  }
}

BENCHMARK(by_hand<Roofline>);
BENCHMARK(batch_kernel<Roofline>);
BENCHMARK(by_hand<Mixed>);
BENCHMARK(batch_kernel<Mixed>);
BENCHMARK(by_hand<Transcendental>);
BENCHMARK(batch_kernel<Transcendental>);
BENCHMARK(on_double<Mixed>);
BENCHMARK(on_tape<Mixed>);
BENCHMARK(ranges<Mixed>);
BENCHMARK(tangents<Mixed>);
BENCHMARK(record<Mixed>);
BENCHMARK(on_double<Transcendental>);
BENCHMARK(on_tape<Transcendental>);
BENCHMARK(ranges<Transcendental>);
BENCHMARK(tangents<Transcendental>);
BENCHMARK(record<Transcendental>);

}  // namespace
