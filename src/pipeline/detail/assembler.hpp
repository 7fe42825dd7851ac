#pragma once
// Turns what a builder collected into a graph, or into the list of everything that is wrong.

#include "graph.hpp"

#include <mlsysim/pipeline/builder.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class PipelineAssembler {
 public:
  explicit PipelineAssembler(const PipelineBuilder& builder)
      : builder_(builder), graph_(std::make_shared<detail::PipelineGraph>()) {}
  /// @throws PipelineBuildError
  [[nodiscard]] std::shared_ptr<const detail::PipelineGraph> assemble();

 private:
  using Source = detail::PipelineSource;
  struct Pin {
    std::size_t stage = detail::kNone, field = detail::kNone, given = detail::kNone;
  };

  void name_stages();
  void declare_givens();
  void connect_links();
  void connect_by_key();
  void meet(std::size_t stage, std::size_t field);
  [[nodiscard]] std::vector<Source> direct_sources(std::size_t stage, const FieldInfo& field) const;
  [[nodiscard]] std::vector<Source> implied_sources(std::size_t stage, std::string_view key,
                                                    std::vector<std::string>& doubtful) const;
  void check_fit(const Source& source, std::size_t stage, std::size_t field, std::string_view how);
  void report_missing(std::size_t stage, const FieldInfo& field);
  void report_unused_givens();
  void sort_stages();
  void report_cycle(const std::vector<bool>& placed);
  void finish();

  [[nodiscard]] Pin pin_of(const std::string& text, bool is_source);
  [[nodiscard]] std::vector<std::string> all_names() const;
  void problem(std::string id, std::string message, std::string key, std::string found, std::string expected,
               std::string hint);

  const PipelineBuilder& builder_;
  std::shared_ptr<detail::PipelineGraph> graph_;
  std::vector<ErrorFacts> problems_;
  std::vector<std::vector<bool>> linked_;  // by stage and field
};

}  // namespace mlsysim
