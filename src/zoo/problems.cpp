#include "detail/problems.hpp"

#include <fmt/format.h>

namespace mlsysim::detail {

void Problems::add(ZooFault fault, const SourceText& source, Place at, ErrorFacts facts) {
  facts.id = std::string(id_of(fault));
  facts.reason = reason_of(fault);
  if (problems_.size() < kMostExcerpts) {
    problems_.push_back(placed(std::move(facts), source, at));
    return;
  }
  facts.where = {source.file, static_cast<int>(at.line), static_cast<int>(at.column)};
  problems_.push_back(std::move(facts));
}

void Problems::add(ErrorFacts facts) { problems_.push_back(std::move(facts)); }

void Problems::raise(const std::string& what) const {
  if (problems_.empty()) return;
  constexpr std::size_t most = 50;  // longer lists are not read
  auto shown = problems_;
  auto count = fmt::format("{} problem{}", problems_.size(), problems_.size() == 1 ? "" : "s");
  if (shown.size() > most) {
    shown.resize(most);
    count += fmt::format(", of which the first {} are shown", most);
  }
  throw ErrorList({.id = problems_.front().id,
                   .message = fmt::format("{}: {}", what, count),
                   .key = problems_.front().key,
                   .where = problems_.front().where},
                  std::move(shown));
}

}  // namespace mlsysim::detail
