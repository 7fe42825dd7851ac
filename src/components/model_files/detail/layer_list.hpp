#pragma once
/// From a list of layers, one after the other, to the runs of a stack.

#include <mlsysim/specs/layer_table.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// A part of a layer and a name that no other part has.
template <class Part> struct Named {
  std::string name;
  Part part;
};
/// A layer, every part stated.
struct WholeLayer {
  Named<Mixer> mixer;
  Named<Reach> reach;
  Named<FeedForward> feed_forward;
  Named<Residual> residual;
};

/// Puts layers into a stack: what most layers have becomes the stack's, the rest runs of patterns.
void set_layers(Stack& stack, const std::vector<WholeLayer>& layers);

}  // namespace mlsysim::detail
