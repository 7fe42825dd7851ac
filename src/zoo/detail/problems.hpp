#pragma once
/// Collects what is wrong with the files, so that a user sees everything at once.

#include "source_text.hpp"

#include <vector>

namespace mlsysim::detail {

class Problems {
 public:
  /// A fault at a place; `facts.id` is set from `fault`.
  void add(ZooFault fault, const SourceText& source, Place at, ErrorFacts facts);
  /// A fault whose place is filled in already, or that has none.
  void add(ErrorFacts facts);

  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }
  [[nodiscard]] const std::vector<ErrorFacts>& all() const { return problems_; }
  /// Throws all of them as one ErrorList; does nothing when there are none.
  void raise(const std::string& what) const;

 private:
  std::vector<ErrorFacts> problems_;
};

}  // namespace mlsysim::detail
