#pragma once
/// Random numbers by index: draw i of a stream depends on (seed, stream, i) alone.
///
///     uniform_draw = (n + 0.5) / 2^52
///     n = upper 52 of the first 64 bits of philox({index, stream, attempt}, seed)
///     normal_quantile(p) = z      with P(Z < z) = p for a standard normal Z
///
/// One seed gives the same bytes for any number of threads, any block size and any order.
/// @cite salmon2011parallel (Philox4x32-10)
/// @cite wichura1988as241 (routine PPND16)
/// Example: `normal_quantile(0.975)` = 1.95996 and `uniform_draw(1, 0, 0)` = 0.890259.

#include <array>
#include <cstdint>

namespace mlsysim {

/// Four 32-bit words from a counter and a key: Philox4x32-10.
[[nodiscard]] std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key);

/// A number in (0, 1), never 0 or 1: draw `index` of `stream` under `seed`; `attempt` counts redraws.
[[nodiscard]] double uniform_draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t index,
                                  std::uint32_t attempt = 0);

/// The value that a standard normal variable stays below with probability `p` in (0, 1). The relative error
/// is about 1e-15.
[[nodiscard]] double normal_quantile(double p);

}  // namespace mlsysim
