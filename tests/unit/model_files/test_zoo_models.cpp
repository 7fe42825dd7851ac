// The zoo holds every model whose configuration is here, and each entry is what the importer reads: those
// that scripts/import-models wrote to the byte of their layers, those by hand by weights, cache and states.

#include "support/catch.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace mlsysim;

namespace {

const std::filesystem::path kData = std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files";

/// Configurations by the name that a hub gives the model.
std::map<std::string, std::filesystem::path> configurations() {
  std::map<std::string, std::filesystem::path> out;
  for (const char* folder : {"configs", "written"})
    for (const auto& file : std::filesystem::directory_iterator(kData / folder)) {
      const auto stem = file.path().stem().string();
      out[stem.substr(stem.find("--") + 2)] = file.path();
    }
  return out;
}

/// From the layers of a model to its formats, as a file of the zoo has them.
std::string layers_of(const Workload& w) {
  Zoo zoo;
  zoo.add<Workload>(w, {.kind = "model", .name = "model", .origin = "user"});
  const auto text = to_yaml(zoo.only<Workload>());
  return text.substr(text.find("\n  stacks:"), text.find("\n  inference:") - text.find("\n  stacks:"));
}

/// Bytes of the main stack by part, all in 16 bits, and its weights.
std::map<MemoryPart, double> sums_of(const Workload& w, double& weights) {
  MemoryQuestion q;
  q.model = &w;
  q.context = 65536;
  q.precision = q.kv_precision = Precision::bf16;
  const auto a = memory_account(q, conventions_of(standard_zoo()));
  std::map<MemoryPart, double> out;
  for (const auto& i : a.items)
    if (i.what.find(": ") == std::string::npos && i.part != MemoryPart::activations)
      out[i.part] += i.bytes / unit::B;
  weights = a.parameters / unit::param;
  out.erase(MemoryPart::weights);
  return out;
}

bool was_imported(const Workload& w) { return w.entry->where.file.ends_with("imported.yaml"); }

}  // namespace

TEST_CASE("the zoo holds the model of every configuration as the importer reads it", "[model_files]") {
  std::size_t imported = 0, by_hand = 0;
  for (const auto& [name, path] : configurations()) {
    INFO(path << ", to be written by scripts/import-models");
    const auto* held = standard_zoo().find<Workload>(name);
    REQUIRE(held != nullptr);
    const auto read = read_model(path).workload;
    if (was_imported(*held)) {
      CHECK(layers_of(*held) == layers_of(read));
      ++imported;
      continue;
    }
    double weights = 0, wanted = 0;
    CHECK(sums_of(*held, weights) == sums_of(read, wanted));
    // Written by hand, some without the small matrices that mix residual streams.
    CHECK(weights == Approx(wanted).epsilon(2e-4));
    ++by_hand;
  }
  CHECK(imported >= 270);
  CHECK(by_hand >= 15);
}

TEST_CASE("sizes that were written down give the published count of weights", "[model_files]") {
  std::ifstream in(kData / "written.csv");
  std::string line;
  std::getline(in, line);
  std::size_t rows = 0;
  while (std::getline(in, line)) {
    std::stringstream cells(line);
    std::string config, published;
    std::getline(cells, config, ',');
    std::getline(cells, published, ',');
    double weights = 0;
    sums_of(read_model(kData / "written" / (config + ".json")).workload, weights);
    INFO(config);
    // Counts that are published in whole thousands of millions are rounded.
    const bool rounded = published.ends_with("000000000");
    CHECK(weights == Approx(std::stod(published)).epsilon(rounded ? 0.006 : 1e-12));
    ++rows;
  }
  CHECK(rows == 207);
}

TEST_CASE("Mamba blocks of the first kind have their weights and states", "[model_files]") {
  double weights = 0;
  const auto sums = sums_of(standard_zoo().at<Workload>("Mamba_2_8B"), weights);
  CHECK(weights == Approx(2768345600));
  // 64 layers of 5120 channels, each with 16 values and the 3 inputs before this one, in FP32.
  CHECK(sums.at(MemoryPart::state) == Approx(64 * 5120 * (16 + 3) * 4.0));
  CHECK(sums.find(MemoryPart::cache) == sums.end());
}

TEST_CASE("T5 is gated where its feed-forward says so", "[model_files]") {
  const std::string head =
      R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 512, "d_ff": 1024,
      "num_layers": 8, "num_heads": 6, "d_kv": 64, "vocab_size": 32128, "tie_word_embeddings": false, "feed_forward_proj": ")";
  const auto gated = [&](const std::string& kind) {
    const auto m = read_config({.config = head + kind + "\"}"}, "config.json");
    return m.workload.stacks.front().feed_forward.dense->gated;
  };
  CHECK(gated("gated-gelu"));
  CHECK_FALSE(gated("relu"));
}

TEST_CASE("convolutional networks and PaLM have the weights that their papers state", "[model_files]") {
  for (const auto& [name, published] : {std::pair("VGG16", 138357544.0),
                                        {"ResNeXt101", 88791336.0},
                                        {"MobileNetV1", 4231976.0},
                                        {"MobileNetV3", 5483032.0},
                                        {"PaLM_8B", 8.63e9},
                                        {"PaLM_62B", 62.5e9},
                                        {"PaLM_540B", 540.35e9}}) {
    const auto& w = standard_zoo().at<Workload>(name);
    INFO(name);
    double counted = 0;
    if (!w.stacks.empty()) {
      sums_of(w, counted);
    } else {
      for (const auto& c : w.convolution) {
        const double out = c.out.value_or(c.channels.value_or(0)), groups = c.groups.value_or(1);
        double one = 0;
        if (c.op == LayerOp::conv) one = *c.in * out / groups * *c.kernel * *c.kernel;
        if (c.op == LayerOp::depthwise) one = out * *c.kernel * *c.kernel;
        if (c.op == LayerOp::linear) one = *c.in * out;
        one += out * ((c.bias ? 1 : 0) + (c.batch_norm ? 2 : 0));
        counted += one * c.times.value_or(1);
      }
    }
    CHECK(counted == Approx(published).epsilon(w.stacks.empty() ? 1e-12 : 2e-3));
  }
}

TEST_CASE("both sizes of DeepSeek-V4 are stored alike", "[model_files]") {
  const auto format = [](const char* model, TensorGroup group) {
    for (const auto& f : standard_zoo().at<Workload>(model).formats)
      if (f.tensors == group) return f.precision;
    return Precision::fp32;
  };
  for (const auto group : {TensorGroup::attention, TensorGroup::shared_experts, TensorGroup::experts}) {
    CHECK(format("DeepSeek_V4_Pro", group) == format("DeepSeek_V4_Flash", group));
    CHECK(format("DeepSeek_V4_Pro", group) != Precision::fp32);
  }
}
