#pragma once
/// Spec structs as Python classes, made from their field tables.

#include "bindings.hpp"
#include "quantities.hpp"
#include "spec_owner.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::python {

/// State of a constructor besides the struct: the owners of everything that it points to.
struct Building {
  std::vector<Owner> keeps;
  std::string where;  ///< "HardwareNode.compute", for messages
};

/// One member of a spec.
struct Member {
  FieldInfo range;  ///< name, unit, meaning, and what numbers are admissible
  bool required = false;
  std::size_t offset = 0;
  const MemberType* type = nullptr;

  [[nodiscard]] const std::string& name() const { return range.name; }
  [[nodiscard]] std::string_view unit() const { return range.unit; }
};

/// Another name of a member or of a member of a member: {"tdp", "power.tdp"}.
struct Alias {
  std::string_view name, path;
};

/// A spec in its box, and what the box keeps alive.
struct Boxed {
  std::shared_ptr<void> spec;
  std::vector<Owner>* keeps = nullptr;
};

/// A spec struct as a Python class: its table, and the little that needs the type.
struct SpecType {
  std::string name;  ///< of the class
  PyTypeObject* cls = nullptr;
  std::string_view object;  ///< of pointers to it; empty for parts
  const TableInfo* table = nullptr;
  std::vector<Member> members;
  std::vector<Alias> aliases;
  py::object (*cast)(void* spec, const Owner& owner) = nullptr;
  /// The struct inside a Python object with its owner; null where it is none.
  std::shared_ptr<void> (*held)(py::handle value) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;
  Boxed (*box)(const void* from) = nullptr;           ///< a copy without entry; an empty one of null
  const Entry* (*entry)(const void* spec) = nullptr;  ///< null for parts
  /// Puts keywords into a struct.
  void (*assign)(const SpecType& type, void* spec, const py::dict& values, Building& building) = nullptr;

  [[nodiscard]] const Member* member(std::string_view wanted) const;
  [[nodiscard]] const Alias* alias(std::string_view wanted) const;
};

/// The type of a Python object or of a class that it inherits; null for any other object.
[[nodiscard]] const SpecType* spec_type_of(py::handle value);
/// The type of pointers of this name ("Workload", ...). @throws InputError where none has a class
[[nodiscard]] const SpecType& spec_type_named(std::string_view object);

/// Members, aliases and dicts for nested structs: the usual way to assign.
void assign_keywords(const SpecType& type, void* spec, const py::dict& values, Building& building);
[[noreturn]] void refuse_keyword(const SpecType& type, const std::string& name, const Building& building);
/// A number in the base unit of the member, range checked. Quantities and texts with units; bare numbers for
/// counts.
[[nodiscard]] double read_number(py::handle value, const Member& row, const Building& building);
/// A number format by its name.
[[nodiscard]] Precision read_precision(py::handle value, const std::string& where);

/// Keeps a type for the life of the process and gives its class what tables can give.
SpecType& add_spec_type(SpecType type, py::handle cls);
/// A class without its members: the documentation is made from the table.
[[nodiscard]] SpecType spec_type(const char* name, const TableInfo& table, std::vector<Alias> aliases);
[[nodiscard]] std::string spec_doc(const SpecType& type, std::string_view about);
/// A new spec of keywords.
[[nodiscard]] std::shared_ptr<void> build_spec(const SpecType& type, const py::dict& values);

/// The Python class of a spec struct.
template <class T> class SpecClass {
 public:
  SpecClass(py::module_& m, const char* name, std::string_view about, std::vector<Alias> aliases = {})
      : SpecClass(m, about, spec_type(name, field_table<T>(), std::move(aliases))) {}

  template <class F> SpecClass& property(const std::string& name, const std::string& doc, F f) {
    class_.def_property_readonly(name.c_str(), f, doc.c_str());
    return *this;
  }
  template <class... A> SpecClass& def(A&&... a) {
    class_.def(std::forward<A>(a)...);
    return *this;
  }
  SpecClass& assigned_by(decltype(SpecType::assign) assign) {
    type_->assign = assign;
    return *this;
  }

 private:
  SpecClass(py::module_& m, std::string_view about, SpecType type)
      : class_(m, type.name.c_str(), spec_doc(type, about).c_str()) {
    if constexpr (requires { ObjectType<T>::name; }) type.object = ObjectType<T>::name;
    type.cast = [](void* spec, const Owner& owner) {
      return py::cast(std::shared_ptr<T>(owner, static_cast<T*>(spec)));
    };
    type.held = [](py::handle value) -> std::shared_ptr<void> {
      return py::isinstance<T>(value) ? value.cast<std::shared_ptr<T>>() : nullptr;
    };
    type.copy = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); };
    type.box = [](const void* from) -> Boxed {
      auto box = SpecBox<T>::make(from == nullptr ? T{} : *static_cast<const T*>(from));
      if constexpr (requires(T & t) { t.entry; })
        box->value.entry = nullptr;  // it no longer is what the zoo says
      auto& keeps = box->keeps;
      T* spec = &box->value;
      return {std::shared_ptr<void>(std::move(box), spec), &keeps};
    };
    if constexpr (requires(const T& t) { t.entry; })
      type.entry = [](const void* spec) { return static_cast<const T*>(spec)->entry; };
    type_ = &add_spec_type(std::move(type), class_);
    class_.def(py::init([type = type_](const py::kwargs& values) {
      return std::static_pointer_cast<T>(build_spec(*type, values));
    }));
  }

  py::class_<T, std::shared_ptr<T>> class_;
  SpecType* type_ = nullptr;
};

}  // namespace mlsysim::python
