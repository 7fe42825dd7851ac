#pragma once
/// Values that the flags of a launch give, by quantity, and the finding on each flag.

#include "flag_table.hpp"
#include "source.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/specs/workload.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Whether the decoder holds the prompt of a request itself, and no encoder does.
[[nodiscard]] inline bool holds_prompt(const Workload* model) {
  return model == nullptr || model->encoder() == nullptr;
}
/// Tokens that a decoder holds of a request at its end.
[[nodiscard]] inline double tokens_held(const Workload& model, double prompt, double answer) {
  return (holds_prompt(&model) ? prompt : UsualRequest::begun) + answer;
}

/// Collects flags; a later one replaces an earlier one of the same quantity.
class Settings {
 public:
  Settings(const FlagTable& table, std::vector<FlagFinding>& findings)
      : table_(&table), findings_(&findings) {}

  /// The model of the launch, once it is known; it lives as long as the launch is read.
  const Workload* model = nullptr;
  /// The longest context of its checkpoint.
  std::optional<double> positions;

  /// Files a setting under its row. @throws InputError for a value of another kind
  void put(const FlagRow& row, const Given& given);
  /// Notes a flag of the table whose value does not apply here, as the words of a launch override it.
  void put_ignored(const FlagRow& row, const Given& given, std::string_view why);
  /// Notes a flag that the table does not have.
  void put_unknown(const Given& given, std::string_view remark);

  [[nodiscard]] bool has(std::string_view quantity) const { return values_.contains(quantity); }
  [[nodiscard]] std::optional<double> number(std::string_view quantity) const;
  [[nodiscard]] double number_or(std::string_view quantity, double otherwise) const {
    return number(quantity).value_or(otherwise);
  }
  /// The engine's default for a quantity, or null. @param device that runs it, where known
  [[nodiscard]] const FlagDefault* usual(std::string_view quantity,
                                         const HardwareNode* device = nullptr) const;
  /// The number of a flag, or what the engine takes without it. @throws InputError where its table is silent
  [[nodiscard]] double number_or_usual(std::string_view quantity) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view quantity) const;
  [[nodiscard]] bool on(std::string_view quantity) const { return flag(quantity).value_or(false); }
  [[nodiscard]] std::string text(std::string_view quantity) const;
  /// The value of a quantity's flag as the launch writes it.
  [[nodiscard]] std::string given(std::string_view quantity) const;
  /// Where a quantity was given, for messages.
  [[nodiscard]] Location where(std::string_view quantity) const;
  [[nodiscard]] std::string flag_name(std::string_view quantity) const;
  /// Drops a quantity whose finding stays.
  void forget(std::string_view quantity);
  /// Replaces the finding on a quantity's flag with a reason why its value does not apply here.
  void end(std::string_view quantity, FlagUse use, std::string why);
  /// Says of every flag that nobody asked for that it has no effect.
  void finish();
  /// @throws InputError: two flags do not go together
  [[noreturn]] void clash(std::string_view quantity, std::string message, std::string found,
                          std::string expected) const;

 private:
  struct Held {
    std::string text;
    std::size_t finding;
  };
  [[nodiscard]] const Held* held(std::string_view quantity) const;
  void check(const FlagRow& row, const Given& given, std::string& value) const;

  const FlagTable* table_;
  std::vector<FlagFinding>* findings_;
  std::map<std::string, Held, std::less<>> values_;
  mutable std::set<std::string, std::less<>> read_;
};

/// A number as engines write them: 8, 5e8, 0.9, 1_000; `k` is 1000 and `K` 1024. Nothing for other texts.
[[nodiscard]] std::optional<double> number_of(std::string_view text);
/// A count as plans write it.
[[nodiscard]] std::string count_text(double x);

/// Turns settings into fields of a plan. @param launch its findings, fields and notes are filled
void serving_fields(Settings& settings, Launch& launch, const Zoo& zoo);
/// Whether llama.cpp chooses by itself what lies in host memory.
[[nodiscard]] bool places_itself(const Settings& settings);
/// Shortens requests whose length nobody limits until they fit, as llama.cpp does before it moves layers.
void shorten_context(Launch& launch, const Zoo& zoo);
/// Sets the shares of the weights and of the routed experts that lie in host memory. @param devices of a
/// replica
void put_host_memory(Settings& settings, Launch& launch, const Zoo& zoo, double devices);
/// Moves to host memory what does not fit on the device, as llama.cpp does by itself: of a mixture the
/// experts of as few layers as it takes, then layers.
void place_layers(Launch& launch, const Zoo& zoo);
/// Limits the cache of the plan to what fits beside the layers of the fullest device, where devices have
/// unequal shares of the layers. The mean device of the plan then fits where the fullest one does.
void leave_room(Launch& launch, const Zoo& zoo);
/// Whether a format is that of an engine that serves.
[[nodiscard]] bool serves(LaunchFormat format);
/// The entry of the zoo that describes an engine that serves.
[[nodiscard]] std::string_view engine_entry(LaunchFormat format);
void training_fields(Settings& settings, Launch& launch, const Zoo& zoo);
/// The devices on which a launch runs that takes all it sees: those that it names, else all of the machine.
/// Nothing where neither says how many.
[[nodiscard]] std::optional<double> seen_devices(const Settings& settings, const Launch& launch,
                                                 const Zoo& zoo);
/// Calls the machine by its name in the zoo, and several devices or a node of which the launch leaves devices
/// idle by that of its devices. True where the launch says how many there are, and not a fleet.
[[nodiscard]] bool takes_machine(Launch& launch, const Zoo& zoo, double devices);
/// Sets `precision` or another field to a format. A word that is no format of ours contradicts.
void put_format(Settings& settings, Launch& launch, std::string_view quantity, const char* field);
/// The model whose shape the flags state: a name of the zoo where one has it, else an entry in one line;
/// empty where they state none. @throws InputError where they state no whole shape
[[nodiscard]] std::string model_of_shape(const Settings& settings, const Zoo& zoo,
                                         std::vector<std::string>& notes);
/// Compares the shape that flags state with a model that was named, and says where they differ.
void compare_shape(Settings& settings, const Workload& model);

}  // namespace mlsysim::detail
