#pragma once
/// Spec structs as Python classes, made from their field tables.

#include "bindings.hpp"
#include "quantities.hpp"
#include "spec_owner.hpp"

#include <mlsysim/spec/hardware.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/table/describe.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::python {

/// What a constructor gathers besides the struct: the owners of everything that it points to.
struct Building {
  std::vector<Owner> keeps;
  std::string where;  ///< "HardwareNode.compute", for messages
};

/// One member of a spec, erased.
struct Member {
  std::string name;
  std::string unit;     ///< display unit
  std::string meaning;
  std::size_t offset = 0;
  bool required = false;
  bool nested = false;
  FieldInfo range;      ///< of numbers
  std::string (*annotation)(const Member& row) = nullptr;  ///< Python type, for the stubs
  py::object (*get)(const void* member, const Owner& owner, const Member& row) = nullptr;
  void (*set)(void* member, py::handle value, const Member& row, Building& building) = nullptr;
};

/// Another name of a member or of a member of a member: {"tdp", "power.tdp"}.
struct Alias {
  std::string_view name, path;
};

[[noreturn]] void refuse_value(const Member& row, py::handle value, const Building& building, std::string_view expected);
/// A number in the base unit of the member, range checked. Quantities and texts with units; bare numbers for counts.
[[nodiscard]] double read_number(py::handle value, const Member& row, const Building& building);
/// A plain number; an int where it counts something.
[[nodiscard]] py::object number_to_python(double x, const Member& row);
/// Whether a number without unit counts something and is an int in Python.
[[nodiscard]] bool counts_something(const Member& row);
/// Name of the Python class of a bound type.
template <class T>
std::string class_name() {
  return std::string(py::str(py::type::of<T>().attr("__name__")));
}
[[nodiscard]] std::string read_text(py::handle value, const Member& row, const Building& building);
[[nodiscard]] py::object mapping_proxy(const py::dict& d);

/// Builds a struct from keywords; specialised by every bound type.
template <class T>
void assign(T& spec, const py::dict& values, Building& building);
/// Members of a bound type.
template <class T>
const std::vector<Member>& members_of();

/// The object of a type that the library points to, as Python sees it.
template <class T>
py::object spec_to_python(const T* spec, const Owner& owner) {
  if (spec == nullptr) return py::none();
  return py::cast(std::shared_ptr<T>(owner, const_cast<T*>(spec)));
}

namespace detail {

using mlsysim::detail::is_optional_v;

template <class M>
inline constexpr bool is_vector_v = false;
template <class M>
inline constexpr bool is_vector_v<std::vector<M>> = true;
template <class M>
inline constexpr bool is_quantity_v = false;
template <class D>
inline constexpr bool is_quantity_v<Quantity<D, double>> = true;

template <class M>
py::object get_member(const void* p, const Owner& owner, const Member& row) {
  const M& x = *static_cast<const M*>(p);
  if constexpr (is_optional_v<M>) {
    return x ? get_member<typename M::value_type>(&*x, owner, row) : py::none();
  } else if constexpr (is_quantity_v<M>) {
    return to_python(AnyQuantity(x), row.unit);
  } else if constexpr (std::is_same_v<M, AnyQuantity>) {
    return py::cast(x);
  } else if constexpr (std::is_same_v<M, bool>) {
    return py::bool_(x);
  } else if constexpr (std::is_same_v<M, double>) {
    return number_to_python(x, row);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if (x.empty() && row.name != "name") return py::none();
    return py::str(x);
  } else if constexpr (Choice<M>) {
    const auto name = name_of(x);
    return py::str(name.data(), name.size());
  } else if constexpr (std::is_same_v<M, RatePerPrecision>) {
    py::dict d;
    for (const auto& name : x.names()) d[py::str(name)] = to_python(AnyQuantity(*x[*choice_of<Precision>(name)]), "TFLOP/s");
    return mapping_proxy(d);
  } else if constexpr (std::is_same_v<M, std::map<std::string, double>>) {
    py::dict d;
    for (const auto& [key, value] : x) d[py::str(key)] = py::float_(value);
    return mapping_proxy(d);
  } else if constexpr (std::is_pointer_v<M>) {
    return spec_to_python(x, owner_of(x));
  } else if constexpr (is_vector_v<M>) {
    py::tuple t(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) t[i] = get_member<typename M::value_type>(&x[i], owner, row);
    return t;
  } else {
    static_assert(HasFields<M>, "no Python form for this member");
    return spec_to_python(&x, owner);
  }
}

template <class M>
void set_member(void* p, py::handle value, const Member& row, Building& building) {
  M& x = *static_cast<M*>(p);
  if constexpr (is_optional_v<M>) {
    if (value.is_none()) {
      x.reset();
    } else {
      typename M::value_type inner{};
      set_member<typename M::value_type>(&inner, value, row, building);
      x = std::move(inner);
    }
  } else if constexpr (is_quantity_v<M>) {
    x = M::from_base(read_number(value, row, building));
  } else if constexpr (std::is_same_v<M, AnyQuantity>) {
    if (const auto* q = quantity_in(value)) x = *q;
    else x = AnyQuantity::parse(read_text(value, row, building));
  } else if constexpr (std::is_same_v<M, bool>) {
    if (!PyBool_Check(value.ptr())) refuse_value(row, value, building, "True or False");
    x = value.cast<bool>();
  } else if constexpr (std::is_same_v<M, double>) {
    x = read_number(value, row, building);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if (value.is_none()) x.clear();
    else x = read_text(value, row, building);
  } else if constexpr (Choice<M>) {
    const auto name = read_text(value, row, building);
    const auto choice = choice_of<M>(name);
    if (!choice) {
      FieldInfo info;
      info.name = row.name;
      info.choices = Choices<M>::names;
      mlsysim::detail::unknown_choice(info, name);
    }
    x = *choice;
  } else if constexpr (std::is_same_v<M, RatePerPrecision>) {
    if (value.is_none()) return;
    if (!py::isinstance(value, py::module_::import("collections.abc").attr("Mapping")))
      refuse_value(row, value, building, "a mapping of precisions to rates");
    const py::dict d(py::reinterpret_borrow<py::object>(value));
    for (const auto& [key, rate] : d) {
      Precision precision{};
      set_member<Precision>(&precision, key, row, building);
      ComputeRate<> r;
      Member one = row;
      one.unit = "TFLOP/s";
      one.range.exps = dim::compute_rate::exps;
      set_member<ComputeRate<>>(&r, rate, one, building);
      x[precision] = r;
    }
  } else if constexpr (std::is_same_v<M, std::map<std::string, double>>) {
    x.clear();
    for (const auto& [key, number] : py::dict(py::reinterpret_borrow<py::object>(value)))
      x[key.template cast<std::string>()] = read_number(number, row, building);
  } else if constexpr (std::is_pointer_v<M>) {
    using O = std::remove_const_t<std::remove_pointer_t<M>>;
    if (value.is_none()) {
      x = nullptr;
      return;
    }
    if (!py::isinstance<O>(value)) refuse_value(row, value, building, "a " + std::string(ObjectType<O>::name));
    auto held = value.cast<std::shared_ptr<O>>();
    x = held.get();
    building.keeps.push_back(std::move(held));
  } else if constexpr (is_vector_v<M>) {
    x.clear();
    for (const auto item : py::reinterpret_borrow<py::object>(value)) {
      typename M::value_type inner{};
      set_member<typename M::value_type>(&inner, item, row, building);
      x.push_back(std::move(inner));
    }
  } else {
    if (py::isinstance<M>(value)) {
      x = value.cast<const M&>();
    } else if (PyDict_Check(value.ptr())) {
      Building inner{{}, building.where + "." + row.name};
      assign<M>(x, py::reinterpret_borrow<py::dict>(value), inner);
      building.keeps.insert(building.keeps.end(), inner.keeps.begin(), inner.keeps.end());
    } else if (!value.is_none()) {
      refuse_value(row, value, building, "a " + class_name<M>() + " or a dict");
    }
  }
}

/// The Python type of a member, as stubs write it.
template <class M>
std::string annotation_of(const Member& row) {
  if constexpr (is_optional_v<M>) return annotation_of<typename M::value_type>(row) + " | None";
  else if constexpr (is_quantity_v<M> || std::is_same_v<M, AnyQuantity>) return "Quantity";
  else if constexpr (std::is_same_v<M, bool>) return "bool";
  else if constexpr (std::is_same_v<M, double>) return counts_something(row) ? "int" : "float";
  else if constexpr (std::is_same_v<M, std::string>) return row.name == "name" ? "str" : "str | None";
  else if constexpr (Choice<M>) return "str";
  else if constexpr (std::is_same_v<M, RatePerPrecision>) return "Mapping[str, Quantity]";
  else if constexpr (std::is_same_v<M, std::map<std::string, double>>) return "Mapping[str, float]";
  else if constexpr (std::is_pointer_v<M>) return class_name<std::remove_const_t<std::remove_pointer_t<M>>>() + " | None";
  else if constexpr (is_vector_v<M>) return "tuple[" + annotation_of<typename M::value_type>(row) + ", ...]";
  else return class_name<M>();
}

/// Equality with the empty value, where that can be asked.
template <class M>
bool is_blank(const M& x) {
  if constexpr (is_vector_v<M>) return x.empty();
  else if constexpr (requires { { x == M{} } -> std::convertible_to<bool>; }) return x == M{};
  else return false;
}

template <class T>
std::vector<Member> make_members() {
  std::vector<Member> rows;
  const T defaults{};
  for_each_field<T>([&]<class M>(const Field<T, M>& f) {
    Member row;
    row.name = f.name;
    row.unit = f.unit;
    row.meaning = f.meaning;
    row.offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(defaults.*f.member)) -
                                          reinterpret_cast<const std::byte*>(&defaults));
    row.nested = HasFields<M>;
    row.required = !f.has_default && !is_optional_v<M> && !HasFields<M> && is_blank(defaults.*f.member);
    row.range.name = row.name;
    row.range.unit = f.unit;
    row.range.meaning = f.meaning;
    row.range.low = f.low;
    row.range.high = f.high;
    row.range.open_low = f.open_low;
    row.range.integral = f.integral;
    using Inner = typename mlsysim::detail::unwrap<M>::type;
    if constexpr (is_quantity_v<Inner>) row.range.exps = AnyQuantity(Inner{}).exponents();
    else if constexpr (is_vector_v<Inner>) {
      if constexpr (is_quantity_v<typename Inner::value_type>)
        row.range.exps = AnyQuantity(typename Inner::value_type{}).exponents();
    }
    row.annotation = &annotation_of<M>;
    row.get = &get_member<M>;
    row.set = &set_member<M>;
    rows.push_back(std::move(row));
  });
  return rows;
}

}  // namespace detail

/// Erased help for `SpecClass`.
[[nodiscard]] const Member& member_named(const std::vector<Member>& rows, std::string_view name);
void require_members(const std::vector<Member>& rows, const py::dict& values, const std::vector<Alias>& aliases,
                     const Building& building);
[[noreturn]] void refuse_keyword(const std::vector<Member>& rows, const std::vector<Alias>& aliases,
                                 const std::string& name, const Building& building);
[[nodiscard]] const Alias* alias_named(const std::vector<Alias>& aliases, std::string_view name);
[[nodiscard]] py::object provenance_of(const Entry* entry, const std::string& path, const std::string& spec);
[[nodiscard]] std::string spec_doc(const std::vector<Member>& rows, const std::vector<Alias>& aliases,
                                   std::string_view about);

/// Puts keywords into a struct: members, aliases, dicts for nested structs.
template <class T>
void assign_keywords(T& spec, const py::dict& values, const std::vector<Alias>& aliases, Building& building) {
  const auto& rows = members_of<T>();
  auto* bytes = reinterpret_cast<std::byte*>(&spec);
  std::map<std::string, py::dict> nested;
  for (const auto& [key, value] : values) {
    std::string name = key.template cast<std::string>();
    if (const Alias* alias = alias_named(aliases, name)) name = alias->path;
    const auto dot = name.find('.');
    if (dot != std::string::npos) {
      // "tdp" beside "power": the parts are gathered and applied after the whole.
      auto& part = nested.try_emplace(name.substr(0, dot)).first->second;
      part[py::str(name.substr(dot + 1))] = value;
      continue;
    }
    const Member* row = nullptr;
    for (const auto& r : rows)
      if (r.name == name) row = &r;
    if (row == nullptr) refuse_keyword(rows, aliases, name, building);
    if (row->required && value.is_none()) refuse_value(*row, value, building, row->meaning);
    row->set(bytes + row->offset, value, *row, building);
  }
  for (const auto& [name, part] : nested) {
    const Member& row = member_named(rows, name);
    row.set(bytes + row.offset, part, row, building);
  }
}

/// The Python class of a spec struct.
template <class T>
class SpecClass {
 public:
  SpecClass(py::module_& m, const char* name, std::string_view about, std::vector<Alias> aliases = {})
      : type_(m, name, spec_doc(members_of<T>(), aliases, about).c_str()) {
    names() = name;
    aliases_of() = std::move(aliases);
    type_.def(py::init([](const py::kwargs& values) { return build(values); }));
    for (const auto& row : members_of<T>()) property(row.name, row.meaning, [&row](const std::shared_ptr<T>& self) {
      return row.get(reinterpret_cast<const std::byte*>(self.get()) + row.offset, self, row);
    });
    for (const auto& alias : aliases_of()) {
      const std::string path(alias.path);
      property(std::string(alias.name), "same as `" + path + "`", [path](const py::object& self) {
        py::object at = self;
        std::size_t begin = 0;
        while (begin <= path.size() && !at.is_none()) {
          const auto end = std::min(path.find('.', begin), path.size());
          at = at.attr(path.substr(begin, end - begin).c_str());
          begin = end + 1;
        }
        return at;
      });
    }
    py::tuple fields(members_of<T>().size());
    for (std::size_t i = 0; i < members_of<T>().size(); ++i) fields[i] = members_of<T>()[i].name;
    type_.attr("_fields") = fields;
    type_.def_static("_fields_info", [] {
      py::list out;
      for (const auto& r : members_of<T>()) out.append(py::make_tuple(r.name, r.unit, r.meaning, r.required));
      return out;
    });
    type_.def_static("_member_types", [] {
      py::list out;
      for (const auto& r : members_of<T>()) out.append(py::make_tuple(r.name, r.annotation(r)));
      return out;
    });
    type_.def("_replace", [](const T& self, const py::dict& changes) { return replaced(self, changes); });
    type_.def_static("_blank", [] { return SpecBox<T>::make(T{}, {}); });
    type_.def_static("_build", [](const py::dict& values) { return build(values); });
    if constexpr (requires(const T& t) { t.entry; }) {
      type_.def_property_readonly("_entry_name", [](const T& self) -> py::object {
        if (self.entry == nullptr) return py::none();
        return py::str(self.entry->name);
      });
      type_.def_property_readonly("title", [](const T& self) -> py::object {
        if (self.entry == nullptr || self.entry->title.empty()) return py::none();
        return py::str(self.entry->title);
      }, "title of the zoo's entry; None for one made by hand");
      type_.def_property_readonly("aliases", [](const T& self) {
        py::list out;
        if (self.entry != nullptr)
          for (const auto& a : self.entry->aliases) out.append(a);
        return py::tuple(out);
      }, "other names of the zoo's entry");
      const auto known = aliases_of();
      type_.def("_provenance", [known](const T& self, const std::string& figure) {
        const Alias* alias = alias_named(known, figure);
        return provenance_of(self.entry, alias != nullptr ? std::string(alias->path) : figure, self.name);
      }, py::arg("figure") = "");
    }
  }

  py::class_<T, std::shared_ptr<T>>& type() { return type_; }
  template <class F>
  SpecClass& property(const std::string& name, const std::string& doc, F f) {
    type_.def_property_readonly(name.c_str(), f, doc.c_str());
    return *this;
  }
  template <class... A>
  SpecClass& def(A&&... a) {
    type_.def(std::forward<A>(a)...);
    return *this;
  }

  static const std::vector<Alias>& aliases() { return aliases_of(); }
  static const std::string& name() { return names(); }

 private:
  static std::vector<Alias>& aliases_of() {
    static std::vector<Alias> a;
    return a;
  }
  static std::string& names() {
    static std::string n;
    return n;
  }
  static std::shared_ptr<T> build(const py::dict& values) {
    T spec{};
    Building building{{}, names()};
    require_members(members_of<T>(), values, aliases_of(), building);
    assign<T>(spec, values, building);
    return SpecBox<T>::make(std::move(spec), std::move(building.keeps));
  }
  static std::shared_ptr<T> replaced(const T& self, const py::dict& changes) {
    T spec = self;
    if constexpr (requires { spec.entry; }) spec.entry = nullptr;  // it no longer is what the zoo says
    Building building{{owner_of(&self)}, names()};
    assign<T>(spec, changes, building);
    return SpecBox<T>::make(std::move(spec), std::move(building.keeps));
  }

  py::class_<T, std::shared_ptr<T>> type_;
};

template <class T>
const std::vector<Member>& members_of() {
  static const std::vector<Member> rows = detail::make_members<T>();
  return rows;
}

template <class T>
void assign(T& spec, const py::dict& values, Building& building) {
  assign_keywords(spec, values, SpecClass<T>::aliases(), building);
}
/// `peak_flops` is the dense rate at the default precision.
template <>
void assign<ComputeCore>(ComputeCore& core, const py::dict& values, Building& building);

}  // namespace mlsysim::python
