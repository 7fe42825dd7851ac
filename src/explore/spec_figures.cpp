#include "detail/spec_figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/spec/infrastructure.hpp>
#include <mlsysim/spec/serving_engine.hpp>
#include <mlsysim/spec/system.hpp>
#include <mlsysim/spec/workload.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mlsysim::detail {
namespace {

template <class S>
std::shared_ptr<std::byte> clone(const void* spec) {
  auto copy = std::make_shared<S>(*static_cast<const S*>(spec));
  return {copy, reinterpret_cast<std::byte*>(copy.get())};
}

/// Sizes of models and machines are counts, though their tables admit fractions.
template <class S>
constexpr bool kHoldsCounts = std::is_same_v<S, Workload> || std::is_same_v<S, HardwareNode> || std::is_same_v<S, Node> || std::is_same_v<S, Fleet>;

template <class O>
inline constexpr bool is_spec_v = std::is_same_v<O, HardwareNode> || std::is_same_v<O, Workload> || std::is_same_v<O, Fleet> || std::is_same_v<O, Node> ||
                                  std::is_same_v<O, NetworkFabric> || std::is_same_v<O, GridProfile> || std::is_same_v<O, Datacenter> ||
                                  std::is_same_v<O, CoolingProfile> || std::is_same_v<O, Conventions> || std::is_same_v<O, ServingEngine>;

}  // namespace

template <class S>
void SpecFigures::add(const S& spec, const std::string& prefix, Object place) {
  const std::size_t own = objects_.size();
  place.base = &spec;
  place.clone = &clone<S>;
  place.type = ObjectType<S>::name;
  objects_.push_back(std::move(place));
  const auto* const begin = reinterpret_cast<const std::byte*>(&spec);
  auto number = [&](const std::string& path, const auto& row, const Exponents& exps, double& x) {
    FieldInfo f;
    f.name = prefix + path;
    f.unit = row.unit;
    f.meaning = row.meaning;
    f.kind = exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
    f.exps = exps;
    f.low = row.low;
    f.high = row.high;
    f.open_low = row.open_low;
    f.integral = row.integral || (kHoldsCounts<S> && exps.dimensionless() && row.high > 1 && x >= 1 && std::floor(x) == x);
    inputs_.push_back(std::move(f));
    point_.push_back(x);
    figures_.push_back({own, static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&x) - begin)});
  };
  auto pointer = [&]<class P>(const std::string& path, P& member) {
    using O = std::remove_const_t<std::remove_pointer_t<P>>;
    if constexpr (is_spec_v<O>)
      if (member != nullptr)
        add(*member, prefix + path + ".",
            {.base = nullptr, .clone = nullptr, .type = {}, .field = std::nullopt, .parent = own,
             .offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&member) - begin)});
  };
  // The walk is written for specs that it may change; this one only reads.
  for_each_number(const_cast<S&>(spec), "", number, pointer);
}

SpecFigures::SpecFigures(std::span<const FieldInfo> fields, const void* object) {
  for (const auto& f : fields) {
    if (f.kind != ValueKind::object) continue;
    const Value v = f.read(object);
    const auto* given = std::get_if<ObjectRef>(&v);
    const ObjectRef ref = given != nullptr ? *given : f.object_type == ObjectType<Conventions>::name ? ObjectRef{&conventions_or_standard(nullptr), f.object_type} : ObjectRef{};
    if (ref.object == nullptr) continue;
    const auto add_if = [&]<class S>(const S*) {
      if (ref.type != ObjectType<S>::name) return;
      Object place{.base = nullptr, .clone = nullptr, .type = {}, .field = f};
      add(*static_cast<const S*>(ref.object), f.name + ".", std::move(place));
    };
    const auto among = [&]<class... S>(const S*... each) { (add_if(each), ...); };
    among(static_cast<const HardwareNode*>(nullptr), static_cast<const Workload*>(nullptr), static_cast<const Fleet*>(nullptr),
          static_cast<const Node*>(nullptr), static_cast<const NetworkFabric*>(nullptr), static_cast<const GridProfile*>(nullptr),
          static_cast<const Datacenter*>(nullptr), static_cast<const Conventions*>(nullptr), static_cast<const ServingEngine*>(nullptr));
  }
}

SpecFigures::Copies SpecFigures::apply(const double* numbers, void* object) const {
  if (std::equal(point_.begin(), point_.end(), numbers)) return {};
  Copies copies(objects_.size());
  // A changed spec is a changed pointer in what points to it, up to the object.
  const auto copy_of = [&](const auto& self, std::size_t k) -> std::byte* {
    if (copies[k]) return copies[k].get();
    const Object& o = objects_[k];
    copies[k] = o.clone(o.base);
    const void* const there = copies[k].get();
    if (o.field) o.field->write(object, ObjectRef{there, o.type});
    else std::memcpy(self(self, o.parent) + o.offset, &there, sizeof(there));
    return copies[k].get();
  };
  for (std::size_t i = 0; i < figures_.size(); ++i)
    if (numbers[i] != point_[i]) *reinterpret_cast<double*>(copy_of(copy_of, figures_[i].object) + figures_[i].offset) = numbers[i];
  return copies;
}

}  // namespace mlsysim::detail
