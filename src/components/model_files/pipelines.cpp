// Folders of diffusers, and single networks of it, as models of iterated denoising.

#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/timing/views.hpp>

#include "detail/diffusers.hpp"
#include "detail/formats.hpp"
#include "detail/pipelines.hpp"

#include <mlsysim/model_files/weights.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <optional>

namespace mlsysim::detail {
namespace {

namespace fs = std::filesystem;

void take_network(ModelFile& m, const DiffusersNetwork& n, const Json& config) {
  Workload& w = m.workload;
  w.category = "generative";
  w.architecture = Architecture::diffusion;
  w.inference.work = n.flops * unit::FLOP;
  w.inference.per = n.steps > 0 ? WorkUnit::step : WorkUnit::image;
  auto& d = w.diffusion;
  d.evaluations_per_step = 1;
  if (n.side > 0) d.resolution = n.side;
  read_formats(w, config, config, Json(), m.entry.where.file, m.notes);
  if (n.steps == 0) {
    m.notes.push_back(fmt::format("its arithmetic is that of decoding {}", n.output));
    return;
  }
  d.denoising_steps = n.steps;
  d.evaluations_per_step = n.evaluations;
  d.context_tokens = n.text_tokens;
  d.context_width = n.text_width;
  m.notes.push_back(fmt::format(
      "{} with {:g} tokens of text, {:g} steps, {:g} evaluation{} a step: the defaults of its pipeline",
      n.output, n.text_tokens, n.steps, n.evaluations, n.evaluations == 1 ? "" : "s"));
}

/// The weights that the headers of a folder's files list; 0 where there are none.
double listed_weights(const fs::path& folder) {
  double out = 0;
  for (const auto& tensor : safetensors_of(folder)) out += tensor.elements();
  return out;
}

std::string text_of(const fs::path& file) { return read_bytes(file, kJsonLimit, Extent::whole); }

}  // namespace

ModelFile network_model(const Json& config, const std::string& name) {
  ModelFile m = start_entry(name, "config.json of diffusers");
  const auto network = read_diffusers(config, name, m.notes);
  m.workload.parameters = network.weights * unit::param;
  take_network(m, network, config);
  return m;
}

ModelFile read_pipeline(const fs::path& folder) {
  const auto file = fs::weakly_canonical(folder / "model_index.json").string();
  const Json index = parse_json(text_of(file), file);
  ModelFile m = start_entry(file, fmt::format("folder of diffusers: {}", diffusers_class(index)));
  double weights = 0;
  std::optional<InputError> refused;
  bool denoises = false;
  for (const auto& [part, named] : index.items()) {
    const auto config = folder / part / "config.json";
    if (part != fs::path(part).filename() || !named.is_array() || !files::exists(config)) continue;
    std::vector<std::string> notes;
    double own = 0;
    try {
      const Json json = parse_json(text_of(config), config.string());
      if (diffusers_class(json).empty()) {
        auto text =
            read_config({.config = text_of(config), .quantization = {}, .generation = {}}, config.string());
        own = parameter_count(text.workload) / unit::param;
        notes = std::move(text.notes);
      } else {
        const auto network = read_diffusers(json, config.string(), notes);
        own = network.weights;
        if (network.steps > 0 && !denoises) {
          denoises = true;
          take_network(m, network, json);
          if (network.width > 0) {
            m.workload.outline.hidden = network.width;
            m.workload.diffusion.blocks_per_level = network.blocks;
          }
        }
      }
    } catch (const InputError& error) {
      if (!refused) refused = error;
      own = listed_weights(folder / part);
      notes.push_back(own > 0 ? fmt::format("its arithmetic is not read: {}", error.what())
                              : fmt::format("left out: {}", error.what()));
    }
    weights += own;
    m.notes.push_back(fmt::format("{}: {:.0f} weights", part, own));
    for (const auto& note : notes) m.notes.push_back(fmt::format("{}: {}", part, note));
  }
  if (!denoises && refused) throw *refused;
  if (!denoises)
    throw InputError("mlsysim.model_files.027", "the folder holds no network that denoises",
                     "model_index.json", "no config.json of a unet or transformer",
                     "a folder for each part of the pipeline", "download the whole pipeline", {file});
  m.workload.parameters = weights * unit::param;
  m.notes.push_back("text encoders and decoders are held in memory; their arithmetic is not counted");
  return m;
}

}  // namespace mlsysim::detail
