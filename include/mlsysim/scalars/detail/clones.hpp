#pragma once
/// `MLSYSIM_KERNEL`, the attribute of functions that GCC compiles once for each x86-64 level (base, v3, v4).
///
/// The loader picks a clone, so the binary runs on any machine of its architecture. Values stay those of IEEE
/// arithmetic: no fast-math, no fused multiply-add. Sanitizer and unoptimized builds get a plain function.
/// Never compile a file of laws with -march. The linker keeps one copy of each inline function, and older
/// machines may not be able to run it. no-gcse-after-reload cuts the compile time of the estimator to 70 %.
/// Example: an optimized GCC build on x86-64 Linux defines `MLSYSIM_KERNEL_CLONES`, a clang build does not.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MLSYSIM_PLAIN_KERNELS) || \
    !defined(__OPTIMIZE__)
#define MLSYSIM_KERNEL __attribute__((noinline))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define MLSYSIM_KERNEL_CLONES 1
#define MLSYSIM_KERNEL                                                                            \
  __attribute__((noinline, flatten, target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), \
                 optimize("O3,no-math-errno,no-trapping-math,fp-contract=off,no-gcse-after-reload")))
#elif defined(__GNUC__)
#define MLSYSIM_KERNEL __attribute__((noinline, flatten))
#else
#define MLSYSIM_KERNEL
#endif
