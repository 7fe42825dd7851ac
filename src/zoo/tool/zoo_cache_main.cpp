/// mlsysim-zoo-cache ZOO_DIR [CACHE_FILE]: writes the binary cache of a zoo, by default ZOO_DIR/zoo.cache.

#include "../detail/zoo_cache.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: mlsysim-zoo-cache ZOO_DIR [CACHE_FILE]\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path zoo = argv[1];
    const auto cache = argc == 3 ? std::filesystem::path(argv[2]) : zoo / mlsysim::detail::kCacheName;
    const auto trees = mlsysim::detail::write_cache(zoo, cache);
    std::printf("%s: %zu files\n", cache.generic_string().c_str(), trees);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
