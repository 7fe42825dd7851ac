// Catch2's main. Version 2 wants a macro in one file; version 3 brings its own in Catch2::Catch2WithMain, and
// this file then only forwards to it.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
