#include "keywords.hpp"

#include "quantities.hpp"
#include "values.hpp"

#include <mlsysim/pipeline/adapters.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

namespace mlsysim::python {

Keywords::Keywords(std::span<const FieldInfo> fields, std::string_view owner)
    : fields_(fields), owner_(owner) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    names_.push_back(PyUnicode_InternFromString(fields[i].name.c_str()));
    const bool number = fields[i].kind == ValueKind::quantity || fields[i].kind == ValueKind::number;
    ranges_.push_back(number ? BaseRange::of(fields[i]) : BaseRange{});
    if (fields[i].required) required_.set(i);
  }
}

Keywords::~Keywords() {
  if (Py_IsInitialized() == 0) return;
  for (PyObject* name : names_) Py_XDECREF(name);
}

std::size_t Keywords::index_of(PyObject* name) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return i;
  const auto text = py::handle(name).cast<std::string>();
  for (const std::string_view wanted : {std::string_view(text), canonical_key(text)})
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].name == wanted) return i;
  std::vector<std::string> names;
  for (const auto& f : fields_) names.push_back(f.name);
  throw InputError(unknown_name("mlsysim.python.015", fmt::format("{} takes no '{}'", owner_, text), text,
                                names, fmt::format("some of {}", fmt::join(names, ", "))));
}

void Keywords::write(std::size_t index, void* object, PyObject* value, FieldMask& supplied,
                     std::vector<py::object>& keeps) const {
  const FieldInfo& field = fields_[index];
  if (value == Py_None && !field.required) return;
  if (field.kind == ValueKind::quantity || field.kind == ValueKind::number) {
    // Numbers of the right dimension and range are written at once; `write_checked` handles all others.
    const AnyQuantity* q = quantity_in(value);
    const bool fits =
        q != nullptr ? q->exponents() == field.exps : PyFloat_Check(value) && field.exps.dimensionless();
    const double x = q != nullptr ? q->base() : fits ? PyFloat_AS_DOUBLE(value) : 0.0;
    if (fits && ranges_[index].holds(x)) {
      field.write(object, Value(x));
      supplied.set(index);
      return;
    }
  }
  const DynamicValue v = to_dynamic(field, value);
  write_checked(field, object, v);
  if (std::holds_alternative<ObjectRef>(v.value)) keeps.push_back(py::reinterpret_borrow<py::object>(value));
  supplied.set(index);
}

void Keywords::write_all(const py::dict& values, void* object, FieldMask& supplied,
                         std::vector<py::object>& keeps) const {
  for (const auto& [name, value] : values) write(index_of(name.ptr()), object, value.ptr(), supplied, keeps);
}

void Keywords::require(const FieldMask& supplied) const {
  const FieldMask missing = required_ & ~supplied;
  if (missing.none()) return;
  std::vector<std::string> names;
  std::string first;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!missing[i]) continue;
    if (names.empty()) first = fields_[i].name;
    names.push_back(fmt::format("'{}' ({})", fields_[i].name, fields_[i].meaning));
  }
  throw InputError({.id = "mlsysim.python.016",
                    .message = fmt::format("{} misses {}", owner_, fmt::join(names, " and ")),
                    .key = first,
                    .found = "nothing",
                    .expected = "a value for each"});
}

}  // namespace mlsysim::python
