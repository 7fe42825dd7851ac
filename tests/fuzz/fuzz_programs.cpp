/// Fuzzes the readers of programs: StableHLO and HLO text, ONNX files, archives of torch.export, logs of
/// TORCH_TRACE, heads of portable artifacts. Whatever the bytes, only mlsysim::Error is thrown, every refusal
/// has an id and words, and what was read has sums that are numbers.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds, each format in turn:
/// fuzz_programs [rounds] [seed] [format]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/model_graphs/program.hpp>
#include <mlsysim/model_graphs/representation.hpp>
#include <mlsysim/units/error.hpp>

#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;
using fuzz::takes;

void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

/// A zip file with one stored entry, whose checksum is right: what is fuzzed is what lies in it.
std::string archive(const std::string& text) {
  const std::string name = "m/models/model.json";
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  const auto head = [&](std::string& out) {
    put(out, 20, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0, 4), put(out, sum, 4);
    put(out, text.size(), 4), put(out, text.size(), 4), put(out, name.size(), 2), put(out, 0, 2);
  };
  std::string out = "PK\3\4", directory = "PK\1\2";
  head(out);
  out += name + text;
  put(directory, 20, 2);
  head(directory);
  put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4),
      put(directory, 0, 4);
  directory += name;
  const auto at = out.size();
  out += directory + "PK\5\6";
  put(out, 0, 4), put(out, 1, 2), put(out, 1, 2), put(out, directory.size(), 4), put(out, at, 4),
      put(out, 0, 2);
  return out;
}

void use(const Program& p, const std::string& bytes) {
  const auto t = totals_of(p);
  for (const double x : {t.macs, t.flops, t.weights, t.traffic, t.fused_traffic, t.peak_activations})
    if (std::isnan(x) || x < 0) fail("a sum that is no amount", bytes);
  (void)representation_of(p).text();
  if (p.open.empty()) (void)program_workload(p);
}

enum class Format { stablehlo, hlo, onnx, pt2, torch_trace, portable };
bool check(Format format, const std::string& bytes) {
  switch (format) {
    case Format::stablehlo:
      return takes(
          bytes, [&] { use(read_mlir(bytes, "fuzz.mlir"), bytes); }, "fuzz");
    case Format::hlo:
      return takes(
          bytes, [&] { use(read_hlo(bytes, "fuzz.hlo"), bytes); }, "fuzz");
    case Format::onnx:
      return takes(
          bytes, [&] { use(read_onnx(bytes, "fuzz.onnx"), bytes); }, "fuzz");
    case Format::pt2:
      // The archive itself, or what lies in one.
      return takes(
          bytes, [&] { use(read_pt2(bytes.starts_with("{") ? archive(bytes) : bytes, "fuzz.pt2"), bytes); },
          "fuzz");
    case Format::torch_trace:
      return takes(
          bytes,
          [&] {
            const auto graphs = read_torch_trace(bytes, "fuzz.log");
            for (const auto& p : graphs) use(p, bytes);
            if (graphs.empty()) throw InputError({.id = "fuzz", .message = "no graph in fuzz.log"});
          },
          "fuzz");
    case Format::portable:
      // Operators of an artifact are not read: a version that is known is all that there is.
      (void)takes(
          bytes, [&] { (void)read_program_text(bytes, "fuzz.bc"); }, "fuzz");
      return representation_of(std::string_view(bytes)).has_value();
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  check(static_cast<Format>(data[0] % 6), std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

constexpr const char* kNames[] = {"stablehlo", "hlo", "onnx", "pt2", "torch_trace", "portable"};

std::string file(const char* name) {
  std::ifstream in(std::string(FUZZ_PROGRAMS) + "/" + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const char* const kLoop =
    R"(func.func @main(%arg0: tensor<?x8xf32>, %arg1: tensor<8x8xbf16>) -> tensor<?x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<?x8xf32>
   cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %x, %arg1, contracting_dims = [1] x [0] : (tensor<?x8xf32>, tensor<8x8xbf16>) -> tensor<?x8xf32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %o : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<?x8xf32>
  }
  return %0#1 : tensor<?x8xf32>
}
)";
const char* const kHlo = R"(HloModule m
body (a: f32[4,8]) -> f32[4,8] {
  %a = f32[4,8] parameter(0)
  ROOT %t = f32[4,8]{1,0} tanh(f32[4,8]{1,0} %a)
}
ENTRY main (x: f32[4,8], w: f32[8,8]) -> f32[4,8] {
  %x = f32[4,8]{1,0} parameter(0)
  %w = f32[8,8]{1,0} parameter(1)
  %d = f32[4,8]{1,0} dot(f32[4,8]{1,0} %x, f32[8,8]{1,0} %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %f = f32[4,8]{1,0} fusion(f32[4,8]{1,0} %d), kind=kLoop, calls=body
}
)";
const char* const kExported =
    R"({"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "w"}}], "outputs": [{"as_tensor": {"name": "y"}}],
 "nodes": [{"target": "torch.ops.aten.mm.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "mat2", "arg": {"as_tensor": {"name": "w"}}}],
  "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {"nn_module_stack": "L__self__,,m.Net"}}],
 "tensor_values": {"x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0"}}, {"as_int": 16}]}, "w": {"dtype": 7, "sizes": [{"as_int": 16}, {"as_int": 8}]},
  "y": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0"}}, {"as_int": 8}]}}, "sym_int_values": {}},
 "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}, {"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}}], "output_specs": []}},
 "schema_version": {"major": 8, "minor": 14}})";

/// The first graph of the log, so that damage to it is a refusal.
std::string first_graph() {
  const auto log = file("torch_trace/bert_tiny_frames.log");
  return log.substr(0, log.find("\nV", 1) + 1);
}

const std::vector<std::vector<std::string>>& seeds() {
  static const std::vector<std::vector<std::string>> all{
      {kLoop, file("stablehlo/mnist_mlp.mlir")},
      {kHlo},
      {file("onnx/linear.onnx"), file("onnx/conv2d_groups.onnx")},
      {kExported, archive(kExported)},
      {first_graph()},
      {file("portable/invalid_future_version.mlir.bc"),
       file("portable/stablehlo_all_ops.1_20_0.mlir.bc").substr(0, 600)}};
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  static const std::vector<std::string> pieces{"tensor<",
                                               "x",
                                               "?",
                                               ">",
                                               "-> ",
                                               "%0",
                                               "%0#1",
                                               "{",
                                               "}",
                                               "(",
                                               ")",
                                               "[",
                                               "]",
                                               "0",
                                               "-1",
                                               "9223372036854775808",
                                               "stablehlo.while",
                                               "stablehlo.tan",
                                               "func.call @main",
                                               "dense<\"0x00\">",
                                               "f8E4M3FN",
                                               "ROOT",
                                               "while(",
                                               "calls=main",
                                               "\"as_int\": -5",
                                               "\"as_expr\"",
                                               "null",
                                               "\n",
                                               "\t",
                                               "\"",
                                               std::string(8, '\xFF'),
                                               std::string(4, '\0'),
                                               "ML\xefR",
                                               "StableHLO_v2.0.0",
                                               "PK\1\2",
                                               "\xC3"};
  const std::string wanted = argc > 3 ? argv[3] : "";
  bool known = wanted.empty();
  for (int i = 0; i < 6; ++i) {
    if (!wanted.empty() && wanted != kNames[i]) continue;
    known = true;
    std::printf("%s: ", kNames[i]);
    const auto format = static_cast<Format>(i);
    const auto one = [format](const std::string& bytes) { return check(format, bytes); };
    const auto status =
        mlsysim::fuzz::run(argc, argv, 2000, {seeds()[static_cast<std::size_t>(i)], pieces}, one);
    if (status != 0) return status;
  }
  return known ? 0 : 2;
}
#endif
