#pragma once
/// Division of a global batch over data-parallel replicas.
///
///     sequences = max(1, ceil(batch / replicas))          of the fullest replica
///     working   = min(1, batch / replicas)                share of the replicas that have a sequence
///     filled    = min(1, batch / (replicas sequences))    share of the computed sequences that exist
///
/// All replicas are as slow as the fullest one. In that time they finish the batch.
///
/// Example: 10 sequences on 4 replicas: sequences 3, working 1, filled 10 / 12 = 0.833.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/scalars/scalars.hpp>

namespace mlsysim {

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
