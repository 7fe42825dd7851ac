#include "spec_members.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <stdexcept>

namespace mlsysim::python {
namespace {

/// The bound types, at addresses that stay.
std::deque<SpecType>& spec_types() {
  static auto* types = new std::deque<SpecType>;
  return *types;
}

}  // namespace

const SpecType& part_type(const MemberType& type) {
  for (const auto& t : spec_types())
    if (t.table == &type.table()) return t;
  throw std::logic_error("a member of a spec whose type has no Python class");
}

const SpecType* spec_type_of(py::handle value) {
  const auto& types = spec_types();
  auto at = std::find_if(types.begin(), types.end(),
                         [&](const SpecType& t) { return t.cls == Py_TYPE(value.ptr()); });
  if (at == types.end())
    at = std::find_if(types.begin(), types.end(),
                      [&](const SpecType& t) { return PyType_IsSubtype(Py_TYPE(value.ptr()), t.cls) != 0; });
  return at == types.end() ? nullptr : &*at;
}

const SpecType& spec_type_named(std::string_view object) {
  for (const auto& t : spec_types())
    if (t.object == object) return t;
  throw InputError({.id = "mlsysim.python.013",
                    .message = "an object of this type has no Python class",
                    .found = std::string(object)});
}

const Member* SpecType::member(std::string_view wanted) const {
  for (const auto& m : members)
    if (m.name() == wanted) return &m;
  return nullptr;
}

const Alias* SpecType::alias(std::string_view wanted) const {
  for (const auto& a : aliases)
    if (a.name == wanted) return &a;
  return nullptr;
}

void refuse_keyword(const SpecType& type, const std::string& name, const Building& building) {
  std::vector<std::string> names;
  for (const auto& m : type.members) names.push_back(m.name());
  for (const auto& a : type.aliases) names.emplace_back(a.name);
  throw InputError(unknown_name("mlsysim.python.010", fmt::format("{} has no '{}'", building.where, name),
                                name, names, fmt::format("some of {}", fmt::join(names, ", "))));
}

void assign_keywords(const SpecType& type, void* spec, const py::dict& values, Building& building) {
  const auto set = [&](const Member& row, py::handle value) {
    set_member(*row.type, static_cast<std::byte*>(spec) + row.offset, value, row, building);
  };
  std::map<std::string, py::dict> nested;
  for (const auto& [key, value] : values) {
    std::string name = key.cast<std::string>();
    if (const Alias* alias = type.alias(name)) name = alias->path;
    if (const auto dot = name.find('.'); dot != std::string::npos) {
      // "tdp" beside "power": the parts are gathered and applied after the whole.
      nested.try_emplace(name.substr(0, dot)).first->second[py::str(name.substr(dot + 1))] = value;
      continue;
    }
    const Member* row = type.member(name);
    if (row == nullptr) refuse_keyword(type, name, building);
    if (row->required && value.is_none()) refuse_value(*row, value, building, row->range.meaning);
    set(*row, value);
  }
  for (const auto& [name, part] : nested) {
    const Member* row = type.member(name);
    if (row == nullptr)
      throw InputError(
          {.id = "mlsysim.python.008", .message = fmt::format("there is no member '{}'", name), .key = name});
    set(*row, part);
  }
}

namespace {

void require_members(const SpecType& type, const py::dict& values, const Building& building) {
  std::string missing;
  for (const auto& m : type.members) {
    if (!m.required || values.contains(m.name())) continue;
    bool given = false;
    for (const auto& a : type.aliases)
      given = given || (a.path == m.name() && values.contains(std::string(a.name)));
    if (!given) missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", m.name(), m.range.meaning);
  }
  if (!missing.empty())
    throw InputError({.id = "mlsysim.python.009",
                      .message = fmt::format("{} is incomplete", building.where),
                      .found = "nothing for " + missing,
                      .expected = "a value for each"});
}

py::object provenance_of(const Entry* entry, const std::string& path, const std::string& spec) {
  if (entry == nullptr) return py::none();
  const Figure* figure = entry->figure(path);
  if (!path.empty() && figure == nullptr) {
    std::vector<std::string> paths;
    for (const auto& f : entry->figures) paths.push_back(f.path);
    throw LookupError(unknown_name("mlsysim.python.011",
                                   fmt::format("'{}' has no authored figure '{}'", spec, path), path, paths));
  }
  const Source& source = path.empty() ? entry->source : entry->source_of(path);
  py::dict d;
  const auto text = [&d](const char* key, const std::string& value) {
    d[key] = value.empty() ? py::object(py::none()) : py::object(py::str(value));
  };
  text("entry", spec);
  text("figure", path);
  text("authored", figure != nullptr ? figure->authored : std::string());
  text("kind", std::string(name_of(source.kind)));
  text("ref", source.ref);
  text("verified", source.verified);
  text("recorded", source.recorded);
  text("note", source.note);
  text("formula", source.formula);
  text("same_die", source.same_die);
  text("where", entry->where.text());
  d["spread"] = source.spread ? py::object(py::float_(*source.spread)) : py::object(py::none());
  return d;
}

/// The struct inside `self`.
std::shared_ptr<void> spec_in(const SpecType& type, py::handle self) {
  auto spec = type.held(self);
  if (spec == nullptr) throw py::type_error("expected a " + type.name);
  return spec;
}

template <class F> void method(py::handle cls, const char* name, F&& f) {
  cls.attr(name) = py::cpp_function(std::forward<F>(f), py::name(name), py::is_method(cls));
}
template <class F> void static_method(py::handle cls, const char* name, F&& f) {
  cls.attr(name) = py::staticmethod(py::cpp_function(std::forward<F>(f), py::name(name)));
}
template <class F> void property(py::handle cls, const std::string& name, const std::string& doc, F&& f) {
  static const py::handle make = py::object(py::module_::import("builtins").attr("property")).release();
  cls.attr(name.c_str()) =
      make(py::cpp_function(std::forward<F>(f), py::is_method(cls)), py::none(), py::none(), doc);
}

/// Adds the attributes that come from the zoo's entry: name, title, aliases and provenance.
void add_entry(const SpecType& type, py::handle cls) {
  const auto entry = [&type](py::handle self) { return type.entry(spec_in(type, self).get()); };
  property(cls, "_entry_name", "", [entry](const py::object& self) -> py::object {
    const Entry* e = entry(self);
    return e == nullptr ? py::object(py::none()) : py::str(e->name);
  });
  property(cls, "title", "title of the zoo's entry; None for one made by hand",
           [entry](const py::object& self) -> py::object {
             const Entry* e = entry(self);
             return e == nullptr || e->title.empty() ? py::object(py::none()) : py::str(e->title);
           });
  property(cls, "aliases", "other names of the zoo's entry", [entry](const py::object& self) {
    py::list out;
    if (const Entry* e = entry(self))
      for (const auto& a : e->aliases) out.append(a);
    return py::tuple(out);
  });
  method(cls, "_provenance", [entry, &type](const py::object& self, const std::string& figure) {
    const Alias* alias = type.alias(figure);
    const Entry* e = entry(self);
    return provenance_of(e, alias != nullptr ? std::string(alias->path) : figure,
                         e == nullptr ? "" : e->name);
  });
}

}  // namespace

SpecType spec_type(const char* name, const TableInfo& table, std::vector<Alias> aliases) {
  SpecType type;
  type.name = name;
  type.table = &table;
  type.members = members_of(table);
  type.aliases = std::move(aliases);
  type.assign = &assign_keywords;
  return type;
}

std::shared_ptr<void> build_spec(const SpecType& type, const py::dict& values) {
  const Boxed box = type.box(nullptr);
  Building building{{}, type.name};
  require_members(type, values, building);
  type.assign(type, box.spec.get(), values, building);
  *box.keeps = std::move(building.keeps);
  return box.spec;
}

SpecType& add_spec_type(SpecType made, py::handle cls) {
  SpecType& type = spec_types().emplace_back(std::move(made));
  type.cls = reinterpret_cast<PyTypeObject*>(cls.ptr());
  for (const auto& row : type.members)
    property(cls, row.name(), std::string(row.range.meaning), [&type, &row](const py::object& self) {
      const auto spec = spec_in(type, self);
      return get_member(*row.type, static_cast<const std::byte*>(spec.get()) + row.offset, spec, row);
    });
  for (const auto& alias : type.aliases) {
    const std::string path(alias.path);
    property(cls, std::string(alias.name), "same as `" + path + "`", [path](const py::object& self) {
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
  py::tuple fields(type.members.size());
  for (std::size_t i = 0; i < type.members.size(); ++i) fields[i] = type.members[i].name();
  cls.attr("_fields") = fields;
  static_method(cls, "_fields_info", [&type] {
    py::list out;
    for (const auto& m : type.members)
      out.append(py::make_tuple(m.name(), m.unit(), m.range.meaning, m.required));
    return out;
  });
  static_method(cls, "_member_types", [&type] {
    py::list out;
    for (const auto& m : type.members) out.append(py::make_tuple(m.name(), annotation_of(*m.type, m)));
    return out;
  });
  method(cls, "_replace", [&type](const py::object& self, const py::dict& changes) {
    const auto old = spec_in(type, self);
    const Boxed box = type.box(old.get());
    Building building{{owner_of(old.get())}, type.name};
    type.assign(type, box.spec.get(), changes, building);
    *box.keeps = std::move(building.keeps);
    return type.cast(box.spec.get(), box.spec);
  });
  static_method(cls, "_blank", [&type] {
    const auto box = type.box(nullptr);
    return type.cast(box.spec.get(), box.spec);
  });
  static_method(cls, "_build", [&type](const py::dict& values) {
    const auto spec = build_spec(type, values);
    return type.cast(spec.get(), spec);
  });
  if (type.entry != nullptr) add_entry(type, cls);
  return type;
}

std::string spec_doc(const SpecType& type, std::string_view about) {
  std::string doc(about);
  doc += "\n\nKeywords, which are attributes too (None where absent):\n";
  for (const auto& m : type.members)
    doc += fmt::format("  {}{}{}: {}\n", m.name(), m.unit().empty() ? "" : fmt::format(" [{}]", m.unit()),
                       m.required ? " (required)" : "", m.range.meaning);
  for (const auto& a : type.aliases) doc += fmt::format("  {}: same as {}\n", a.name, a.path);
  return doc;
}

}  // namespace mlsysim::python
