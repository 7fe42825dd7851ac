// Catch2's main. Version 2 wants a macro in one file; version 3 brings its own in Catch2::Catch2WithMain, and
// this file then only forwards to it.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#include "sanitized.hpp"
#ifdef MLSYSIM_SANITIZED
// The sanitizer tells of a signal itself; the handlers of Catch2 allocate in them, which it would take for a
// fault of ours.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#endif
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
