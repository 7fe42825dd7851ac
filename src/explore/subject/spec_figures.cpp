#include "explore/subject/spec_figures.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mlsysim::detail {
namespace {

/// A type of specs whose figures can move.
struct Movable {
  std::string_view type;
  const TableInfo& (*table)();
  std::shared_ptr<std::byte> (*clone)(const void*);
  bool holds_counts;  ///< sizes of models and machines are counts, though their tables admit fractions
};

template <class S> constexpr Movable movable(bool holds_counts = false) {
  return {ObjectType<S>::name, &field_table<S>,
          [](const void* spec) -> std::shared_ptr<std::byte> {
            auto copy = std::make_shared<S>(*static_cast<const S*>(spec));
            return {copy, reinterpret_cast<std::byte*>(copy.get())};
          },
          holds_counts};
}

constexpr Movable kMovable[] = {
    movable<HardwareNode>(true), movable<Workload>(true), movable<Fleet>(true),  movable<Node>(true),
    movable<NetworkFabric>(),    movable<GridProfile>(),  movable<Datacenter>(), movable<CoolingProfile>(),
    movable<Conventions>(),      movable<ServingEngine>()};

}  // namespace

void SpecFigures::add(const ObjectRef& spec, const std::string& prefix, Object place) {
  const auto* kind = std::find_if(std::begin(kMovable), std::end(kMovable),
                                  [&](const Movable& m) { return m.type == spec.type; });
  if (kind == std::end(kMovable)) return;
  const std::size_t own = objects_.size();
  place.base = spec.object;
  place.clone = kind->clone;
  place.type = kind->type;
  objects_.push_back(std::move(place));
  // The walk is written for specs that it may change; this one only reads.
  for_each_member(kind->table(), const_cast<void*>(spec.object), [&](const MemberPlace& at) {
    // The records of a list are categories of its law, no numbers that move.
    if (!at.route.steps.empty() &&
        (at.route.steps.front().type->item->table == &field_table<ConvLayer> ||
         at.route.steps.front().type->item->table == &field_table<ListedOperator> ||
         at.route.steps.front().type->item->table == &field_table<EngineMemoryRule>))
      return;
    if (at.type.form == MemberForm::object) {
      const Value to = at.type.get(at.member);
      // The part of a rack gives what the rack does not state, and that is listed as the rack's.
      if (const auto* next = std::get_if<ObjectRef>(&to); next != nullptr && next->type != spec.type)
        add(*next, prefix + at.path + ".",
            {.base = nullptr,
             .clone = nullptr,
             .type = {},
             .field = std::nullopt,
             .parent = own,
             .route = at.route});
      return;
    }
    const double* x = number_in(at.type, at.member);
    if (x == nullptr) return;
    FieldInfo f;
    f.name = prefix + at.path;
    f.unit = at.row.unit;
    f.meaning = at.row.meaning;
    f.exps = at.type.inner().exps;
    f.kind = f.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
    f.low = at.row.low;
    f.high = at.row.high;
    f.open_low = at.row.open_low;
    f.integral = at.row.integral || (kind->holds_counts && f.exps.dimensionless() && at.row.high > 1 &&
                                     *x >= 1 && std::floor(*x) == *x);
    inputs_.push_back(std::move(f));
    point_.push_back(*x);
    figures_.push_back({own, &at.type, at.route});
  });
  if (spec.type == ObjectType<HardwareNode>::name)
    add_filled(*static_cast<const HardwareNode*>(spec.object), prefix, own);
}

void SpecFigures::add_filled(const HardwareNode& device, const std::string& prefix, std::size_t own) {
  for (const auto& row : figure_rows()) {
    const auto f = filled(row, device, with_kernels_);
    if (!f || f->origin == FigureOrigin::stated || f->origin == FigureOrigin::per_unit) continue;
    FieldInfo field;
    field.name = prefix + row.path;
    field.unit = row.row.unit;
    field.meaning = row.row.meaning;
    field.exps = row.type->inner().exps;
    field.kind = field.exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
    field.low = row.row.low;
    field.high = row.row.high;
    field.open_low = row.row.open_low;
    field.integral = row.row.integral;
    inputs_.push_back(std::move(field));
    point_.push_back(f->base);
    figures_.push_back({own, row.type, {.steps = {}, .offset = row.offset}});
  }
}

namespace {

/// The last object of a kind that is given; null where none is.
template <class S> const S* object_given(std::span<const FieldInfo> fields, const void* object) {
  const S* out = nullptr;
  for (const auto& f : fields) {
    if (f.kind != ValueKind::object || f.object_type != ObjectType<S>::name) continue;
    const Value value = f.read(object);
    if (const auto* ref = std::get_if<ObjectRef>(&value); ref != nullptr && ref->object != nullptr)
      out = static_cast<const S*>(ref->object);
  }
  return out;
}

}  // namespace

SpecFigures::SpecFigures(std::span<const FieldInfo> fields, const void* object)
    : conventions_(&conventions_or_standard(object_given<Conventions>(fields, object))),
      with_kernels_(with_kernels(*conventions_, object_given<ServingEngine>(fields, object))) {
  for (const auto& f : fields) {
    if (f.kind != ValueKind::object) continue;
    const Value v = f.read(object);
    const auto* given = std::get_if<ObjectRef>(&v);
    const ObjectRef ref = given != nullptr ? *given
                          : f.object_type == ObjectType<Conventions>::name
                              ? ObjectRef{conventions_, f.object_type}
                              : ObjectRef{};
    if (ref.object == nullptr) continue;
    add(ref, f.name + ".", {.base = nullptr, .clone = nullptr, .type = {}, .field = f});
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
    if (o.field)
      o.field->write(object, ObjectRef{there, o.type});
    else
      std::memcpy(o.route.in(self(self, o.parent)), &there, sizeof(there));
    return copies[k].get();
  };
  for (std::size_t i = 0; i < figures_.size(); ++i)
    if (numbers[i] != point_[i]) {
      const MemberType& type = *figures_[i].type;
      void* member = figures_[i].route.in(copy_of(copy_of, figures_[i].object));
      // A parameter from the device's class has no number in the spec yet.
      if (type.form == MemberForm::maybe && type.count(member) == 0) type.append(member);
      *number_in(type, member) = numbers[i];
    }
  return copies;
}

}  // namespace mlsysim::detail
