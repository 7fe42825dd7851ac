// Fuzz target for unit and quantity texts.
//
// Property: reading never crashes and throws nothing but mlsysim::Error; whatever is read is written back
// exactly. With a fuzzing engine, define MLSYSIM_LIBFUZZER and link it; otherwise the main below mutates
// seeds itself, so that the target runs as a plain test: `fuzz_units [iterations] [seed]`.

#include "fuzz/mutate.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace mlsysim;

namespace {

long g_read = 0;  // texts that were quantities; a fuzzer that only makes errors tests nothing

[[noreturn]] void broken(const char* what, std::string_view text) {
  std::fprintf(stderr, "fuzz_units: %s for '%.*s'\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

bool identical(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void check_quantity(std::string_view text) {
  const auto& units = UnitRegistry::standard();
  const AnyQuantity q = units.parse(text);
  ++g_read;
  if (!identical(units.parse(q.str()).base(), q.base())) broken("str() does not read back", text);
  const AnyQuantity exact = units.parse(format_exact(q));
  if (!identical(exact.base(), q.base()) || !(exact == q)) broken("format_exact does not read back", text);
  const AnyQuantity shown = units.parse(format_exact(q, q.unit()));
  if (!identical(shown.base(), q.base())) broken("format_exact in its own unit does not read back", text);
  if (!identical(q.to(q.unit()).base(), q.base())) broken("to() changes the value", text);
  if (pretty(q).empty()) broken("pretty() is empty", text);
}

void check_unit(std::string_view text) {
  const auto& units = UnitRegistry::standard();
  const UnitExpr unit = units.parse_unit(text);
  const UnitExpr again = units.parse_unit(unit.spelling);
  if (!(again.exps == unit.exps) || again.spelling != unit.spelling || again.mul != unit.mul ||
      again.div != unit.div)
    broken("the canonical spelling is another unit", text);
}

template <class F> void only_library_errors(F&& f, std::string_view text) {
  try {
    f(text);
  } catch (const Error& e) {
    if (e.id().empty() || e.facts().expected.empty()) broken("an error without id or expectation", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  only_library_errors(check_quantity, text);
  only_library_errors(check_unit, text);
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all{"3.35 TB/s",
                                            "80 GiB",
                                            "1 TFLOPs/s / W",
                                            "12 %",
                                            "0.5",
                                            "400 Gbps",
                                            "6 FLOP/param/token",
                                            "2.5 USD/h",
                                            "5.184 USD/TB/month",
                                            "1e-300 yr",
                                            "123456789012345678901234567890e-25 min",
                                            "5 1/s",
                                            "3 s^-2*B",
                                            "0.1 kg CO2e",
                                            "50 \xC2\xB5s",
                                            "-0 s",
                                            "1EFLOP",
                                            "+1E+3 s",
                                            ".5 L/kWh",
                                            "GB/s",
                                            "1/token",
                                            "TFLOPS",
                                            "nan",
                                            "1,5 GB",
                                            "4.9e-324 s",
                                            "1.7976931348623157e308 B",
                                            "9007199254740993 GiB",
                                            "7 B/param",
                                            "1 PiB/yr^2"};
  return all;
}

std::string mutated(std::mt19937_64& random) {
  static const std::string alphabet =
      "0123456789.eE+-*/^ %$()_,kMGTPnumBbsWhJLFLOPtokenparamUSDCO2\xC2\xB5\t";
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::string text = seeds()[pick(seeds().size())];
  for (std::size_t n = pick(6); n > 0; --n) {
    const std::size_t at = pick(text.size() + 1);
    switch (pick(6)) {
      case 0:
        text.insert(at, 1, alphabet[pick(alphabet.size())]);
        break;
      case 1:
        if (at < text.size()) text.erase(at, 1 + pick(3));
        break;
      case 2:
        if (at < text.size()) text[at] = alphabet[pick(alphabet.size())];
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 4:
        text.insert(at, seeds()[pick(seeds().size())]);
        break;
      default: {  // another spelling of the table, behind or in place of the unit
        static const auto names = UnitRegistry::standard().spellings();
        text = text.substr(0, text.find_first_of(" ")) + " " + names[pick(names.size())];
        if (pick(2) == 0) text += (pick(2) == 0 ? "/" : "*") + names[pick(names.size())];
        if (pick(3) == 0) text += "^" + std::to_string(pick(5));
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const long iterations = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 200000;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (const auto& seed : seeds())
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size());
  for (long i = 0; i < iterations; ++i) {
    const std::string text = mutated(random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("fuzz_units: %ld texts, %ld of them quantities\n", iterations, g_read);
  fuzz::replay_corpus();
  if (g_read * 10 < iterations) {
    std::fprintf(stderr,
                 "fuzz_units: fewer than a tenth of the texts were read; the mutations miss the subject\n");
    return 1;
  }
  return 0;
}
#endif
