#pragma once
/// Host services for plugins in C++: logging, errors, zoo entries and parameters of host objects.
///
/// Objects of the host are copied value by value into structs of the plugin, so that neither side depends on
/// the layout of the other. Numbers cross in base units. Part of mlsysim_plugin.hpp.
/// Example: `figures(object)` of the H100 contains "memory.bandwidth" with number 3.35e12 and unit text
/// "B/s".

#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::plugin::sdk {

[[nodiscard]] inline MlsString c_text(std::string_view text) { return {text.data(), text.size()}; }
[[nodiscard]] inline std::string_view cpp_text(MlsString text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

/// The host, as the plugin's code sees it.
class Host {
 public:
  explicit Host(const MlsHostApi* api) : api_(api) {}
  [[nodiscard]] const MlsHostApi* api() const { return api_; }

  void log(std::int32_t level, std::string_view text) const { api_->log(api_, level, c_text(text)); }
  /// @throws PluginError with the host's message
  void check(MlsError* error) const {
    if (error == nullptr) return;
    std::string message(cpp_text(api_->error_message(api_, error)));
    api_->error_destroy(api_, error);
    throw PluginError({.id = "mlsysim.plugin.200", .message = std::move(message)});
  }
  /// The current exception as an error of the C interface.
  [[nodiscard]] MlsError* error_of_exception() const noexcept {
    try {
      throw;
    } catch (const LookupError& error) {
      return make(MLS_NOT_FOUND, error.what());
    } catch (const DomainError& error) {
      return make(MLS_OUT_OF_RANGE, error.what());
    } catch (const Error& error) {
      return make(MLS_INVALID_ARGUMENT, error.what());
    } catch (const std::bad_alloc&) {
      return make(MLS_RESOURCE_EXHAUSTED, "out of memory");
    } catch (const std::exception& error) {
      return make(MLS_INTERNAL, error.what());
    } catch (...) {
      return make(MLS_INTERNAL, "an exception that is no std::exception");
    }
  }

 private:
  [[nodiscard]] MlsError* make(MlsStatus code, std::string_view text) const noexcept {
    return api_->error_create(api_, code, c_text(text));
  }
  const MlsHostApi* api_;
};

/// The host of this plugin; null before `initialize`.
inline const MlsHostApi*& host_table() {
  static const MlsHostApi* table = nullptr;
  return table;
}
[[nodiscard]] inline Host host() { return Host(host_table()); }

/// Copies of the host's objects, made value by value and owned here.
class Specs {
 public:
  /// The object as a struct of this plugin; null for null. @throws PluginError
  template <class T> const T* copy(const MlsObject* object) {
    return static_cast<const T*>(copy(ObjectType<T>::name, object));
  }
  const void* copy(std::string_view type, const MlsObject* object) {
    if (object == nullptr) return nullptr;
    if (const auto known = made_.find(object); known != made_.end()) return known->second.get();
    std::map<std::string, Figure, std::less<>> figures;
    const auto collect = [](void* user, MlsString name, const MlsValue* value) {
      (*static_cast<decltype(figures)*>(user))[std::string(cpp_text(name))] = {
          value->kind, value->flag != 0, value->number, std::string(cpp_text(value->text)), value->object};
    };
    const auto h = host();
    h.check(h.api()->object_read(h.api(), object, &figures, collect));
    auto spec = blank_spec(type);
    made_[object] = spec;
    for_each_leaf(
        *spec_table(type), spec.get(),
        [&](std::string_view path, const MemberType& leaf, void* member) {
          if (const auto at = figures.find(path); at != figures.end()) put(at->second, leaf, member);
        },
        [&](const std::string& path, const MemberType& list, void* member) {
          resize(figures, path, list, member);
        });
    return spec.get();
  }

 private:
  struct Figure {
    std::int32_t kind;
    bool flag;
    double number;
    std::string text;
    const MlsObject* object;
  };
  using Figures = std::map<std::string, Figure, std::less<>>;

  static double base(const Figure& f) {
    if (f.text.empty()) return f.number;
    const auto unit = UnitRegistry::standard().parse_unit(f.text);
    return f.number * unit.mul / unit.div;
  }
  void put(const Figure& f, const MemberType& type, void* member) {
    switch (type.form) {
      case MemberForm::maybe:
        return put(f, *type.item, type.append(member));
      case MemberForm::any_quantity:
        *static_cast<AnyQuantity*>(member) = AnyQuantity::from_base(
            base(f), f.text.empty() ? Exponents{} : UnitRegistry::standard().parse_unit(f.text).exps);
        return;
      case MemberForm::number:
        *static_cast<double*>(member) = f.number;
        return;
      case MemberForm::flag:
        *static_cast<bool*>(member) = f.flag;
        return;
      case MemberForm::text:
        *static_cast<std::string*>(member) = f.text;
        return;
      case MemberForm::choice:
        for (const auto name : type.choices)
          if (name == f.text) type.set(member, f.text, {});
        return;
      case MemberForm::object:
        return type.set(member, ObjectRef{copy(type.what, f.object), type.what}, {});
      default:
        *static_cast<double*>(member) = base(f);  // a quantity
    }
  }
  static void resize(const Figures& figures, const std::string& path, const MemberType& type, void* list) {
    if (type.form == MemberForm::maybe) {
      const auto prefix = path + ".";
      const auto first = figures.lower_bound(prefix);
      if (first != figures.end() && first->first.starts_with(prefix)) type.append(list);
      return;
    }
    const auto prefix = path + "[";
    std::size_t size = 0;
    for (auto it = figures.lower_bound(prefix); it != figures.end() && it->first.starts_with(prefix); ++it) {
      std::size_t index = 0;
      for (std::size_t i = prefix.size();
           i < it->first.size() && std::isdigit(static_cast<unsigned char>(it->first[i])) != 0; ++i)
        index = index * 10 + static_cast<std::size_t>(it->first[i] - '0');
      size = std::max(size, index + 1);
    }
    while (type.count(list) < size) type.append(list);
  }

  std::map<const MlsObject*, std::shared_ptr<void>> made_;
};

namespace detail {
/// Copies that live as long as the current call.
inline Specs*& specs_of_call() {
  thread_local Specs* specs = nullptr;
  return specs;
}
}  // namespace detail

/// The host's entries of one type, in the order of the zoo, as structs that live until the end of the current
/// call.
/// @throws PluginError outside of a call
template <ZooSpec T> [[nodiscard]] std::vector<const T*> zoo() {
  auto* specs = detail::specs_of_call();
  if (specs == nullptr)
    throw PluginError(
        {.id = "mlsysim.plugin.202", .message = "the zoo is read outside of a call of a resolver"});
  const auto h = host();
  const auto type = c_text(ObjectType<T>::name);
  std::uint64_t count = 0;
  h.check(h.api()->zoo_count(h.api(), type, &count));
  std::vector<const T*> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const MlsObject* object = nullptr;
    h.check(h.api()->zoo_at(h.api(), type, i, &object));
    out.push_back(specs->copy<T>(object));
  }
  return out;
}

/// One parameter of an object, named as in zoo files. Numbers are in base units.
struct NamedFigure {
  std::string path;
  std::int32_t kind;  ///< MLS_NUMBER, MLS_FLAG, MLS_STRING or MLS_OBJECT
  double number;
  std::string text;  ///< a text, or the unit of a number
  bool flag;
};
/// Every known parameter of an object. @throws PluginError
[[nodiscard]] inline std::vector<NamedFigure> figures(const MlsObject* object) {
  std::vector<NamedFigure> out;
  const auto h = host();
  h.check(h.api()->object_read(h.api(), object, &out, [](void* user, MlsString name, const MlsValue* v) {
    static_cast<std::vector<NamedFigure>*>(user)->push_back(
        {std::string(cpp_text(name)), v->kind, v->number, std::string(cpp_text(v->text)), v->flag != 0});
  }));
  return out;
}

/// A support query: its arguments, and the receiver of reasons.
class SupportQuery {
 public:
  explicit SupportQuery(const MlsSupportArgs& args) : args_(args) {}
  [[nodiscard]] const MlsProgram& program() const { return *args_.program; }
  [[nodiscard]] std::string_view device() const { return cpp_text(args_.device); }
  [[nodiscard]] std::int32_t effort() const { return args_.effort; }
  [[nodiscard]] bool aggressive() const { return args_.mode == MLS_MODE_AGGRESSIVE; }
  /// Says why the program does not run, or may not.
  void reason(std::int32_t code, std::string_view op, double count, std::string_view location,
              std::string_view hint) {
    MlsReason r{};
    r.struct_size = sizeof r;
    r.code = code;
    r.op = c_text(op);
    r.count = count;
    r.location = c_text(location);
    r.hint = c_text(hint);
    Host(args_.host).check(args_.host->reason(args_.host, args_.call, &r));
    ++reasons_;
  }
  [[nodiscard]] int reasons() const { return reasons_; }

 private:
  const MlsSupportArgs& args_;
  int reasons_ = 0;
};

}  // namespace mlsysim::plugin::sdk
