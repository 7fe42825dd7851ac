#include "detail/gather.hpp"

#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mlsysim::detail {
namespace {

ErrorFacts warning(ZooFault fault, const Entry& entry, ErrorFacts facts) {
  facts.id = std::string(id_of(fault));
  if (facts.key.empty()) facts.key = entry.name;
  if (facts.where.file.empty()) facts.where = entry.where;
  return facts;
}

void check_units(const Entry& entry, std::vector<ErrorFacts>& out) {
  for (const auto& figure : entry.figures) {
    if (figure.authored.find(' ') == std::string::npos && strict_number(figure.authored)) continue;
    if (figure.authored == "true" || figure.authored == "false") continue;
    const auto q = UnitRegistry::standard().parse(figure.authored);
    const auto spelling = UnitRegistry::standard().parse_unit(q.unit()).spelling;
    if (q.unit() == spelling) continue;
    out.push_back(
        warning(ZooFault::alias_unit, entry,
                {.message = fmt::format("'{}' of '{}' is not in canonical spelling", figure.path, entry.name),
                 .key = figure.path,
                 .found = quoted_text(q.unit()),
                 .expected = quoted_text(spelling),
                 .hint = "write the canonical unit",
                 .where = figure.where}));
  }
}

bool measured(const Source& source) {
  const auto kind = name_of(source.kind);
  return kind == "fit" || kind == "measured";
}

/// A figure that was fitted or measured on devices belongs to one of them, or to one of the same die. What a
/// class says of all its devices was measured on two makers' or more.
void check_borrowed(const Zoo& zoo, const Entry& entry, std::vector<ErrorFacts>& out) {
  if (entry.kind != "hardware" && entry.kind != "device_class") return;
  for (const auto& figure : entry.figures) {
    const Source& source = entry.source_of(figure.path);
    const Reference* work = measured(source) ? zoo.find_reference(source.ref) : nullptr;
    if (work == nullptr || work->measured_on.empty()) continue;
    const auto stands = [&](const std::string& name) {
      return std::find(work->measured_on.begin(), work->measured_on.end(), name) != work->measured_on.end();
    };
    std::set<std::string> makers;
    for (const auto& name : work->measured_on)
      if (const auto* device = zoo.find<HardwareNode>(name)) makers.insert(device->vendor);
    const bool own =
        entry.kind == "device_class" ? makers.size() > 1 : stands(entry.name) || stands(source.same_die);
    if (own) continue;
    out.push_back(warning(
        ZooFault::borrowed, entry,
        {.message = fmt::format("'{}' of {} '{}' was measured on another device", figure.path, entry.kind,
                                entry.name),
         .key = figure.path,
         .found = fmt::format("{} of {}", name_of(source.kind), fmt::join(work->measured_on, ", ")),
         .expected = entry.kind == "device_class" ? "an estimate with a range, or devices of two makers"
                                                  : "a figure of this device, or same_die: the one measured",
         .hint = "leave it to the device's class",
         .where = figure.where}));
  }
}

}  // namespace

std::vector<ErrorFacts> warnings_of(const Zoo& zoo) {
  std::vector<ErrorFacts> out;
  for (const Entry* entry : zoo.entries()) {
    check_units(*entry, out);
    check_borrowed(zoo, *entry, out);
    if (entry->source.verified.empty() && entry->source.recorded.empty())
      out.push_back(warning(ZooFault::no_own_source, *entry,
                            {.message = fmt::format("{} '{}' gives no source", entry->kind, entry->name),
                             .found = "no key 'source'",
                             .expected = "source: {kind: ..., ref: ..., verified: ...}",
                             .hint = "say where the figures come from"}));
    else if (entry->source.verified.empty() && entry->source.kind != SourceKind::illustrative)
      out.push_back(warning(
          ZooFault::not_verified, *entry,
          {.message = fmt::format("the source of {} '{}' was not read again", entry->kind, entry->name),
           .found = fmt::format("recorded: {}", entry->source.recorded),
           .expected = "verified: the date on which the source was read",
           .hint = "read the source, compare the figures, and write the date"}));
  }
  return out;
}

}  // namespace mlsysim::detail
