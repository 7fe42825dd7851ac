#include <mlsysim/validation/constants.hpp>

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

constexpr std::string_view kEngine = "engine:";

/// A number inside a spec: its dotted name, its value where it is stated, and how to replace it.
struct Held {
  std::string name;
  const MemberType* type = nullptr;
  void* member = nullptr;

  [[nodiscard]] std::optional<double> value() const {
    const double* x = number_in(*type, member);
    return x != nullptr ? std::optional(*x) : std::nullopt;
  }
  void set(double base) const { type->set(member, Value(base), {}); }
};

/// The numbers of a table struct, nested structs included; texts, lists and choices are passed over.
template <HasFields S> std::vector<Held> figures_of(S& object) {
  std::vector<Held> out;
  for_each_member(field_table<S>(), &object, [&](const MemberPlace& place) {
    const auto form = place.type.inner().form;
    if (form == MemberForm::number || form == MemberForm::quantity)
      out.push_back({place.path, &place.type, place.member});
  });
  return out;
}

template <class S> std::optional<Held> find_figure(S& object, const std::string& name) {
  for (const auto& g : figures_of(object))
    if (g.name == name) return g;
  return std::nullopt;
}

template <class S> Held figure(S& object, const std::string& name, std::string_view what) {
  if (auto found = find_figure(object, name)) return *found;
  std::vector<std::string> names;
  for (const auto& g : figures_of(object)) names.push_back(g.name);
  throw LookupError(unknown_name("mlsysim.validation.020", fmt::format("a {} has no figure '{}'", what, name),
                                 name, names, fmt::format("the dotted name of a figure of a {}", what)));
}

/// A copy of the spec with those values that concern it, made once; the spec itself where there are none.
/// `change(original, copy, value)` makes one of them.
template <class Changed, class S, class Change>
const S& with_changes(const Changed& changed, const S& named, Change change) {
  const auto other = changed.instead.find(&named);
  if (other != changed.instead.end()) changed.asked.insert(&named);
  const S& original = other != changed.instead.end() ? *other->second : named;
  if (changed.values.empty()) return original;
  auto& copy = changed.copies[&original];
  if (copy) return *copy;
  copy = std::make_unique<S>(original);
  for (const auto& c : changed.values) change(original, *copy, c);
  return *copy;
}

const FigureRow& device_figure(const std::string& path) {
  if (const auto* row = find_figure_row(path)) return *row;
  std::vector<std::string> names;
  for (const auto& row : figure_rows()) names.push_back(row.path);
  throw LookupError(unknown_name("mlsysim.validation.022", fmt::format("a device has no figure '{}'", path),
                                 path, names, "the dotted name of a figure of a device"));
}

}  // namespace

std::string owner_of(const HardwareNode& device) { return device.name; }

std::string owner_of(const ServingEngine& engine) { return fmt::format("{}{}", kEngine, engine.name); }

Constants::Constants(const Conventions& conventions, std::vector<ConstantValue> changes)
    : conventions_(conventions) {
  change(std::move(changes));
}

Constants Constants::with(std::vector<ConstantValue> changes) const {
  Constants out(conventions_);
  out.silent_ = silent_;
  out.devices_.values = devices_.values;
  out.devices_.instead = devices_.instead;
  out.engines_.values = engines_.values;
  out.engines_.instead = engines_.instead;
  out.change(std::move(changes));
  return out;
}

std::vector<std::string> Constants::never_asked_for() const {
  std::vector<std::string> out;
  const auto add = [&](const auto& changed) {
    for (const auto& [named, instead] : changed.instead)
      if (changed.asked.count(named) == 0) out.push_back(named->name);
  };
  add(devices_);
  add(engines_);
  return out;
}

void Constants::change(std::vector<ConstantValue> changes) {
  ServingEngine any_engine;
  for (auto& c : changes) {
    if (c.owner == "default") {
      const auto* row = find_figure_row(c.field);
      if (row == nullptr || !row->in_class) {
        figure(conventions_, c.field, "convention").set(c.base);
        continue;
      }
      // A figure of devices: of those that are silent.
      auto own = std::make_shared<DeviceClass>(conventions_.devices == nullptr ? DeviceClass()
                                                                               : *conventions_.devices);
      figure(*own, c.field, "device").set(c.base);
      silent_ = own;
      conventions_.devices = silent_.get();
    } else if (c.owner.starts_with(kEngine)) {
      (void)figure(any_engine, c.field, "serving engine");
      engines_.values.push_back(std::move(c));
    } else {
      (void)device_figure(c.field);
      devices_.values.push_back(std::move(c));
    }
  }
}

const HardwareNode& Constants::device(const HardwareNode& named) const {
  return with_changes(devices_, named,
                      [&](const HardwareNode& original, HardwareNode& copy, const ConstantValue& c) {
                        const FigureRow& row = device_figure(c.field);
                        // "Every device" replaces what a device has, whoever gives it; what it does not have
                        // it does not get.
                        const auto has = [&] {
                          const auto f = filled(row, copy, conventions_);
                          return f && f->origin != FigureOrigin::per_unit;
                        };
                        if (c.owner == original.name || (c.owner == "*" && has())) row.state(copy, c.base);
                      });
}

const Device<>& Constants::kernel_device(const HardwareNode& named, Precision precision,
                                         const KernelFamily* attention, Phase phase) const {
  const std::tuple key(&named, precision, attention, phase);
  if (const auto known = kernel_devices_.find(key); known != kernel_devices_.end()) return known->second;
  Conventions conventions = conventions_;
  if (attention != nullptr) conventions.attention = attention;
  Notes quiet;
  return kernel_devices_.emplace(key, device_view(device(named), precision, conventions, quiet, phase))
      .first->second;
}

const ServingEngine& Constants::engine(const ServingEngine& named) const {
  return with_changes(engines_, named,
                      [](const ServingEngine& original, ServingEngine& copy, const ConstantValue& c) {
                        if (c.owner == owner_of(original))
                          figure(copy, c.field, "serving engine").set(c.base);
                      });
}

}  // namespace mlsysim
