#pragma once
/// Python objects as values of fields and back.

#include "bindings.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>

#include <string_view>

namespace mlsysim::python {

/// A Python object that the library passes on without looking. Dies under the GIL, wherever that happens.
class PyHost final : public HostObject {
 public:
  explicit PyHost(py::object object) : object_(std::move(object)) {}
  ~PyHost() override;
  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] const py::object& object() const { return object_; }

 private:
  py::object object_;
};

/// Converts a keyword of a resolver: texts of quantities are parsed, names of choices stay texts.
[[nodiscard]] DynamicValue to_dynamic(const FieldInfo& field, py::handle value);
/// Converts a value whose field is not known: quantities, numbers, flags, texts and specs. Anything else
/// stays as it is.
[[nodiscard]] DynamicValue to_dynamic(py::handle value);
/// The value in the display unit of its field; None where it is absent.
[[nodiscard]] py::object to_python(const FieldInfo& field, const DynamicValue& value);
[[nodiscard]] py::object to_python(const DynamicValue& value);
/// The name of a choice, as a text that also equals what others call the same thing.
[[nodiscard]] py::object choice_object(std::string_view name);
/// The spec inside of a Python object, whatever its type; `object` is null when it is none.
[[nodiscard]] ObjectRef object_in(py::handle value);

}  // namespace mlsysim::python
