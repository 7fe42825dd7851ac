#pragma once
/// Copies of a model that share a global batch, over any scalar.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/scalars/scalars.hpp>

namespace mlsysim {

/// Division of a global batch over replicas. All replicas are estimated to be as slow as the fullest one. In
/// that time they finish the batch, not `replicas` times the sequences of the fullest.
template <class T = double> struct BatchShare {
  T sequences{1.0};  ///< of the fullest replica, one at least
  T working{1.0};    ///< share of the replicas that have a sequence at all
  T filled{1.0};     ///< share of the priced sequences, `replicas` times `sequences`, that there are
};

template <class T> [[nodiscard]] BatchShare<T> share_batch(const T& batch, const T& replicas) {
  const T one{1.0}, each = batch / replicas, sequences = max(one, ceil(each));
  return {sequences, min(one, each), min(one, each / sequences)};
}

/// Warns of replicas that idle, or that have fewer sequences than they are priced with.
void warn_of_uneven_batch(double batch, double replicas, Notes& notes);

}  // namespace mlsysim
