#pragma once
/// The batch kernel of a law: columns of numbers in, columns out, at the speed of the machine.

#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/scalars/clones.hpp>
#include <mlsysim/tape/leaves.hpp>

#include <cstddef>

namespace mlsysim {

/// Lanes of the kernels; a block is a multiple of them.
inline constexpr std::size_t kLanes = Batch<>::width;

/// Evaluates `points` points, a multiple of `kLanes`. `self` is state of resolvers that are not laws.
using BatchFunction = void (*)(const void* self, const double* const* in, double* const* out, std::size_t points);

namespace detail {

// Function objects at namespace scope: a lambda inside the kernel would be a function of another target, and g++
// does not inline that into the kernel's clones.
struct LoadLanes {
  const double* const* in;
  std::size_t at;
  Batch<> operator()(std::size_t i) const {
    Batch<> x;
    for (std::size_t j = 0; j < kLanes; ++j) x.lane[j] = in[i][at + j];
    return x;
  }
};
struct StoreLanes {
  double* const* out;
  std::size_t at;
  void operator()(std::size_t i, const Batch<>& x) const {
    for (std::size_t j = 0; j < kLanes; ++j) out[i][at + j] = x.lane[j];
  }
};

template <class L>
void batch_step(const double* const* in, double* const* out, std::size_t at) {
  typename L::template Inputs<Batch<>> inputs;
  write_leaves(inputs, LoadLanes{in, at});
  read_leaves(L::template solve<Batch<>>(inputs), StoreLanes{out, at});
}

template <class L>
MLSYSIM_KERNEL void batch_kernel(const void*, const double* const* in, double* const* out, std::size_t points) {
  for (std::size_t at = 0; at < points; at += kLanes) batch_step<L>(in, out, at);
}

}  // namespace detail
}  // namespace mlsysim
