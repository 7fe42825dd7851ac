#pragma once
/// The request that is assumed where nobody states its lengths, a convention of MLSys-im.
///
/// Models that take fewer positions have shorter prompts.
/// Example: `mlsysim eval Llama3_8B H100` serves prompts of 2,048 tokens and answers of 128: 2,176 together.

namespace mlsysim {

struct UsualRequest {
  static constexpr double prompt = 2048, answer = 128;  ///< tokens
  static constexpr double tokens = prompt + answer;
  static constexpr double begun = 1;  ///< tokens of a decoder whose prompt an encoder reads
};

}  // namespace mlsysim
