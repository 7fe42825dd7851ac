#pragma once
/// The value of a field whose type is known only at run time: a number, flag, text, object or nothing.
///
/// Example: a bandwidth of 3.35 TB/s is the double 3.35e12 (B/s), and the precision bf16 is the text "bf16".

#include <mlsysim/units/dimension.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace mlsysim {

/// An object that a field points to; `type` is a static name such as "hardware".
struct ObjectRef {
  const void* object = nullptr;
  std::string_view type;
  friend bool operator==(const ObjectRef&, const ObjectRef&) = default;
};

/// A value that belongs to a host language or a plugin; the library only passes it on.
class HostObject {
 public:
  HostObject() = default;
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;
  virtual ~HostObject() = default;
  /// Its type, as the host calls it: "numpy.ndarray".
  [[nodiscard]] virtual std::string type() const = 0;
  /// The value for readers.
  [[nodiscard]] virtual std::string text() const = 0;
};
using HostRef = std::shared_ptr<const HostObject>;

/// A field's value. Numbers are in the canonical base unit of the field's dimension; a choice is its name.
using Value = std::variant<std::monostate, double, bool, std::string, ObjectRef, HostRef>;

/// The kind of a field's value. `any` is for fields of resolvers made at run time that accept any value.
enum class ValueKind : std::uint8_t { quantity, number, flag, text, choice, object, any };

/// "quantity", "number", ..., "value" for any
[[nodiscard]] std::string_view name_of(ValueKind kind);

}  // namespace mlsysim
