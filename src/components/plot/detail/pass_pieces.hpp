#pragma once
// Parts that pictures of a scenario share: its title, its sources, and the times of a schedule's pieces.

#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/explore/subject/subject.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

inline constexpr Exponents kTime = Time<>::dimension::exps;

/// "Llama3_70B on 8 x H100"
[[nodiscard]] std::string subject_words(const Scenario& scenario);
/// References among the sources of assumptions (keys, which hold no blank), and where the figures of the zoo
/// have theirs.
[[nodiscard]] std::vector<std::string> assumed_sources(std::span<const Assumption> assumptions);
/// References behind the figures of the device, each once.
[[nodiscard]] std::vector<std::string> device_sources(const Scenario& scenario);
/// The metric, or the main time of the mode.
[[nodiscard]] std::string metric_or_main(const Scenario& scenario, std::string_view metric);

/// A scenario's numbers by name.
class Numbers {
 public:
  explicit Numbers(const Scenario& scenario);
  /// Empty where the scenario has no such number.
  [[nodiscard]] std::optional<double> find(std::string_view name) const;
  [[nodiscard]] const FieldInfo* field(std::string_view name) const;

 private:
  Subject subject_;
  std::vector<double> values_;
};

/// Piece of a pipeline's schedule.
struct SchedulePiece {
  std::size_t stage = 0, batch = 0;
  char kind = 'F';  ///< F forward, B backward, W gradients of weights where they run apart
  double start = 0, end = 0;
};
/// Times of one micro-batch on one stage.
struct StageTimes {
  double forward = 0, backward = 0, weights = 0;
};
/// The order of each stage by its schedule, each piece as early as the pieces before it allow. With
/// `Schedule::zero_bubble` the gradients of weights run apart, where a stage would wait.
[[nodiscard]] std::vector<SchedulePiece> schedule_of(Schedule schedule, std::size_t batches,
                                                     const std::vector<StageTimes>& stages);
/// The schedule of a training scenario.
struct ScenarioSchedule {
  std::vector<SchedulePiece> pieces;
  std::size_t stages = 0, batches = 0;
  Schedule schedule = Schedule::one_forward_one_backward;
  std::vector<StageTimes> times;
};
[[nodiscard]] ScenarioSchedule schedule_of(const Scenario& scenario);

}  // namespace mlsysim::detail
