#include <mlsysim/tape/registry.hpp>

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

namespace mlsysim {

const LawEntry& LawRegistry::add(LawEntry entry) {
  if (entry.info.id.empty() || find(entry.info.id) != nullptr) {
    throw InputError(
        {.id = "mlsysim.tools.003",
         .message = "a law cannot be registered under this id",
         .key = std::string(entry.info.id),
         .found = entry.info.id.empty() ? "an empty id" : fmt::format("'{}', which is taken", entry.info.id),
         .expected = "an id of its own",
         .hint = "set LawInfo::id of the law"});
  }
  entries_.push_back(std::move(entry));
  return entries_.back();
}

const LawEntry* LawRegistry::find(std::string_view id) const {
  for (const auto& e : entries_)
    if (e.info.id == id) return &e;
  return nullptr;
}

const LawEntry& LawRegistry::at(std::string_view id) const {
  if (const auto* e = find(id)) return *e;
  std::vector<std::string> names;
  for (const auto& e : entries_) names.emplace_back(e.info.id);
  throw LookupError(unknown_name("mlsysim.tools.004", fmt::format("there is no law '{}'", id), id, names));
}

}  // namespace mlsysim
