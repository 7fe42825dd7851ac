// How tensors are stored, from what configurations say of their quantization.

#include "support/catch.hpp"

#include "model_files/detail/formats.hpp"

#include <mlsysim/model_files/model_file.hpp>

#include <filesystem>

using namespace mlsysim;
using Catch::Matchers::Contains;

namespace {

const StoredFormat* format_of(const Workload& w, TensorGroup group) {
  for (const auto& f : w.formats)
    if (f.tensors == group) return &f;
  return nullptr;
}
Workload workload_of(const std::string& config) {
  return read_model(std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files/configs" /
                    (config + ".json"))
      .workload;
}

}  // namespace

TEST_CASE("patterns of ignore lists name modules", "[model_files]") {
  using detail::names_module;
  CHECK(names_module("re:.*self_attn.*", "layers.30.self_attn.q_proj"));
  CHECK(names_module("model.layers.*.self_attn", "layers.12.self_attn.q_proj"));
  CHECK(names_module("model.layers.3", "layers.3.mlp.gate_proj"));
  CHECK_FALSE(names_module("model.layers.3", "layers.30.mlp.gate_proj"));
  CHECK(names_module("lm_head", "lm_head"));
  CHECK_FALSE(names_module("re:(", "lm_head"));
}

TEST_CASE("int4 of Kimi is that of its routed experts alone", "[model_files]") {
  const auto w = workload_of("moonshotai--Kimi-K2.5");
  REQUIRE(format_of(w, TensorGroup::experts) != nullptr);
  CHECK(format_of(w, TensorGroup::experts)->precision == Precision::int4);
  CHECK(*format_of(w, TensorGroup::experts)->block == 32);
  CHECK(format_of(w, TensorGroup::attention) == nullptr);
  CHECK(format_of(w, TensorGroup::shared_experts) == nullptr);
  CHECK(format_of(w, TensorGroup::head) == nullptr);
}

TEST_CASE("FP8 in blocks has a scale for 128 times 128", "[model_files]") {
  const auto w = workload_of("deepseek-ai--DeepSeek-V3");
  const auto* experts = format_of(w, TensorGroup::experts);
  REQUIRE(experts != nullptr);
  CHECK(experts->precision == Precision::fp8);
  CHECK(*experts->block == 128);
  CHECK(*experts->block_rows == 128);
  CHECK(*experts->scale / unit::B == 4);
}

TEST_CASE("MXFP4 of gpt-oss is that of experts", "[model_files]") {
  const auto w = workload_of("openai--gpt-oss-20b");
  REQUIRE(format_of(w, TensorGroup::experts) != nullptr);
  CHECK(format_of(w, TensorGroup::experts)->precision == Precision::fp4);
  CHECK(format_of(w, TensorGroup::attention) == nullptr);
}

TEST_CASE("groups of tensors may have formats of their own", "[model_files]") {
  const auto w = workload_of("nvidia--Qwen3.6-27B-NVFP4");
  CHECK(format_of(w, TensorGroup::linear)->precision == Precision::fp8);
  CHECK(format_of(w, TensorGroup::dense)->precision == Precision::fp4);
  CHECK(format_of(w, TensorGroup::head)->precision == Precision::fp4);
}

TEST_CASE("methods of few bits state them under names of their own", "[model_files]") {
  struct Method {
    const char* quantization;
    Precision precision;
    double block, scale;  ///< values that have a scale in common, and its bytes with the zero
  };
  for (const auto& m :
       {Method{R"({"quant_method": "awq", "bits": 4, "group_size": 128})", Precision::int4, 128, 2.5},
        Method{R"({"quant_method": "gptq", "bits": 8, "group_size": 32})", Precision::int8, 32, 3},
        Method{R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64})", Precision::int4, 64, 2.5},
        Method{R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", Precision::int4, 64, 4},
        Method{R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true})",
               Precision::int4, 64, 1}}) {
    const auto w =
        read_config(
            {.config = std::string(R"({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 100, "quantization_config": )") +
                       m.quantization + "}"},
            "config.json")
            .workload;
    CAPTURE(m.quantization);
    const auto* f = format_of(w, TensorGroup::dense);
    REQUIRE(f != nullptr);
    CHECK(f->precision == m.precision);
    CHECK(*f->block == m.block);
    CHECK(*f->scale / unit::B == m.scale);
    CHECK(format_of(w, TensorGroup::head) == nullptr);
  }
}

TEST_CASE("methods that keep their bits in sections of their own are read", "[model_files]") {
  const auto stored = [](const std::string& quantization) {
    const auto m =
        read_config({.config = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, "quantization_config": )" +
                               quantization + "}"},
                    "config.json");
    for (const auto& f : m.workload.formats)
      if (f.tensors != TensorGroup::all) return f.precision;
    return m.workload.formats.front().precision;
  };
  CHECK(
      stored(
          R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 2, "group_size": 64}}})") ==
      Precision::int4);
  CHECK(stored(R"({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig",
      "_data": {"group_size": 128}}}})") == Precision::int4);
  CHECK(stored(R"({"quant_method": "torchao", "quant_type": "int8_weight_only"})") == Precision::int8);
  CHECK(
      stored(
          R"({"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}})") ==
      Precision::fp8);
  CHECK(stored(R"({"quant_method": "gptq", "bits": 3, "group_size": 128})") == Precision::int4);
  CHECK(stored(R"({"quant_method": "vptq"})") == Precision::bf16);
}

TEST_CASE("a list speaks of the layers that have the matrices", "[model_files]") {
  // Every fourth layer has attention: the one in the middle has none.
  const auto hybrid = workload_of("nvidia--Qwen3.5-122B-A10B-NVFP4");
  CHECK(format_of(hybrid, TensorGroup::attention) == nullptr);
  CHECK(format_of(hybrid, TensorGroup::linear) == nullptr);
  CHECK(format_of(hybrid, TensorGroup::shared_experts) == nullptr);
  REQUIRE(format_of(hybrid, TensorGroup::experts) != nullptr);
  CHECK(format_of(hybrid, TensorGroup::experts)->precision == Precision::fp4);
  const auto mixed = workload_of("nvidia--Qwen3.6-27B-NVFP4");
  REQUIRE(format_of(mixed, TensorGroup::attention) != nullptr);
  CHECK(format_of(mixed, TensorGroup::attention)->precision == Precision::fp8);
  CHECK(format_of(mixed, TensorGroup::dense)->precision == Precision::fp4);
  // The experts of Gemma 4 lie beside a dense network, and the list leaves out that alone.
  const auto beside = workload_of("nvidia--Gemma-4-26B-A4B-NVFP4");
  CHECK(format_of(beside, TensorGroup::dense) == nullptr);
  REQUIRE(format_of(beside, TensorGroup::experts) != nullptr);
  CHECK(format_of(beside, TensorGroup::experts)->precision == Precision::fp4);
  // Some layers that are left out do not speak for the others.
  const auto some = workload_of("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4");
  CHECK(format_of(some, TensorGroup::attention) == nullptr);
  REQUIRE(format_of(some, TensorGroup::linear) != nullptr);
}

TEST_CASE("modules with a scheme of their own are read one by one", "[model_files]") {
  const auto m = read_config({R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128, "vocab_size": 96,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "torch_dtype": "bfloat16"})",
                              R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
      "model.layers.1.self_attn.q_proj": {"quant_algo": "FP8"},
      "model.layers.2.self_attn.q_proj": {"quant_algo": "FP8"},
      "model.layers.0.mlp.experts.0.gate_proj": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
      "model.layers.3.mlp.experts.7.gate_proj": {"quant_algo": "W4A16_NVFP4", "group_size": 16}}}})",
                              ""},
                             "mixed");
  REQUIRE(format_of(m.workload, TensorGroup::attention) != nullptr);
  CHECK(format_of(m.workload, TensorGroup::attention)->precision == Precision::fp8);
  REQUIRE(format_of(m.workload, TensorGroup::experts) != nullptr);
  CHECK(format_of(m.workload, TensorGroup::experts)->precision == Precision::fp4);
  CHECK(*format_of(m.workload, TensorGroup::experts)->block == 16);
  CHECK(format_of(m.workload, TensorGroup::head) == nullptr);
}

TEST_CASE("a format that the name alone states is said", "[model_files]") {
  const auto notes_of = [](const std::string& name) {
    std::string all;
    for (const auto& note : read_config({R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 96, "torch_dtype": "bfloat16"})",
                                         "", ""},
                                        name)
                                .notes)
      all += note + "\n";
    return all;
  };
  CHECK_THAT(notes_of("acme--Tiny-1B-NVFP4.json"), Contains("weights are taken as bf16"));
  CHECK_THAT(notes_of("Tiny-1B-AWQ/config.json"), Contains("say --weight-format"));
  CHECK_THAT(notes_of("acme--Tiny-1B-BF16.json"), !Contains("weights are taken"));
}

TEST_CASE("bits of a weight for which there is no format are counted as they are", "[model_files]") {
  const auto with = [](const std::string& quantization) {
    return read_config({.config = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, "quantization_config": )" +
                                  quantization + "}"},
                       "config.json")
        .workload;
  };
  const auto exl = with(R"({"quant_method": "exl2", "bits": 4.65, "head_bits": 6})");
  CHECK(*format_of(exl, TensorGroup::dense)->bits == 4.65);
  CHECK(format_of(exl, TensorGroup::dense)->precision == Precision::int4);  // products run in 16 bits
  CHECK(*format_of(exl, TensorGroup::head)->bits == 6);
  const auto gptq = with(R"({"quant_method": "gptq", "bits": 3, "group_size": 128})");
  CHECK(*format_of(gptq, TensorGroup::dense)->bits == Approx(3 + 19.0 / 128));
  CHECK(format_of(gptq, TensorGroup::head) == nullptr);
  // MLX has a scale and a shift of 16 bits each, for embedding and head too.
  const auto mlx = with(R"({"group_size": 64, "bits": 4, "mode": "affine"})");
  for (const auto group : {TensorGroup::dense, TensorGroup::head, TensorGroup::embedding}) {
    REQUIRE(format_of(mlx, group) != nullptr);
    CHECK(format_of(mlx, group)->precision == Precision::int4);
    CHECK(*format_of(mlx, group)->scale / unit::B == 4);
  }
  CHECK(*format_of(with(R"({"group_size": 32, "bits": 4, "mode": "mxfp4"})"), TensorGroup::dense)->scale /
            unit::B ==
        1);
}
