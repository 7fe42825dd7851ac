#pragma once
// The inside of a Pipeline: stages in the order in which they run, and where each of their inputs comes from.

#include <mlsysim/pipeline/adapters.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A result field of a stage, or a given key, and the objects that are followed from there.
struct PipelineSource {
  std::size_t stage = kNone;  ///< index in running order, or kNone
  std::size_t field = kNone;  ///< of that stage's outputs
  std::size_t given = kNone;  ///< when no stage
  std::vector<const Adapter*> chain;
};

/// How one input of a stage is met. Several sources are tried in order: an object may lack what it could
/// imply.
struct PipelineInput {
  std::size_t field = kNone;            ///< of the stage's inputs
  std::vector<PipelineSource> sources;  ///< empty: the default stands
  BaseRange range;
};

/// A plain copy from one stage's result to another's input: what a warm run does.
struct PipelineEdge {
  enum class Kind : std::uint8_t { number, bytes, text, general };
  std::size_t stage;           ///< that produces
  std::size_t from, to, size;  ///< offsets and size [byte]
  Kind kind;
  BaseRange range;
  const FieldInfo* source;
  const FieldInfo* target;
};

struct PipelineStage {
  std::string name;
  std::shared_ptr<const Resolver> resolver;
  std::vector<PipelineInput> inputs;  ///< one per field of the inputs
  std::vector<PipelineEdge> edges;
  std::vector<std::size_t> loose;            ///< inputs that are met by given values or followed objects
  std::vector<std::size_t> upstream;         ///< stages that must be ok
  std::vector<std::size_t> consumers;        ///< stages that read a result of this one ...
  std::vector<std::size_t> loose_consumers;  ///< ... and those that follow an object from it
  std::vector<std::size_t> result_numbers;   ///< offsets of bare numbers in the result, which must be finite
  std::size_t level = 0;                     ///< stages of one level do not depend on each other
};

struct PipelineGiven {
  std::string key;
  std::optional<DynamicValue> value;
  std::vector<std::size_t> consumers;  ///< stages
};

struct PipelineGraph {
  std::string name;
  std::vector<PipelineStage> stages;  ///< in running order
  std::vector<PipelineGiven> givens;
  std::vector<Adapter> adapters;  ///< the table, copied: chains point into it

  [[nodiscard]] std::size_t find_stage(std::string_view name) const;
  [[nodiscard]] std::size_t find_given(std::string_view key) const;
  /// @throws LookupError with near misses
  [[nodiscard]] std::size_t stage_at(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> stage_names() const;
};

/// "stage 'A', result 'x'", "given 'fleet' -> node -> hardware".
[[nodiscard]] std::string describe_source(const PipelineGraph& graph, const PipelineSource& source);

}  // namespace mlsysim::detail
