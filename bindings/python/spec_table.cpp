#include "spec_table.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::python {
namespace {

/// Numbers without unit that count something and are written as ints.
constexpr auto kCounts = std::to_array<std::string_view>(
    {"release_year", "accelerator_count", "units", "accelerators_per_node", "nics_per_node", "psus_per_node",
     "domain_accelerators", "node_count", "total_accelerators", "year", "chips", "nodes_per_rack", "accelerators",
     "drives", "max_positions", "layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "norms_per_layer",
     "token_types", "classes", "image_size", "patch_size", "q_lora_rank", "kv_lora_rank", "nope_head_dim",
     "rope_head_dim", "value_head_dim", "sliding_window", "full_attention_layers", "chunk", "experts", "top_k",
     "shared_experts", "expert_ffn", "shared_expert_ffn", "dense_layers", "moe_every", "key_heads", "value_heads",
     "conv_width", "state_size", "dt_rank", "denoising_steps", "resolution", "evaluations_per_step",
     "embedding_entries", "dense_features", "embedding_dim", "cross_layers", "cross_rank", "rows_per_sample",
     "bottom_mlp", "top_mlp", "table_rows", "in", "out", "channels", "kernel", "kernel_h", "kernel_w", "stride",
     "size", "size_h", "size_w", "groups", "times", "sequence_length", "tile_m", "tile_n", "matrix_rows", "split_depth",
     "attention_tile", "peers", "draft_tokens"});

/// How to give a bare number its unit. It may be meant in the base unit or in that of the field: the reading with a
/// figure of ordinary size is proposed, and both where that does not decide.
std::string unit_hint(double x, const Member& row) {
  const auto usual = [](double shown) { return shown == 0 || (std::abs(shown) >= 1e-3 && std::abs(shown) < 1e6); };
  const std::string base = canonical_unit(row.range.exps), number = format_exact(x);
  const auto converted = AnyQuantity::from_base(x, row.range.exps);
  const double in_unit = converted.in(row.unit);
  const auto write = [&](double shown, std::string_view unit) {
    return fmt::format("write \"{} {}\", or Q_({}, \"{}\")", pretty(shown, 6), row.unit, number, unit);
  };
  if (in_unit == x) return write(x, row.unit);
  if (usual(x) != usual(in_unit)) return usual(x) ? write(x, row.unit) : write(in_unit, base);
  return fmt::format("{} if it is in {}; {} if it is in {}", write(in_unit, base), base, write(x, row.unit), row.unit);
}

}  // namespace

bool counts_something(const Member& row) {
  return row.range.integral || std::find(kCounts.begin(), kCounts.end(), std::string_view(row.name)) != kCounts.end();
}

py::object number_to_python(double x, const Member& row) {
  if (counts_something(row) && x == std::floor(x) && std::abs(x) < 9e15) return py::int_(static_cast<long long>(x));
  return py::float_(x);
}

py::object mapping_proxy(const py::dict& d) {
  return py::reinterpret_steal<py::object>(PyDictProxy_New(d.ptr()));
}

void refuse_value(const Member& row, py::handle value, const Building& building, std::string_view expected) {
  throw InputError({.id = "mlsysim.python.005",
                    .message = fmt::format("'{}' of {} has the wrong kind", row.name, building.where),
                    .key = row.name,
                    .found = fmt::format("{} ({})", std::string(py::repr(value)),
                                         std::string(py::str(py::type::of(value).attr("__name__")))),
                    .expected = std::string(expected)});
}

double read_number(py::handle value, const Member& row, const Building& building) {
  const bool bare = row.range.exps.dimensionless();
  double base = 0;
  if (const auto* q = quantity_in(value)) {
    if (!(q->exponents() == row.range.exps))
      throw DimensionError({.id = "mlsysim.python.006",
                            .message = fmt::format("'{}' of {} has the wrong dimension", row.name, building.where),
                            .key = row.name,
                            .found = pretty(*q, 6) + ", " + dimension_name(q->exponents()),
                            .expected = dimension_name(row.range.exps)});
    base = q->base();
  } else if (PyUnicode_Check(value.ptr())) {
    Building same{{}, building.where};
    return read_number(py::cast(AnyQuantity::parse(value.cast<std::string>())), row, same);
  } else if (const auto x = number_of(value)) {
    if (!bare)
      throw DimensionError({.id = "mlsysim.python.007",
                            .message = fmt::format("'{}' of {} needs a unit", row.name, building.where),
                            .key = row.name,
                            .found = fmt::format("the bare number {}", *x),
                            .expected = "a quantity of " + dimension_name(row.range.exps),
                            .hint = unit_hint(*x, row)});
    base = *x;
  } else {
    refuse_value(row, value, building, bare ? "a number" : "a quantity, or a text with its unit, in " + row.unit);
  }
  try {
    check_range(row.range, base);
  } catch (Error& error) {
    error.add_context("in " + building.where);
    throw;
  }
  return base;
}

std::string read_text(py::handle value, const Member& row, const Building& building) {
  if (!PyUnicode_Check(value.ptr())) refuse_value(row, value, building, "a text");
  return value.cast<std::string>();
}

const Alias* alias_named(const std::vector<Alias>& aliases, std::string_view name) {
  for (const auto& a : aliases)
    if (a.name == name) return &a;
  return nullptr;
}

const Member& member_named(const std::vector<Member>& rows, std::string_view name) {
  for (const auto& r : rows)
    if (r.name == name) return r;
  throw InputError({.id = "mlsysim.python.008", .message = fmt::format("there is no member '{}'", name), .key = std::string(name)});
}

void require_members(const std::vector<Member>& rows, const py::dict& values, const std::vector<Alias>& aliases,
                     const Building& building) {
  std::string missing;
  for (const auto& r : rows) {
    if (!r.required || values.contains(r.name)) continue;
    bool given = false;
    for (const auto& a : aliases) given = given || (a.path == r.name && values.contains(std::string(a.name)));
    if (!given) missing += (missing.empty() ? "" : ", ") + r.name + " (" + r.meaning + ")";
  }
  if (!missing.empty())
    throw InputError({.id = "mlsysim.python.009",
                      .message = fmt::format("{} is incomplete", building.where),
                      .found = "nothing for " + missing,
                      .expected = "a value for each"});
}

void refuse_keyword(const std::vector<Member>& rows, const std::vector<Alias>& aliases, const std::string& name,
                    const Building& building) {
  std::vector<std::string> names;
  for (const auto& r : rows) names.push_back(r.name);
  for (const auto& a : aliases) names.emplace_back(a.name);
  throw InputError({.id = "mlsysim.python.010",
                    .message = fmt::format("{} has no '{}'", building.where, name),
                    .key = name,
                    .found = "'" + name + "'",
                    .expected = fmt::format("some of {}", fmt::join(names, ", ")),
                    .hint = did_you_mean(name, names)});
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

std::string spec_doc(const std::vector<Member>& rows, const std::vector<Alias>& aliases, std::string_view about) {
  std::string doc(about);
  doc += "\n\nKeywords, which are attributes too (None where absent):\n";
  for (const auto& r : rows)
    doc += fmt::format("  {}{}{}: {}\n", r.name, r.unit.empty() ? "" : " [" + r.unit + "]", r.required ? " (required)" : "",
                       r.meaning);
  for (const auto& a : aliases) doc += fmt::format("  {}: same as {}\n", a.name, a.path);
  return doc;
}

}  // namespace mlsysim::python
