#pragma once
/// A resolver of a plugin as a resolver like any other.

#include "code.hpp"
#include "objects.hpp"

#include <mlsysim/resolver_api/detail/exchangeable.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::plugin::detail {

/// Where the default of an option comes from, and its text; empty: the plugin's own.
struct OptionSetting {
  std::string name, text, origin;
};

/// Inputs are those of the plugin, then its options, which have defaults. A struct of inputs holds on to the
/// code that was current when it was made, so that one run never mixes two versions of a plugin.
class PluginResolver final : public Resolver, public mlsysim::detail::Exchangeable {
 public:
  /// @throws PluginFault for units that do not exist, defaults of the wrong kind, ...
  PluginResolver(const PluginDescription& plugin, std::shared_ptr<Generation> generation,
                 ObjectTable& objects, std::span<const OptionSetting> settings);

  [[nodiscard]] std::span<const FieldInfo> inputs() const override { return inputs_.infos; }
  [[nodiscard]] std::span<const FieldInfo> outputs() const override { return outputs_.infos; }
  [[nodiscard]] std::size_t input_size() const override { return pin_offset_ + sizeof(Pin); }
  [[nodiscard]] std::size_t output_size() const override { return outputs_.size; }
  void construct_inputs(void* memory) const override;
  void construct_inputs_like(const void* others, void* memory) const override;
  void destroy_inputs(void* memory) const override;
  void construct_outputs(void* memory) const override { construct(outputs_, memory); }
  void destroy_outputs(void* memory) const override { destroy(outputs_, memory); }
  Status solve(const void* in, void* out, SolveContext& context) const override;
  [[nodiscard]] Verification verify(const void* in, const void* out) const override;

  /// Runs that are made from now on use this code. @return false when its fields differ, and nothing is
  /// changed
  bool replace(std::shared_ptr<Generation> generation);
  [[nodiscard]] std::shared_ptr<Generation> current() const;
  /// Whether an instance could be made now, with the options as they are set; throws the reason if not.
  void can_create() const;
  /// Releases the code, which is closed after the last run that began before. Later runs are refused.
  void retire();

 private:
  struct Pin {
    std::shared_ptr<Generation> generation;
  };
  enum class Cell : std::uint8_t { number, maybe_number, flag, text, object };
  struct Wire {
    Cell cell;
    std::size_t offset;
    double mul, div;  // number in the declared unit * mul / div is in the base unit
    MlsString unit;   // declared; empty for numbers without one
    bool bounded, open_low;
    double low, high;  // in the declared unit
  };
  struct Side {
    std::vector<FieldDescription> fields;
    std::deque<std::vector<std::string_view>> choices;
    std::deque<std::string> texts;  // a deque: fields point into the texts, which must not move
    std::vector<FieldInfo> infos;
    std::vector<Wire> wires;
    std::size_t size = 0;
    std::string_view keep(std::string text);
  };
  /// Declares one field: its description and its cell, after those that are there.
  void add(Side& side, FieldDescription field, ObjectTable& objects, bool input);
  void describe_number(Side& side, const FieldDescription& field, FieldInfo& f, Wire& wire) const;
  void set_units(Side& side, const FieldDescription& field, FieldInfo& f, Wire& wire) const;
  static void describe_text(Side& side, const FieldDescription& field, FieldInfo& f, Wire& wire);
  void describe_object(const FieldDescription& field, FieldInfo& f, Wire& wire) const;
  void check_default(const FieldDescription& field, const FieldInfo& f, const Wire& wire) const;
  [[noreturn]] void bad_field(const FieldDescription& field, std::string_view what, std::string found,
                              std::string expected) const;
  static void construct(const Side& side, void* memory);
  static void destroy(const Side& side, void* memory);
  void write_inputs(const void* in, MlsValue* out) const;
  void read_output(std::size_t i, const MlsValue& value, void* out) const;
  [[noreturn]] void bad_output(std::size_t i, MlsStatus code, std::string found, std::string expected,
                               std::string hint) const;

  std::string plugin_, version_;
  ObjectTable& objects_;
  Side inputs_, outputs_;
  std::size_t option_count_ = 0, pin_offset_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<Generation> generation_;
};

}  // namespace mlsysim::plugin::detail
