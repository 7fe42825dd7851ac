/// Quantity: a number with its unit.

#include "bindings.hpp"
#include "quantities.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <pybind11/stl.h>

#include <array>
#include <cmath>

namespace mlsysim::python {

std::optional<double> number_of(py::handle value) {
  PyObject* p = value.ptr();
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyBool_Check(p)) return std::nullopt;
  if (PyLong_Check(p)) {
    const double x = PyLong_AsDouble(p);
    if (x == -1.0 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return x;
  }
  // Scalars of numpy and the like: they have a float, but neither length nor text nor dimension.
  if (PyUnicode_Check(p) || PyTuple_Check(p) || PyList_Check(p) || quantity_in(value) != nullptr)
    return std::nullopt;
  const PyNumberMethods* number = Py_TYPE(p)->tp_as_number;
  if (number == nullptr || number->nb_float == nullptr) return std::nullopt;
  if (PyObject_HasAttrString(p, "ndim") == 1 && py::cast<int>(value.attr("ndim")) != 0) return std::nullopt;
  if (std::string_view(Py_TYPE(p)->tp_name).starts_with("numpy.bool")) return std::nullopt;
  const double x = PyFloat_AsDouble(p);
  if (x == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return x;
}

const AnyQuantity* quantity_in(py::handle value) {
  static const py::detail::type_info* type = py::detail::get_type_info(typeid(AnyQuantity));
  if (type == nullptr || !PyObject_TypeCheck(value.ptr(), type->type)) return nullptr;
  return reinterpret_cast<py::detail::instance*>(value.ptr())
      ->get_value_and_holder()
      .value_ptr<AnyQuantity>();
}

py::object to_python(const AnyQuantity& q, std::string_view unit) {
  // A number that is not finite has no text, so it stays in the base unit.
  if (unit.empty() || !std::isfinite(q.base())) return py::cast(q);
  return py::cast(q.to(unit));
}

namespace {

constexpr auto kDims = std::to_array<std::int8_t Exponents::*>(
    {&Exponents::time, &Exponents::data, &Exponents::work, &Exponents::token, &Exponents::sample,
     &Exponents::request, &Exponents::param, &Exponents::money, &Exponents::carbon, &Exponents::energy,
     &Exponents::water});

py::tuple exponents_of(const Exponents& e) {
  py::tuple t(kDims.size());
  for (std::size_t i = 0; i < kDims.size(); ++i) t[i] = py::int_(static_cast<int>(e.*kDims[i]));
  return t;
}
Exponents exponents_from(const py::tuple& t) {
  Exponents e;
  for (std::size_t i = 0; i < kDims.size(); ++i) e.*kDims[i] = static_cast<std::int8_t>(t[i].cast<int>());
  return e;
}

/// `number unit`, the number exactly as Python wrote it.
AnyQuantity with_unit(double number, const std::string& unit) {
  return AnyQuantity::parse(format_exact(number) + " " + unit);
}

AnyQuantity construct(const py::object& value, const std::optional<std::string>& unit) {
  if (const AnyQuantity* q = quantity_in(value)) return unit ? q->to(*unit) : *q;
  if (PyUnicode_Check(value.ptr())) {
    const auto q = AnyQuantity::parse(value.cast<std::string>());
    return unit ? q.to(*unit) : q;
  }
  if (const auto x = number_of(value)) {
    return with_unit(*x, unit ? *unit : std::string());
  }
  throw InputError({.id = "mlsysim.python.001",
                    .message = "a quantity cannot be made of this",
                    .found = std::string(py::str(py::type::of(value))),
                    .expected = "a number with a unit, or a text such as '3.35 TB/s'",
                    .hint = "use q() for arrays and lists"});
}

/// For readers: the authored text where there is one, else six digits in a fitting unit.
std::string shown(const AnyQuantity& q) {
  if (!std::isfinite(q.base())) return pretty(q.base()) + (q.unit().empty() ? "" : " " + q.unit());
  if (q.text().empty()) return pretty(q, 6);
  const std::string unit = q.unit();
  return unit.empty() ? pretty(q.number(), 6) : pretty(q, unit, 6);
}

std::string exact(const AnyQuantity& q) {
  if (std::isfinite(q.base())) return "Quantity('" + q.str() + "')";
  return "Quantity._from_base(float('" + pretty(q.base()) + "'), " +
         std::string(py::str(exponents_of(q.exponents()))) + ")";
}

/// "{:.2f}", "{:.1f GB/s}": a number format, then optionally the unit to show it in. The letters by which
/// pint picks a style of units ("~P", ".3f~C", "L") are read and left aside: here a unit has one spelling.
std::string formatted(const AnyQuantity& q, const std::string& spec) {
  if (spec.empty()) return shown(q);
  const auto blank = spec.find(' ');
  std::string number_spec = spec.substr(0, blank);
  if (const auto style = number_spec.find('~'); style != std::string::npos) number_spec.resize(style);
  if (!number_spec.empty() && std::string_view("PLHCD").find(number_spec.back()) != std::string_view::npos)
    number_spec.pop_back();
  if (spec == "P") return shown(q);
  const std::string unit = blank == std::string::npos ? q.unit() : spec.substr(blank + 1);
  const double x = unit.empty() || blank == std::string::npos ? q.number() : q.in(unit);
  const std::string number = py::str(py::module_::import("builtins").attr("format")(x, number_spec));
  return unit.empty() ? number : number + " " + unit;
}

/// The other operand of an arithmetic operation; empty when Python should ask the other side.
std::optional<AnyQuantity> operand(const py::object& other) {
  if (const AnyQuantity* q = quantity_in(other)) return *q;
  if (const auto x = number_of(other)) return AnyQuantity(*x);
  return std::nullopt;
}

bool is_array(const py::object& other) {
  return PyList_Check(other.ptr()) ||
         (!PyUnicode_Check(other.ptr()) && py::hasattr(other, "__array_interface__"));
}

/// Arithmetic with an array of numbers goes to QuantityArray.
py::object array_operation(const char* name, const py::object& left, const py::object& right) {
  return py::module_::import("mlsysim.arrays").attr("_operate")(name, left, right);
}

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

template <class F> auto binary(const char* name, F f) {
  return [name, f](const py::object& self, const py::object& other) -> py::object {
    if (const auto b = operand(other)) return py::cast(f(self.cast<const AnyQuantity&>(), *b));
    if (is_array(other)) return array_operation(name, self, other);
    return not_implemented();
  };
}
/// An operation that arrays do not have.
template <class F> auto scalar(F f) {
  return [f](const py::object& self, const py::object& other) -> py::object {
    if (const auto b = operand(other)) return py::cast(f(self.cast<const AnyQuantity&>(), *b));
    return not_implemented();
  };
}
template <class F> auto reflected(const char* name, F f) {
  return [name, f](const py::object& self, const py::object& other) -> py::object {
    if (const auto b = operand(other)) return py::cast(f(*b, self.cast<const AnyQuantity&>()));
    if (is_array(other)) return array_operation(name, other, self);
    return not_implemented();
  };
}
template <class F> auto comparison(F f) {
  return [f](const py::object& self, const py::object& other) -> py::object {
    if (const auto b = operand(other)) return py::bool_(f(self.cast<const AnyQuantity&>(), *b));
    return not_implemented();
  };
}

AnyQuantity raised(const AnyQuantity& q, const py::object& exponent) {
  const auto n = number_of(exponent);
  if (n && *n == std::floor(*n) && std::abs(*n) < 128) return q.power(static_cast<int>(*n));
  if (n && q.dimensionless()) return AnyQuantity(std::pow(q.base(), *n));
  if (n && *n == 0.5 && q.exponents().even())
    return AnyQuantity::from_base(std::sqrt(q.base()), q.exponents().half());
  throw DimensionError({.id = "mlsysim.python.002",
                        .message = "a quantity cannot be raised to this power",
                        .found = shown(q) + " to the power " + std::string(py::repr(exponent)),
                        .expected = "a whole power, or 0.5 where every exponent is even"});
}

double plain(const AnyQuantity& q) {
  if (!q.dimensionless())
    throw DimensionError({.id = "mlsysim.python.003",
                          .message = "a quantity with a unit is no plain number",
                          .found = shown(q) + ", " + dimension_name(q.exponents()),
                          .expected = "a dimensionless quantity",
                          .hint = "say the unit: .m_as('" + q.unit() + "')"});
  return q.base();
}

py::object unit_object(const std::string& text) {
  static const py::handle type = py::object(py::module_::import("mlsysim.units").attr("Unit")).release();
  return type(text);
}

std::size_t hash_of(const AnyQuantity& q) {
  // A dimensionless quantity equals its number, so both have one hash.
  const auto number = static_cast<std::size_t>(py::hash(py::float_(q.base())));
  if (q.dimensionless()) return number;
  return py::hash(py::make_tuple(q.base(), exponents_of(q.exponents())));
}

py::tuple reduced_unit(const std::string& text) {
  const UnitExpr u = UnitRegistry::standard().parse_unit(text);
  return py::make_tuple(u.spelling, exponents_of(u.exps), u.scale.num, u.scale.den, u.scale.pow10);
}

/// Numbers in `unit` are `mul / div` base units each.
py::tuple unit_factor(const std::string& text) {
  const UnitExpr u = UnitRegistry::standard().parse_unit(text);
  return py::make_tuple(u.mul, u.div);
}

std::string unit_text(py::handle unit) {
  if (PyUnicode_Check(unit.ptr()) != 0) return unit.cast<std::string>();
  throw InputError({.id = "mlsysim.python.022",
                    .message = "a unit is a text",
                    .found = std::string(py::repr(unit)),
                    .expected = "e.g. \"GB/s\"; that of a quantity q is q.units"});
}

/// A quantity as a unit without counts asks for it: "1/s" of samples a second, "count" of weights. All else
/// keeps its dimension.
AnyQuantity as_asked(const AnyQuantity& q, const std::string& unit) {
  const Exponents asked = UnitRegistry::standard().parse_unit(unit).exps;
  Exponents plain = q.exponents();
  plain.token = plain.sample = plain.request = plain.param = 0;
  return plain == asked && plain != q.exponents() ? AnyQuantity::from_base(q.base(), plain) : q;
}

/// Units, magnitude and dimension of a quantity, and the same value in other units.
void bind_conversions(py::class_<AnyQuantity>& quantity) {
  quantity
      .def(
          "to",
          [](const AnyQuantity& q, py::handle unit) {
            return as_asked(q, unit_text(unit)).to(unit_text(unit));
          },
          py::arg("unit"),
          "The same value shown in another unit; DimensionError when that has another dimension.")
      .def(
          "m_as",
          [](const AnyQuantity& q, py::handle unit) {
            return as_asked(q, unit_text(unit)).in(unit_text(unit));
          },
          py::arg("unit"), "The number in a unit, as a float.")
      .def(
          "to_base", [](const AnyQuantity& q) { return AnyQuantity::from_base(q.base(), q.exponents()); },
          "The same value in the canonical base unit (s, B, FLOP, J, USD, gCO2e, L, ...).")
      .def("to_base_units",
           [](const AnyQuantity& q) { return AnyQuantity::from_base(q.base(), q.exponents()); })
      .def(
          "check",
          [](const AnyQuantity& q, const std::string& unit) {
            return q.exponents() == UnitRegistry::standard().parse_unit(unit).exps;
          },
          py::arg("unit"), "Whether the quantity has the dimension of this unit.")
      .def_property_readonly(
          "magnitude", [](const AnyQuantity& q) { return q.number(); }, "The number in `units`.")
      .def_property_readonly("m", [](const AnyQuantity& q) { return q.number(); })
      .def_property_readonly(
          "units", [](const AnyQuantity& q) { return unit_object(q.unit()); },
          "The unit; equal to every spelling of the same unit.")
      .def_property_readonly("u", [](const AnyQuantity& q) { return unit_object(q.unit()); })
      .def_property_readonly("dimensionless", &AnyQuantity::dimensionless)
      .def_property_readonly(
          "dimension", [](const AnyQuantity& q) { return dimension_name(q.exponents()); },
          "Name of the dimension with its base unit, e.g. 'bandwidth [B/s]'.")
      .def_property_readonly("base", &AnyQuantity::base, "The number in the canonical base unit.")
      .def_property_readonly("_exponents", [](const AnyQuantity& q) { return exponents_of(q.exponents()); });
}

/// How Python shows, converts, copies and pickles a quantity.
void bind_protocols(py::class_<AnyQuantity>& quantity) {
  quantity.def("__repr__", &exact)
      .def("__str__", &shown)
      .def("__format__", &formatted)
      .def("_repr_html_", &shown)
      .def("__hash__", &hash_of)
      .def("__float__", &plain)
      .def("__int__", [](const AnyQuantity& q) { return py::int_(py::float_(plain(q))); })
      .def("__bool__", [](const AnyQuantity& q) { return q.base() != 0; })
      .def("__neg__", [](const AnyQuantity& q) { return -q; })
      .def("__pos__", [](const AnyQuantity& q) { return q; })
      .def("__abs__",
           [](const AnyQuantity& q) { return AnyQuantity::from_base(std::abs(q.base()), q.exponents()); })
      .def(
          "__round__",
          [](const AnyQuantity& q, const py::object& digits) {
            const py::object rounded = py::module_::import("builtins").attr("round")(q.number(), digits);
            return with_unit(rounded.cast<double>(), q.unit());
          },
          py::arg("digits") = 0)
      .def("__copy__", [](const py::object& self) { return self; })
      .def("__deepcopy__", [](const py::object& self, const py::object&) { return self; })
      .def(py::pickle(
          [](const AnyQuantity& q) {
            return py::make_tuple(std::string(q.text()), q.base(), exponents_of(q.exponents()));
          },
          [](const py::tuple& t) {
            const auto text = t[0].cast<std::string>();
            auto computed =
                AnyQuantity::from_base(t[1].cast<double>(), exponents_from(t[2].cast<py::tuple>()));
            if (text.empty()) return computed;
            const auto parsed = AnyQuantity::parse(text);
            return parsed == computed ? parsed : computed;  // the value counts, the text is for readers
          }));
}

/// Arithmetic and comparison, with numbers and texts on either side.
void bind_operators(py::class_<AnyQuantity>& quantity) {
  const auto times = [](const AnyQuantity& a, const AnyQuantity& b) { return a * b; };
  const auto over = [](const AnyQuantity& a, const AnyQuantity& b) {
    if (b.base() == 0)
      throw DomainError({.id = "mlsysim.python.004",
                         .message = "division by zero",
                         .found = shown(a) + " / " + shown(b),
                         .expected = "a divisor other than zero"});
    return a / b;
  };
  const auto plus = [](const AnyQuantity& a, const AnyQuantity& b) { return a + b; };
  const auto minus = [](const AnyQuantity& a, const AnyQuantity& b) { return a - b; };
  // How often one goes into the other, and what is left; both of one dimension.
  const auto whole = [over, minus](const AnyQuantity& a, const AnyQuantity& b) {
    (void)minus(a, b);
    return AnyQuantity(std::floor(over(a, b).base()));
  };
  const auto rest = [whole](const AnyQuantity& a, const AnyQuantity& b) { return a - b * whole(a, b); };
  quantity.def("__mul__", binary("mul", times))
      .def("__floordiv__", scalar(whole))
      .def("__mod__", scalar(rest))
      .def("__rmul__", reflected("mul", times))
      .def("__truediv__", binary("div", over))
      .def("__rtruediv__", reflected("div", over))
      .def("__add__", binary("add", plus))
      .def("__sub__", binary("sub", minus))
      .def("__rsub__", reflected("sub", minus))
      .def("__pow__", [](const AnyQuantity& q, const py::object& n) { return raised(q, n); })
      .def("__radd__",
           [plus](const py::object& self, const py::object& other) -> py::object {
             // sum() starts from the int 0, the one number that has every dimension.
             if (PyLong_CheckExact(other.ptr()) && PyLong_AsLong(other.ptr()) == 0) return self;
             return reflected("add", plus)(self, other);
           })
      .def("__eq__", comparison([](const auto& a, const auto& b) { return a == b; }))
      .def("__ne__", comparison([](const auto& a, const auto& b) { return !(a == b); }))
      .def("__lt__", comparison([](const auto& a, const auto& b) { return a < b; }))
      .def("__le__", comparison([](const auto& a, const auto& b) { return a <= b; }))
      .def("__gt__", comparison([](const auto& a, const auto& b) { return a > b; }))
      .def("__ge__", comparison([](const auto& a, const auto& b) { return a >= b; }));
}

}  // namespace

void bind_units(py::module_& m) {
  py::class_<AnyQuantity> quantity(m, "Quantity", R"(A number with its unit; arithmetic checks dimensions.

Quantity("3.35 TB/s"), Quantity(5, "TFLOP/s"), Quantity(0.5). A text reads as it does in the zoo's files; a number is
dimensionless unless a unit follows. Values are immutable. repr() is exact, str() is for readers.)");
  quantity.def(py::init(&construct), py::arg("value"), py::arg("unit") = py::none());
  quantity.def_static("_from_base", [](double base, const py::tuple& e) {
    return AnyQuantity::from_base(base, exponents_from(e));
  });
  bind_conversions(quantity);
  bind_protocols(quantity);
  bind_operators(quantity);
  quantity.attr("__array_ufunc__") = py::none();  // numpy leaves mixed arithmetic to Quantity

  m.def("_reduced_unit", &reduced_unit);
  m.def("_unit_factor", &unit_factor);
  m.def("_unit_spellings", [] { return UnitRegistry::standard().spellings(); });
  m.def("_canonical_unit", [](const py::tuple& e) { return canonical_unit(exponents_from(e)); });
  m.def("_did_you_mean", [](const py::str& name, const std::vector<std::string>& candidates) {
    // A name may hold what is no text; nothing is near it then.
    return did_you_mean(name.attr("encode")("utf-8", "replace").cast<std::string>(), candidates);
  });
}

}  // namespace mlsysim::python
