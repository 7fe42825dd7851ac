#pragma once
/// Provenance: the source, date and range of every number in the zoo.
///
/// A number has its own source, or else that of the sizes of its model, or else that of its entry.
/// Example: "memory.bandwidth" of H100 is authored as "3.35 TB/s", is 3.35e12 B/s in the base unit, and has
/// the source nvidia-hopper-blog.

#include <mlsysim/specs/choices.hpp>
#include <mlsysim/units/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A work that is cited, by key.
struct Reference {
  std::string key;                       ///< "nvidia-h100-datasheet"
  std::string text;                      ///< full citation
  std::string url;                       ///< may be empty
  std::vector<std::string> measured_on;  ///< devices on which the work measured; empty where it did not
};

/// The source of a value, and the date of its last check.
struct Source {
  SourceKind kind = SourceKind::convention;
  std::string ref;       ///< key into the references
  std::string verified;  ///< ISO date on which the source was last read; empty when `recorded` is given
  std::string recorded;  ///< ISO date on which the number was entered; the source was not read again
  std::string note;
  std::string formula;           ///< for derived figures
  std::optional<double> spread;  ///< relative half width of an estimate
  std::string same_die;          ///< the device of the same die on which the number was measured
};

/// One authored number of an entry.
struct Figure {
  std::string path;                 ///< dotted name in the entry, e.g. "memory.bandwidth"
  std::string authored;             ///< text as written, e.g. "3.35 TB/s"
  double base = 0;                  ///< value in the canonical base unit
  std::optional<Source> own;        ///< provenance of this number where it differs from the entry's
  std::optional<double> low, high;  ///< range of an estimate, base unit
  Location where;
};

/// A decision between two values of one number of the entry.
struct Decision {
  std::string field;
  Settled took = Settled::reference;
  std::string instead_of;   ///< the value not taken, as text
  std::string alternative;  ///< a better value kept beside the figure, as text
  std::string why;
  std::string ref;
  std::string confidence;
};

/// Names, sources and notes that the zoo has for an entry beside its values. Specs keep a pointer to it.
struct Entry {
  std::string kind;  ///< "hardware", "model", "node", ...
  std::string name;
  std::string title;
  std::vector<std::string> aliases;
  std::string
      origin;  ///< "mlsysim-py" (numbers of the Python package), "added", "user", or the name of a plugin
  Source source;
  std::optional<Source> shape_source;  ///< of the sizes of a model, where it differs
  std::vector<Figure> figures;         ///< sorted by path
  std::vector<Decision> decisions;
  std::vector<std::string> notes;  ///< notes of its reader: "dtype is not stated: bf16"
  std::string guess;               ///< guessed part of its shape, which answers show first; may be empty
  Location where;

  /// The figure of this path, or null.
  [[nodiscard]] const Figure* figure(std::string_view path) const;
  /// The figure's own source, or else that of the sizes, or else the entry's.
  [[nodiscard]] const Source& source_of(std::string_view path) const;
};

/// Whether a number is one of the sizes of a model, which have the source `shape_source`.
[[nodiscard]] bool is_size_of_model(std::string_view path);

}  // namespace mlsysim
