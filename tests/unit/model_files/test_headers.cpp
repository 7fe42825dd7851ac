// Headers of safetensors and GGUF files.

#include "samples.hpp"
#include "support/catch.hpp"

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>
#include <mlsysim/timing/views.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace mlsysim;
using namespace mlsysim::samples;

TEST_CASE("tensors of a safetensors file tile its data", "[model_files]") {
  const auto file = safetensors(R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
                                    "b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},"__metadata__":{"x":"y"}})");
  const auto tensors = safetensors_header(file, file.size() + 16, "m.safetensors");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].elements() == 6);
  CHECK(tensors[1].bytes == 4);
  CHECK_THROWS_AS(safetensors_header(file, file.size() + 15, "m"), InputError);
  CHECK_THROWS_AS(safetensors_header(file.substr(0, 20), file.size() + 16, "m"), InputError);
  const auto hole = safetensors(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})");
  CHECK_THROWS_AS(safetensors_header(hole, hole.size() + 6, "m"), InputError);
  const auto overlap = safetensors(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},
                                       "b":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})");
  CHECK_THROWS_AS(safetensors_header(overlap, overlap.size() + 6, "m"), InputError);
}

TEST_CASE("a GGUF header is a model", "[model_files]") {
  const auto file = gguf_llama();
  const auto model = read_gguf(file, file.size() + 100000, "Tiny-Q8.gguf");
  CHECK(model.workload.name == "Tiny_Q8");
  CHECK(*model.workload.layers() == 2);
  CHECK(*model.workload.kv_heads() == 2);
  CHECK(*model.workload.stacks[0].input.vocab == 96);
  CHECK_FALSE(model.workload.stacks[0].output.tied);
  REQUIRE(model.workload.formats.size() == 2);
  // Q8_0: 34 bytes for 32 values.
  const auto& q8 = model.workload.formats[1];
  CHECK(q8.precision == Precision::int8);
  CHECK((*q8.block + *q8.scale / unit::B) / *q8.block == Approx(34.0 / 32));
  CHECK_THROWS_AS(read_gguf(file, 64, "m.gguf"), InputError);
  CHECK_THROWS_AS(read_gguf(file.substr(0, 50), 64, "m.gguf"), InputError);
  CHECK_THROWS_AS(read_gguf("GGUX", 4, "m.gguf"), InputError);
  // An architecture whose name is no UTF-8.
  auto named = file;
  named[named.find("llama")] = '\xB9';
  CHECK_THROWS_AS(read_gguf(named, named.size() + 100000, "m.gguf"), InputError);
}

namespace {

/// A folder of its own that ends with the case.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mlsysim_headers_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() {
    std::error_code none;
    std::filesystem::remove_all(path, none);
  }
  /// A file of this size that begins with these bytes and holds nothing else on the disk.
  void write(const char* name, std::string_view begins, std::uintmax_t size) const {
    std::ofstream(path / name, std::ios::binary) << begins;
    std::filesystem::resize_file(path / name, size);
  }
};

}  // namespace

TEST_CASE("of a hundred gigabytes of weights only headers are read", "[model_files]") {
  constexpr std::uintmax_t data = 100'000'000'000;
  const Folder folder;
  const std::string config =
      R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,)"
      R"("intermediate_size":128,"vocab_size":96,"tie_word_embeddings":false,"torch_dtype":"bfloat16"})";
  folder.write("config.json", config, config.size());
  const auto header =
      safetensors(R"({"w":{"dtype":"BF16","shape":[50000,1000000],"data_offsets":[0,100000000000]}})");
  folder.write("model.safetensors", header, header.size() + data);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const auto model = read_model(folder.path);
  CHECK(std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& note) {
    return note.find("1 tensors, 100000000000 B (BF16 100000000000 B)") != std::string::npos;
  }));
  // A GGUF file of that size alone in its folder.
  std::filesystem::remove(folder.path / "config.json");
  std::filesystem::remove(folder.path / "model.safetensors");
  folder.write("model.gguf", gguf_llama(), data);
  CHECK(*read_model(folder.path).workload.layers() == 2);
  getrusage(RUSAGE_SELF, &after);
  CHECK((after.ru_maxrss - before.ru_maxrss) / 1024 < 64);  // MiB
}

TEST_CASE("a folder of diffusers is one model", "[model_files]") {
  const Folder folder;
  const auto write = [&](const std::string& part, const std::string& text) {
    std::filesystem::create_directories(folder.path / part);
    std::ofstream(folder.path / part / (part.empty() ? "model_index.json" : "config.json")) << text;
  };
  write("", R"({"_class_name": "FluxPipeline", "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
      "text_encoder": ["transformers", "CLIPTextModel"], "transformer": ["diffusers", "FluxTransformer2DModel"],
      "vae": ["diffusers", "AutoencoderTiny"], "image_encoder": [null, null]})");
  CHECK(is_model_file(folder.path));
  CHECK_THROWS_AS(read_model(folder.path), InputError);  // nothing denoises
  write("text_encoder", R"({"model_type": "clip_text_model", "hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100, "max_position_embeddings": 77})");
  write("transformer", R"({"_class_name": "FluxTransformer2DModel", "num_layers": 1, "num_single_layers": 1,
      "num_attention_heads": 2, "attention_head_dim": 64, "joint_attention_dim": 64, "pooled_projection_dim": 64})");
  const auto network = read_model(folder.path / "transformer").workload;
  const double text = parameter_count(read_model(folder.path / "text_encoder").workload).base();
  write("vae", R"({"_class_name": "AutoencoderTiny"})");
  const auto without = read_model(folder.path).workload;
  CHECK(without.parameters->base() == network.parameters->base() + text);
  CHECK(without.architecture == Architecture::diffusion);
  CHECK(*without.diffusion.denoising_steps == 28);
  CHECK(*without.inference.work == *network.inference.work);
  // The weights of a part that is not read are those that its files list.
  const auto header = safetensors(R"({"w":{"dtype":"F32","shape":[10,100],"data_offsets":[0,4000]}})");
  folder.write("vae/diffusion_pytorch_model.safetensors", header, header.size() + 4000);
  CHECK(read_model(folder.path).workload.parameters->base() == without.parameters->base() + 1000);
}

TEST_CASE("blocks of a GGUF file that are narrower than 4 bits", "[model_files]") {
  auto file = gguf_llama();
  // The type of the head, before its offset of 8 bytes: Q2_K has 84 bytes for 256 weights.
  file[file.size() - 12] = 10;
  const auto model = read_gguf(file, file.size() + 100000, "Tiny-Q2_K.gguf");
  const auto head = std::find_if(model.workload.formats.begin(), model.workload.formats.end(),
                                 [](const StoredFormat& f) { return f.tensors == TensorGroup::head; });
  REQUIRE(head != model.workload.formats.end());
  CHECK(*head->bits == 2.625);
}
