// Files that were cut off or changed: they are read or refused, and nothing else.

#include "fuzz/mutate.hpp"
#include "samples.hpp"
#include "support/catch.hpp"

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace mlsysim;

namespace {

std::vector<std::string> configs() {
  std::vector<std::string> out;
  for (const char* name : {"moonshotai--Kimi-K3", "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
                           "google--gemma-4-26B-A4B", "deepseek-ai--DeepSeek-V4-Flash", "google-t5--t5-small",
                           "MiniMaxAI--MiniMax-M3", "XiaomiMiMo--MiMo-V2-Flash"}) {
    std::ifstream in(std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files/configs" /
                     (std::string(name) + ".json"));
    std::stringstream text;
    text << in.rdbuf();
    out.push_back(text.str());
  }
  return out;
}

/// Runs `read` on changed files. @return how many were refused
template <class F>
int rounds(const std::vector<std::string>& seeds, const std::vector<std::string>& pieces, int count,
           F&& read) {
  std::mt19937 random(20261123);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    auto text = fuzz::mutated({seeds, pieces}, random);
    if (i % 4 == 0) text.resize(random() % (text.size() + 1));
    try {
      read(text);
    } catch (const Error& error) {
      ++refused;
      if (error.facts().hint.empty() || error.id().empty()) FAIL(error.what());
    }
  }
  return refused;
}

}  // namespace

TEST_CASE("changed configurations are read or refused", "[model_files]") {
  const int refused = rounds(
      configs(), {"null", "-1", "0", "1e99", "[]", "{}", "\"x\"", "true", ",", "[[[[", "NaN", "9999999999"},
      2000, [](const std::string& text) {
        (void)model_file_yaml(read_config({text, {}, {}}, "config.json"));
      });
  CHECK(refused > 500);
  CHECK(refused < 2000);
}

TEST_CASE("changed headers are read or refused", "[model_files]") {
  const std::vector<std::string> gguf{samples::gguf_llama()};
  const std::string large(8, '\xff');
  CHECK(rounds(gguf, {large, "GGUF", std::string(4, '\0')}, 2000,
               [](const std::string& text) { (void)read_gguf(text, text.size() + 100000, "m.gguf"); }) > 500);
  const std::vector<std::string> tensors{
      samples::safetensors(R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}})")};
  CHECK(rounds(tensors, {large, "-1", "1e99", "[", "{"}, 2000, [](const std::string& text) {
          (void)safetensors_header(text, text.size() + 12, "m.safetensors");
        }) > 500);
}
