#pragma once
/// From a configuration to the layers of its stacks.

#include "config.hpp"
#include "layer_list.hpp"

namespace mlsysim::detail {

/// Whether the feed-forward of a class that is not known has a third matrix, its gate: the activation is the
/// best sign, since classes with ReLU, its square or the exact GELU have two matrices.
[[nodiscard]] bool guessed_gate(const Config& c);

/// Reads the layers of a model's text part from its configuration.
class LayerReader {
 public:
  explicit LayerReader(const Config& config);

  /// Every layer, in order.
  [[nodiscard]] std::vector<WholeLayer> layers() const;
  [[nodiscard]] double depth() const { return depth_; }
  [[nodiscard]] double hidden() const { return hidden_; }

 private:
  enum class Kind : std::uint8_t { full, window, chunk, linear, state_space, none };

  [[nodiscard]] Kind kind_of(int layer) const;
  [[nodiscard]] std::optional<Kind> kind_by_lists(int layer) const;
  [[nodiscard]] std::optional<Kind> kind_by_name(int layer) const;
  [[nodiscard]] Named<Mixer> mixer(int layer, Kind kind) const;
  [[nodiscard]] Named<Mixer> grouped(Kind kind) const;
  [[nodiscard]] GroupedAttention plain_attention() const;
  /// Key and value heads; absent where neither the file nor its class tells them.
  [[nodiscard]] std::optional<double> kv_heads(double heads) const;
  [[nodiscard]] Named<Mixer> latent() const;
  [[nodiscard]] Named<Mixer> linear() const;
  [[nodiscard]] Named<Mixer> state_space() const;
  [[nodiscard]] Named<Reach> reach(int layer, Kind kind) const;
  [[nodiscard]] Named<Reach> selected(int layer) const;
  [[nodiscard]] Named<Reach> compressed(int layer) const;
  [[nodiscard]] Named<FeedForward> feed_forward(int layer) const;
  [[nodiscard]] double default_width() const;
  [[nodiscard]] bool has_experts(int layer) const;
  [[nodiscard]] Experts experts() const;
  [[nodiscard]] Activation activation() const;
  [[nodiscard]] Named<Residual> residual(bool one_part) const;
  /// A block of a network whose every block has sizes of its own (Nemotron-NAS).
  [[nodiscard]] WholeLayer block(int layer, const Json& config) const;
  /// A layer that is a mixer or a feed-forward and not both (Nemotron-H).
  [[nodiscard]] WholeLayer lettered(char letter) const;
  [[nodiscard]] std::string letters() const;

  const Config& c_;
  double depth_, hidden_;
};

}  // namespace mlsysim::detail
