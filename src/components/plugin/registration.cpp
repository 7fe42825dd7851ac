#include "detail/services.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mlsysim::plugin::detail {
namespace {

constexpr std::uint64_t kMostFields = 200;  // of one resolver: the masks of supplied inputs hold 256
constexpr std::uint64_t kLongestText = 1 << 20;

constexpr const char* kRegistration{"mlsysim.plugin.010"};

/// A full struct from one that may be smaller (an older plugin) or larger (a newer one).
template <class T> T widen(const T* given, const char* name, std::size_t smallest) {
  if (given == nullptr)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("{} is null", name), name, "a null pointer", fmt::format("a {}", name)});
  check_size(name, given->struct_size, smallest);
  T out{};
  std::memcpy(&out, given, std::min<std::size_t>(given->struct_size, sizeof(T)));
  return out;
}

FieldDescription describe_field(const MlsField& f, const std::string& owner) {
  FieldDescription d;
  d.name = read_text(f.name, owner + ": name of a field");
  if (!is_name(d.name))
    fail(MLS_INVALID_ARGUMENT, {kRegistration, fmt::format("a field of '{}' has no usable name", owner),
                                d.name, fmt::format("'{}'", d.name), "letters, digits, '_' and '.'"});
  const auto what = [&](const char* part) { return fmt::format("{}.{}: {}", owner, d.name, part); };
  d.meaning = read_text(f.meaning, what("meaning"));
  d.unit = read_text(f.unit, what("unit"));
  d.display = read_text(f.display, what("display"));
  d.object_type = read_text(f.object_type, what("object_type"));
  d.default_source = read_text(f.default_source, what("default_source"));
  (void)read_text(f.default_value.text, what("default value"));
  d.default_value = OwnedValue::of(f.default_value);
  d.low = f.low;
  d.high = f.high;
  d.kind = f.kind;
  d.flags = f.flags;
  if (f.kind < MLS_FIELD_NUMBER || f.kind > MLS_FIELD_OBJECT)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the field '{}' of '{}' has an unknown kind", d.name, owner), d.name,
          fmt::format("{}", f.kind), "0 to 5"});
  if (f.kind == MLS_FIELD_QUANTITY && d.unit.empty())
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the quantity '{}' of '{}' has no unit", d.name, owner), d.name,
          "an empty unit", "a unit such as \"GB/s\""});
  if (f.kind == MLS_FIELD_OBJECT && d.object_type.empty())
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the object '{}' of '{}' has no type", d.name, owner), d.name,
          "an empty object_type", "\"hardware\", \"workload\", ..."});
  if (d.has(MLS_FIELD_BOUNDED) && !(d.low <= d.high))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the range of '{}' of '{}' is empty", d.name, owner), d.name,
          fmt::format("[{}, {}]", d.low, d.high), "low <= high"});
  if (f.choice_count > kMostFields || (f.choice_count > 0 && f.choices == nullptr))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the choices of '{}' of '{}' cannot be read", d.name, owner), d.name,
          fmt::format("{} of them", f.choice_count), fmt::format("at most {}, and an array", kMostFields)});
  for (std::uint64_t i = 0; i < f.choice_count; ++i)
    d.choices.push_back(read_text(f.choices[i], what("choice")));
  if (f.kind == MLS_FIELD_CHOICE && d.choices.empty())
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the choice '{}' of '{}' has nothing to choose from", d.name, owner),
          d.name, "no choices", "one or more"});
  return d;
}

std::vector<FieldDescription> describe_fields(const MlsField* fields, std::uint64_t count,
                                              const std::string& owner) {
  std::vector<FieldDescription> out;
  if (count > kMostFields || (count > 0 && fields == nullptr))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the fields of '{}' cannot be read", owner), owner,
          fmt::format("{} of them", count), fmt::format("at most {}, and an array", kMostFields)});
  const auto* at = reinterpret_cast<const std::byte*>(fields);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* field = reinterpret_cast<const MlsField*>(at);
    const MlsField full = widen(field, "MlsField", MLS_FIELD_SIZE_1_0);
    if (field->struct_size != fields->struct_size || field->struct_size % alignof(MlsField) != 0)
      fail(MLS_INVALID_ARGUMENT,
           {kRegistration, fmt::format("the fields of '{}' have different sizes", owner), owner,
            fmt::format("{} and {}", fields->struct_size, field->struct_size),
            "one struct_size in one array"});
    out.push_back(describe_field(full, owner));
    at += field->struct_size;
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (out[i].name == out[k].name)
        fail(MLS_INVALID_ARGUMENT,
             {kRegistration, fmt::format("'{}' has two fields of one name", owner), out[i].name,
              fmt::format("'{}' twice", out[i].name), "names that differ"});
  return out;
}

/// "namespace/Name", and not in the namespace of the library.
std::string registered_name(MlsString text, const char* what) {
  auto name = read_text(text, fmt::format("name of a {}", what));
  const auto slash = name.find('/');
  const std::string_view space = std::string_view(name).substr(0, slash);
  const std::string_view rest =
      slash == std::string::npos ? std::string_view() : std::string_view(name).substr(slash + 1);
  if (!is_name(space) || !is_name(rest) || name.find('.') != std::string::npos)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("a {} has no usable name", what), name, fmt::format("'{}'", name),
          "\"namespace/Name\"", "write the name of your group or package before the slash"});
  if (space == "mlsysim")
    fail(MLS_PERMISSION_DENIED, {.id = "mlsysim.plugin.011",
                                 .message = fmt::format("the namespace of '{}' is taken", name),
                                 .key = name,
                                 .found = "the namespace mlsysim",
                                 .expected = "a namespace of your own"});
  return name;
}

}  // namespace

void fail(MlsStatus code, ErrorFacts facts, std::string_view plugin, std::string_view call) {
  throw PluginFault(std::move(facts), code, std::string(plugin), std::string(call));
}

void check_size(const char* name, std::uint32_t got, std::size_t smallest) {
  if (got < smallest)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("{} is too small", name), name, fmt::format("struct_size {}", got),
          fmt::format("at least {}", smallest), "set struct_size = sizeof of the header's struct"});
}

std::string read_text(MlsString text, std::string_view what) {
  if (text.size == 0) return {};
  if (text.data == nullptr || text.size > kLongestText)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("{} cannot be read", what), std::string(what),
          text.data == nullptr ? fmt::format("a null pointer and the size {}", text.size)
                               : fmt::format("{} bytes", text.size),
          fmt::format("a text of at most {} bytes", kLongestText)});
  const std::string_view s(text.data, text.size);
  if (s.find('\0') != std::string_view::npos || !is_utf8(s))
    fail(MLS_INVALID_ARGUMENT, {kRegistration, fmt::format("{} is no text", what), std::string(what),
                                s.find('\0') != std::string_view::npos ? "a zero byte" : "invalid UTF-8",
                                "UTF-8 without zero bytes"});
  return std::string(s);
}

bool is_utf8(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  for (std::size_t i = 0; i < s.size();) {
    const unsigned c = byte(i);
    const std::size_t more = c < 0x80                ? 0
                             : c >= 0xC2 && c < 0xE0 ? 1
                             : c >= 0xE0 && c < 0xF0 ? 2
                             : c >= 0xF0 && c < 0xF5 ? 3
                                                     : 9;
    if (more == 9 || i + more >= s.size()) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xC0U) != 0x80) return false;
    // Overlong forms, surrogates, and values above the last code point.
    if ((c == 0xE0 && byte(i + 1) < 0xA0) || (c == 0xED && byte(i + 1) > 0x9F) ||
        (c == 0xF0 && byte(i + 1) < 0x90) || (c == 0xF4 && byte(i + 1) > 0x8F))
      return false;
    i += more + 1;
  }
  return true;
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || text.size() > 128 || !letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

MlsResolver adopt(const MlsResolver* resolver) {
  return widen(resolver, "MlsResolver", MLS_RESOLVER_SIZE_1_0);
}
MlsUnit adopt(const MlsUnit* unit) { return widen(unit, "MlsUnit", MLS_UNIT_SIZE_1_0); }
MlsCallback adopt(const MlsCallback* callback) {
  auto out = widen(callback, "MlsCallback", MLS_CALLBACK_SIZE_1_0);
  (void)registered_name(out.name, "callback");
  if (out.on_event == nullptr && out.on_break == nullptr && out.on_sweep == nullptr)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the callback '{}' cannot be called", from_c(out.name)), "on_event",
          "null slots", "on_event, on_break or on_sweep"});
  return out;
}

MlsBackend adopt(const MlsBackend* backend) {
  auto out = widen(backend, "MlsBackend", MLS_BACKEND_SIZE_1_1);
  if (out.query_support == nullptr && out.predict == nullptr)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the backend '{}' can do nothing", from_c(out.name)), "query_support",
          "null slots", "query_support or predict"});
  return out;
}

BackendDescription describe_backend(const MlsBackend& b) {
  BackendDescription d;
  d.name = registered_name(b.name, "backend");
  d.summary = read_text(b.summary, d.name + ": summary");
  d.max_effort = b.max_effort;
  if (b.device_count > kMostFields || (b.device_count > 0 && b.devices == nullptr))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the devices of '{}' cannot be read", d.name), "devices",
          fmt::format("{} of them", b.device_count), fmt::format("at most {}, and an array", kMostFields)});
  for (std::uint64_t i = 0; i < b.device_count; ++i)
    d.devices.push_back(read_text(b.devices[i], d.name + ": a device"));
  if (b.max_effort < MLS_EFFORT_NAMES || b.max_effort > MLS_EFFORT_REWRITE)
    fail(MLS_INVALID_ARGUMENT, {kRegistration, fmt::format("the effort of '{}' is none", d.name),
                                "max_effort", fmt::format("{}", b.max_effort), "0 to 4"});
  return d;
}

MlsConverter adopt(const MlsConverter* converter) {
  auto out = widen(converter, "MlsConverter", MLS_CONVERTER_SIZE_1_1);
  (void)registered_name(out.name, "converter");
  if (out.convert == nullptr || out.direction < MLS_IMPORTER || out.direction > MLS_EXPORTER)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the converter '{}' cannot be called", from_c(out.name)), "convert",
          out.convert == nullptr ? std::string("a null slot") : fmt::format("direction {}", out.direction),
          "a function, and MLS_IMPORTER or MLS_EXPORTER"});
  return out;
}

SupportReason read_reason(const MlsReason* reason) {
  const auto r = widen(reason, "MlsReason", MLS_REASON_SIZE_1_1);
  if (r.code < MLS_REASON_UNKNOWN_OP || r.code > MLS_REASON_OTHER)
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, "a reason has an unknown code", "code", fmt::format("{}", r.code), "0 to 7"});
  if (!(r.count >= 0) || !std::isfinite(r.count))
    fail(MLS_INVALID_ARGUMENT, {kRegistration, "a reason does not say how many operators", "count",
                                fmt::format("{}", r.count), "a finite number from 0 on"});
  return {static_cast<ReasonCode>(r.code), read_text(r.op, "an operator"), r.count,
          read_text(r.location, "a location"), read_text(r.hint, "a hint")};
}

ResolverDescription describe_resolver(const MlsResolver& r) {
  ResolverDescription d;
  d.name = registered_name(r.name, "resolver");
  d.summary = read_text(r.summary, d.name + ": summary");
  d.version = read_text(r.version, d.name + ": version");
  d.law = read_text(r.law, d.name + ": law");
  d.source = read_text(r.source, d.name + ": source");
  if (r.tier < MLS_TIER_MODEL || r.tier > MLS_TIER_OPTIMIZER)
    fail(MLS_INVALID_ARGUMENT, {kRegistration, fmt::format("'{}' has an unknown tier", d.name), "tier",
                                fmt::format("{}", r.tier), "0, 1 or 2"});
  d.tier = static_cast<Tier>(r.tier);
  d.flags = r.flags;
  d.inputs = describe_fields(r.inputs, r.input_count, d.name);
  d.outputs = describe_fields(r.outputs, r.output_count, d.name);
  d.options = describe_fields(r.options, r.option_count, d.name);
  if (r.ownership < MLS_OWN_SHARED || r.ownership > MLS_OWN_EXCLUSIVE_SYSTEM)
    fail(MLS_INVALID_ARGUMENT, {kRegistration, fmt::format("'{}' has an unknown ownership", d.name),
                                "ownership", fmt::format("{}", r.ownership), "0, 1 or 2"});
  d.ownership = static_cast<Ownership>(r.ownership);
  d.resource = read_text(r.resource, d.name + ": resource");
  if (d.resource.empty()) {
    d.resource = d.name;
    std::replace(d.resource.begin(), d.resource.end(), '/', '.');
  }
  if (!is_name(d.resource))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("'{}' holds something without a usable name", d.name), "resource",
          fmt::format("'{}'", d.resource), "letters, digits, '_', '-' and '.'"});
  d.has_instances = r.create != nullptr || d.ownership != Ownership::shared;
  if (d.outputs.empty())
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("'{}' gives nothing", d.name), "outputs", "none", "one or more"});
  for (const auto& o : d.options)
    if (!o.has(MLS_FIELD_OPTIONAL) || o.default_value.kind == MLS_NONE)
      fail(MLS_INVALID_ARGUMENT,
           {kRegistration, fmt::format("the option '{}' of '{}' has no default", o.name, d.name), o.name,
            "none", "MLS_FIELD_OPTIONAL and a default_value"});
  for (const auto& o : d.options)
    for (const auto& i : d.inputs)
      if (o.name == i.name)
        fail(MLS_INVALID_ARGUMENT,
             {kRegistration, fmt::format("'{}' is an input and an option of '{}'", o.name, d.name), o.name,
              "both", "names that differ"});
  const auto counts = [](const FieldDescription& f) {
    return f.name == "total_searched" || f.name.ends_with(".total_searched");
  };
  if (d.tier == Tier::optimizer && std::none_of(d.outputs.begin(), d.outputs.end(), counts))
    fail(MLS_INVALID_ARGUMENT,
         {kRegistration, fmt::format("the optimizer '{}' does not say how much it searched", d.name),
          "outputs", "no output 'total_searched'", "an output 'total_searched' with the number of candidates",
          "an optimizer without a search is a model"});
  return d;
}

}  // namespace mlsysim::plugin::detail
