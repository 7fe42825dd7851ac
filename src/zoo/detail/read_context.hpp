#pragma once
/// Context for reading one entry, and the readers of scalars, figures and sources.

#include "yaml_tree.hpp"

#include <mlsysim/specs/zoo.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Whose file it is: the rules on sources differ.
enum class Authorship : std::uint8_t { shipped, user };

/// A reference to another entry by name, settled once all files are read.
struct PendingLink {
  void* slot = nullptr;  ///< address of the pointer; while the spec is being read, relative to `owner`
  std::string name;      ///< as written
  const MemberType* type = nullptr;  ///< of the pointer
  std::string path;
  std::shared_ptr<const SourceText> source;
  Place at;
};

/// State of reading one entry.
struct ReadContext {
  std::shared_ptr<const SourceText> source;
  Problems& problems;
  const Zoo& zoo;   ///< for references
  const Zoo* base;  ///< more references; may be null
  Authorship authorship;
  Entry& entry;
  std::vector<PendingLink>& links;
  std::string_view origin{};  ///< of entries of a plugin

  void fault(ZooFault id, NodeRef at, ErrorFacts facts) const;
  [[nodiscard]] const Reference* find_reference(std::string_view key) const;
};

/// Dimension, unit and range that a number must have.
struct NumberRule {
  Exponents exps{};
  enum class Dimension : std::uint8_t { fixed, any } dimension = Dimension::fixed;
  std::string_view unit, meaning;
  double low = -kUnbounded, high = kUnbounded;  // display unit
  bool open_low = false;
};

/// Reads a number, alone or as a map with its own provenance, and records it as a figure of the entry.
std::optional<AnyQuantity> read_figure(ReadContext& ctx, NodeRef node, const std::string& path,
                                       const NumberRule& rule);

/// Reads a text that is not empty.
std::optional<std::string> read_text(ReadContext& ctx, NodeRef node, const std::string& path);
std::optional<bool> read_flag(ReadContext& ctx, NodeRef node, const std::string& path);
/// Position of a word among the choices.
std::optional<std::size_t> read_choice(ReadContext& ctx, NodeRef node, const std::string& path,
                                       std::string_view what, std::span<const std::string_view> choices);

/// Whether the node is of this kind; reports it otherwise.
bool expect_kind(ReadContext& ctx, NodeRef node, NodeKind kind, const std::string& path,
                 std::string_view example);
/// Reports the keys of a map that are none of `known`.
/// @param table whose parts may hold a key that stands too high; null where the map is no table
void refuse_unknown_keys(ReadContext& ctx, NodeRef map, const std::string& prefix,
                         std::span<const std::string> known, const TableInfo* table = nullptr);
void report_missing(ReadContext& ctx, NodeRef map, const std::string& prefix, std::string_view name,
                    std::string_view meaning, std::string_view unit);

/// Reads name, title, aliases, origin, source and decisions. False when the entry cannot be used at all.
bool read_entry_head(ReadContext& ctx, NodeRef map);
/// Sorts the figures and checks what concerns the entry as a whole.
void finish_entry(ReadContext& ctx, NodeRef map);

/// Reads the keys of a source in `map`; `is_figure` maps also hold value and range.
enum class SourceOf : std::uint8_t { entry, figure };
std::optional<Source> read_source_keys(ReadContext& ctx, NodeRef map, const std::string& path, SourceOf of);

/// A plain decimal number: no leading zeros, hexadecimals, infinities or separators.
[[nodiscard]] std::optional<double> strict_number(std::string_view text);

/// Keys that every entry may have beside those of its kind.
inline constexpr std::string_view kEntryKeys[] = {"name",   "title",     "aliases", "origin",
                                                  "source", "decisions", "guess"};

}  // namespace mlsysim::detail
