#pragma once
/// A C++ resolver class behind the C interface: its fields become MlsField rows, and `solve` converts the
/// values.
///
/// Quantities cross in base units, so that nothing is rounded. Exceptions become errors of the interface.
/// Part of mlsysim_plugin.hpp.
/// Example: a field in "ms" is declared with unit "s" and display "ms", so that 5 ms crosses as 0.005.

#include <mlsysim/plugin/sdk_host.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/format.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::plugin::sdk::detail {

using Copier = const void* (*)(Specs&, const MlsObject*);
template <class T> const void* copy_as(Specs& specs, const MlsObject* object) {
  return specs.copy<T>(object);
}
[[nodiscard]] inline Copier copier_of(std::string_view type) {
  Copier found = nullptr;
  (void)with_spec_type(type, [&]<class T>() { found = &copy_as<T>; });
  return found;
}

/// One resolver behind the C interface.
class Exported {
 public:
  Exported(std::unique_ptr<Resolver> resolver, const std::string& space, const std::string& version)
      : resolver_(std::move(resolver)) {
    const auto& info = resolver_->info();
    name_ = space + "/" + info.name;
    version_ = version;
    for (const auto& f : resolver_->inputs()) inputs_.push_back(field(f, true));
    for (const auto& f : resolver_->outputs()) outputs_.push_back(field(f, false));
    c_.struct_size = sizeof c_;
    c_.tier = static_cast<std::int32_t>(info.tier);
    c_.flags = MLS_RESOLVER_DETERMINISTIC;
    c_.name = c_text(name_);
    c_.summary = c_text(info.about);
    c_.version = c_text(version_);
    c_.law = c_text(info.law);
    c_.source = c_text(info.source);
    c_.inputs = inputs_.data();
    c_.input_count = inputs_.size();
    c_.outputs = outputs_.data();
    c_.output_count = outputs_.size();
    c_.user = this;
    c_.solve = &Exported::solve;
    for (const auto& f : resolver_->inputs())
      input_wires_.push_back(
          {is_bare_number(f), f.offset, f.kind == ValueKind::object ? copier_of(f.object_type) : nullptr});
    for (const auto& f : resolver_->outputs())
      output_wires_.push_back({is_bare_number(f), f.offset, nullptr});
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  [[nodiscard]] const MlsResolver* c() const { return &c_; }
  void own(std::int32_t ownership, std::string_view resource) {
    c_.ownership = ownership;
    c_.resource = c_text(keep(std::string(resource)));
  }

 private:
  struct Wire {
    bool bare;
    std::size_t offset;
    Copier copy;
  };

  [[nodiscard]] std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  MlsField field(const FieldInfo& f, bool input) {
    MlsField c{};
    c.struct_size = sizeof c;
    c.name = c_text(f.name);
    c.meaning = c_text(f.meaning);
    c.default_source = c_text(f.default_source);
    c.object_type = c_text(f.object_type);
    if (!f.shared) c.flags |= MLS_FIELD_PRIVATE;
    if (f.integral) c.flags |= MLS_FIELD_WHOLE;
    if (input && !f.required) c.flags |= MLS_FIELD_OPTIONAL;
    switch (f.kind) {
      case ValueKind::quantity:
        c.kind = MLS_FIELD_QUANTITY;
        break;
      case ValueKind::number:
        c.kind = MLS_FIELD_NUMBER;
        break;
      case ValueKind::flag:
        c.kind = MLS_FIELD_FLAG;
        break;
      case ValueKind::choice:
        c.kind = MLS_FIELD_CHOICE;
        break;
      case ValueKind::object:
        c.kind = MLS_FIELD_OBJECT;
        break;
      default:
        c.kind = MLS_FIELD_TEXT;
    }
    if (f.kind == ValueKind::quantity) {
      // Base units cross, so that nothing is rounded on the way.
      c.unit = c_text(keep(canonical_unit(f.exps)));
      c.display = c_text(f.unit);
    }
    if (f.kind == ValueKind::quantity || f.kind == ValueKind::number) {
      const auto range = BaseRange::of(f);
      if (range.low > -kUnbounded || range.high < kUnbounded) c.flags |= MLS_FIELD_BOUNDED;
      if (range.open_low) c.flags |= MLS_FIELD_ABOVE_LOW;
      c.low = range.low;
      c.high = range.high;
    }
    auto& names = choices_.emplace_back();
    for (const auto name : f.choices) names.push_back(c_text(name));
    c.choices = names.data();
    c.choice_count = names.size();
    if (input && !f.required)
      c.default_value = value(f, f.default_value, [this](std::string text) { return keep(std::move(text)); });
    return c;
  }

  template <class Keep> static MlsValue value(const FieldInfo& f, const Value& v, Keep&& keep_text) {
    if (const auto* x = std::get_if<double>(&v)) return {MLS_NUMBER, 0, *x, {}, nullptr};
    if (const auto* b = std::get_if<bool>(&v)) return {MLS_FLAG, *b ? 1 : 0, 0, {}, nullptr};
    if (const auto* s = std::get_if<std::string>(&v))
      return {MLS_STRING, 0, 0, c_text(keep_text(*s)), nullptr};
    (void)f;
    return {};
  }

  static MlsError* solve(MlsSolveArgs* args) {
    try {
      if (args->struct_size < MLS_SOLVE_ARGS_SIZE_1_0)
        throw InputError({.id = "mlsysim.plugin.201",
                          .message = "MlsSolveArgs is too small",
                          .key = "struct_size",
                          .found = std::to_string(args->struct_size),
                          .expected = "at least " + std::to_string(MLS_SOLVE_ARGS_SIZE_1_0)});
      static_cast<const Exported*>(args->user)->run(*args);
      return nullptr;
    } catch (...) {
      return Host(args->host).error_of_exception();
    }
  }

  void run(MlsSolveArgs& args) const {
    const auto in_size = resolver_->input_size(), out_size = resolver_->output_size();
    alignas(64) std::array<std::byte, 2048> stack;
    std::unique_ptr<std::byte[]> heap;
    const auto align = std::max<std::size_t>(resolver_->alignment(), 16);
    const auto split = (in_size + align - 1) / align * align;
    std::byte* memory = stack.data();
    if (split + out_size > stack.size()) {
      heap = std::make_unique<std::byte[]>(split + out_size + align);
      memory = heap.get() + (align - reinterpret_cast<std::uintptr_t>(heap.get()) % align) % align;
    }
    resolver_->construct_inputs(memory);
    const Guard guard_in{*resolver_, memory, true};
    resolver_->construct_outputs(memory + split);
    const Guard guard_out{*resolver_, memory + split, false};
    std::unique_ptr<Specs> specs;
    const auto inputs = resolver_->inputs();
    for (std::size_t i = 0; i < inputs.size() && i < args.input_count; ++i) {
      const MlsValue& v = args.inputs[i];
      if (input_wires_[i].bare && v.kind == MLS_NUMBER) {
        *reinterpret_cast<double*>(memory + input_wires_[i].offset) = v.number;
        continue;
      }
      if (v.kind == MLS_NONE) continue;
      if (v.kind == MLS_OBJECT) {
        if (!specs) specs = std::make_unique<Specs>();
        if (input_wires_[i].copy != nullptr)
          inputs[i].write(memory, ObjectRef{input_wires_[i].copy(*specs, v.object), inputs[i].object_type});
      } else {
        inputs[i].write(memory, v.kind == MLS_NUMBER ? Value(v.number)
                                : v.kind == MLS_FLAG ? Value(v.flag != 0)
                                                     : Value(std::string(cpp_text(v.text))));
      }
    }
    SolveContext context;
    NoteBook notes;
    context.notes = Notes(notes);
    if (!specs && resolver_->info().tier == Tier::optimizer) specs = std::make_unique<Specs>();
    struct InCall {
      Specs* before;
      explicit InCall(Specs* now) : before(std::exchange(specs_of_call(), now)) {}
      InCall(const InCall&) = delete;
      InCall& operator=(const InCall&) = delete;
      ~InCall() { specs_of_call() = before; }
    } const in_call(specs.get());
    const auto status = resolver_->solve(memory, memory + split, context);
    const auto* host = args.host;
    for (const auto& a : notes.assumptions)
      host->assume(host, args.call, c_text(a.name), c_text(a.value.str()), c_text(a.source));
    for (const auto& w : notes.warnings) host->warn(host, args.call, c_text(w));
    if (status == Status::infeasible) {
      host->infeasible(host, args.call, c_text(context.why.reason), c_text(context.why.smallest_change));
      args.outcome = MLS_OUTCOME_INFEASIBLE;
      return;
    }
    const auto outputs = resolver_->outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (output_wires_[i].bare) {
        args.outputs[i].kind = MLS_NUMBER;
        args.outputs[i].number = *reinterpret_cast<const double*>(memory + split + output_wires_[i].offset);
      } else {
        args.outputs[i] = value(outputs[i], outputs[i].read(memory + split), [&](const std::string& text) {
          return cpp_text(host->keep(host, args.call, c_text(text)));
        });
      }
    }
  }

  struct Guard {
    const Resolver& resolver;
    void* memory;
    bool inputs;
    Guard(const Resolver& r, void* m, bool i) : resolver(r), memory(m), inputs(i) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { inputs ? resolver.destroy_inputs(memory) : resolver.destroy_outputs(memory); }
  };

  std::unique_ptr<Resolver> resolver_;
  std::string name_, version_;
  std::deque<std::string> texts_;
  std::deque<std::vector<MlsString>> choices_;
  std::vector<MlsField> inputs_, outputs_;
  std::vector<Wire> input_wires_, output_wires_;
  MlsResolver c_{};
};

}  // namespace mlsysim::plugin::sdk::detail
