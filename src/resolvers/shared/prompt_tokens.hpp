#pragma once
// Prompt and answer of a request of which the whole length is known.

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

/// Tokens of the prompt of a request of `mean` tokens whose answer has `answer`. @throws DomainError when
/// none are left
[[nodiscard]] inline double prompt_tokens(double mean, double answer) {
  if (mean - answer >= 1) return mean - answer;
  throw DomainError({.id = "mlsysim.catalogue.073",
                     .message = "the answer leaves no room for a prompt",
                     .key = "output_tokens",
                     .found = fmt::format("{:g} of {:g} tokens", answer, mean),
                     .expected = fmt::format("at most {:g} tokens", mean - 1),
                     .hint = "lower output_tokens, or raise mean_request_tokens or max_seq_len"});
}

}  // namespace mlsysim::detail
