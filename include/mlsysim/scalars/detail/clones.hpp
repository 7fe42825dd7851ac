#pragma once
/// The attribute of functions that are compiled once for each instruction set; the loader picks one, so the
/// binary runs on any machine of its architecture.
///
/// Never compile a file of laws with -march: the linker keeps one copy of each inline function, and it may be
/// the one that older machines cannot run. The attribute carries the flags that such code needs at any -O
/// level; values stay those of IEEE arithmetic (no fast-math, no fused multiply-add). Sanitizer builds get a
/// plain function: inlining everything there costs minutes. Without gcse-after-reload, which searches the
/// spills of whole passes for equal ones, the estimator compiles in 70 % of the time.

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
