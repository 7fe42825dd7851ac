#pragma once

/// Whether this is a program under a sanitizer: slower, it keeps freed memory for a while, and has address
/// space of its own. g++ says so by macros, clang by features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MLSYSIM_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MLSYSIM_SANITIZED
#endif
#endif
#ifdef MLSYSIM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
