#pragma once
/// Random changes to text, for the fuzz targets whose seeds are documents.

#include "support/sanitized.hpp"

#include <sys/resource.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

/// The door of libFuzzer, which every target has.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace mlsysim::fuzz {

/// What a mutation is made from.
struct Material {
  const std::vector<std::string>&
      seeds;  ///< documents, of which one is changed and parts of others are put in
  const std::vector<std::string>& pieces;  ///< what means something to the reader: punctuation, keys, values
};

/// One of the seeds with one to four changes.
inline std::string mutated(const Material& from, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  std::string text = from.seeds[below(from.seeds.size())];
  for (std::size_t i = random() % 2 == 0 ? 1 : 1 + below(4); i > 0; --i) {
    const auto at = below(text.size() + 1);
    switch (random() % 8) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        text.insert(at, from.pieces[below(from.pieces.size())]);
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(random() & 0xFF));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
        break;
      case 5:  // another digit where there is one
        for (auto k = at; k < text.size(); ++k)
          if (text[k] >= '0' && text[k] <= '9') {
            text[k] = static_cast<char>('0' + below(10));
            break;
          }
        break;
      case 6:
        if (random() % 4 == 0) text.resize(at);
        break;
      default: {
        const auto& other = from.seeds[below(from.seeds.size())];
        text.insert(at, other.substr(below(other.size()), below(60)));
      }
    }
  }
  return text;
}

/// One case: its answer, which must not take a second of the processor, nor more than 256 MiB at the peak.
template <class Check> bool bounded(const Check& check, const std::string& text) {
  const auto began = std::clock();
  const bool read = check(text);
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const bool late = seconds > (kSanitized ? 10 : 1), large = !kSanitized && used.ru_maxrss > 256L << 10;
  if (late || large) {
    std::fprintf(stderr, "a case took %.1f s, the peak is %ld MiB:\n%s\n", seconds, used.ru_maxrss >> 10,
                 text.c_str());
    std::abort();
  }
  return read;
}

#ifdef FUZZ_CORPUS  // targets have one; tests that only change texts do not
/// The committed files of the target, each through the door of libFuzzer and within the same bounds.
inline void replay_corpus() {
  long cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FUZZ_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    bounded(
        [](const std::string& text) {
          return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == 0;
        },
        bytes);
    ++cases;
  }
  std::printf("%ld files of the corpus\n", cases);
  if (cases == 0) std::exit(1);
}

/// The main of a target whose check says whether a text was read: the seeds, which must be, then rounds of
/// changed ones, and the committed files. Arguments: [rounds] [seed]
template <class Check>
int run(int argc, char** argv, long rounds, const Material& material, const Check& check) {
  if (argc > 1) rounds = std::atol(argv[1]);
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  for (const auto& seed : material.seeds)
    if (!check(seed)) {
      std::fprintf(stderr, "a seed that is refused teaches nothing:\n%s\n", seed.c_str());
      return 1;
    }
  long read = 0;
  for (long i = 0; i < rounds; ++i) read += bounded(check, mutated(material, random)) ? 1 : 0;
  std::printf("%ld rounds, %ld read\n", rounds, read);
  replay_corpus();
  return read > 0 && read < rounds ? 0 : 1;  // without both a reading and a refusal nothing was tested
}
#endif

}  // namespace mlsysim::fuzz
