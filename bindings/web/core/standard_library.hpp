#pragma once
// Included before everything: zig configures its C++ library for a machine without threads and files. Here
// one thread has its locks, which are always free, and files are those that the page hands in.
#undef _LIBCPP_HAS_THREADS
#define _LIBCPP_HAS_THREADS 1
#define _LIBCPP_HAS_THREAD_API_PTHREAD 1
#define _LIBCPP_HAS_THREAD_API_EXTERNAL 0
#define _LIBCPP_HAS_THREAD_API_WIN32 0
#undef _LIBCPP_HAS_FILESYSTEM
#define _LIBCPP_HAS_FILESYSTEM 1
#undef _LIBCPP_HAS_TIME_ZONE_DATABASE
#define _LIBCPP_HAS_TIME_ZONE_DATABASE 0
// The C library of WebAssembly is musl's without the system calls of Linux.
#undef _LIBCPP_HAS_MUSL_LIBC
#define _LIBCPP_HAS_MUSL_LIBC 0
