#include <mlsysim/engine/field_input.hpp>

#include <mlsysim/engine/detail/checkpoints.hpp>
#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/reflect/range.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/specs/releases.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/detail/model_reader.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <system_error>

namespace mlsysim {
namespace {

std::string what_is_taken(const FieldInfo& f) {
  auto words = range_words(f.low, f.high, f.open_low, f.integral, f.unit);
  if (!words.empty()) return words;
  return f.unit.empty() ? "a number" : fmt::format("a quantity such as 1 {}", f.unit);
}

/// Refuses "4k" where things are counted: of tokens it is 4,096 for some and 4,000 for others.
void refuse_letter(const FieldInfo& field, std::string_view text, const Location& where) {
  if (!field.integral) return;
  const auto meant = counts_of_letter(text);
  if (!meant) return;
  throw InputError({.id = "mlsysim.engine.090",
                    .message = fmt::format("a letter behind '{}' is read in two ways", field.name),
                    .key = field.name,
                    .found = fmt::format("'{}'", text),
                    .expected = "a whole number",
                    .hint = fmt::format("write {:.0f} or {:.0f}", meant->first, meant->second),
                    .where = where});
}

DynamicValue number(const FieldInfo& field, std::string_view text, const Location& where) {
  refuse_letter(field, text, where);
  AnyQuantity q;
  try {
    q = AnyQuantity::parse(text, where);
  } catch (Error& error) {
    error.add_context(
        fmt::format("in '{}' ({}), which takes {}", field.name, field.meaning, what_is_taken(field)));
    throw;
  }
  if (!(q.exponents() == field.exps)) {
    const bool bare = q.dimensionless() && !field.exps.dimensionless();
    throw DimensionError(
        {.id = "mlsysim.engine.021",
         .message = bare ? fmt::format("'{}' ({}) has no unit", field.name, field.meaning)
                         : fmt::format("'{}' ({}) has the wrong unit", field.name, field.meaning),
         .key = field.name,
         .found = bare ? fmt::format("the bare number '{}'", text)
                       : fmt::format("'{}', {}", text, dimension_name(q.exponents())),
         .expected = field.exps.dimensionless() ? "a number without unit" : dimension_name(field.exps),
         .hint = bare ? fmt::format("write '{} {}'", text, field.unit)
                      : (field.unit.empty() ? std::string("leave the unit out")
                                            : fmt::format("write it in {} or a compatible unit", field.unit)),
         .where = where});
  }
  const bool whole = !field.integral || std::floor(q.base()) == q.base();
  if (!whole || !BaseRange::of(field).holds(q.base()))
    throw InputError({.id = "mlsysim.engine.020",
                      .message = fmt::format("'{}' ({}) {}", field.name, field.meaning,
                                             whole ? "is out of range" : "must be a whole number"),
                      .key = field.name,
                      .found = fmt::format("'{}'", text),
                      .expected = what_is_taken(field),
                      .where = where});
  return q;
}

/// For a field that takes every kind: a number or quantity where the text begins as one, a flag, else a text.
DynamicValue anything(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.find_first_of("0123456789") > 2) return std::string(text);  // a sign and a point at most
  try {
    return AnyQuantity::parse(text);
  } catch (const Error&) {
    return std::string(text);
  }
}

/// Hint for an unknown name: near misses, or ./NAME for a model's folder, which must be given as a path.
template <class T> std::string meant(std::string_view text, const std::vector<std::string>& names) {
  if (std::is_same_v<T, Workload> && names_model_file(text))
    return fmt::format("for the model in the folder of that name write ./{}", text);
  return did_you_mean(text, names);
}

/// "Qwen/Qwen3-32B": what a hub calls a model, and no path that says it is one.
bool is_hub_name(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == 0 || slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos)
    return false;
  if (text.starts_with('.') || text.starts_with('~')) return false;
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos || dot < slash) return true;
  const auto end = text.substr(dot);  // ".3" is no ending of a file
  return std::any_of(end.begin() + 1, end.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Whether a path leads to something.
bool is_there(std::string_view path) { return files::exists(std::filesystem::path(path)); }

template <class T>
DynamicValue object(FieldReader& reader, const FieldInfo& field, std::string_view text,
                    const Location& where) {
  const bool written = std::is_same_v<T, Workload> && text.starts_with('{');
  const T* const exact = written ? nullptr : reader.zoo().find<T>(text);
  bool hub = false;
  if constexpr (std::is_same_v<T, Workload>)
    if (exact != nullptr || (!written && !is_there(text))) {
      if (const T* found = reader.model(text)) return found;
      hub = is_hub_name(text);
    }
  if (exact != nullptr) return exact;
  if (written || (names_a_file(text) && !hub)) {
    try {
      return &reader.file(std::string(text)).only<T>();
    } catch (Error& error) {
      error.add_context(fmt::format("in '{}' ({})", field.name, field.meaning));
      throw;
    }
  }
  if constexpr (std::is_same_v<T, HardwareNode>)
    if (const auto called = devices_called(reader.zoo(), text); called.size() == 1) return called.front();
  if constexpr (std::is_same_v<T, ServingEngine>)
    if (!release_name(text).version.empty()) {
      try {
        return &reader.zoo().at<T>(text);  // says which releases are known
      } catch (Error& error) {
        error.add_context(fmt::format("in '{}' ({})", field.name, field.meaning));
        throw;
      }
    }
  const auto names = reader.zoo().names<T>();
  auto hint = meant<T>(text, names);
  if constexpr (std::is_same_v<T, Workload>) {
    const auto* joint = hint.empty() ? "" : hint.ends_with('?') ? " Or " : ", or ";
    hint += fmt::format("{}download its config.json or a GGUF file, and name that file", joint);
  }
  throw LookupError(
      {.id = "mlsysim.engine.022",
       .message = fmt::format("there is no {} '{}'", ObjectType<T>::name, text),
       .key = field.name,
       .found = fmt::format("'{}'", text),
       .expected = fmt::format("the name of an entry ({}), or a YAML file", ObjectType<T>::name),
       .hint = std::move(hint),
       .where = where});
}

}  // namespace

std::optional<std::pair<double, double>> counts_of_letter(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const char letter = text.back();
  const auto digits = text.substr(0, text.size() - 1);
  const bool thousands = letter == 'k' || letter == 'K', millions = letter == 'm' || letter == 'M';
  if ((!thousands && !millions) || digits.size() > 9 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const double n = std::stod(std::string(digits));
  return thousands ? std::pair(n * 1e3, n * 1024) : std::pair(n * 1e6, n * 1024 * 1024);
}

bool names_a_file(std::string_view text) {
  if (text.starts_with('{')) return false;  // an entry in one line
  for (const std::string_view end : {".yaml", ".yml", ".json", ".gguf", ".safetensors"})
    if (text.ends_with(end)) return true;
  return names_program_file(text) || text.find('/') != std::string_view::npos;
}

const Zoo& FieldReader::file(const std::string& path) {
  for (const auto& f : files_)
    if (f->path == path) return f->zoo;
  // Files of models as people have them; all others are files of a zoo.
  auto zoo = path.starts_with('{') ? load_text(fmt::format("schema: mlsysim/model@2\nentries:\n- {}\n", path),
                                               "the model in the text", *zoo_)
             : names_model_file(path) ? read_model_file(path)
                                      : load_file(path, *zoo_);
  files_.push_back(std::make_unique<File>(File{path, std::move(zoo)}));
  return files_.back()->zoo;
}

const Workload* FieldReader::model(std::string_view name) {
  const auto named = detail::model_of(name, *zoo_);
  const auto* entry = zoo_->find<Workload>(named.entry);
  const auto positions = entry == nullptr ? std::nullopt : detail::positions_of(named.checkpoint);
  if (!positions || positions == entry->max_positions) return entry;
  for (const auto& kept : checkpoints_)
    if (kept.name == entry->name && kept.max_positions == positions) return &kept;
  checkpoints_.push_back(*entry);
  checkpoints_.back().max_positions = positions;
  return &checkpoints_.back();
}

std::string request_rate_text(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  auto count = text.substr(0, slash);
  while (count.ends_with(' ')) count.remove_suffix(1);
  if (count.empty() || count.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return std::string(text);
  return fmt::format("{} request{}", count, slash < text.size() ? text.substr(slash) : "/s");
}

namespace {

/// "15T" means tokens where tokens are counted.
std::string token_count_text(std::string_view text) {
  const bool named = text.find("tok") != std::string_view::npos || text.empty();
  return named ? std::string(text) : fmt::format("{}token", text);
}

}  // namespace

DynamicValue FieldReader::read(const FieldInfo& field, std::string_view text, const Location& where) {
  switch (field.kind) {
    case ValueKind::number:
    case ValueKind::quantity:
      if (field.name == "arrival_rate") return number(field, request_rate_text(text), where);
      if (field.name == "training_tokens") return number(field, token_count_text(text), where);
      return number(field, text, where);
    case ValueKind::flag:
      if (text == "true" || text == "false") return text == "true";
      throw InputError(
          {.id = "mlsysim.engine.023",
           .message = fmt::format("'{}' ({}) is neither true nor false", field.name, field.meaning),
           .key = field.name,
           .found = fmt::format("'{}'", text),
           .expected = "true or false",
           .where = where});
    case ValueKind::choice: {
      const auto same = [&](std::string_view choice) {
        return std::ranges::equal(choice, text,
                                  [](unsigned char a, unsigned char b) { return a == std::tolower(b); });
      };
      if (const auto found = std::ranges::find_if(field.choices, same); found != field.choices.end())
        return std::string(*found);
      const std::vector<std::string> names(field.choices.begin(), field.choices.end());
      throw LookupError(
          {.id = "mlsysim.engine.024",
           .message = fmt::format("'{}' ({}) has no choice '{}'", field.name, field.meaning, text),
           .key = field.name,
           .found = fmt::format("'{}'", text),
           .expected = fmt::format("one of {}", fmt::join(names, ", ")),
           .hint = did_you_mean(text, names),
           .where = where});
    }
    case ValueKind::object: {
      DynamicValue found;
      if (with_spec_type(field.object_type, [&]<class T>() { found = object<T>(*this, field, text, where); }))
        return found;
    }
      if (field.object_type == ObjectType<Zoo>::name && text == "standard") return zoo_;
      throw InputError(
          {.id = "mlsysim.engine.025",
           .message = fmt::format("'{}' ({}) cannot be given as text", field.name, field.meaning),
           .key = field.name,
           .found = fmt::format("'{}'", text),
           .expected = fmt::format("a {}, from C++ or Python", field.object_type),
           .where = where});
    case ValueKind::any:
      return anything(text);
    case ValueKind::text:
      break;
  }
  return std::string(text);
}

}  // namespace mlsysim
