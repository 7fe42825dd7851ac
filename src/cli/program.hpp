#pragma once
// The command line as CLI11 sees it. Only the files program*.cpp and main.cpp include this.

#include "command_resolver.hpp"
#include "commands.hpp"
#include "commands_traffic.hpp"
#include "output.hpp"
#include "plugins.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::cli {

/// Values that an option of the command line takes, for completion.
struct OptionValues {
  Place place = Place::none;
  std::vector<std::string> choices;
};

/// Adds a command below a command: name, about, examples, and what it runs.
using AddCommand = std::function<CLI::App*(const char*, const char*, const char*, std::function<Answer()>)>;

/// Names the option that says the same as one that no command has: "costs are limited with --subject-to ...".
/// The text is empty where none is known. @param options of the command
[[nodiscard]] std::string other_option(std::string_view word, const std::vector<std::string>& options);

/// An option or a place that takes a value; a list takes one each time that its option is given.
/// @param type what stands for the value in a help text
template <class T>
CLI::Option* offer(CLI::App& app, const std::string& name, T& to, std::string about, std::string type) {
  auto* out = app.add_option(name, to, std::move(about))->type_name(std::move(type));
  if constexpr (requires { to.emplace_back(); })
    if (name.starts_with('-')) out->allow_extra_args(false);
  return out;
}
/// A place that must be filled.
template <class T> CLI::Option* demand(CLI::App& app, const std::string& name, T& to, std::string about) {
  return offer(app, name, to, std::move(about), "")->required();
}

/// Thrown by an option that prints a text and runs nothing.
struct CallForText {
  std::string text;
};

/// The command line as CLI11 sees it, and what to do once it was read.
class Program {
 public:
  /// @param words of the command line: only commands that are among them get all of their options, because
  /// most of the time of a start goes into options; all commands get them where there are no words, and for
  /// `schema`
  explicit Program(std::vector<std::string> words = {});
  int run();
  /// Candidates for the last word.
  Answer complete(std::vector<std::string> words);

 private:
  using Command = std::function<Answer()>;
  CLI::App* command(CLI::App& parent, const char* name, const char* about, const char* examples, Command run,
                    std::vector<Place> places = {});
  [[nodiscard]] AddCommand adder(CLI::App& parent) {
    return [this, &parent](const char* name, const char* about, const char* examples, Command run) {
      return command(parent, name, about, examples, std::move(run));
    };
  }
  /// Gives the command the name that the program knows it by: "traffic" is "trace". The options before it are
  /// declared by then.
  void take_known_command();
  /// Replaces options that engines and benchmarks call otherwise, and flags before a model or a machine.
  void take_other_words();
  void place_words(const CLI::App& command, std::size_t first);
  /// Whether the command line may mean this command.
  [[nodiscard]] bool is_asked(const CLI::App& command) const;
  void scenario_options(CLI::App& app, std::optional<Mode> fixed,
                        std::span<const std::string_view> lists = {});
  void eval_commands();
  void explain_command();
  void sweep_command();
  void zoo_commands();
  void model_commands();
  void compile_commands();
  void ci_commands();
  void picture_commands();
  void launch_commands();
  void course_commands();
  void report_command();
  void program_options(CLI::App& app);
  void pipeline_commands();
  void resolver_commands(CLI::App& r);
  void small_commands();
  void explore_commands();
  void size_commands();
  /// Options of limits on times of a request. @param take is given each that is asked for
  void limit_options(CLI::App& app, const std::function<void(ServiceLimit)>& take);
  CLI::Option* subject_words(CLI::App& app, const char* last);
  void sensitivity_command();
  void export_command();
  void solve_command();
  void uncertainty_command();
  void compare_command();
  void search_commands();
  void divided_commands();
  void search_options(CLI::App& app);
  void plugin_commands();
  void support_command();
  void agent_command();
  /// A command of a component that is not built: it says so.
  void absent_command(const char* name, const char* component);
  void memory_command();
  void validation_commands();
  void calibration_commands();
  void measure_command();
  [[nodiscard]] nlohmann::ordered_json schema_of(const CLI::App& command, const std::string& path) const;
  [[nodiscard]] Answer schema_asked(const std::vector<std::string>& words) const;
  void traffic_commands();
  void traffic_option(CLI::App& app);
  void interval_option(CLI::App& app, int& level);
  Answer compare();
  Answer execute();
  Answer run_command(const CLI::App* command);
  void settle_format(std::string_view command);
  /// The options in force for a command, each with the source of its value.
  [[nodiscard]] Answer configuration(const CLI::App* command);
  /// Runs a command once all plugins are loaded.
  Answer with_plugins(const CLI::App* command);
  [[nodiscard]] std::string explain_usage(const CLI::ParseError& error) const;
  [[nodiscard]] const CLI::App* innermost() const;

  CLI::App app_{"Predicts in closed form what a machine-learning workload does on a machine or a fleet.",
                "mlsysim"};
  RenderOptions render_;
  std::string format_ = "text";
  bool verbose_ = false, print_config_ = false, no_timestamps_ = false;
  std::vector<std::string> zoo_paths_, words_;
  bool shows_all_ = false;  ///< help with every option
  ScenarioRequest scenario_;
  ExplainRequest explain_;
  SweepRequest sweep_;
  SensitivityRequest sensitivity_;
  ExportRequest export_;
  SolveRequest solve_;
  SearchRequest search_;
  UncertaintyRequest uncertainty_;
  CompareRequest compare_;
  PipelineRequest pipeline_;
  ResolverRunRequest resolver_;
  CompareMeasuredRequest compare_measured_;
  MemoryRequest memory_;
  LaunchRequest launch_;
  ProgramRequest program_;
  TrafficRequest traffic_;
  std::string first_, second_, form_ = "text", write_, check_;
  std::vector<std::string> paths_;
  bool yaml_ = false;
  PluginRequest plugins_;
  std::map<const CLI::App*, Command> commands_;
  std::map<const CLI::App*, std::vector<Place>> places_;
  std::map<const CLI::Option*, OptionValues> values_;
};

/// The name of a field as an option: batch_size is --batch-size.
[[nodiscard]] std::string dashed(std::string_view name);
/// Meaning, unit, choices and default of a field.
[[nodiscard]] std::string help_of(const FieldInfo& f);
/// Placeholder for the value of a field in a help text, e.g. QUANTITY.
[[nodiscard]] std::string type_word(const FieldInfo& f);

}  // namespace mlsysim::cli
