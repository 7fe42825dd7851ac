/// Fuzzes files of others and of our own: config.json, headers of GGUF and safetensors, CSV tables, sealed
/// states. Whatever the bytes, only mlsysim::Error is thrown, every refusal has an id and words, a table that
/// was read is read again from what it says, and a state that was changed is never taken for whole.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_files [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"
#include "unit/model_files/samples.hpp"

#include <mlsysim/files/csv.hpp>
#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;
using fuzz::takes;

void check_table(const std::string& bytes) {
  const auto table = CsvTable::parse(bytes, "fuzz.csv");
  const auto cell = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  std::string again;
  const auto line = [&](auto&& text_of) {
    for (std::size_t c = 0; c < table.columns().size(); ++c) again += (c == 0 ? "" : ",") + cell(text_of(c));
    again += '\n';
  };
  line([&](std::size_t c) -> std::string_view { return table.columns()[c]; });
  for (std::size_t r = 0; r < table.rows(); ++r) line([&](std::size_t c) { return table.text(r, c); });
  const auto other = CsvTable::parse(again, "again.csv");
  if (other.columns() != table.columns() || other.rows() != table.rows()) fail("another table", bytes);
  for (std::size_t r = 0; r < table.rows(); ++r)
    for (std::size_t c = 0; c < table.columns().size(); ++c)
      if (other.text(r, c) != table.text(r, c)) fail("another cell", bytes);
}

bool check(const std::string& bytes) {
  bool read = takes(bytes, [&] {
    const auto model = read_config({bytes, {}, {}}, "config.json");
    if (model_file_yaml(model).empty()) fail("a model without a text", bytes);
  });
  read |= takes(
      bytes, [&] { (void)read_gguf(bytes, bytes.size() + (1 << 20), "fuzz.gguf"); }, "fuzz.gguf");
  read |= takes(
      bytes, [&] { (void)safetensors_header(bytes, bytes.size() + 8, "fuzz.safetensors"); },
      "fuzz.safetensors");
  read |= takes(
      bytes, [&] { check_table(bytes); }, ".csv");
  const auto state = files::sealed("{" + bytes + "}");
  if (files::damage_of(state)) fail("a state that is whole counts as damaged", bytes);
  auto changed = state;
  const auto at = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) % state.size();
  changed[at] = static_cast<char>(changed[at] ^ (1 + bytes.size() % 127));
  if (!files::damage_of(changed)) fail("a state with another byte counts as whole", bytes);
  if (!files::damage_of(std::string_view(state).substr(0, at)))
    fail("a part of a state counts as whole", bytes);
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  static const std::vector<std::string> seeds{
      R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "torch_dtype": "bfloat16"})",
      "index,batch,itl [ms]\n0,1,6.5\n1,\"2\",6.6\n", "a\n\"x\"\"y\n,z\"\n", mlsysim::samples::gguf_llama(),
      mlsysim::samples::safetensors(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})") +
          std::string(8, '\0')};
  static const std::vector<std::string> pieces{"\"",
                                               ",",
                                               "\n",
                                               "\r\n",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               ":",
                                               "0",
                                               "-1",
                                               "1e308",
                                               "4294967296",
                                               "null",
                                               "true",
                                               "\"hidden_size\": 0",
                                               "\"quantization_config\": {}",
                                               "\"num_local_experts\": 8",
                                               std::string(8, '\xFF'),
                                               std::string(4, '\0'),
                                               "GGUF",
                                               "\xC3"};
  return mlsysim::fuzz::run(argc, argv, 20000, {seeds, pieces}, check);
}
#endif
