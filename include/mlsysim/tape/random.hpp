#pragma once
/// Random numbers by index: draw i of a stream is a function of (seed, stream, i) alone.
///
/// So the same seed gives the same bytes for any number of threads, any block size and any order.

#include <array>
#include <cstdint>

namespace mlsysim {

/// Four 32-bit words from a counter and a key: Philox4x32-10.
/// @cite salmon2011parallel
[[nodiscard]] std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key);

/// A number in (0, 1), never 0 or 1: draw `index` of `stream` under `seed`; `attempt` counts redraws.
[[nodiscard]] double uniform_draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t index,
                                  std::uint32_t attempt = 0);

/// The value that a standard normal variable stays below with probability `p` in (0, 1); relative error about
/// 1e-15.
/// @cite wichura1988as241
[[nodiscard]] double normal_quantile(double p);

}  // namespace mlsysim
