// Archives of torch.export, logs of TORCH_TRACE, and HLO text.

#include "programs.hpp"
#include "support/catch.hpp"

#include <minizip/zip.h>

#include <cstdio>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// A zip file with one entry.
std::string archive(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "mlsysim_test_torch.zip";
  zipFile zip = zipOpen(path.c_str(), APPEND_STATUS_CREATE);
  REQUIRE(zip != nullptr);
  const zip_fileinfo facts{};
  REQUIRE(zipOpenNewFileInZip(zip, name.c_str(), &facts, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED,
                              Z_DEFAULT_COMPRESSION) == ZIP_OK);
  REQUIRE(zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size())) == ZIP_OK);
  REQUIRE(zipCloseFileInZip(zip) == ZIP_OK);
  REQUIRE(zipClose(zip, nullptr) == ZIP_OK);
  auto bytes = text_of(path);
  std::filesystem::remove(path);
  return bytes;
}

/// linear(x, w, b) with an open batch, as torch/_export/serde/schema.py of PyTorch 2.9 has it.
std::string linear_graph(int major = 8) {
  const auto tensor = [](const std::string& sizes) {
    return R"({"dtype": 7, "sizes": [)" + sizes +
           R"(], "requires_grad": false, "device": {"type": "cpu"}, "strides": [], "storage_offset": {"as_int": 0}, "layout": 7})";
  };
  const std::string batch = R"({"as_expr": {"expr_str": "s0", "hint": {"as_int": 4}}})",
                    twice = R"({"as_expr": {"expr_str": "2*s0 + 1"}})";
  return R"({"graph_module": {"graph": {
    "inputs": [{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "p_bias"}}, {"as_tensor": {"name": "x"}}],
    "outputs": [{"as_tensor": {"name": "relu"}}],
    "nodes": [
      {"target": "torch.ops.aten.linear.default",
       "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}}, {"name": "weight", "arg": {"as_tensor": {"name": "p_weight"}}},
                  {"name": "bias", "arg": {"as_tensor": {"name": "p_bias"}}}],
       "outputs": [{"as_tensor": {"name": "linear"}}],
       "metadata": {"nn_module_stack": "L__self__,,m.Net;L__self___encoder,encoder.layers.0,torch.nn.Linear"}},
      {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}],
       "outputs": [{"as_tensor": {"name": "relu"}}], "metadata": {}},
      {"target": "torch.ops.aten.cat.default", "inputs": [{"name": "tensors", "arg": {"as_tensors": [{"name": "relu"}, {"name": "relu"}]}}],
       "outputs": [{"as_tensor": {"name": "cat"}}], "metadata": {}}],
    "tensor_values": {"p_weight": )" +
         tensor(R"({"as_int": 8}, {"as_int": 16})") + R"(, "p_bias": )" + tensor(R"({"as_int": 8})") +
         R"(, "x": )" + tensor(batch + R"(, {"as_int": 16})") + R"(, "linear": )" +
         tensor(batch + R"(, {"as_int": 8})") + R"(, "relu": )" + tensor(batch + R"(, {"as_int": 8})") +
         R"(, "cat": )" + tensor(twice + R"(, {"as_int": 8})") + R"(},
    "sym_int_values": {}, "sym_bool_values": {}},
    "signature": {"input_specs": [
      {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "weight"}},
      {"parameter": {"arg": {"name": "p_bias"}, "parameter_name": "bias"}},
      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}], "output_specs": []},
    "module_call_graph": []},
  "opset_version": {"aten": 10}, "range_constraints": {},
  "schema_version": {"major": )" +
         std::to_string(major) + R"(, "minor": 14}, "torch_version": "2.9.0"})";
}

}  // namespace

TEST_CASE("an archive of torch.export is read without unpacking its weights") {
  const auto bytes = archive("m/models/model.json", linear_graph());
  const auto open = read_pt2(bytes, "m.pt2");
  CHECK(open.open == std::vector<std::string>{"s0", "2*s0 + 1"});
  const auto p = read_pt2(bytes, "m.pt2", {.dims = {{"s0", 4}}});
  CHECK(p.open.empty());
  CHECK(p.version == "schema 8.14");
  const auto t = totals_of(p);
  CHECK(t.macs == 4 * 16 * 8);
  CHECK(t.weights == 16 * 8 + 8);
  CHECK(t.kernels == 2);  // the activation is part of the product's kernel
  CHECK(p.ops[0].name == "linear");
  CHECK(p.ops[0].path == "encoder/layers/0");
  CHECK(p.values[p.ops[2].results[0]].type.dims == std::vector<std::int64_t>{9, 8});
}

TEST_CASE("archives that are none, of another version, or bombs are refused") {
  const auto id = [](const std::string& bytes) {
    return refusal([&] { (void)read_pt2(bytes, "m.pt2"); }).facts().id;
  };
  CHECK(id("no zip") == "mlsysim.programs.022");
  CHECK(id(archive("other.txt", "{}")) == "mlsysim.programs.022");
  CHECK(id(archive("models/model.json", "{}")) == "mlsysim.programs.022");
  CHECK(id(archive("models/model.json", "{" + std::string(100000, '['))) ==
        "mlsysim.programs.023");  // it packs too well
  CHECK(id(archive("models/model.json", linear_graph(9))) == "mlsysim.programs.024");
  CHECK(id(archive("models/model.json", std::string(50'000'000, ' '))) == "mlsysim.programs.023");
  auto missing = linear_graph();
  missing.replace(missing.find(R"("linear"}}}])"), 8, R"("nobody")");
  CHECK(id(archive("models/model.json", missing)) == "mlsysim.programs.025");
}

TEST_CASE("graphs of a log of TORCH_TRACE") {
  const auto file = kPrograms / "torch_trace/bert_tiny_frames.log";
  const auto graphs = read_torch_trace(text_of(file), "bert.log");
  REQUIRE(graphs.size() == 2);
  CHECK(graphs[1].version == "aot_forward_graph of frame 3");
  // BERT-tiny on 10 tokens: two layers of four projections, scores and values of two heads of 64, a network
  // of 512; the pooler.
  const double layer = 10 * (4 * 128 * 128 + 2 * 128 * 512) + 2 * 2 * 10 * 10 * 64;
  CHECK(totals_of(graphs[1]).macs == 2 * layer + 128 * 128);
  CHECK(read_program(file).version == "aot_forward_graph of frame 3");
  CHECK(refusal([] { (void)read_program(kPrograms / "none.log"); }).facts().id == "mlsysim.programs.013");
}

TEST_CASE("HLO text after optimisation: fusions are expanded, loops state their trips") {
  const auto p = read_program(kPrograms / "hlo/scan_six_layers.hlo");
  CHECK(p.format == "HLO text");
  CHECK(p.open.empty());
  // Six layers of width 32 on 8 tokens, four heads of 8.
  CHECK(totals_of(p).macs == 6 * 8 * (32 * 96 + 32 * 32 + 2 * 32 * 128 + 2 * 8 * 32));
  CHECK(refusal([] { (void)read_hlo("HloModule m\n\nENTRY e {\n  x = f32[2] sideways\n}\n", "t.hlo"); })
            .facts()
            .where.line == 4);
  CHECK(refusal([] { (void)read_hlo("HloModule m\n", "t.hlo"); }).facts().id == "mlsysim.programs.027");
}
