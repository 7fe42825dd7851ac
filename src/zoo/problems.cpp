#include "detail/problems.hpp"

#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

void Problems::add(ZooFault fault, const SourceText& source, Place at, ErrorFacts facts) {
  facts.id = std::string(id_of(fault));
  facts.reason = reason_of(fault);
  if (problems_.size() < kMostProblems) {
    problems_.push_back(placed(std::move(facts), source, at));
    return;
  }
  facts.where = {source.file, static_cast<int>(at.line), static_cast<int>(at.column)};
  problems_.push_back(std::move(facts));
}

void Problems::add(ErrorFacts facts) { problems_.push_back(std::move(facts)); }

void Problems::raise(const std::string& what) const { raise_problems(what, problems_); }

}  // namespace mlsysim::detail

namespace mlsysim {

void raise_problems(const std::string& what, std::span<const ErrorFacts> problems) {
  if (problems.empty()) return;
  const auto shown = problems.first(std::min(problems.size(), kMostProblems));
  auto count = fmt::format("{} problem{}", problems.size(), problems.size() == 1 ? "" : "s");
  if (shown.size() < problems.size()) count += fmt::format(", of which the first {} are shown", shown.size());
  throw ErrorList({.id = problems.front().id,
                   .message = fmt::format("{}: {}", what, count),
                   .key = problems.front().key,
                   .where = problems.front().where},
                  {shown.begin(), shown.end()});
}

}  // namespace mlsysim
