#pragma once
/// The batch kernel of a law: columns of numbers in, columns out, at the speed of the machine.
///
/// One copy is compiled per instruction set and the loader picks one, so the binary runs on any machine of its
/// architecture. Never compile a file of laws with -march: the linker keeps one copy of each inline function, and it
/// may be the one that older machines cannot run.

#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/tools/leaves.hpp>

#include <cstddef>

// The attribute carries the flags that the loop needs, so that a law registered in any file, at any -O level,
// gets a fast kernel; values stay those of IEEE arithmetic (no fast-math, no fused multiply-add). Sanitizer builds
// get a plain function: inlining everything there costs minutes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MLSYSIM_PLAIN_KERNELS) || \
    !defined(__OPTIMIZE__)
#define MLSYSIM_KERNEL __attribute__((noinline))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define MLSYSIM_KERNEL                                                              \
  __attribute__((noinline, flatten, target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), \
                 optimize("O3,no-math-errno,no-trapping-math,fp-contract=off")))
#elif defined(__GNUC__)
#define MLSYSIM_KERNEL __attribute__((noinline, flatten))
#else
#define MLSYSIM_KERNEL
#endif

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
