#pragma once
/// Files that were read: their text, tree and kind.

#include "read_context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mlsysim::detail {

struct Document {
  std::shared_ptr<const SourceText> source;
  YamlTree tree;
  std::string kind;  ///< "hardware"; of the schema line
  Authorship authorship = Authorship::shipped;
  std::string origin{};  ///< of a plugin's file: the plugin
  bool sound = false;    ///< all its entries were read before without a problem

  [[nodiscard]] NodeRef root() const { return {tree, 0}; }
};

/// Reads the schema line and sets `kind`. False when the file cannot be used.
bool settle_schema(Document& document, Problems& problems);

/// Reads the references of a document into the zoo.
void read_references(const Document& document, Zoo& zoo, const Zoo* base, Problems& problems);
/// Reads the entries of a document into the zoo; references between entries are added to `links`.
void read_entries(const Document& document, Zoo& zoo, const Zoo* base, Problems& problems,
                  std::vector<PendingLink>& links);
/// Announces the references or entries of a sound document; each is read when it is first asked for.
void defer_all(const std::shared_ptr<const Document>& document, Zoo& zoo);
/// Settles the references between entries.
void settle_links(std::vector<PendingLink>& links, const Zoo& zoo, const Zoo* base, Problems& problems);

}  // namespace mlsysim::detail
