#pragma once
/// Lengths of prompts and answers as a question states them, and the factors of their mean that follow.
///
/// A deviation alone means a lognormal law, because lengths of recorded requests are skewed. An exponential
/// law needs none. Without either all lengths are alike, which is noted.
/// Example: a deviation of 2, lognormal: half of the lengths are below 0.447 of the mean, 99 % below 8.55.

#include <mlsysim/estimate/length_spread.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/traffic_law.hpp>

#include <optional>
#include <string_view>

namespace mlsysim::detail {

/// Lengths of prompts or answers, with the names of their fields.
struct StatedLengths {
  std::string_view cv_name, law_name;
  std::optional<double> cv;
  std::optional<TrafficLaw> law;
};

/// Both lengths of a struct of inputs with the members of `length_rows`.
template <class Inputs> [[nodiscard]] auto stated_lengths(const Inputs& in) {
  struct Both {
    StatedLengths prompts, answers;
  };
  return Both{{"seq_len_cv", "seq_len_law", in.seq_len_cv, in.seq_len_law},
              {"output_tokens_cv", "output_tokens_law", in.output_tokens_cv, in.output_tokens_law}};
}

/// Factors of the mean that follow from the law and the deviation.
/// @throws InputError for a law without a deviation, or one that cannot have it
[[nodiscard]] LengthSpread<> length_spread(const StatedLengths& stated, Notes& notes);

}  // namespace mlsysim::detail
