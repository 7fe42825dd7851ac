#include "timing/views/device_figures.hpp"

#include <mlsysim/specs/leaves.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

namespace mlsysim {
namespace {

constexpr int kDeepest = 8;                    // of rules, and of classes that are like others
constexpr std::string_view kOneOver = "1 / ";  // before the figure against which a rule goes

/// Visits the numbers of a spec's blank object.
template <class S, class F> void for_each_number(F&& f) {
  for_each_member(field_table<S>(), const_cast<void*>(field_table<S>().blank), [&](const MemberPlace& at) {
    const auto form = at.type.inner().form;
    if (at.type.form == MemberForm::maybe && (form == MemberForm::number || form == MemberForm::quantity))
      f(at.path, at.row, at.type, at.route.offset);
  });
}

/// Where the numbers of a spec lie, by their paths.
template <class S> std::map<std::string, std::size_t, std::less<>> offsets() {
  std::map<std::string, std::size_t, std::less<>> out;
  for_each_number<S>([&](const std::string& path, const FieldRow&, const MemberType&, std::size_t offset) {
    out.emplace(path, offset);
  });
  return out;
}

struct Table {
  std::vector<FigureRow> rows;
  std::unordered_map<std::string_view, const FigureRow*> by_path;

  Table() {
    const auto in_class = offsets<DeviceClass>(), in_family = offsets<GenerationConstants>();
    const auto at = [](const auto& offsets, const std::string& path) {
      const auto found = offsets.find(path);
      return found == offsets.end() ? std::nullopt : std::optional(found->second);
    };
    for_each_number<HardwareNode>(
        [&](const std::string& path, const FieldRow& row, const MemberType& type, std::size_t offset) {
          rows.push_back({path, row, &type, offset, at(in_class, path), at(in_family, path)});
        });
    for (const auto& row : rows) by_path.emplace(row.path, &row);
  }
};

const Table& table() {
  static const Table made;
  return made;
}

/// The member at an offset, which may hold a number or a quantity: both lie as an optional double does.
std::optional<double> number_at(const void* object, std::size_t offset) {
  static_assert(sizeof(std::optional<Time<>>) == sizeof(std::optional<double>));
  std::optional<double> out;
  std::memcpy(&out, static_cast<const std::byte*>(object) + offset, sizeof out);
  return out;
}

const FigureRow& row_at(std::string_view path) {
  if (const auto* row = find_figure_row(path)) return *row;
  throw LookupError({.id = "mlsysim.price.030",
                     .message = fmt::format("a device has no figure '{}'", path),
                     .key = std::string(path),
                     .found = fmt::format("'{}'", path),
                     .expected = "the path of a number of a device, e.g. memory.bandwidth"});
}

/// Parts of which the device is made.
double parts_of(const HardwareNode& device) {
  return device.accelerator_count / std::max(1.0, device.part->accelerator_count);
}

}  // namespace

DeviceFigures::DeviceFigures(const HardwareNode& device, const Conventions& conventions)
    : device_(device), conventions_(conventions) {
  const DeviceClass* c = &class_of(device, conventions);
  for (int k = 0; c != nullptr && k <= kDeepest; c = c->like, ++k) classes_.push_back(c);
  for (const auto* family : {conventions.products, conventions.attention, conventions.collectives})
    for (; family != nullptr; family = family->extends)
      for (const auto& constants : family->generations) {
        const auto on = std::ranges::find_if(classes_, [&](const DeviceClass* of) {
          return constants.generation != nullptr && of->name == constants.generation->name;
        });
        const Giver giver{family, &constants, static_cast<std::size_t>(on - classes_.begin())};
        if (on != classes_.end()) givers_.push_back(giver);
        if (measured_on(constants, device)) measured_.push_back(giver);
      }
  std::ranges::stable_sort(givers_, {}, &Giver::level);
}

std::optional<FilledFigure> DeviceFigures::operator()(const FigureRow& row, int depth) const {
  if (const auto own = row.stated(device_)) return FilledFigure{*own};
  if (const auto own = measured(row, depth)) return own;
  if (device_.part != nullptr) {
    if (part_ == nullptr) part_ = std::make_unique<DeviceFigures>(*device_.part, conventions_);
    auto of_part = (*part_)(row, below(depth));
    if (of_part) {
      if (row.row.summed) of_part->base *= parts_of(device_);
      return FilledFigure{of_part->base, FigureOrigin::part, device_.part};
    }
  }
  if (row.row.per_unit && !device_.compute.units)
    return FilledFigure{row.type->inner().exps.dimensionless() ? 1.0 : 0.0, FigureOrigin::per_unit};
  if (const auto given = of_caller(row)) return given;
  return of_class(row, depth);
}

std::optional<FilledFigure> DeviceFigures::of_caller(const FigureRow& row) const {
  if (conventions_.devices == nullptr || !row.in_class) return std::nullopt;
  const auto given = number_at(conventions_.devices, *row.in_class);
  if (!given) return std::nullopt;
  return FilledFigure{*given, FigureOrigin::caller};
}

std::optional<FilledFigure> DeviceFigures::of_class(const FigureRow& row, int depth) const {
  auto next = givers_.begin();
  for (std::size_t level = 0; level < classes_.size(); ++level, depth = below(depth)) {
    const auto first = next;
    while (next != givers_.end() && next->level == level) ++next;
    auto found = given_by(*classes_[level], row.in_class, row, depth);
    if (!found) found = of_families(row, {first, next}, depth);
    if (!found) continue;
    found->device_class = classes_[level];
    return found;
  }
  return std::nullopt;
}

/// From a family of kernels that was measured on the device.
std::optional<FilledFigure> DeviceFigures::measured(const FigureRow& row, int depth) const {
  auto found = of_families(row, measured_, depth);
  if (found) found->origin = FigureOrigin::measured;
  return found;
}

/// From the first of these constants of families of kernels.
std::optional<FilledFigure> DeviceFigures::of_families(const FigureRow& row, std::span<const Giver> givers,
                                                       int depth) const {
  if (!row.in_family) return std::nullopt;
  for (const auto& giver : givers) {
    auto found = given_by(*giver.constants, row.in_family, row, depth);
    if (!found) continue;
    found->family = giver.family;
    found->constants = giver.constants;
    return found;
  }
  return std::nullopt;
}

/// A value of a class or of a family's constants, else by one of its rules.
template <class S>
std::optional<FilledFigure> DeviceFigures::given_by(const S& giver, std::optional<std::size_t> offset,
                                                    const FigureRow& row, int depth) const {
  if (offset)
    if (const auto value = number_at(&giver, *offset)) return FilledFigure{*value, FigureOrigin::value};
  for (const auto& rule : giver.rules) {
    if (rule.figure != row.path) continue;
    if (const auto from = named_by(rule.of, depth))
      return FilledFigure{rule.times * *from, FigureOrigin::rule, nullptr, nullptr, &rule};
  }
  return std::nullopt;
}

/// The value that a rule multiplies: a parameter or its inverse.
std::optional<double> DeviceFigures::named_by(std::string_view of, int depth) const {
  const bool inverse = of.starts_with(kOneOver);
  if (inverse) of.remove_prefix(kOneOver.size());
  const auto found = (*this)(row_at(of), below(depth));
  if (!found) return std::nullopt;
  return inverse ? 1 / found->base : found->base;
}

int DeviceFigures::below(int depth) const {
  if (depth < kDeepest) return depth + 1;
  throw InputError(
      {.id = "mlsysim.price.031",
       .message = fmt::format("the figures of '{}' follow from each other in a circle", device_.name),
       .key = device_.name,
       .found = "a rule, a part or a class that leads back to itself",
       .expected = "figures that end at one that is stated"});
}

namespace {

/// Parts from which the source text of a parameter is built.
struct WordParts {
  std::string by, family, of;  ///< who gives a figure, the family of kernels, what its rule goes with
  double times;                ///< of the rule

  [[nodiscard]] bool is(std::string_view b, std::string_view f, std::string_view o, double t) const {
    return times == t && by == b && family == f && of == o;
  }
};

/// Words that live for ever, so that notes only point to them. There are few: a class or a part each.
template <class Words>
SharedText lasting(std::string_view by, std::string_view family, std::string_view of, double times,
                   const Words& words) {
  struct Kept {
    WordParts parts;
    std::string words;
    const Kept* next;
  };
  static std::atomic<const Kept*> first{nullptr};
  const Kept* known = first.load(std::memory_order_acquire);
  for (const Kept* k = known; k != nullptr; k = k->next)
    if (k->parts.is(by, family, of, times)) return SharedText::lasting(k->words);
  auto* added = new Kept{{std::string(by), std::string(family), std::string(of), times}, words(), known};
  while (!first.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
  }
  return SharedText::lasting(added->words);
}

}  // namespace

std::optional<double> FigureRow::stated(const HardwareNode& device) const {
  return number_at(&device, offset);
}

void FigureRow::state(HardwareNode& device, double base) const {
  void* member = reinterpret_cast<std::byte*>(&device) + offset;
  if (type->count(member) == 0) type->append(member);
  *number_in(*type, member) = base;
}

std::span<const FigureRow> figure_rows() { return table().rows; }

const FigureRow* find_figure_row(std::string_view path) {
  const auto found = table().by_path.find(path);
  return found == table().by_path.end() ? nullptr : found->second;
}

SharedText FilledFigure::source() const {
  switch (origin) {
    case FigureOrigin::stated:
      return "the device's zoo entry";
    case FigureOrigin::measured:
      return lasting({}, family->name, {}, 0, [&] { return family->name + ", measured on the device"; });
    case FigureOrigin::part:
      return lasting(part->name, {}, {}, 0, [&] { return "part " + part->name; });
    case FigureOrigin::per_unit:
      return "units are not known: nothing is charged for one";
    case FigureOrigin::caller:
      return "the caller's conventions";
    case FigureOrigin::value:
    case FigureOrigin::rule:
      break;
  }
  return lasting(device_class->name, family != nullptr ? std::string_view(family->name) : "",
                 rule != nullptr ? std::string_view(rule->of) : "", rule != nullptr ? rule->times : 1.0, [&] {
                   std::string words = "class " + device_class->name;
                   if (family != nullptr) words += fmt::format(" ({})", family->name);
                   if (rule != nullptr) words += fmt::format(": {:g} x {}", rule->times, rule->of);
                   return words;
                 });
}

const DeviceClass& class_of(const HardwareNode& device, const Conventions& conventions) {
  static const DeviceClass none;
  if (device.device_class != nullptr) return *device.device_class;
  return conventions.device_class != nullptr ? *conventions.device_class : none;
}

std::optional<FilledFigure> filled(const FigureRow& row, const HardwareNode& device,
                                   const Conventions& conventions) {
  if (const auto own = row.stated(device)) return FilledFigure{*own};
  return DeviceFigures(device, conventions)(row);
}

std::optional<FilledFigure> filled_by_class(const FigureRow& row, const HardwareNode& device,
                                            const Conventions& conventions) {
  return DeviceFigures(device, conventions).of_class(row);
}

AuthoredFigure authored(const FilledFigure& filled, const FigureRow& row) {
  AuthoredFigure out;
  const auto* family = filled.family;
  const Entry* entry = nullptr;
  if (family != nullptr)
    entry = family->entry;
  else if (filled.device_class != nullptr)
    entry = filled.device_class->entry;
  if (entry == nullptr) return out;
  std::string path = row.path;
  if (filled.rule != nullptr) {
    const auto& rules = family != nullptr ? filled.constants->rules : filled.device_class->rules;
    path = fmt::format("rules[{}].times", filled.rule - rules.data());
    out.factor = filled.base / filled.rule->times;
  }
  if (family != nullptr)
    path = fmt::format("generations[{}].{}", filled.constants - family->generations.data(), path);
  out.figure = entry->figure(path);
  if (out.figure == nullptr) return out;
  out.source = &entry->source_of(path);
  out.range = range_of(*out.figure, *out.source);
  if (out.range) out.range = std::pair(out.range->first * out.factor, out.range->second * out.factor);
  if (family == nullptr || filled.own() || filled.constants->devices.empty() || !family->carried) return out;
  // Measured on other devices of the generation.
  auto [low, high] = out.range.value_or(std::pair(filled.base, filled.base));
  low /= *family->carried, high *= *family->carried;
  const bool share = row.type->inner().exps.dimensionless();
  out.range =
      std::pair(share ? std::max(low, row.row.low) : low, share ? std::min(high, row.row.high) : high);
  return out;
}

std::optional<std::pair<double, double>> range_of(const Figure& figure, const Source& source) {
  std::pair<double, double> out{figure.base, figure.base};
  if (figure.low && figure.high)
    out = {*figure.low, *figure.high};
  else if (source.spread && source.kind == SourceKind::estimate)
    out = {figure.base * (1 - *source.spread), figure.base * (1 + *source.spread)};
  if (!(out.first < out.second)) return std::nullopt;
  return out;
}

namespace {

/// The figure, noted where the device does not state it. @throws InputError where there is none
double noted(const std::optional<FilledFigure>& found, const FigureRow& row, const HardwareNode& device,
             const Conventions& conventions, Notes& notes) {
  if (!found)
    throw InputError({.id = "mlsysim.price.032",
                      .message = fmt::format("'{}' of '{}' is not known", row.path, device.name),
                      .key = row.path,
                      .found = fmt::format("nothing in the entry, and nothing in class '{}'",
                                           class_of(device, conventions).name),
                      .expected = fmt::format("{}{}", row.row.meaning,
                                              row.row.unit.empty() ? "" : fmt::format(" [{}]", row.row.unit)),
                      .hint = "state it in the device's entry",
                      .reason = BreakReason::missing_field});
  if (!found->own() && notes.wanted())
    notes.assume({SharedText::lasting(row.path), AssumedValue::of(found->base, row.type->inner().exps),
                  found->source()});
  return found->base;
}

}  // namespace

double needed_figure(std::string_view path, const HardwareNode& device, const Conventions& conventions,
                     Notes& notes) {
  const FigureRow& row = row_at(path);
  return noted(filled(row, device, conventions), row, device, conventions, notes);
}

double class_figure(std::string_view path, const Conventions& conventions, Notes& notes) {
  HardwareNode any;
  any.name = "a device that is not there yet";
  const FigureRow& row = row_at(path);
  const DeviceFigures figures(any, conventions);
  auto found = figures.of_caller(row);
  if (!found) found = figures.of_class(row);
  return noted(found, row, any, conventions, notes);
}

}  // namespace mlsysim
