#include "detail/gather.hpp"

#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

/// Devices that constants of a family of kernels name; null where a figure is none of these.
const std::vector<std::string>* devices_of(const KernelFamily& family, std::string_view path) {
  constexpr std::string_view list = "generations[";
  if (!path.starts_with(list)) return nullptr;
  std::size_t index = 0;
  (void)std::from_chars(path.data() + list.size(), path.data() + path.size(), index);
  return &family.generations.at(index).devices;
}

/// A figure that was fitted or measured on devices belongs to one of them, or to one of the same die. What a
/// class says of all its devices was measured on two makers' or more. Constants of kernels name the devices.
void check_borrowed(const Zoo& zoo, const Entry& entry, std::vector<ErrorFacts>& out) {
  const bool kernels = entry.kind == "kernel_family";
  if (entry.kind != "hardware" && entry.kind != "device_class" && !kernels) return;
  for (const auto& figure : entry.figures) {
    const Source& source = entry.source_of(figure.path);
    const Reference* work = measured(source) ? zoo.find_reference(source.ref) : nullptr;
    if (work == nullptr || work->measured_on.empty()) continue;
    const auto stands = [&](const std::string& name) {
      return std::find(work->measured_on.begin(), work->measured_on.end(), name) != work->measured_on.end();
    };
    const auto* named = kernels ? devices_of(zoo.at<KernelFamily>(entry.name), figure.path) : nullptr;
    if (kernels && (named == nullptr || std::any_of(named->begin(), named->end(), stands))) continue;
    std::set<std::string> makers;
    for (const auto& name : work->measured_on)
      if (const auto* device = zoo.find<HardwareNode>(name)) makers.insert(device->vendor);
    const bool own =
        !kernels &&
        (entry.kind == "device_class" ? makers.size() > 1 : stands(entry.name) || stands(source.same_die));
    if (own) continue;
    out.push_back(
        warning(ZooFault::borrowed, entry,
                {.message = fmt::format("'{}' of {} '{}' was measured on another device", figure.path,
                                        entry.kind, entry.name),
                 .key = figure.path,
                 .found = fmt::format("{} of {}", name_of(source.kind), fmt::join(work->measured_on, ", ")),
                 .expected = kernels ? "one of these devices in the row that has it"
                             : entry.kind == "device_class"
                                 ? "an estimate with a range, or devices of two makers"
                                 : "a figure of this device, or same_die: the one measured",
                 .hint = kernels ? "name it under devices" : "leave it to the device's class",
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
