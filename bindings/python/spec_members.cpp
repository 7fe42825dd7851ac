#include "spec_members.hpp"

#include "values.hpp"

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
                                                          "chunk",
                                                          "experts",
                                                          "top_k",
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

std::string read_text(py::handle value, const Member& row, const Building& building) {
  if (!PyUnicode_Check(value.ptr())) refuse_value(row, value, building, "a text");
  return value.cast<std::string>();
}

/// One of the rates of a device is shown and hinted at in TFLOP/s.
Member rate_row(const Member& rates) {
  Member row = rates;
  row.range.unit = "TFLOP/s";
  return row;
}

/// Equality with the empty value, where that can be asked.
bool is_blank(const MemberType& type, const void* p) {
  if (type.form == MemberForm::list) return type.count(p) == 0;
  if (type.form == MemberForm::any_quantity) return *static_cast<const AnyQuantity*>(p) == AnyQuantity{};
  if (type.form == MemberForm::choice) return type.index(p) == 0;
  if (type.get == nullptr) return false;
  const Value value = type.get(p);
  return value == Value{} || value == Value{0.0} || value == Value{false} || value == Value{std::string()};
}

}  // namespace

void refuse_value(const Member& row, py::handle value, const Building& building, std::string_view expected) {
  throw InputError({.id = "mlsysim.python.005",
                    .message = fmt::format("'{}' of {} has the wrong kind", row.name(), building.where),
                    .key = row.name(),
                    .found = fmt::format("{} ({})", std::string(py::repr(value)),
                                         std::string(py::str(py::type::of(value).attr("__name__")))),
                    .expected = std::string(expected)});
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
      return choice_object(type.choices[type.index(p)]);
    case MemberForm::slots: {
      py::dict d;
      for (std::size_t i = 0; i < type.choices.size(); ++i)
        if (auto rate = get_member(*type.item, type.item_at(p, i), owner, rate_row(row)); !rate.is_none())
          d[py::str(std::string(type.choices[i]))] = std::move(rate);
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
    case MemberForm::object:
      return spec_type_named(type.what).name + " | None";
    case MemberForm::list:
      return "tuple[" + annotation_of(*type.item, row) + ", ...]";
    case MemberForm::table:
      return part_type(type).name;
  }
  return {};
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

}  // namespace mlsysim::python
