#include <mlsysim/zoo/detail/model_reader.hpp>

#include <mlsysim/units/error.hpp>

#include <array>

namespace mlsysim {
namespace {

ModelReader reader;
ModelNotes taker = nullptr;

/// Endings that only the component reads; others may be files of a zoo.
constexpr std::array<std::string_view, 9> kEndings{".gguf",      ".safetensors", ".onnx", ".pt2",   ".mlir",
                                                   ".stablehlo", ".hlo",         ".bc",   ".mlirbc"};

bool ends_like_model(std::string_view path) {
  path = path.substr(0, path.find('?'));
  for (const auto end : kEndings)
    if (path.ends_with(end)) return true;
  return false;
}

}  // namespace

void set_model_reader(const ModelReader& with) { reader = with; }

void set_model_notes(ModelNotes with) { taker = with; }

bool names_model_file(std::string_view path) {
  return reader.names_model != nullptr ? reader.names_model(path) : ends_like_model(path);
}

bool names_program_file(std::string_view word) {
  return reader.names_program != nullptr ? reader.names_program(word) : ends_like_model(word);
}

Zoo read_model_file(const std::string& path) {
  if (reader.read != nullptr) {
    std::vector<std::string> notes;
    auto zoo = reader.read(path, notes);
    if (taker != nullptr) taker(path, notes);
    return zoo;
  }
  throw InputError("mlsysim.zoo.071", "this build does not read files of models", path, path,
                   "a name or a YAML file of the zoo",
                   "build with -D MLSYSIM_WITH_MODELS=ON, the component that reads them", {path});
}

}  // namespace mlsysim
