#pragma once
/// Classifies the text of a graph break: type, category and PyTorch's registry id.
///
/// A type is the first line of the text without addresses, quoted values, numbers and paths, 120 characters
/// at most. Types and categories take few values, so they suit as metric labels. The full text does not.
/// Example: "attribute 'weight' of 7 at 0x7f2f42df5bb0" has the type "attribute '...' of N". "Dynamic shape
/// operator" has the id GB0036 and the category dynamic_shape.

#include <mlsysim/ops/graph_breaks/record.hpp>

#include <map>
#include <string>
#include <string_view>

namespace mlsysim {

/// Ids of types, as the registry of PyTorch (torch/_dynamo/graph_break_registry.json) gives them.
class BreakRegistry {
 public:
  /// The types of the versions that zoo/compile/graph_breaks.json names. @throws InputError without the file
  [[nodiscard]] static const BreakRegistry& shipped();
  /// A registry file of another version. @throws InputError
  [[nodiscard]] static BreakRegistry read(const std::string& file);
  /// The id of a type, in its present or an older wording; empty where there is none.
  [[nodiscard]] std::string_view id_of(std::string_view type) const;
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> ids_;
};

/// The type of a reason.
[[nodiscard]] std::string normal_type(std::string_view reason);
/// Category of a normal type. The context, which versions from 2.7 on write, separates prints from other
/// built-in functions.
[[nodiscard]] BreakCategory category_of(std::string_view type, std::string_view context);
/// A break from its text: type, category, id, explanation, hints and context. The stack is left empty.
[[nodiscard]] CompileBreak break_of(std::string reason, const BreakRegistry& registry);
/// A text without memory addresses: "<built-in method conv1d of type object>".
[[nodiscard]] std::string without_addresses(std::string_view text);
/// The name of an operator as it may be counted: "conv1d".
[[nodiscard]] std::string op_name(std::string_view text);
/// A path below its package folder: what follows site-packages/ or dist-packages/, the library folder of
/// Python, or else the last three parts. Home folders do not pass.
[[nodiscard]] std::string short_path(std::string_view path);

}  // namespace mlsysim
