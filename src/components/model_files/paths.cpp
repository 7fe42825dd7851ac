// From a path to a model.

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>

#include "detail/pipelines.hpp"

#include <fmt/format.h>

#include <map>

namespace mlsysim {
namespace {

namespace fs = std::filesystem;

/// The one GGUF file of a folder, or the first part of one that is split; empty where there is none.
fs::path gguf_in(const fs::path& folder) {
  const auto found = files::listed(folder, ".gguf");
  return found.empty() ? fs::path() : found.front();
}

std::string text_if_there(const fs::path& file) {
  return files::exists(file) ? detail::read_bytes(file, detail::kJsonLimit, detail::Extent::whole)
                             : std::string();
}

/// Notes the tensors, bytes and formats that the headers of the weight files state.
void note_weights(ModelFile& model, const fs::path& folder) {
  const auto tensors = safetensors_of(folder);
  if (tensors.empty()) return;
  double bytes = 0;
  std::map<std::string, double> formats;
  for (const auto& t : tensors) {
    bytes += static_cast<double>(t.bytes);
    formats[t.format] += static_cast<double>(t.bytes);
  }
  std::string by;
  for (const auto& [format, part] : formats)
    by += fmt::format("{}{} {:.0f} B", by.empty() ? "" : ", ", format, part);
  model.notes.push_back(fmt::format("safetensors: {} tensors, {:.0f} B ({})", tensors.size(), bytes, by));
}

ModelFile read_config_file(const fs::path& file) {
  const auto folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  const auto config = detail::read_bytes(file, detail::kJsonLimit, detail::Extent::whole);
  // Only a config.json belongs to the files beside it.
  const bool named = file.filename() == "config.json";
  const auto quantization = named ? text_if_there(folder / "hf_quant_config.json") : std::string();
  const auto generation = named ? text_if_there(folder / "generation_config.json") : std::string();
  auto model = read_config({config, quantization, generation},
                           named ? fs::weakly_canonical(file).string() : file.string());
  model.entry.where.file = file.string();
  if (named) note_weights(model, folder);
  return model;
}

/// Headers are short, unless they hold a vocabulary with its merges: a longer piece is read where one is cut.
ModelFile read_gguf_file(const fs::path& file) {
  constexpr std::uint64_t pieces[] = {1ull << 20, 16ull << 20, 256ull << 20};
  const auto size = files::size_of(file);
  for (const auto piece : pieces) {
    const auto bytes = detail::read_bytes(file, piece, detail::Extent::beginning);
    if (size <= piece || piece == pieces[2]) return read_gguf(bytes, size, file.string());
    try {
      return read_gguf(bytes, size, file.string());
    } catch (const InputError& error) {
      if (error.id() != "mlsysim.model_files.021") throw;
    }
  }
  return read_gguf({}, size, file.string());
}

}  // namespace

bool is_model_file(const std::filesystem::path& path) {
  const auto end = path.extension();
  if (end == ".json" || end == ".gguf" || end == ".safetensors") return true;
  if (!files::is_folder(path)) return false;
  return files::exists(path / "config.json") || files::exists(path / "model_index.json") ||
         !gguf_in(path).empty();
}

ModelFile read_model(const std::filesystem::path& path) {
  if (files::is_folder(path)) {
    if (files::exists(path / "config.json")) return read_config_file(path / "config.json");
    if (files::exists(path / "model_index.json")) return detail::read_pipeline(path);
    if (const auto gguf = gguf_in(path); !gguf.empty()) return read_gguf_file(gguf);
    throw InputError("mlsysim.model_files.005", "the folder holds no model", path.string(), "neither",
                     "a config.json, a model_index.json or a GGUF file",
                     "give the folder of a downloaded model", {path.string()});
  }
  const auto end = path.extension();
  if (end == ".gguf") return read_gguf_file(path);
  if (end == ".safetensors") {
    const auto config = path.parent_path() / "config.json";
    if (files::exists(config)) return read_config_file(config);
    throw InputError("mlsysim.model_files.006", "weights alone do not say how a model computes",
                     path.string(), "no config.json beside it", "a folder with both",
                     "download config.json too", {path.string()});
  }
  return read_config_file(path);
}

}  // namespace mlsysim
