#include <mlsysim/specs/content.hpp>

#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/format.hpp>

#include <bit>

namespace mlsysim {
namespace {

/// FNV-1a. Not cryptographic: it tells an edited figure from the one before.
class Digest {
 public:
  void add(std::uint64_t word) {
    for (int k = 0; k < 8; ++k) byte(static_cast<unsigned char>(word >> (8 * k)));
  }
  void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));  // "ab","c" is not "a","bc"
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void byte(unsigned char b) { value_ = detail::fnv1a(value_, b); }
  std::uint64_t value_ = detail::kFnvStart;
};

void add_spec(Digest& d, const ObjectRef& spec, const TableInfo& table);

void add_leaf(Digest& d, const MemberType& type, const void* member) {
  if (type.form == MemberForm::maybe) {
    if (type.count(member) > 0)
      add_leaf(d, *type.item, type.item_at(member, 0));
    else
      d.add(std::string_view("absent"));
    return;
  }
  if (type.form == MemberForm::any_quantity) {
    const auto& q = *static_cast<const AnyQuantity*>(member);
    d.add(q.base());
    d.add(canonical_unit(q.exponents()));
    return;
  }
  const Value value = type.get(member);
  if (const auto* flag = std::get_if<bool>(&value))
    d.add(std::uint64_t{*flag});
  else if (const auto* number = std::get_if<double>(&value))
    d.add(*number);
  else if (const auto* text = std::get_if<std::string>(&value))
    d.add(std::string_view(*text));
  // Specs point to specs of other types only, so this ends.
  else if (const auto* spec = std::get_if<ObjectRef>(&value))
    add_spec(d, *spec, *spec_table(spec->type));
  else
    d.add(std::string_view("absent"));
}

void add_spec(Digest& d, const ObjectRef& spec, const TableInfo& table) {
  d.add(spec.type);
  for_each_leaf(table, spec.object, [&](std::string_view path, const MemberType& type, const void* member) {
    d.add(path);
    add_leaf(d, type, member);
  });
}

}  // namespace

std::uint64_t content_digest(const ObjectRef& object) {
  if (object.object == nullptr) return 0;
  if (object.type == ObjectType<Zoo>::name) return content_digest(*static_cast<const Zoo*>(object.object));
  const auto* table =
      object.type == ObjectType<Conventions>::name ? &field_table<Conventions>() : spec_table(object.type);
  if (table == nullptr) return 0;
  Digest d;
  add_spec(d, object, *table);
  return d.value();
}

std::uint64_t content_digest(const Zoo& zoo) {
  Digest d;
  ZooSpecs::for_each([&]<class T>() {
    for (const T* spec : zoo.all<T>()) add_spec(d, {spec, ObjectType<T>::name}, field_table<T>());
  });
  for (const Entry* entry : zoo.entries()) {
    d.add(std::string_view(entry->name));
    for (const auto& alias : entry->aliases) d.add(std::string_view(alias));
    for (const auto& figure : entry->figures) {
      if (figure.low) d.add(*figure.low);
      if (figure.high) d.add(*figure.high);
    }
  }
  return d.value();
}

}  // namespace mlsysim
