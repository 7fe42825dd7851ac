#include "detail/plugin_resolver.hpp"

#include <mlsysim/resolver_api/tier_scope.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>

namespace mlsysim::plugin::detail {
namespace {

constexpr std::size_t kFew = 24;

ResolverInfo info_of(const PluginDescription& plugin, const ResolverDescription& d) {
  ResolverInfo info;
  info.name = d.name;
  info.tier = d.tier;
  info.about = d.summary;
  info.law = d.law;
  info.source = d.source;
  info.origin = plugin.name;
  info.thread_safe = plugin.threads == MLS_THREAD_SAFE;
  return info;
}

bool is_same(const std::vector<FieldDescription>& a, const std::vector<FieldDescription>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const FieldDescription& x, const FieldDescription& y) {
        return x.name == y.name && x.unit == y.unit && x.display == y.display && x.kind == y.kind &&
               x.flags == y.flags && x.object_type == y.object_type && x.choices == y.choices &&
               x.low == y.low && x.high == y.high && x.default_value.kind == y.default_value.kind &&
               x.default_value.number == y.default_value.number &&
               x.default_value.text == y.default_value.text && x.default_value.flag == y.default_value.flag;
      });
}

template <class T> T& at(void* memory, std::size_t offset) {
  return *reinterpret_cast<T*>(static_cast<std::byte*>(memory) + offset);
}
template <class T> const T& at(const void* memory, std::size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(memory) + offset);
}

}  // namespace

PluginResolver::PluginResolver(const PluginDescription& plugin, std::shared_ptr<Generation> generation,
                               ObjectTable& objects, std::span<const OptionSetting> settings)
    : Resolver(info_of(plugin, generation->description())),
      plugin_(plugin.name),
      version_(plugin.version),
      objects_(objects),
      generation_(std::move(generation)) {
  const auto& d = generation_->description();
  for (const auto& f : d.inputs) add(inputs_, f, objects, true);
  option_count_ = d.options.size();
  for (auto f : d.options) {
    f.flags |= MLS_FIELD_PRIVATE;
    if (f.default_source.empty()) f.default_source = "option of " + plugin.name;
    for (const auto& s : settings) {
      if (s.name != f.name) continue;
      f.default_source = s.origin;
      f.default_value = {};
      if (f.kind == MLS_FIELD_NUMBER || f.kind == MLS_FIELD_QUANTITY) {
        const auto q = AnyQuantity::parse(s.text, {s.origin});
        f.default_value = {MLS_NUMBER, false, q.base(), canonical_unit(q.exponents()), nullptr};
      } else if (f.kind == MLS_FIELD_FLAG) {
        if (s.text != "true" && s.text != "false")
          fail(MLS_INVALID_ARGUMENT,
               {.id = "mlsysim.plugin.051",
                .message = fmt::format("the option '{}' of {} is a flag", f.name, plugin.name),
                .key = f.name,
                .found = fmt::format("'{}' from {}", s.text, s.origin),
                .expected = "true or false"},
               plugin.name);
        f.default_value = {MLS_FLAG, s.text == "true", 0, {}, nullptr};
      } else {
        f.default_value = {MLS_STRING, false, 0, s.text, nullptr};
      }
    }
    add(inputs_, std::move(f), objects, true);
  }
  for (const auto& f : d.outputs) add(outputs_, f, objects, false);
  pin_offset_ = (inputs_.size + alignof(Pin) - 1) / alignof(Pin) * alignof(Pin);
  outputs_.size = std::max<std::size_t>(outputs_.size, 1);
}

void PluginResolver::construct(const Side& side, void* memory) {
  for (std::size_t i = 0; i < side.wires.size(); ++i) {
    void* cell = static_cast<std::byte*>(memory) + side.wires[i].offset;
    switch (side.wires[i].cell) {
      case Cell::number:
        ::new (cell) double(0);
        break;
      case Cell::maybe_number:
        ::new (cell) std::optional<double>();
        break;
      case Cell::flag:
        ::new (cell) bool(false);
        break;
      case Cell::text:
        ::new (cell) std::string();
        break;
      case Cell::object:
        ::new (cell) ObjectRef();
        break;
    }
    if (i < side.infos.size() && !std::holds_alternative<std::monostate>(side.infos[i].default_value))
      side.infos[i].set(cell, side.infos[i].default_value, side.infos[i]);
  }
}

void PluginResolver::destroy(const Side& side, void* memory) {
  for (const auto& wire : side.wires)
    if (wire.cell == Cell::text) at<std::string>(memory, wire.offset).~basic_string();
}

void PluginResolver::construct_inputs(void* memory) const {
  construct(inputs_, memory);
  ::new (static_cast<std::byte*>(memory) + pin_offset_) Pin{current()};
}

void PluginResolver::construct_inputs_like(const void* others, void* memory) const {
  construct(inputs_, memory);
  ::new (static_cast<std::byte*>(memory) + pin_offset_) Pin{at<Pin>(others, pin_offset_)};
}

void PluginResolver::destroy_inputs(void* memory) const {
  at<Pin>(memory, pin_offset_).~Pin();
  destroy(inputs_, memory);
}

std::shared_ptr<Generation> PluginResolver::current() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

void PluginResolver::retire() {
  // Its end calls the plugin, which may be at work and ask for this resolver: not under the lock.
  std::shared_ptr<Generation> last;
  const std::lock_guard lock(mutex_);
  last.swap(generation_);
}

bool PluginResolver::replace(std::shared_ptr<Generation> generation) {
  const std::lock_guard lock(mutex_);
  const auto &now = generation_->description(), &next = generation->description();
  if (now.tier != next.tier || !is_same(now.inputs, next.inputs) || !is_same(now.outputs, next.outputs) ||
      !is_same(now.options, next.options))
    return false;
  generation_.swap(generation);  // the old one ends with the parameter, not under the lock
  return true;
}

inline void PluginResolver::write_inputs(const void* in, MlsValue* out) const {
  for (std::size_t i = 0; i < inputs_.wires.size(); ++i) {
    const Wire& w = inputs_.wires[i];
    MlsValue& v = out[i];
    v = {};
    if (w.cell == Cell::number) [[likely]] {
      v.kind = MLS_NUMBER;
      v.number = at<double>(in, w.offset) * w.div / w.mul;
      v.text = w.unit;
      continue;
    }
    switch (w.cell) {
      case Cell::maybe_number:
        if (const auto& x = at<std::optional<double>>(in, w.offset))
          v = {MLS_NUMBER, 0, *x * w.div / w.mul, w.unit, nullptr};
        break;
      case Cell::flag:
        v = {MLS_FLAG, at<bool>(in, w.offset) ? 1 : 0, 0, {}, nullptr};
        break;
      case Cell::text:
        v = {MLS_STRING, 0, 0, plugin::to_c(at<std::string>(in, w.offset)), nullptr};
        break;
      default:
        if (const auto& o = at<ObjectRef>(in, w.offset); o.object != nullptr)
          v = {MLS_OBJECT, 0, 0, {}, objects_.handle(o)};
    }
  }
}

void PluginResolver::can_create() const {
  std::vector<std::max_align_t> memory(input_size() / sizeof(std::max_align_t) + 1);
  construct_inputs(memory.data());
  struct Guard {
    const PluginResolver& resolver;
    void* memory;
    ~Guard() { resolver.destroy_inputs(memory); }
  } const guard{*this, memory.data()};
  const auto generation = at<Pin>(memory.data(), pin_offset_).generation;
  if (generation == nullptr) return;
  std::vector<MlsValue> values(inputs_.wires.size());
  write_inputs(memory.data(), values.data());
  generation->can_create({values.data() + values.size() - option_count_, option_count_});
}

Status PluginResolver::solve(const void* in, void* out, SolveContext& context) const {
  const auto& pin = at<Pin>(in, pin_offset_);
  if (pin.generation == nullptr) [[unlikely]]
    fail(MLS_UNAVAILABLE,
         {.id = "mlsysim.plugin.054",
          .message = fmt::format("the plugin '{}' was unloaded", plugin_),
          .key = info().name,
          .found = "a run that began afterwards",
          .expected = "a plugin that is loaded",
          .hint = "load it again, and build the pipeline anew"},
         plugin_, "solve of " + info().name);
  const std::size_t n = inputs_.wires.size(), m = outputs_.wires.size();
  // One value more than declared, to see a plugin that writes behind its results.
  std::array<MlsValue, kFew> few_in, few_out;
  std::vector<MlsValue> many;
  MlsValue *input = few_in.data(), *output = few_out.data();
  if (n > kFew || m + 1 > kFew) [[unlikely]] {
    many.resize(n + m + 1);
    input = many.data();
    output = input + n;
  }
  write_inputs(in, input);
  for (std::size_t i = 0; i <= m; ++i) output[i] = {};
  auto& generation = *pin.generation;
  const std::size_t own = n - option_count_;
  void* instance = option_count_ == 0 && !generation.description().has_instances
                       ? nullptr
                       : generation.instance({input + own, option_count_});
  MlsCall call;
  call.context = &context;
  call.tier = info().tier;
  const TierScope scope(info().tier, info().name);
  const auto outcome = generation.code().solve(generation.index(), instance, {input, own}, {output, m}, call);
  if (outcome == MLS_OUTCOME_INFEASIBLE || call.why) [[unlikely]] {
    context.why =
        call.why ? std::move(*call.why)
                 : Infeasible{fmt::format("{} finds no answer and gives no reason", info().name), {}, {}};
    return Status::infeasible;
  }
  if (output[m].kind != MLS_NONE) [[unlikely]]
    fail(MLS_INTERNAL,
         {.id = "mlsysim.plugin.052",
          .message = info().name + " wrote a field that it does not declare",
          .key = "outputs",
          .found = fmt::format("a value behind '{}'", outputs_.fields.back().name),
          .expected = fmt::format("{} values", m)},
         plugin_, "solve of " + info().name);
  for (std::size_t i = 0; i < m; ++i) {
    const Wire& w = outputs_.wires[i];
    const MlsValue& v = output[i];
    if (w.cell == Cell::number && v.kind == MLS_NUMBER && (v.text.size == 0 || v.text.data == w.unit.data) &&
        std::isfinite(v.number) &&
        (!w.bounded || (v.number <= w.high && (w.open_low ? v.number > w.low : v.number >= w.low))))
        [[likely]] {
      at<double>(out, w.offset) = v.number * w.mul / w.div;
      continue;
    }
    try {
      read_output(i, v, out);
    } catch (const PluginFault& fault) {
      throw with_names(fault, plugin_, "solve of " + info().name);
    }
  }
  if (info().tier == Tier::optimizer)
    for (std::size_t i = 0; i < m; ++i)
      if ((outputs_.fields[i].name == "total_searched" ||
           outputs_.fields[i].name.ends_with(".total_searched")) &&
          !(at<double>(out, outputs_.wires[i].offset) > 0))
        bad_output(i, MLS_FAILED_PRECONDITION, "0", "the number of candidates that were looked at",
                   "an optimizer that searched nothing has no answer");
  return Status::ok;
}

void PluginResolver::bad_output(std::size_t i, MlsStatus code, std::string found, std::string expected,
                                std::string hint) const {
  const auto& name = outputs_.fields[i].name;
  fail(
      code,
      {.id = "mlsysim.plugin.053",
       .message = fmt::format("the result '{}' of {} (plugin {}) cannot be used", name, info().name, plugin_),
       .key = name,
       .found = std::move(found),
       .expected = std::move(expected),
       .hint = std::move(hint)},
      plugin_, "solve of " + info().name);
}

void PluginResolver::read_output(std::size_t i, const MlsValue& value, void* out) const {
  const FieldInfo& f = outputs_.infos[i];
  const Wire& w = outputs_.wires[i];
  if (value.kind == MLS_NONE)
    bad_output(i, MLS_INTERNAL, "no value", std::string(name_of(f.kind)), "a declared result is missing");
  if (value.kind == MLS_NUMBER && w.cell == Cell::number) {
    double declared = value.number;
    if (value.text.size > 0 && value.text.data != w.unit.data) {
      const auto text = read_text(value.text, "unit of '" + f.name + "'");
      Exponents exps{};
      double mul = 1, div = 1;
      try {
        const auto unit = UnitRegistry::standard().parse_unit(text);
        exps = unit.exps;
        mul = unit.mul;
        div = unit.div;
      } catch (const UnitError& error) {
        bad_output(i, MLS_INVALID_ARGUMENT, fmt::format("unit error: {}", error.what()),
                   dimension_name(f.exps), "");
      }
      if (!(exps == f.exps))
        bad_output(i, MLS_INVALID_ARGUMENT,
                   fmt::format("unit error: {} {}, {}", value.number, text, dimension_name(exps)),
                   dimension_name(f.exps), "");
      declared = value.number * mul / div * w.div / w.mul;
    }
    if (!std::isfinite(declared))
      bad_output(i, MLS_OUT_OF_RANGE, fmt::format("{}", declared), "a finite number", "look for 0/0");
    if (w.bounded && !(declared <= w.high && (w.open_low ? declared > w.low : declared >= w.low)))
      bad_output(
          i, MLS_OUT_OF_RANGE, fmt::format("{} {}", declared, plugin::from_c(w.unit)),
          fmt::format("{} {} to {} {}", w.open_low ? "above" : "from", w.low, w.high, plugin::from_c(w.unit)),
          "the plugin breaks its own declaration");
    at<double>(out, w.offset) = declared * w.mul / w.div;
    return;
  }
  try {
    const auto given = detail::from_c(value, outputs_.fields[i].unit, objects_);
    f.write(out, given.value);
  } catch (const InputError& error) {
    bad_output(i, MLS_INVALID_ARGUMENT, error.facts().found, std::string(name_of(f.kind)), "");
  } catch (const LookupError& error) {
    bad_output(i, MLS_INVALID_ARGUMENT, error.facts().found, error.facts().expected, "");
  } catch (const UnitError& error) {
    bad_output(i, MLS_INVALID_ARGUMENT, fmt::format("unit error: {}", error.what()),
               std::string(name_of(f.kind)), "");
  }
}

Verification PluginResolver::verify(const void*, const void*) const {
  return {{},
          fmt::format("{} comes from the plugin {} {}, whose answers are not put back into an equation",
                      info().name, plugin_, version_)};
}

}  // namespace mlsysim::plugin::detail
