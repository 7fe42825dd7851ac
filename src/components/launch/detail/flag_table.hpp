#pragma once
/// The flags of an engine, read from zoo/launch.

#include <mlsysim/launch/launch.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// The kind of value that a flag takes.
enum class Takes : std::uint8_t { text, count, number, share, bytes, toggle, switched, words, json, file };

/// One row.
struct FlagRow {
  std::string flag;
  std::vector<std::string> also;
  Takes takes = Takes::text;
  FlagUse use = FlagUse::used;
  std::string sets;                          ///< the quantity that it gives
  std::map<std::string, std::string> means;  ///< words of the engine and ours
  std::string why;                           ///< it is ignored, or the assumption that it contradicts
  std::vector<std::string> unless;           ///< values at which it contradicts nothing
};

/// An engine's default where no flag is given: `value`, or `value * of` rounded down to a `multiple`.
struct FlagDefault {
  std::string sets;  ///< the quantity
  std::string text;  ///< a word, or a number
  double value = 0;
  std::string of;                  ///< the quantity that it is a multiple of; empty: `value` itself
  double multiple = 1;             ///< of which the product is made a whole number, downwards
  std::string when;                ///< a toggle that must be on; empty: always
  std::vector<Precision> without;  ///< formats of which the device has none; empty: any device
  bool guess = false;              ///< the engine would ask for it
  std::string source;
};

/// Whether a row is one of this device: it has none of the formats of `without`.
[[nodiscard]] bool concerns(const FlagDefault& row, const HardwareNode* device);

class FlagTable {
 public:
  std::string engine, version, source;
  bool abbreviates = false;  ///< the beginning of a name will do
  bool file_wins = false;    ///< what a file says replaces the command line

  /// The row of a name, or null. `_` and `-` are the same. @throws InputError for the beginning of several
  /// names
  [[nodiscard]] const FlagRow* find(std::string_view name, const Location& where) const;
  /// The row of a whole section that `name` lies in, or null.
  [[nodiscard]] const FlagRow* section_of(std::string_view name) const;
  [[nodiscard]] const std::vector<FlagRow>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<FlagDefault>& defaults() const { return defaults_; }
  /// Values that the engine does not run on a device.
  [[nodiscard]] const std::vector<FlagDefault>& refused() const { return refused_; }

 private:
  friend FlagTable read_flag_table(std::string text, const std::string& name);
  std::vector<FlagRow> rows_;
  std::vector<FlagDefault> defaults_, refused_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// @throws InputError for a table that is not well formed
[[nodiscard]] FlagTable read_flag_table(std::string text, const std::string& name);
/// The shipped table of a format; read once. Thread-safe.
[[nodiscard]] const FlagTable& flag_table(LaunchFormat format);

/// The meaning of a quantity; empty for one that there is not.
[[nodiscard]] std::string_view meaning_of(std::string_view quantity);

}  // namespace mlsysim::detail
