#include <mlsysim/validation/constants.hpp>

#include <mlsysim/spec/leaves.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <functional>

namespace mlsysim {
namespace {

constexpr std::string_view kEngine = "engine:";

/// A number inside a spec: its dotted name, its value where it is stated, and how to replace it.
struct Figure {
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
template <HasFields S> std::vector<Figure> figures_of(S& object) {
  std::vector<Figure> out;
  for_each_member(field_table<S>(), &object, [&](const MemberPlace& place) {
    const auto form = place.type.inner().form;
    if (form == MemberForm::number || form == MemberForm::quantity)
      out.push_back({place.path, &place.type, place.member});
  });
  return out;
}

template <class S> std::optional<Figure> find_figure(S& object, const std::string& name) {
  for (const auto& g : figures_of(object))
    if (g.name == name) return g;
  return std::nullopt;
}

template <class S> Figure figure(S& object, const std::string& name, std::string_view what) {
  if (auto found = find_figure(object, name)) return *found;
  std::vector<std::string> names;
  for (const auto& g : figures_of(object)) names.push_back(g.name);
  throw LookupError({.id = "mlsysim.validation.020",
                     .message = fmt::format("a {} has no figure '{}'", what, name),
                     .key = name,
                     .found = fmt::format("'{}'", name),
                     .expected = fmt::format("the dotted name of a figure of a {}", what),
                     .hint = did_you_mean(name, names)});
}

/// A copy of the spec with those values that concern it, made once; the spec itself where there are none.
template <class Changed, class S, class Concerns>
const S& with_changes(const Changed& changed, const S& named, std::string_view what, Concerns concerns) {
  const auto other = changed.instead.find(&named);
  if (other != changed.instead.end()) changed.asked.insert(&named);
  const S& original = other != changed.instead.end() ? *other->second : named;
  if (changed.values.empty()) return original;
  auto& copy = changed.copies[&original];
  if (copy) return *copy;
  copy = std::make_unique<S>(original);
  for (const auto& c : changed.values) {
    const auto f = figure(*copy, c.field, what);
    if (concerns(original, c, f.value())) f.set(c.base);
  }
  return *copy;
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
  HardwareNode any;
  ServingEngine any_engine;
  for (auto& c : changes) {
    if (c.owner == "default") {
      figure(conventions_, c.field, "convention").set(c.base);
    } else if (c.owner.starts_with(kEngine)) {
      (void)figure(any_engine, c.field, "serving engine");
      engines_.values.push_back(std::move(c));
    } else {
      (void)figure(any, c.field, "device");
      devices_.values.push_back(std::move(c));
    }
  }
}

const HardwareNode& Constants::device(const HardwareNode& named) const {
  return with_changes(
      devices_, named, "device",
      [](const HardwareNode& original, const ConstantValue& c, const std::optional<double>& stated) {
        // "Every device" replaces what a device states; what it leaves to the conventions is changed there.
        return c.owner == original.name || (c.owner == "*" && stated.has_value());
      });
}

const ServingEngine& Constants::engine(const ServingEngine& named) const {
  return with_changes(engines_, named, "serving engine",
                      [](const ServingEngine& original, const ConstantValue& c, const auto&) {
                        return c.owner == owner_of(original);
                      });
}

ConstantFigure constant_of(const HardwareNode& device, const Conventions& conventions,
                           const std::string& owner, const std::string& field) {
  Conventions all = conventions;
  if (owner == "default") {
    const auto f = figure(all, field, "convention");
    return {*f.value(), f.type->exps};
  }
  HardwareNode copy = device;
  const auto f = figure(copy, field, "device");
  if (f.value()) return {*f.value(), f.type->exps};
  // "efficiency.memory" of a device that is silent is the convention "memory_share".
  const auto last = field.substr(field.rfind('.') + 1);
  for (const std::string& name : {last, last + "_share", "kernel_" + last})
    if (const auto c = find_figure(all, name); c && c->type->exps == f.type->exps)
      return {*c->value(), f.type->exps};
  throw LookupError(
      {.id = "mlsysim.validation.021",
       .message = fmt::format("'{}' states no '{}', and no convention stands in for it", device.name, field),
       .key = field,
       .found = "an absent figure",
       .expected = "a figure with a value to start from",
       .hint = "give the device a value"});
}

}  // namespace mlsysim
