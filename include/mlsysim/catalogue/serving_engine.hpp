#pragma once
/// Serving engines, by name.

#include <mlsysim/table/choice.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// The engine that serves: how it schedules, and what its host side costs. Figures are those of
/// zoo/catalogue.yaml, catalogue.engine.<name>.
enum class ServingEngine : std::uint8_t { generic, vllm, sglang, tensorrt_llm, tensorrt_llm_cpp };
template <> struct Choices<ServingEngine> {
  static constexpr std::string_view what = "serving engine";
  static constexpr std::array<std::string_view, 5> names{"generic", "vllm", "sglang", "tensorrt_llm", "tensorrt_llm_cpp"};
};

}  // namespace mlsysim
