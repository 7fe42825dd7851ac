#pragma once
/// Reads models from config.json of a model hub, from downloaded folders, and from safetensors and GGUF
/// headers.
///
/// Defaults that were taken, and keys that were not understood, are listed in `notes`. Weights are never
/// loaded.
/// Example: config.json of Qwen3-8B gives 36 layers, 8 KV heads and 8.19e9 parameters.

#include <mlsysim/specs/zoo.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A model that was read from a file, as an entry of a zoo.
struct ModelFile {
  Workload workload;
  Entry entry;
  std::vector<std::string> notes;  ///< what was defaulted, what was left out, what was not understood
};

/// Whether `read_model` takes a path: a folder with a config.json or one GGUF file, or a file that ends in
/// .json, .gguf or .safetensors.
[[nodiscard]] bool is_model_file(const std::filesystem::path& path);

/// Reads a model. Only the headers of weights are read, and nothing is downloaded.
/// @throws InputError with file, key, what was found and expected, and what to do
[[nodiscard]] ModelFile read_model(const std::filesystem::path& path);

/// The texts of the files that lie beside a config.json; empty where there is none.
struct ConfigTexts {
  std::string_view config, quantization, generation;
};
/// Reads a model from texts; `name` stands for the file in messages, and gives the model its name.
[[nodiscard]] ModelFile read_config(const ConfigTexts& texts, const std::string& name);
/// Reads a model from the header of a GGUF file. @param bytes of the file, as far as they are at hand
/// @param size of the whole file [B]
[[nodiscard]] ModelFile read_gguf(std::string_view bytes, std::uint64_t size, const std::string& name);

/// The model as a zoo file, its notes as comments.
[[nodiscard]] std::string model_file_yaml(const ModelFile& model);
/// A zoo that holds this model alone.
[[nodiscard]] Zoo model_zoo(const ModelFile& model);

}  // namespace mlsysim
