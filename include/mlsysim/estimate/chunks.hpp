#pragma once
/// Sums over the chunks of a prompt, at a cost that does not grow with their number.

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

/// Up to so many chunks are priced one by one.
inline constexpr double kChunksPriced = 4096;
/// Beyond, the chunks before the last two are taken in so many runs of neighbors, and two of each are
/// priced.
inline constexpr double kChunkRuns = 1024;

/// How a sum over chunks is priced: so many one by one, more in runs.
struct ChunkSampling {
  double priced = kChunksPriced, runs = kChunkRuns;
};

/// Calls `visit(i, n)` for chunks i of 0 to `count` - 1 in order of their runs, the last chunk last: it
/// stands for n chunks, and the n add up to `count`.
///
/// The two chunks of a run lie symmetrically in it, so that a sum of what is linear in i is exact. Their
/// place moves from run to run by the golden ratio, so that nothing periodic in i, such as tiles or attention
/// in chunks, meets them in step. Where the cost of a chunk does not fall with i, both sums lie between those
/// of the cheapest and the dearest chunk of every run, so they differ by at most (length of a run) * (cost of
/// the last - cost of the first).
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
