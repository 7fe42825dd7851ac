// Every class that keys.cpp knows by name against what the library makes of the same configuration
// (tests/data/model_files/class_counts.py, which builds the models without weights).

#include "model_files/detail/keys.hpp"
#include "support/catch.hpp"

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace mlsysim;

namespace {

nlohmann::json rows_in(const char* file) {
  std::ifstream in(std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files" / file);
  return nlohmann::json::parse(in)["rows"];
}

double weights_of(const Workload& w) { return parameter_count(w).base(); }

}  // namespace

TEST_CASE("A configuration has as many weights as the library makes of it", "[model_files]") {
  for (const auto& row : rows_in("class_counts.json")) {
    const auto& config = row["config"];
    const auto type = config["model_type"].get<std::string>();
    CAPTURE(type, config["architectures"][0].get<std::string>());
    const auto m = read_config({.config = config.dump()}, "config.json");
    const auto* family = detail::family_of(type);
    REQUIRE(family != nullptr);
    const bool decoder = !family->has(detail::encoder) && !family->has(detail::crossed);
    // Encoders end in heads of a few rows and norms that are not told apart.
    const double expected = row["parameters"].get<double>();
    CHECK(weights_of(m.workload) == Approx(expected).epsilon(decoder ? 1e-9 : 1e-3));
    const auto read_as = m.workload.architecture;
    CHECK((read_as == Architecture::decoder || read_as == Architecture::ssm) == decoder);
    CHECK(m.entry.guess.empty());
  }
}

TEST_CASE("A class that is not known is a guess, and nothing is said of it", "[model_files]") {
  const auto m =
      read_config({.config = R"({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128})"},
                  "config.json");
  for (const auto& note : m.notes) CHECK(note.find("as brand_new has it") == std::string::npos);
  // What is a guess is a member of the entry, and stays one when it is written and read again.
  CHECK_FALSE(m.entry.guess.empty());
  const Zoo zoo = load_text(model_file_yaml(m), "written", standard_zoo());
  CHECK(zoo.only<Workload>().entry->guess == m.entry.guess);
  CHECK(m.workload.main()->output.tied);  // as the library takes it
}

TEST_CASE("A class whose structure cannot be stated is refused", "[model_files]") {
  for (const char* type : {"albert", "rwkv"})
    CHECK_THROWS_WITH(
        read_config(
            {.config = std::string(R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "vocab_size": 100, "intermediate_size": 128, "model_type": ")") +
                       type + "\"}"},
            "config.json"),
        Catch::Matchers::Contains("mlsysim.model_files.024"));
}

TEST_CASE("A published model has the weights of its page", "[model_files]") {
  struct Published {
    const char* config;
    double weights;
  };
  for (
      const auto& [config, weights] : {
          Published{
              R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
             "attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})",
              131596523520},
          Published{
              R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288, "moe_intermediate_size": 1536,
             "moe_k": 6, "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "vocab_size": 103424,
             "num_attention_heads": 20, "num_key_value_heads": 4, "num_hidden_layers": 28, "tie_word_embeddings": true})",
              21825437888},
          Published{
              R"({"model_type": "phimoe", "attention_bias": true, "hidden_size": 4096, "intermediate_size": 6400, "vocab_size": 32064,
             "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "num_local_experts": 16,
             "num_experts_per_tok": 2, "tie_word_embeddings": false})",
              41873153344},
          // ChatGLM generates words, although its class is a bare model.
          Published{
              R"({"model_type": "chatglm", "architectures": ["ChatGLMModel"], "add_bias_linear": false, "add_qkv_bias": true,
             "ffn_hidden_size": 13696, "hidden_size": 4096, "kv_channels": 128, "multi_query_attention": true,
             "multi_query_group_num": 2, "num_attention_heads": 32, "num_layers": 28, "padded_vocab_size": 65024,
             "seq_length": 32768, "tie_word_embeddings": false})",
              6243584000},
          Published{
              R"({"model_type": "chatglm", "architectures": ["ChatGLMModel"], "hidden_size": 4096, "inner_hidden_size": 16384,
             "max_sequence_length": 2048, "num_attention_heads": 32, "num_layers": 28, "vocab_size": 130528})",
              6173286400},
      }) {
    const auto m = read_config({.config = config}, "config.json");
    CAPTURE(m.workload.name, weights);
    CHECK(weights_of(m.workload) == weights);
    CHECK(m.workload.architecture == Architecture::decoder);
    CHECK(m.entry.guess.empty());
  }
}

TEST_CASE("A network of diffusers has as many weights as the library makes of it", "[model_files]") {
  for (const auto& row : rows_in("diffusers_counts.json")) {
    const auto& config = row["config"];
    CAPTURE(config.dump());
    const auto m = read_config({.config = config.dump()}, "config.json");
    CHECK(weights_of(m.workload) == row["parameters"].get<double>());
    CHECK(m.workload.architecture == Architecture::diffusion);
    CHECK(m.workload.diffusion.denoising_steps.has_value() == (config["_class_name"] != "AutoencoderKL"));
    CHECK(*m.workload.inference.work > Work<>());
  }
}

TEST_CASE("An evaluation of a U-Net has the arithmetic of its entry", "[model_files]") {
  // 401.6e9 multiply-adds for an image of 512 x 512, counted layer by layer (StableDiffusion_v1_5).
  const auto m = read_config(
      {.config = R"({"_class_name": "UNet2DConditionModel", "cross_attention_dim": 768})"}, "config.json");
  CHECK(m.workload.inference.work->base() == Approx(803e9).epsilon(2e-3));
  CHECK(*m.workload.diffusion.resolution == 512);
}

TEST_CASE("A network of diffusers that is not read is refused", "[model_files]") {
  const auto refused = [](const char* config, const char* id) {
    CHECK_THROWS_WITH(read_config({.config = config}, "config.json"), Catch::Matchers::Contains(id));
  };
  refused(R"({"_class_name": "HunyuanDiT2DModel", "num_layers": 40})", "mlsysim.model_files.024");
  for (const char* key :
       {R"("class_embed_type": "projection")", R"("layers_per_block": [2, 2])", R"("layers_per_block": 0)",
        R"("block_out_channels": [320, 1e9, 1280, 1280])", R"("addition_embed_type": "image")",
        R"("down_block_types": ["SimpleCrossAttnDownBlock2D", "DownBlock2D", "DownBlock2D", "DownBlock2D"])"})
    refused((std::string(R"({"_class_name": "UNet2DConditionModel", )") + key + "}").c_str(),
            "mlsysim.model_files.012");
}

TEST_CASE("BERT with a gate and without positions", "[model_files]") {
  // jina-embeddings-v2-base-en: 137,368,320 weights; its gate has no biases.
  const auto m = read_config({.config = R"({"model_type": "bert", "architectures": ["JinaBertForMaskedLM"],
      "position_embedding_type": "alibi", "feed_forward_type": "geglu", "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 30528, "type_vocab_size": 2,
      "max_position_embeddings": 8192})"},
                             "config.json");
  CHECK(weights_of(m.workload) == Approx(137368320).epsilon(1e-3));
}

TEST_CASE("An embedding that is narrower than the hidden state is a guess", "[model_files]") {
  const auto m = read_config({.config = R"({"model_type": "opt", "architectures": ["OPTForCausalLM"],
      "vocab_size": 50272, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096,
      "max_position_embeddings": 2048, "word_embed_proj_dim": 512, "do_layer_norm_before": false})"},
                             "config.json");
  CHECK_FALSE(m.entry.guess.empty());
  CHECK_FALSE(m.workload.main()->output.norm);
}

TEST_CASE("A text part of Gemma 3 has the shape of its class", "[model_files]") {
  const auto m = read_config({.config = R"({"model_type": "gemma3",
      "architectures": ["Gemma3ForConditionalGeneration"], "text_config": {"hidden_size": 2560,
      "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}})"},
                             "config.json");
  CHECK(weights_of(m.workload) == 3880263168);
}

TEST_CASE("A class that is not known is refused where keys speak of other layers", "[model_files]") {
  for (const char* key :
       {"\"n_experts_routed\": 8", "\"mamba_d_ssm\": 512", "\"conv_L_cache\": 3", "\"expand_k\": 0.5",
        "\"decay_low_rank_dim\": 96", "\"chunkwise_kernel\": \"native\"", "\"is_encoder_decoder\": true",
        "\"encoder_layers\": 2, \"decoder_layers\": 2", "\"hidden_size_per_layer_input\": 256"})
    CHECK_THROWS_WITH(
        read_config(
            {.config = std::string(R"({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, )") +
                       key + "}"},
            "config.json"),
        Catch::Matchers::Contains("mlsysim.model_files.012"));
}

TEST_CASE("A part of a file takes the shape of its class where it states none", "[model_files]") {
  const auto m = read_config({.config = R"({"model_type": "llava", "text_config": {"model_type": "llama",
      "vocab_size": 32064}})"},
                             "config.json");
  CHECK(weights_of(m.workload) == 6738939904);  // a Llama 2 of 7B with 64 more words
}

TEST_CASE("An encoder of images is one pass", "[model_files]") {
  const auto m =
      read_config({.config = R"({"model_type": "vit", "hidden_size": 768, "intermediate_size": 3072,
      "num_attention_heads": 12, "num_hidden_layers": 12, "image_size": 224, "patch_size": 16, "num_labels": 1000,
      "architectures": ["ViTForImageClassification"]})"},
                  "config.json");
  CHECK(m.workload.architecture == Architecture::encoder);
  CHECK(weights_of(m.workload) == Approx(86567656).epsilon(1e-4));
}

TEST_CASE("The guess of a class that is not known goes by activation and head", "[model_files]") {
  const auto read = [](const std::string& more) {
    return read_config({.config = R"({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, )" +
                                  more + "}"},
                       "config.json");
  };
  const auto gated = [&](const char* activation) {
    const auto m = read(std::string("\"hidden_act\": \"") + activation + "\"");
    return m.workload.main()->feed_forward.dense->gated;
  };
  for (const char* gates : {"silu", "gelu_pytorch_tanh"}) CHECK(gated(gates));
  for (const char* plain : {"relu2", "xielu", "gelu", "relu"}) CHECK_FALSE(gated(plain));
  const auto encoder = read(R"("architectures": ["BrandNewForMaskedLM"], "type_vocab_size": 2)");
  CHECK(encoder.workload.architecture == Architecture::encoder);
  CHECK_FALSE(encoder.entry.guess.empty());
  CHECK_THROWS_WITH(read(R"("type_vocab_size": 2, "conv_kernel_size": 9)"),
                    Catch::Matchers::Contains("mlsysim.model_files.012"));
}

TEST_CASE("A model of images and text generates words where its text part does", "[model_files]") {
  const auto m =
      read_config({.config = R"({"model_type": "internvl_chat", "architectures": ["InternVLChatModel"],
      "llm_config": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
      "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
      "vocab_size": 152064, "tie_word_embeddings": false}})"},
                  "config.json");
  CHECK(m.workload.architecture == Architecture::decoder);
  CHECK(weights_of(m.workload) == 7615616512);  // Qwen2.5-7B
}

TEST_CASE("The decoder alone of an encoder and decoder is refused", "[model_files]") {
  CHECK_THROWS_WITH(read_config({.config = R"({"model_type": "bart", "architectures": ["BartForCausalLM"],
      "vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
      "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072})"},
                                "config.json"),
                    Catch::Matchers::Contains("mlsysim.model_files.012"));
}

TEST_CASE("Of a model that also speaks, the part that writes is read", "[model_files]") {
  const auto m = read_config(
      {.config =
           R"({"architectures": ["Qwen3OmniMoeForConditionalGeneration"], "model_type": "qwen3_omni_moe",
      "dtype": "bfloat16", "talker_config": {"hidden_size": 1024}, "thinker_config": {"model_type":
      "qwen3_omni_moe_thinker", "text_config": {"model_type": "qwen3_omni_moe_text", "hidden_size": 2048,
      "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
      "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 152064}}})"},
      "Qwen3-Omni");
  CHECK(m.entry.guess.empty());
  REQUIRE(m.workload.main() != nullptr);
  CHECK(m.workload.main()->depth() == 48);
  CHECK(*m.workload.main()->hidden == 2048);
  CHECK_FALSE(m.workload.main()->output.tied);
}

TEST_CASE("Classes with layers that are not read are refused by their names", "[model_files]") {
  for (const char* type : {"recurrent_gemma", "rwkv7", "zamba2", "t5gemma"})
    CHECK_THROWS_WITH(
        read_config({.config = std::string(R"({"model_type": ")") + type + R"(", "hidden_size": 64})"}, "m"),
        Catch::Matchers::Contains(std::string("a model of the class '") + type));
}
