#pragma once

/// Whether this is a program under a sanitizer: slower, it keeps freed memory for a while, and has address
/// space of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
