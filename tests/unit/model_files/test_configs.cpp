// Configurations of current models: every file is read, and weights, cache and states come out as they were
// counted by hand from the same files, without this library (tests/data/model_files/expected.csv).

#include "support/catch.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace mlsysim;

namespace {

const std::filesystem::path kData = std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files";

struct Row {
  std::string config;
  double parameters, active, tolerance, cache, window_bytes, window, index, state, convolution;
  bool has_cache;
};

std::vector<Row> expected() {
  std::ifstream in(kData / "expected.csv");
  std::vector<Row> out;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::stringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    cells.resize(10);
    const auto x = [&](std::size_t i) { return cells[i].empty() ? 0.0 : std::stod(cells[i]); };
    out.push_back({cells[0], x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9), !cells[4].empty()});
  }
  return out;
}

ModelFile read(const std::string& config) { return read_model(kData / "configs" / (config + ".json")); }

MemoryAccount account(const Workload& w, double context, double requests = 1) {
  MemoryQuestion q;
  q.model = &w;
  q.context = context;
  q.requests = requests;
  q.precision = Precision::bf16;
  q.kv_precision = Precision::bf16;
  return memory_account(q, conventions_of(standard_zoo()));
}

/// Bytes of the items of the model itself, without towers and drafts.
double bytes_of(const MemoryAccount& a, MemoryPart part, std::string_view begins = {}) {
  double sum = 0;
  for (const auto& i : a.items)
    if (i.part == part && i.what.find(": ") == std::string::npos && i.what.starts_with(begins))
      sum += i.bytes / unit::B;
  return sum;
}

bool close(double found, double wanted, double tolerance) {
  return std::abs(found - wanted) <= tolerance * wanted + 0.5;
}

}  // namespace

TEST_CASE("weights of every configuration are those counted by hand", "[model_files]") {
  for (const auto& row : expected()) {
    const auto model = read(row.config);
    const auto a = account(model.workload, 1);
    INFO(row.config << " has " << a.parameters / unit::param - row.parameters << " weights too many");
    CHECK(close(a.parameters / unit::param, row.parameters, row.tolerance));
    double idle = 0;
    if (const Experts* e = model.workload.experts())
      for (const auto& i : a.items)
        if (i.what == "routed experts") idle = i.weights / unit::param * (1 - *e->top_k / *e->count);
    INFO("of them " << a.parameters / unit::param - idle - row.active << " active too many");
    CHECK(close(a.parameters / unit::param - idle, row.active, row.tolerance));
  }
}

TEST_CASE("cache and states of every configuration are those counted by hand", "[model_files]") {
  constexpr double context = 65536;
  for (const auto& row : expected()) {
    if (!row.has_cache) continue;
    const auto model = read(row.config);
    const auto a = account(model.workload, context);
    INFO(row.config);
    CHECK(bytes_of(a, MemoryPart::cache) ==
          Approx(row.cache * context + row.window_bytes * row.window).epsilon(1e-12));
    CHECK(bytes_of(a, MemoryPart::index_keys) == Approx(2 * row.index * context).epsilon(1e-12));
    CHECK(bytes_of(a, MemoryPart::state, "state of") == Approx(4 * row.state).epsilon(1e-12));
    CHECK(bytes_of(a, MemoryPart::state, "convolution of") == Approx(4 * row.convolution).epsilon(1e-12));
  }
}

TEST_CASE("the hybrid of 64 layers keeps a cache in 16 of them", "[model_files]") {
  const auto model = read("nvidia--Qwen3.6-27B-NVFP4");
  const auto a = account(model.workload, 262144, 4);
  for (const auto& i : a.items)
    if (i.part == MemoryPart::cache && i.what.find(": ") == std::string::npos) {
      CHECK(i.layers == 16);
      CHECK(i.per_token / unit::B == Approx(65536));
      CHECK(i.bytes / unit::MiB == Approx(4 * 16384.0));
    }
  CHECK(bytes_of(a, MemoryPart::state) / 1048576 == Approx(598.5));
}

TEST_CASE("every configuration becomes an entry that the zoo reads", "[model_files]") {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(kData / "configs")) {
    INFO(file.path());
    const auto model = read_model(file.path());
    const auto text = model_file_yaml(model);
    const Zoo zoo = load_text(text, "imported.yaml", standard_zoo());
    const auto& w = zoo.only<Workload>();
    CHECK(w.stacks.size() == model.workload.stacks.size());
    if (w.has_shape())
      CHECK(account(w, 1).parameters / unit::param == account(model.workload, 1).parameters / unit::param);
    for (const auto& note : model.notes) CHECK_FALSE(note.starts_with("the class of"));
    ++count;
  }
  CHECK(count >= 65);
}

TEST_CASE("what is not understood is said", "[model_files]") {
  const auto model =
      read_config({R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
           "intermediate_size":128,"vocab_size":1000,"tie_word_embeddings":false,"engram_rows":7})",
                   {},
                   {}},
                  "a/config.json");
  CHECK(std::find(model.notes.begin(), model.notes.end(), "not understood: engram_rows") !=
        model.notes.end());
  CHECK(std::find_if(model.notes.begin(), model.notes.end(), [](const auto& n) {
          return n.find("num_key_value_heads is not stated") != std::string::npos;
        }) != model.notes.end());
}

TEST_CASE("a refusal names file, key, what was found and what to do", "[model_files]") {
  const auto refused = [](std::string_view config) -> ErrorFacts {
    try {
      (void)read_config({config, {}, {}}, "m/config.json");
    } catch (const InputError& error) {
      return error.facts();
    }
    return {};
  };
  const auto missing = refused(R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2})");
  CHECK(missing.key == "num_attention_heads");
  CHECK(missing.where.file == "m/config.json");
  CHECK_FALSE(missing.expected.empty());
  CHECK_FALSE(missing.hint.empty());
  CHECK(refused(R"({"model_type":"llama","hidden_size":-1})").key == "hidden_size");
  CHECK(refused(R"({"hidden_size":1})").key == "model_type");
  CHECK(refused("[1]").id == "mlsysim.model_files.003");
  CHECK(refused(std::string(200, '[')).id == "mlsysim.model_files.001");
}

TEST_CASE("the tower of Pixtral has three matrices and no biases", "[model_files]") {
  const auto model = read_config(
      {R"({"model_type":"mistral3","text_config":{"model_type":"mistral","hidden_size":5120,"num_hidden_layers":40,
           "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":32768,
           "vocab_size":131072,"tie_word_embeddings":false},
           "vision_config":{"model_type":"pixtral","hidden_size":1024,"intermediate_size":4096,
           "num_hidden_layers":24,"num_attention_heads":16,"patch_size":14,"image_size":1540,"num_channels":3}})",
       {},
       {}},
      "a/config.json");
  const auto tower = std::find_if(model.workload.stacks.begin(), model.workload.stacks.end(),
                                  [](const Stack& s) { return s.role == StackRole::tower; });
  REQUIRE(tower != model.workload.stacks.end());
  CHECK_FALSE(tower->biases);
  CHECK_FALSE(tower->residual.norm_bias);
  REQUIRE(tower->feed_forward.dense.has_value());
  CHECK(tower->feed_forward.dense->gated);
}

TEST_CASE("the tower of Qwen2-VL is as wide as its patches", "[model_files]") {
  // In its configuration hidden_size is the width behind the projector.
  const auto read = read_config(
      {.config =
           R"({"model_type":"qwen2_vl","hidden_size":1536,"num_hidden_layers":28,"num_attention_heads":12,
           "num_key_value_heads":2,"intermediate_size":8960,"vocab_size":151936,"tie_word_embeddings":true,
           "vision_config":{"depth":32,"embed_dim":1280,"mlp_ratio":4,"num_heads":16,"hidden_size":1536,
           "patch_size":14,"spatial_merge_size":2,"temporal_patch_size":2}})"},
      "config.json");
  REQUIRE(read.workload.stacks.size() == 2);
  const Stack& tower = read.workload.stacks.back();
  CHECK(tower.role == StackRole::tower);
  CHECK(tower.hidden == 1280.0);
  CHECK(tower.feed_forward.dense->width == 5120.0);
  // 32 layers of two square halves of attention and two matrices, in 16 bits: 630 M weights.
  CHECK(tower_weights({.model = &read.workload}) / unit::GB == Approx(2 * 0.634).epsilon(0.02));
}

TEST_CASE("the largest number that there is limits nothing", "[model_files]") {
  const auto with = [](const std::string& number) {
    return R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "intermediate_size": 128, "vocab_size": 96, "torch_dtype": "bfloat16", "time_step_limit": [0.0, )" +
           number + "]}";
  };
  for (const char* none : {"1e308", "1.7976931348623157e308", "Infinity"})
    CHECK(read_config({with(none), "", ""}, "model").workload.stacks.size() == 1);
  CHECK_THROWS_AS(read_config({with("1e200"), "", ""}, "model"), InputError);
}
