#include "spec_table.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>

namespace mlsysim::python {
namespace {

/// Numbers without unit that count something and are written as ints.
constexpr auto kCounts = std::to_array<std::string_view>({"release_year",
                                                          "accelerator_count",
                                                          "units",
                                                          "accelerators_per_node",
                                                          "nics_per_node",
                                                          "psus_per_node",
                                                          "domain_accelerators",
                                                          "node_count",
                                                          "total_accelerators",
                                                          "year",
                                                          "chips",
                                                          "nodes_per_rack",
                                                          "accelerators",
                                                          "drives",
                                                          "max_positions",
                                                          "layers",
                                                          "hidden",
                                                          "ffn",
                                                          "heads",
                                                          "kv_heads",
                                                          "head_dim",
                                                          "vocab",
                                                          "norms_per_layer",
                                                          "token_types",
                                                          "classes",
                                                          "image_size",
                                                          "patch_size",
                                                          "q_lora_rank",
                                                          "kv_lora_rank",
                                                          "nope_head_dim",
                                                          "rope_head_dim",
                                                          "value_head_dim",
                                                          "sliding_window",
                                                          "full_attention_layers",
                                                          "chunk",
                                                          "experts",
                                                          "top_k",
                                                          "shared_experts",
                                                          "expert_ffn",
                                                          "shared_expert_ffn",
                                                          "dense_layers",
                                                          "moe_every",
                                                          "key_heads",
                                                          "value_heads",
                                                          "conv_width",
                                                          "state_size",
                                                          "dt_rank",
                                                          "denoising_steps",
                                                          "resolution",
                                                          "evaluations_per_step",
                                                          "embedding_entries",
                                                          "dense_features",
                                                          "embedding_dim",
                                                          "cross_layers",
                                                          "cross_rank",
                                                          "rows_per_sample",
                                                          "bottom_mlp",
                                                          "top_mlp",
                                                          "table_rows",
                                                          "in",
                                                          "out",
                                                          "channels",
                                                          "kernel",
                                                          "kernel_h",
                                                          "kernel_w",
                                                          "stride",
                                                          "size",
                                                          "size_h",
                                                          "size_w",
                                                          "groups",
                                                          "times",
                                                          "sequence_length",
                                                          "tile_m",
                                                          "tile_n",
                                                          "matrix_rows",
                                                          "split_depth",
                                                          "attention_tile",
                                                          "peers",
                                                          "draft_tokens"});

/// How to give a bare number its unit. It may be meant in the base unit or in that of the field: the reading
/// with a figure of ordinary size is proposed, and both where that does not decide.
std::string unit_hint(double x, const Member& row) {
  const auto usual = [](double shown) {
    return shown == 0 || (std::abs(shown) >= 1e-3 && std::abs(shown) < 1e6);
  };
  const std::string base = canonical_unit(row.range.exps), number = format_exact(x);
  const auto converted = AnyQuantity::from_base(x, row.range.exps);
  const double in_unit = converted.in(row.unit());
  const auto write = [&](double shown, std::string_view unit) {
    return fmt::format("write \"{} {}\", or Q_({}, \"{}\")", pretty(shown, 6), row.unit(), number, unit);
  };
  if (in_unit == x) return write(x, row.unit());
  if (usual(x) != usual(in_unit)) return usual(x) ? write(x, row.unit()) : write(in_unit, base);
  return fmt::format("{} if it is in {}; {} if it is in {}", write(in_unit, base), base, write(x, row.unit()),
                     row.unit());
}

bool counts_something(const Member& row) {
  return row.range.integral ||
         std::find(kCounts.begin(), kCounts.end(), std::string_view(row.name())) != kCounts.end();
}

[[noreturn]] void refuse_value(const Member& row, py::handle value, const Building& building,
                               std::string_view expected) {
  throw InputError({.id = "mlsysim.python.005",
                    .message = fmt::format("'{}' of {} has the wrong kind", row.name(), building.where),
                    .key = row.name(),
                    .found = fmt::format("{} ({})", std::string(py::repr(value)),
                                         std::string(py::str(py::type::of(value).attr("__name__")))),
                    .expected = std::string(expected)});
}

std::string read_text(py::handle value, const Member& row, const Building& building) {
  if (!PyUnicode_Check(value.ptr())) refuse_value(row, value, building, "a text");
  return value.cast<std::string>();
}

/// The bound types, at addresses that stay.
std::deque<SpecType>& spec_types() {
  static auto* types = new std::deque<SpecType>;
  return *types;
}

const SpecType& part_type(const MemberType& type) {
  for (const auto& t : spec_types())
    if (t.table == &type.table()) return t;
  throw std::logic_error("a member of a spec whose type has no Python class");
}

/// One of the rates of a device is shown and hinted at in TFLOP/s.
Member rate_row(const Member& rates) {
  Member row = rates;
  row.range.unit = "TFLOP/s";
  return row;
}

py::object get_member(const MemberType& type, const void* p, const Owner& owner, const Member& row) {
  switch (type.form) {
    case MemberForm::maybe:
      return type.count(p) > 0 ? get_member(*type.item, type.item_at(p, 0), owner, row) : py::none();
    case MemberForm::quantity:
      return to_python(AnyQuantity::from_base(*static_cast<const double*>(p), type.exps), row.unit());
    case MemberForm::any_quantity:
      return py::cast(*static_cast<const AnyQuantity*>(p));
    case MemberForm::flag:
      return py::bool_(*static_cast<const bool*>(p));
    case MemberForm::number: {
      const double x = *static_cast<const double*>(p);
      if (counts_something(row) && x == std::floor(x) && std::abs(x) < 9e15)
        return py::int_(static_cast<long long>(x));
      return py::float_(x);
    }
    case MemberForm::text: {
      const auto& text = *static_cast<const std::string*>(p);
      return text.empty() && row.name() != "name" ? py::object(py::none()) : py::str(text);
    }
    case MemberForm::choice:
      return py::str(std::string(type.choices[type.index(p)]));
    case MemberForm::slots: {
      py::dict d;
      for (std::size_t i = 0; i < type.choices.size(); ++i)
        if (auto rate = get_member(*type.item, type.item_at(p, i), owner, rate_row(row)); !rate.is_none())
          d[py::str(std::string(type.choices[i]))] = std::move(rate);
      return py::reinterpret_steal<py::object>(PyDictProxy_New(d.ptr()));
    }
    case MemberForm::numbers: {
      py::dict d;
      for (const auto& [key, value] : *static_cast<const std::map<std::string, double>*>(p))
        d[py::str(key)] = py::float_(value);
      return py::reinterpret_steal<py::object>(PyDictProxy_New(d.ptr()));
    }
    case MemberForm::object: {
      const Value value = type.get(p);
      const auto* spec = std::get_if<ObjectRef>(&value);
      if (spec == nullptr) return py::none();
      return spec_type_named(type.what).cast(const_cast<void*>(spec->object), owner_of(spec->object));
    }
    case MemberForm::list: {
      py::tuple t(type.count(p));
      for (std::size_t i = 0; i < t.size(); ++i)
        t[i] = get_member(*type.item, type.item_at(p, i), owner, row);
      return t;
    }
    case MemberForm::table:
      return part_type(type).cast(const_cast<void*>(p), owner);
  }
  return py::none();
}

void set_member(const MemberType& type, void* p, py::handle value, const Member& row, Building& building) {
  switch (type.form) {
    case MemberForm::maybe:
      if (value.is_none()) return type.clear(p);
      // An error leaves the struct to be thrown away with whatever it holds.
      return set_member(*type.item, type.append(p), value, row, building);
    case MemberForm::number:
    case MemberForm::quantity:
      *static_cast<double*>(p) = read_number(value, row, building);
      return;
    case MemberForm::any_quantity: {
      const auto* q = quantity_in(value);
      *static_cast<AnyQuantity*>(p) = q != nullptr ? *q : AnyQuantity::parse(read_text(value, row, building));
      return;
    }
    case MemberForm::flag:
      if (!PyBool_Check(value.ptr())) refuse_value(row, value, building, "True or False");
      *static_cast<bool*>(p) = value.cast<bool>();
      return;
    case MemberForm::text:
      if (value.is_none())
        static_cast<std::string*>(p)->clear();
      else
        *static_cast<std::string*>(p) = read_text(value, row, building);
      return;
    case MemberForm::choice: {
      FieldInfo info;
      info.name = row.name();
      info.choices = type.choices;
      type.set(p, read_text(value, row, building), info);
      return;
    }
    case MemberForm::slots: {
      if (value.is_none()) return;
      if (!py::isinstance(value, py::module_::import("collections.abc").attr("Mapping")))
        refuse_value(row, value, building, "a mapping of precisions to rates");
      const py::dict d(py::reinterpret_borrow<py::object>(value));
      for (const auto& [key, rate] : d)
        set_member(*type.item, type.at(p, static_cast<std::size_t>(read_precision(key, building.where))),
                   rate, rate_row(row), building);
      return;
    }
    case MemberForm::numbers: {
      auto& numbers = *static_cast<std::map<std::string, double>*>(p);
      numbers.clear();
      for (const auto& [key, number] : py::dict(py::reinterpret_borrow<py::object>(value)))
        numbers[key.cast<std::string>()] = read_number(number, row, building);
      return;
    }
    case MemberForm::object: {
      if (value.is_none()) return type.set(p, ObjectRef{nullptr, type.what}, row.range);
      auto held = spec_type_named(type.what).held(value);
      if (held == nullptr) refuse_value(row, value, building, "a " + std::string(type.what));
      type.set(p, ObjectRef{held.get(), type.what}, row.range);
      building.keeps.push_back(std::move(held));
      return;
    }
    case MemberForm::list:
      type.clear(p);
      for (const auto item : py::reinterpret_borrow<py::object>(value))
        set_member(*type.item, type.append(p), item, row, building);
      return;
    case MemberForm::table: {
      const SpecType& part = part_type(type);
      if (const auto held = part.held(value)) {
        part.copy(p, held.get());
      } else if (PyDict_Check(value.ptr())) {
        Building inner{{}, building.where + "." + row.name()};
        part.assign(part, p, py::reinterpret_borrow<py::dict>(value), inner);
        building.keeps.insert(building.keeps.end(), inner.keeps.begin(), inner.keeps.end());
      } else if (!value.is_none()) {
        refuse_value(row, value, building, "a " + part.name + " or a dict");
      }
    }
  }
}

/// The Python type of a member, as stubs write it.
std::string annotation_of(const MemberType& type, const Member& row) {
  switch (type.form) {
    case MemberForm::maybe:
      return annotation_of(*type.item, row) + " | None";
    case MemberForm::quantity:
    case MemberForm::any_quantity:
      return "Quantity";
    case MemberForm::flag:
      return "bool";
    case MemberForm::number:
      return counts_something(row) ? "int" : "float";
    case MemberForm::text:
      return row.name() == "name" ? "str" : "str | None";
    case MemberForm::choice:
      return "str";
    case MemberForm::slots:
      return "Mapping[str, Quantity]";
    case MemberForm::numbers:
      return "Mapping[str, float]";
    case MemberForm::object:
      return spec_type_named(type.what).name + " | None";
    case MemberForm::list:
      return "tuple[" + annotation_of(*type.item, row) + ", ...]";
    case MemberForm::table:
      return part_type(type).name;
  }
  return {};
}

/// Equality with the empty value, where that can be asked.
bool is_blank(const MemberType& type, const void* p) {
  if (type.form == MemberForm::list) return type.count(p) == 0;
  if (type.form == MemberForm::numbers) return static_cast<const std::map<std::string, double>*>(p)->empty();
  if (type.form == MemberForm::any_quantity) return *static_cast<const AnyQuantity*>(p) == AnyQuantity{};
  if (type.form == MemberForm::choice) return type.index(p) == 0;
  if (type.get == nullptr) return false;
  const Value value = type.get(p);
  return value == Value{} || value == Value{0.0} || value == Value{false} || value == Value{std::string()};
}

std::vector<Member> members_of(const TableInfo& table) {
  std::vector<Member> rows;
  for (const auto& f : table.rows) {
    Member row;
    row.range.name = f.name;
    row.range.unit = f.unit;
    row.range.meaning = f.meaning;
    row.range.low = f.low;
    row.range.high = f.high;
    row.range.open_low = f.open_low;
    row.range.integral = f.integral;
    row.range.exps = f.type->inner().exps;
    if (f.type->inner().form == MemberForm::list) row.range.exps = f.type->inner().item->exps;
    row.offset = f.offset;
    row.type = f.type;
    row.required = !f.has_default && f.type->form != MemberForm::maybe && f.type->form != MemberForm::table &&
                   is_blank(*f.type, f.in(table.blank));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

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

Precision read_precision(py::handle value, const std::string& where) {
  Precision precision{};
  Member row;
  row.range.name = "precision";
  Building building{{}, where};
  set_member(mlsysim::detail::TypeOf<Precision>::value, &precision, value, row, building);
  return precision;
}

double read_number(py::handle value, const Member& row, const Building& building) {
  const bool bare = row.range.exps.dimensionless();
  double base = 0;
  if (const auto* q = quantity_in(value)) {
    if (!(q->exponents() == row.range.exps))
      throw DimensionError(
          {.id = "mlsysim.python.006",
           .message = fmt::format("'{}' of {} has the wrong dimension", row.name(), building.where),
           .key = row.name(),
           .found = pretty(*q, 6) + ", " + dimension_name(q->exponents()),
           .expected = dimension_name(row.range.exps)});
    base = q->base();
  } else if (PyUnicode_Check(value.ptr())) {
    Building same{{}, building.where};
    return read_number(py::cast(AnyQuantity::parse(value.cast<std::string>())), row, same);
  } else if (const auto x = number_of(value)) {
    if (!bare)
      throw DimensionError({.id = "mlsysim.python.007",
                            .message = fmt::format("'{}' of {} needs a unit", row.name(), building.where),
                            .key = row.name(),
                            .found = fmt::format("the bare number {}", *x),
                            .expected = "a quantity of " + dimension_name(row.range.exps),
                            .hint = unit_hint(*x, row)});
    base = *x;
  } else {
    refuse_value(row, value, building,
                 bare ? "a number" : "a quantity, or a text with its unit, in " + std::string(row.unit()));
  }
  try {
    check_range(row.range, base);
  } catch (Error& error) {
    error.add_context("in " + building.where);
    throw;
  }
  return base;
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
  throw InputError({.id = "mlsysim.python.010",
                    .message = fmt::format("{} has no '{}'", building.where, name),
                    .key = name,
                    .found = "'" + name + "'",
                    .expected = fmt::format("some of {}", fmt::join(names, ", ")),
                    .hint = did_you_mean(name, names)});
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
    throw LookupError({.id = "mlsysim.python.011",
                       .message = fmt::format("'{}' has no authored figure '{}'", spec, path),
                       .key = path,
                       .found = "'" + path + "'",
                       .expected = fmt::format("one of {}", fmt::join(paths, ", ")),
                       .hint = did_you_mean(path, paths)});
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

/// What comes from the zoo's entry.
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
