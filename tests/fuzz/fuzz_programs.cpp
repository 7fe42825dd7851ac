/// Fuzzes exported programs: StableHLO and HLO text, ONNX, archives of torch.export, logs of TORCH_TRACE.
/// Whatever the bytes, only mlsysim::Error is thrown, every refusal has an id, words and a place, and the
/// sums of what was read are finite.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_programs [rounds] [seed]

#include "fuzz/mutate.hpp"

#include <mlsysim/programs/program.hpp>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;

[[noreturn]] void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.substr(0, 2000).c_str());
  std::abort();
}

/// Whether f() reads the bytes; a refusal must be one of ours and say where.
template <class F> bool reads(const std::string& bytes, F&& f) {
  try {
    const Program p = f();
    const auto sums = totals_of(p);
    for (const double x :
         {sums.operators, sums.macs, sums.flops, sums.weight_bytes, sums.traffic, sums.peak_activations})
      if (!std::isfinite(x)) fail("a sum that is not finite", bytes);
    return sums.operators > 0;
  } catch (const ErrorList& list) {
    if (list.problems().empty()) fail("a list of no problems", bytes);
  } catch (const Error& error) {
    if (error.id().empty() || error.facts().message.empty()) fail("an error without id or message", bytes);
    if (std::string(error.what()).find("fuzz") == std::string::npos)
      fail("an error without a place", error.what());
  }
  return false;
}

bool check(const std::string& bytes) {
  bool read = reads(bytes, [&] { return read_mlir(bytes, "fuzz.mlir"); });
  read |= reads(bytes, [&] { return read_hlo(bytes, "fuzz.hlo"); });
  read |= reads(bytes, [&] { return read_onnx(bytes, "fuzz.onnx"); });
  read |= reads(bytes, [&] { return read_pt2(bytes, "fuzz.pt2"); });
  read |= reads(bytes, [&] {
    auto graphs = read_torch_trace(bytes, "fuzz.log");
    return graphs.empty() ? Program() : std::move(graphs.back());
  });
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  const auto file = [](const char* name) {
    std::ifstream in(std::string(FUZZ_PROGRAMS_DATA "/") + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  static const std::vector<std::string> seeds{
      file("stablehlo/mnist_mlp.mlir"), file("onnx/linear.onnx"), file("onnx/conv2d_groups.onnx"),
      "HloModule m\n\nENTRY e {\n  a = f32[2,3] parameter(0)\n  ROOT b = f32[2,3] add(a, a)\n}\n"};
  static const std::vector<std::string> pieces{"tensor<4x?xf32>",
                                               "stablehlo.dot_general",
                                               "\"",
                                               "{",
                                               "}",
                                               "(",
                                               ")",
                                               "<",
                                               ">",
                                               "%0",
                                               "->",
                                               "x",
                                               "1e308",
                                               "9223372036854775807",
                                               "-1",
                                               "0",
                                               "f32",
                                               "#loc1",
                                               std::string(4, '\xFF'),
                                               std::string(2, '\0'),
                                               "\xC3"};
  return mlsysim::fuzz::run(argc, argv, 1500, {seeds, pieces}, check);
}
#endif
