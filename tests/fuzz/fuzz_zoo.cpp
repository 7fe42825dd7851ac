/// Fuzzes the reading of YAML: whatever the bytes, only mlsysim::Error is thrown, and what loads can be
/// written, read again and written to the same bytes. The second half of the input space is the binary cache.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds for a fixed number of rounds:
/// fuzz_zoo [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"
#include "zoo/detail/zoo_cache.hpp"

#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;

const Zoo& base() {
  static const Zoo zoo = [] {
    Zoo z;
    z.add_reference({"ref", "A reference", "", {}});
    z.add(HardwareNode{}, Entry{.kind = "hardware", .name = "X1"});
    return z;
  }();
  return zoo;
}

using fuzz::fail;

void check_text(const std::string& text) {
  Zoo zoo;
  if (!fuzz::takes(
          text, [&] { zoo = load_text(text, "fuzz.yaml", base()); }, "fuzz.yaml"))
    return;
  for (const Entry* entry : zoo.entries()) {
    const auto first = to_yaml(zoo, *entry);
    try {
      const Zoo again = load_text(first, "again.yaml", entry->kind == "hardware" ? base() : zoo);
      const auto second = to_yaml(again, *again.entries().front());
      if (first != second) fail("not byte-stable", first + "----\n" + second);
    } catch (const Error& error) {
      // An entry may refer to one of the same file, or be named like one of the base; neither is known here.
      const std::string what = error.what();
      const bool about_others = what.find("mlsysim.zoo.039") != std::string::npos;
      if (!about_others) fail("what was written cannot be read", first + what);
    }
  }
}

void check_cache(const std::string& bytes) { (void)detail::TreeCache::parse(bytes).size(); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_text(bytes);
  check_cache(bytes);
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all{
      "schema: mlsysim/hardware@1\nentries:\n- name: D\n  aliases: [D1]\n"
      "  source: {kind: datasheet, ref: ref, verified: 2026-03-06, note: \"a, b\"}\n"
      "  compute: {dense: {fp16: 100 TFLOP/s, int8: {value: 200 TOP/s, range: [100 TOP/s, 300 TOP/s]}}, "
      "units: 132}\n"
      "  memory: {capacity: 80 GiB, bandwidth: 3.35 TB/s, type: HBM3}\n"
      "  partition_profiles: [{name: half, memory: 40 GB}]\n"
      "  decisions: [{field: memory, took: both, why: x, instead_of: 5}]\n",
      "schema: mlsysim/model@2\nentries:\n- name: M\n  architecture: decoder\n  parameters: 8.03 Gparam\n"
      "  convolution:\n  - {op: conv, in: 3, out: 64, kernel: 7}\n  action: {dim: 7}\n  outline: "
      "{image_size: 224}\n"
      "  recommendation: {top_mlp: [1, 2], parameter_range: [1 Gparam, 2 Gparam]}\n"
      "  stacks:\n  - hidden: 64\n"
      "    layers:\n    - {times: 2, pattern: [{times: 3, reach: {window: 8}}, {mixer: {}}]}\n"
      "    mixer: {grouped: {heads: 4, qk_norm: head}}\n    feed_forward: {dense: {width: 128}}\n",
      "schema: mlsysim/node@1\nentries:\n- {name: N1, accelerator: X1, accelerators_per_node: 8}\n",
      "schema: mlsysim/price@1\nentries:\n- name: cloud.electricity\n  value: 0.12 USD/kWh\n  low: 0.1 "
      "USD/kWh\n  year: 2024\n",
      "schema: mlsysim/references@1\nentries:\n- {key: k, text: \"t \\\" u\", url: https://example.org}\n",
      "a: &x [1, {b: !!str c}]\n---\nd: *x\n",
  };
  return all;
}

const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all{": ",       "\n",
                                            "\n  ",     "- ",
                                            "{",        "}",
                                            "[",        "]",
                                            ",",        "\"",
                                            "'",        "#",
                                            "&a",       "*a",
                                            "!t",       "|",
                                            ">",        "%",
                                            "@",        "? ",
                                            "~",        "null",
                                            "true",     "no",
                                            "80",       "80 GB",
                                            "-1",       "1e999",
                                            "nan",      "\t",
                                            "\r\n",     "\xEF\xBB\xBF",
                                            "\xC3",     "\xE2\x82\xAC",
                                            "value",    "range",
                                            "kind",     "name",
                                            "mlsysim/", "@1",
                                            "---\n",    "...\n"};
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 20000;
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  detail::TreeCache cache;
  for (std::size_t i = 0; i < 4; ++i)
    (void)load_text(seeds()[i], "seed", base());  // a seed that fails teaches nothing
  for (const auto& seed : seeds()) {
    check_text(seed);
    detail::Problems problems;
    if (auto tree = detail::parse_yaml({"seed", seed}, problems))
      cache.add(seed.substr(16, 6), {1, seed.size(), std::move(*tree)});
  }
  const auto cached = cache.serialise();
  long loaded = 0;
  for (long i = 0; i < rounds; ++i) {
    const auto text = fuzz::mutated({seeds(), pieces()}, random);
    fuzz::bounded([](const std::string& t) { return check_text(t), true; }, text);
    try {
      loaded += static_cast<long>(load_text(text, "fuzz.yaml", base()).entries().size());
    } catch (const Error&) {
    }
    auto bytes = cached;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFF);
    check_cache(bytes);
  }
  std::printf("%ld rounds, %ld entries loaded\n", rounds, loaded);
  fuzz::replay_corpus();
  return loaded > 0 ? 0 : 1;  // without a single loaded entry the round trip was never tested
}
#endif
