#include <mlsysim/zoo/writer.hpp>

#include "detail/inherited.hpp"
#include "detail/kinds.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/schema.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace detail {
namespace {

/// Whether a plain scalar would read back as this very text.
bool plain_is_safe(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !(letter(text.front()) || (text.front() >= '0' && text.front() <= '9'))) return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool word = letter(c) || (c >= '0' && c <= '9') ||
                      std::string_view("./-+()%^*").find(c) != std::string_view::npos;
    const bool blank = c == ' ' && text[i - 1] != ' ';
    const bool inner_colon = c == ':' && text[i + 1] != ' ';
    if (!word && !blank && !inner_colon) return false;
  }
  static constexpr std::string_view words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(std::begin(words), std::end(words), low) == std::end(words);
}

/// Lines of one entry; knows the entry's figures.
class Writer {
 public:
  explicit Writer(const Entry& entry) : entry_(entry) {}

  void line(int depth, std::string_view key, std::string_view value) {
    out_ += fmt::format("{:{}}{}:{}{}\n", "", 2 * depth, key, value.empty() ? "" : " ", value);
  }
  void text(int depth, std::string_view key, const std::string& value) {
    if (!value.empty()) line(depth, key, yaml_scalar(value));
  }
  void raw(std::string_view piece) { out_ += piece; }
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  void drop(std::size_t size) { out_.resize(size); }
  [[nodiscard]] std::string take() { return std::move(out_); }
  void insert(std::size_t at, std::string_view piece) { out_.insert(at, piece); }
  void replace(std::size_t at, std::size_t count, std::string_view piece) { out_.replace(at, count, piece); }

  void source_keys(int depth, const Source& s) {
    line(depth, "kind", name_of(s.kind));
    text(depth, "ref", s.ref);
    if (!s.verified.empty()) line(depth, "verified", s.verified);
    if (!s.recorded.empty()) line(depth, "recorded", s.recorded);
    text(depth, "note", s.note);
    text(depth, "formula", s.formula);
    text(depth, "same_die", s.same_die);
    if (s.spread) line(depth, "spread", format_exact(*s.spread));
  }

  [[nodiscard]] const Figure* figure(const std::string& path) const { return entry_.figure(path); }

  /// Text of a number: as authored where it still is that number.
  [[nodiscard]] static std::string number_text(const Figure* f, double base, const Exponents& exps,
                                               std::string_view unit) {
    if (f != nullptr && f->base == base) return f->authored;
    return exact(base, exps, unit);
  }
  [[nodiscard]] static std::string exact(double base, const Exponents& exps, std::string_view unit) {
    const auto q = AnyQuantity::from_base(base, exps);
    return unit.empty() ? format_exact(q) : format_exact(q, unit);
  }

  void number(int depth, std::string_view key, const std::string& path, double base, const Exponents& exps,
              std::string_view unit) {
    lead(depth, fmt::format("{}:", key), path, base, exps, unit);
  }
  /// The same as an item of a list.
  void item(int depth, const std::string& path, double base, const Exponents& exps, std::string_view unit) {
    lead(depth, "-", path, base, exps, unit);
  }

 private:
  void lead(int depth, std::string_view start, const std::string& path, double base, const Exponents& exps,
            std::string_view unit) {
    const Figure* f = figure(path);
    const auto value = number_text(f, base, exps, unit);
    if (f == nullptr || f->base != base || (!f->own && !f->low)) {
      out_ += fmt::format("{:{}}{} {}\n", "", 2 * depth, start, value);
      return;
    }
    out_ += fmt::format("{:{}}{}\n", "", 2 * depth, start);
    line(depth + 1, "value", value);
    if (f->low && f->high)
      line(depth + 1, "range",
           fmt::format("[{}, {}]", exact(*f->low, exps, unit), exact(*f->high, exps, unit)));
    if (f->own) source_keys(depth + 1, *f->own);
  }

  const Entry& entry_;
  std::string out_;
};

void write_table(Writer& w, int depth, const TableInfo& table, const void* object, const std::string& prefix);

void write_items(Writer& w, int depth, const std::string& path, std::string_view unit, const MemberType& type,
                 const void* list) {
  for (std::size_t i = 0; i < type.count(list); ++i) {
    const auto item = path + "[" + std::to_string(i) + "]";
    const void* value = type.item_at(list, i);
    if (type.item->form == MemberForm::text) {
      w.raw(fmt::format("{:{}}- {}\n", "", 2 * depth, yaml_scalar(*static_cast<const std::string*>(value))));
      continue;
    }
    if (type.item->form != MemberForm::table) {
      w.item(depth, item, *static_cast<const double*>(value), type.item->exps, unit);
      continue;
    }
    const auto start = w.size();
    write_table(w, depth + 1, type.item->table(), value, item + ".");
    // The first key of an item stands behind its dash.
    if (w.size() == start)
      w.raw(fmt::format("{:{}}- {{}}\n", "", 2 * depth));
    else
      w.replace(start + static_cast<std::size_t>(2 * depth), 2, "- ");
  }
}

/// Writes a value under its key. One that need not be said is left out: an absent one, and one that
/// `fallback` has too.
void write_value(Writer& w, int depth, std::string_view key, const std::string& path, std::string_view unit,
                 const MemberType& type, const void* value, const void* fallback) {
  switch (type.form) {
    case MemberForm::maybe: {
      // An absent value is left out, so a present one is written even where it equals a default.
      if (type.count(value) == 0) return;
      const auto start = w.size();
      write_value(w, depth, key, path, unit, *type.item, type.item_at(value, 0), nullptr);
      if (w.size() == start && type.item->form == MemberForm::table) w.line(depth, key, "{}");
      return;
    }
    case MemberForm::number:
    case MemberForm::quantity: {
      const double x = *static_cast<const double*>(value);
      if (w.figure(path) != nullptr || fallback == nullptr || x != *static_cast<const double*>(fallback))
        w.number(depth, key, path, x, type.exps, unit);
      return;
    }
    case MemberForm::any_quantity: {
      const auto& q = *static_cast<const AnyQuantity*>(value);
      const Figure* f = w.figure(path);
      if (f == nullptr || f->base != q.base())
        w.line(depth, key, q.str());
      else
        w.number(depth, key, path, q.base(), q.exponents(), q.unit());
      return;
    }
    case MemberForm::flag: {
      const bool flag = *static_cast<const bool*>(value);
      if (fallback == nullptr || flag != *static_cast<const bool*>(fallback))
        w.line(depth, key, flag ? "true" : "false");
      return;
    }
    case MemberForm::text:
      w.text(depth, key, *static_cast<const std::string*>(value));
      return;
    case MemberForm::choice:
      if (fallback == nullptr || type.index(value) != type.index(fallback))
        w.line(depth, key, type.choices[type.index(value)]);
      return;
    case MemberForm::object: {
      const Value spec = type.get(value);
      if (const auto* ref = std::get_if<ObjectRef>(&spec)) w.line(depth, key, yaml_scalar(spec_name(*ref)));
      return;
    }
    default:
      break;
  }
  // A key with lines below it, which is taken back where there are none.
  const auto start = w.size();
  w.line(depth, key, "");
  const auto filled = w.size();
  if (type.form == MemberForm::table) {
    write_table(w, depth + 1, type.table(), value, path + ".");
  } else if (type.form == MemberForm::slots) {
    for (std::size_t i = 0; i < type.choices.size(); ++i) {
      const std::string name(type.choices[i]);
      write_value(w, depth + 1, name, path + "." + name, unit, *type.item, type.item_at(value, i), nullptr);
    }
  } else {
    write_items(w, depth, path, unit, type, value);
  }
  if (w.size() == filled) w.drop(start);
}

void write_table(Writer& w, int depth, const TableInfo& table, const void* object,
                 const std::string& prefix) {
  for (const auto& row : table.rows) {
    const std::string path = prefix + std::string(row.name);
    if (path == "name") continue;  // stands in the head of the entry
    // A choice or a number that must be given is written even where it equals the initial value.
    const auto form = row.type->form;
    const bool always = row.must_be_given() && (form == MemberForm::choice || form == MemberForm::number ||
                                                form == MemberForm::quantity);
    write_value(w, depth, row.name, path, row.unit, *row.type, row.in(object),
                always ? nullptr : row.in(table.blank));
  }
}

void write_head(Writer& w, const Entry& e) {
  w.raw(fmt::format("schema: mlsysim/{}@{}\nentries:\n- name: {}\n", e.kind, find_kind(e.kind)->version,
                    yaml_scalar(e.name)));
  w.text(1, "title", e.title);
  if (!e.aliases.empty()) {
    std::string list;
    for (const auto& alias : e.aliases) list += (list.empty() ? "" : ", ") + yaml_scalar(alias);
    w.line(1, "aliases", "[" + list + "]");
  }
  w.text(1, "origin", e.origin);
  w.text(1, "guess", e.guess);
  if (!e.source.verified.empty() || !e.source.recorded.empty()) {
    w.line(1, "source", "");
    w.source_keys(2, e.source);
  }
  if (e.shape_source) {
    w.line(1, "shape_source", "");
    w.source_keys(2, *e.shape_source);
  }
}

void write_decisions(Writer& w, const Entry& e) {
  if (e.decisions.empty()) return;
  w.line(1, "decisions", "");
  for (const auto& d : e.decisions) {
    const auto start = w.size();
    w.text(2, "field", d.field);
    w.line(2, "took", name_of(d.took));
    w.text(2, "instead_of", d.instead_of);
    w.text(2, "alternative", d.alternative);
    w.text(2, "why", d.why);
    w.text(2, "ref", d.ref);
    w.text(2, "confidence", d.confidence);
    w.replace(start + 2, 2, "- ");
  }
}

/// A runtime with what its own entry states: what it has of the one that it extends is filled in when it is
/// read.
ServingEngine own_part(const ServingEngine& spec, const Entry& entry) {
  ServingEngine own = spec;
  const auto memory_of = [&](const ServingEngine& e) {
    Writer w(entry);
    if (e.memory) write_table(w, 2, field_table<EngineMemoryRule>(), &*e.memory, "memory.");
    return w.take();
  };
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    const bool stated = std::any_of(entry.figures.begin(), entry.figures.end(),
                                    [&](const auto& f) { return f.path.starts_with(row.name); });
    if (stated) return;
    if constexpr (InheritedNumber<M>) {
      if (spec.*row.member == spec.extends->*row.member) own.*row.member = ServingEngine{}.*row.member;
    } else if constexpr (InheritedRule<M>) {
      if (memory_of(spec) == memory_of(*spec.extends)) own.*row.member = {};
    }
  });
  return own;
}

}  // namespace
}  // namespace detail

std::string yaml_scalar(std::string_view text) {
  return detail::plain_is_safe(text) && !valid_date(text) ? std::string(text) : yaml_quoted(text);
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

template <ZooSpec T> std::string to_yaml(const T& spec) {
  Entry handmade;
  if (spec.entry == nullptr) {
    const auto kind = kind_of_type(ObjectType<T>::name);
    handmade.kind = std::string(kind.empty() ? "figure" : kind);
    handmade.name = spec.name;
    handmade.origin = "user";
  }
  const Entry& entry = spec.entry == nullptr ? handmade : *spec.entry;
  detail::Writer w(entry);
  detail::write_head(w, entry);
  if constexpr (std::is_same_v<T, ServingEngine>) {
    const auto own = spec.extends == nullptr ? spec : detail::own_part(spec, entry);
    detail::write_table(w, 1, field_table<T>(), &own, "");
  } else {
    detail::write_table(w, 1, field_table<T>(), &spec, "");
  }
  detail::write_decisions(w, entry);
  return w.take();
}

std::string to_yaml(const Zoo& zoo, const Entry& entry) {
  std::string out;
  detail::with_spec_of(entry.kind, [&]<class T>() {
    const T& spec = zoo.at<T>(entry.name);
    out = to_yaml(spec);
  });
  return out;
}

template std::string to_yaml(const HardwareNode&);
template std::string to_yaml(const Workload&);
template std::string to_yaml(const Node&);
template std::string to_yaml(const NetworkFabric&);
template std::string to_yaml(const Fleet&);
template std::string to_yaml(const Pod&);
template std::string to_yaml(const Rack&);
template std::string to_yaml(const StorageTier&);
template std::string to_yaml(const DeviceClass&);
template std::string to_yaml(const GridProfile&);
template std::string to_yaml(const CoolingProfile&);
template std::string to_yaml(const Datacenter&);
template std::string to_yaml(const KernelFamily&);
template std::string to_yaml(const ServingEngine&);
template std::string to_yaml(const ScalarFigure&);

}  // namespace mlsysim
