#pragma once
/// Reads launches of serving and training engines (command lines, scripts, configuration files) as plans, and
/// writes them.
///
/// Nothing of a launch is executed. Each flag is used, or ignored for a stated reason, or contradicts an
/// assumption. Tables of flags are data: zoo/launch/*.yaml.
/// Example: `vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 8192 --port 8000` on H100
/// gives workload Llama3_70B, accelerators 4, tp_size 4 and seq_len 8064, beside answers of 128 tokens. The
/// port is ignored.

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/estimate/memory_account.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The engine or framework that a launch starts.
enum class LaunchFormat : std::uint8_t {
  vllm,
  sglang,
  trtllm,
  megatron,
  nemo,
  deepspeed,
  torchtitan,
  accelerate,
  mlperf,
  llama_cpp,
  trainer
};
template <> inline constexpr auto names_of<LaunchFormat> = ChoiceNames{"launch format"};

/// Whether a flag is used, is ignored, or contradicts an assumption of the library.
enum class FlagUse : std::uint8_t { used, ignored, contradicts };
template <> inline constexpr auto names_of<FlagUse> = ChoiceNames{"use of a flag"};

/// One flag of a launch.
struct FlagFinding {
  std::string flag, value;  ///< as the table spells it; the value as it was given
  FlagUse use = FlagUse::used;
  std::string what;  ///< what it says, why it is ignored, or which assumption it contradicts
  Location where;
};

/// How the flags of a serving engine divide the memory of a device. Absent: the defaults of the engine.
struct ServingSetup {
  std::string_view engine;            ///< entry of the zoo whose memory rule holds
  std::optional<double> context;      ///< tokens of the longest request
  std::optional<double> positions{};  ///< the longest context of the checkpoint
  bool limits_itself = false;         ///< the engine admits requests as long as its cache holds
  std::optional<double> requests;     ///< that each data-parallel rank works on at once
  std::optional<double> tokens{};     ///< of its cache; absent: as many as fit
  double fullest = 1;                 ///< layers of the fullest device over the mean of all
  bool leaves_room = false;           ///< the plan's cache leaves room for the layers of the fullest device
  bool shortens = false;              ///< the engine shortens the context until it fits
  EngineShares shares;
};

/// A launch that was read.
struct Launch {
  LaunchFormat format = LaunchFormat::vllm;
  std::string version, source;  ///< of the table of flags
  Mode mode = Mode::serve;
  std::map<std::string, std::string> fields;  ///< of the table of Scenario, as texts
  std::vector<FlagFinding> findings;          ///< in the order of the launch
  std::vector<std::string> notes;             ///< what was assumed beside the flags
  std::optional<ServingSetup> serving;
  /// The scenario of the fields. @throws what ScenarioBuilder::build throws
  [[nodiscard]] BuiltScenario build(const Zoo& zoo) const;
};

/// A launch to read, and facts about it that its text does not state.
struct LaunchQuestion {
  std::string text;                    ///< a command line, or the content of a file
  std::string name = "command line";   ///< of the text, for messages and formats
  std::filesystem::path folder;        ///< where files that the launch names lie; empty: they are not read
  std::optional<LaunchFormat> format;  ///< absent: derived from the text and its name
  std::map<std::string, std::string>
      fields{};  ///< of the table of Scenario; they replace what the launch says
  const Workload* model =
      nullptr;  ///< the model of `fields`, where the caller has it; absent: it is looked up
};

/// The format of a text, or nothing for an unknown launch.
/// @throws InputError for a manifest of containers that starts no known engine
[[nodiscard]] std::optional<LaunchFormat> launch_format(std::string_view text, std::string_view name);

/// Reads a launch. The fields must name what it runs on, and the model where the launch does not.
/// @throws InputError, LookupError, DomainError with flag, place, what was found and expected
[[nodiscard]] Launch read_launch(const LaunchQuestion& question, const Zoo& zoo);

/// The launch as a plan file; what it contradicts stands in comments.
[[nodiscard]] std::string launch_plan(const Launch& launch);

/// The text that starts a plan, and the fields of the plan that it cannot carry.
struct LaunchText {
  std::string text;  ///< a script, or a configuration file; loses are comments where it can have any
  std::vector<std::string> not_carried;  ///< fields of the plan for which the engine has no flag
};
/// Writes the launch of a scenario. @param checkpoint what the engine calls the model; empty: the zoo's name
/// @throws InputError where the engine does not do what the scenario asks for
[[nodiscard]] LaunchText export_launch(const Scenario& scenario, LaunchFormat format,
                                       const std::string& checkpoint);

}  // namespace mlsysim
