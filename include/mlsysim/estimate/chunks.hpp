#pragma once
/// Sums a cost over the chunks of a chunked prefill, in a number of visits that does not grow with the
/// chunks.
///
///     error <= (length of a run) (cost of the last chunk - cost of the first)
///
/// Up to `priced` chunks are visited one by one. Beyond, the chunks before the last two form `runs` runs. Two
/// chunks of each run are visited and stand for its length. Sums of costs that are linear in the index are
/// exact. The bound holds where cost does not fall with the index.
///
/// Example: `for_chunks(5000, visit)` makes 2 x 1024 + 2 = 2,050 visits, and their weights add up to 5,000.

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

inline constexpr double kChunksPriced = 4096;
inline constexpr double kChunkRuns = 1024;

/// Limits of a sum over chunks: chunks that are visited one by one, and runs beyond that.
struct ChunkSampling {
  double priced = kChunksPriced, runs = kChunkRuns;
};

/// Calls `visit(i, n)` for chunks i of 0 to `count` - 1 in order of their runs, the last chunk last: it
/// stands for n chunks, and the n add up to `count`.
///
/// The two chunks of a run lie symmetrically in it, so that a sum of what is linear in i is exact. Their
/// place moves from run to run by the golden ratio, so that nothing periodic in i, such as tiles or attention
/// in chunks, meets them in step. Where the cost of a chunk does not fall with i, both sums lie between those
/// of the cheapest and the dearest chunk of every run.
template <class F> void for_chunks(double count, F&& visit, ChunkSampling sampling = {}) {
  if (count <= sampling.priced) {
    for (double i = 0; i < count; ++i) visit(i, 1.0);
    return;
  }
  constexpr double golden = 0.6180339887498949;
  const double inside = count - 2;  // the last chunk may be short, and the one before is the longest
  double offset = 0, from = 0;
  for (double run = 0; run < sampling.runs; ++run) {
    const double to = std::floor(inside * ((run + 1) / sampling.runs)), length = to - from;
    const double step = std::floor(offset * length);
    visit(from + step, 0.5 * length);
    visit(to - 1 - step, 0.5 * length);
    offset = std::fmod(offset + golden, 1.0);
    from = to;
  }
  visit(count - 2, 1.0);
  visit(count - 1, 1.0);
}

}  // namespace mlsysim::detail
