#pragma once
/// The time to the first token by whom it is owed to: five terms whose sum it is.

#include <mlsysim/reflect/field.hpp>

namespace mlsysim {

/// Rows of the five terms, of a struct that declares members of these names. `ttft` is their sum.
///
/// Ingress is the way through the server, in and out, which is measured as one. Queue is whatever a request
/// would not wait for if it were alone: a slot, passes before its own, what others add to its own. Dispatch
/// is host work and launches of its own passes that nothing hides, prefill their kernels and collectives.
/// Egress is what comes between its prompt and its token: the move of the cache to other devices, and passes
/// by which the engine shows it late. What a client measures holds all five; a server's own clock starts
/// after the ingress, and a device's profile shows the prefill alone.
template <class R> [[nodiscard]] constexpr auto first_token_rows() {
  return rows(
      field(&R::ttft_ingress, "ttft_ingress", "ms", "first token, the server: parsing and transport"),
      field(&R::ttft_queue, "ttft_queue", "ms", "first token, other requests: slots and passes"),
      field(&R::ttft_dispatch, "ttft_dispatch", "ms", "first token, the host: scheduling and launches"),
      field(&R::ttft_prefill, "ttft_prefill", "ms", "first token, the devices: kernels of the prompt"),
      field(&R::ttft_egress, "ttft_egress", "ms", "first token, what follows: cache move, late passes"));
}

}  // namespace mlsysim
