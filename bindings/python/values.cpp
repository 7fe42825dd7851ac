#include "values.hpp"

#include "quantities.hpp"
#include "spec_table.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim::python {

PyHost::~PyHost() {
  if (Py_IsInitialized() == 0) {
    (void)object_.release();  // Python is gone; so is the object
    return;
  }
  const py::gil_scoped_acquire gil;
  object_ = py::object();
}

std::string PyHost::type() const {
  const py::gil_scoped_acquire gil;
  const py::object type = py::type::of(object_);
  return std::string(py::str(type.attr("__module__"))) + "." +
         std::string(py::str(type.attr("__qualname__")));
}

std::string PyHost::text() const {
  const py::gil_scoped_acquire gil;
  return py::repr(object_);
}

ObjectRef object_in(py::handle value) {
  const SpecType* type = spec_type_of(value);
  if (type == nullptr || type->object.empty()) return {};
  return {type->held(value).get(), type->object};
}

py::object choice_object(std::string_view name) {
  static const py::handle type = py::object(py::module_::import("mlsysim.choices").attr("Choice")).release();
  return type(py::str(name.data(), name.size()));
}

/// The entry of a name; of a model or a device also of one that a hub, a driver or a person gives it.
template <class T> const T& entry_named(const std::string& name) {
  const Zoo& zoo = standard_zoo();
  if constexpr (std::is_same_v<T, HardwareNode>)
    if (zoo.find<T>(name) == nullptr)
      if (const auto called = devices_called(zoo, name); called.size() == 1) return *called.front();
  if constexpr (std::is_same_v<T, Workload>) {
    static auto* reader = new FieldReader(zoo);  // keeps checkpoints as long as the zoo lives
    if (detail::model_of(name, zoo).weight_format.empty())
      if (const T* found = reader->model(name)) return *found;
  }
  return zoo.at<T>(name);
}

DynamicValue to_dynamic(py::handle value) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return {value.ptr() == Py_True};
  if (const auto* q = quantity_in(value)) return {*q};
  if (PyUnicode_Check(value.ptr())) return {value.cast<std::string>()};
  if (const auto x = number_of(value)) return {*x};
  const ObjectRef spec = object_in(value);
  if (spec.object != nullptr) return {Value(spec)};
  return {HostRef(std::make_shared<PyHost>(py::reinterpret_borrow<py::object>(value)))};
}

DynamicValue to_dynamic(const FieldInfo& field, py::handle value) {
  if (field.kind == ValueKind::quantity && PyUnicode_Check(value.ptr()))
    return {AnyQuantity::parse(value.cast<std::string>())};
  if (field.kind == ValueKind::object && PyUnicode_Check(value.ptr())) {
    // The name of an entry stands for the entry.
    const auto name = value.cast<std::string>();
    ObjectRef found;
    if (with_spec_type(field.object_type, [&]<class T>() {
          found = {&entry_named<T>(name), ObjectType<T>::name};
        }))
      return {Value(found)};
  }
  return to_dynamic(value);
}

py::object to_python(const DynamicValue& value) {
  if (const auto* x = std::get_if<double>(&value.value)) {
    if (value.exps.dimensionless()) return py::float_(*x);
    return py::cast(AnyQuantity::from_base(*x, value.exps));
  }
  if (const auto* b = std::get_if<bool>(&value.value)) return py::bool_(*b);
  if (const auto* s = std::get_if<std::string>(&value.value)) return py::str(*s);
  if (const auto* o = std::get_if<ObjectRef>(&value.value)) {
    return spec_type_named(o->type).cast(const_cast<void*>(o->object), owner_of(o->object));
  }
  if (const auto* h = std::get_if<HostRef>(&value.value); h != nullptr && *h) {
    if (const auto* host = dynamic_cast<const PyHost*>(h->get())) return host->object();
    return py::str((*h)->text());
  }
  return py::none();
}

py::object to_python(const FieldInfo& field, const DynamicValue& value) {
  if (const auto* s = std::get_if<std::string>(&value.value); s != nullptr && field.kind == ValueKind::choice)
    return choice_object(*s);
  if (const auto* x = std::get_if<double>(&value.value)) {
    if (field.kind == ValueKind::quantity)
      return to_python(AnyQuantity::from_base(*x, field.exps), field.unit);
    if (field.kind == ValueKind::number && field.integral && *x == std::floor(*x) && std::abs(*x) < 9e15)
      return py::int_(static_cast<long long>(*x));
  }
  return to_python(value);
}

}  // namespace mlsysim::python
