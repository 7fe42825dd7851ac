#pragma once
/// Splits time to first token into five terms: ttft = ingress + queue + dispatch + prefill + egress.
///
/// ingress: server parsing and transport, in and out. queue: all that a request alone would not wait for.
/// dispatch: host work and launches of its own passes that nothing hides. prefill: their kernels and
/// collectives. egress: KV transfer to decode devices, and passes by which the engine shows the token late. A
/// client measures all five. A server clock starts after ingress. A device profile shows prefill only.
///
/// Example: Llama-3.1-70B, 8x H100, TP 8, 16 prompts of 2,048 tokens at once, bf16, the last in line.
/// 0 + 966 + 2 + 320 + 0 = 1,288 ms.

#include <mlsysim/reflect/field.hpp>

namespace mlsysim {

/// Rows of the five terms, of a struct that declares members of these names.
template <class R> [[nodiscard]] constexpr auto first_token_rows() {
  return rows(
      field(&R::ttft_ingress, "ttft_ingress", "ms", "first token, the server: parsing and transport"),
      field(&R::ttft_queue, "ttft_queue", "ms", "first token, other requests: slots and passes"),
      field(&R::ttft_dispatch, "ttft_dispatch", "ms", "first token, the host: scheduling and launches"),
      field(&R::ttft_prefill, "ttft_prefill", "ms", "first token, the devices: kernels of the prompt"),
      field(&R::ttft_egress, "ttft_egress", "ms", "first token, what follows: cache move, late passes"));
}

}  // namespace mlsysim
