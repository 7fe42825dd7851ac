#pragma once
/// Collects the faults of a YAML file and raises them together, each with its place in the file.
///
/// Example: a matrix with a key 'color' and without 'columns' raises one error with both faults, at 2:1 and
/// 1:1.

#include <mlsysim/units/error.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class YamlDocument;
struct YamlValue;

namespace detail {

/// Ids of the faults that every such file can have.
struct YamlFaultIds {
  std::string_view form, unknown, missing;
};

class YamlFaults {
 public:
  /// @param what "a matrix"
  YamlFaults(const YamlDocument& document, std::string_view what, YamlFaultIds ids)
      : doc_(document), what_(what), ids_(ids) {}

  void add(const YamlValue& at, ErrorFacts facts);
  void add(ErrorFacts facts) { problems_.push_back(std::move(facts)); }
  /// Calls f, and keeps the error that it throws, with the place of a value.
  template <class F> void collect(const YamlValue& at, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      keep(at, error);
    }
  }
  [[nodiscard]] bool any() const { return !problems_.empty(); }
  /// @throws ErrorList where there are faults
  void raise() const;

  /// Whether a value is of a kind; a fault where it is not. A text is not empty.
  bool is_map(const YamlValue& value, std::string_view path, std::string_view expected);
  bool is_list(const YamlValue& value, std::string_view path, std::string_view expected);
  bool is_text(const YamlValue& value, std::string_view path, std::string_view expected);
  void wrong(const YamlValue& value, std::string_view path, std::string_view expected);
  /// Names every key of a map that is not known. @param path of the map; empty for the whole file
  void only(const YamlValue& map, std::string_view path, std::span<const std::string> known);
  /// The value of a key that must be there; null, and a fault, where it is not.
  const YamlValue* need(const YamlValue& map, std::string_view key, std::string_view example);
  /// The texts of a list, or of one text alone.
  std::vector<std::string> texts(const YamlValue& value, std::string_view path);

 private:
  void keep(const YamlValue& at, const Error& error);
  const YamlDocument& doc_;
  std::string_view what_;
  YamlFaultIds ids_;
  std::vector<ErrorFacts> problems_;
};

}  // namespace detail
}  // namespace mlsysim
