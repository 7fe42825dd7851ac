#pragma once
/// Pictures of specs and results: network topology, memory by layer kind, pipeline graph, predicted against
/// measured.
///
/// The topology draws one group of each network level, eight members at most. Layers show stored bytes and
/// the cache of one request. Accuracy has one picture for each measured dimension.
/// Example: the topology of Research_256 is titled "Research_256: 256 x H100", with 32 nodes of 8 devices.

#include <mlsysim/fwd.hpp>
#include <mlsysim/plot/picture.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

class Pipeline;
struct TableResult;

/// The levels of a machine from the outermost network to the device, one group of each drawn out.
[[nodiscard]] Picture topology_picture(const Fleet& fleet);

/// Weights and cache of a model by kind of layer, from the account of its memory for one request.
/// @throws InputError where the model states no layers
[[nodiscard]] Picture layers_picture(const Workload& model, const Zoo& zoo, double context = 8192);

/// The stages of a pipeline and what they hand on.
[[nodiscard]] Picture pipeline_picture(const Pipeline& pipeline);

/// One of several pictures of a subject.
struct NamedPicture {
  std::string name{};  ///< what it shows of the subject: "time", "bandwidth"
  Picture picture{};
};

/// Predictions over measurements, one picture for each dimension that the tables measure.
/// @throws InputError for tables without a predicted row
[[nodiscard]] std::vector<NamedPicture> accuracy_pictures(std::span<const TableResult> results);

}  // namespace mlsysim
