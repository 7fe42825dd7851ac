/// The generic tools on laws: batches, derivatives, bounds, inversion, derivations. Numbers are in base
/// units; the units are put on and taken off in mlsysim/laws.py.

#include "bindings.hpp"
#include "quantities.hpp"

#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/invert.hpp>
#include <mlsysim/units/format.hpp>

#include <pybind11/stl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::python {
namespace {

const LawEntry& law_of(const Resolver& resolver) {
  if (const auto* law = resolver.law()) return *law;
  throw SolverError({.id = "mlsysim.python.019",
                     .message = resolver.info().name + " is not a law",
                     .key = resolver.info().name,
                     .found = "a resolver that is no equation over numbers alone",
                     .expected = "a law, such as those of mlsysim.laws",
                     .hint = "call solve() in a loop"});
}

/// float64 numbers one after the other, as numpy has them; no copy.
std::span<double> numbers_in(const py::buffer& buffer, bool writable, py::buffer_info& info) {
  info = buffer.request(writable);
  const bool fits = info.format == py::format_descriptor<double>::format() && info.ndim == 1 &&
                    (info.shape[0] <= 1 || info.strides[0] == static_cast<py::ssize_t>(sizeof(double)));
  if (!fits)
    throw InputError(
        {.id = "mlsysim.python.020",
         .message = "a column is not a plain array",
         .found = "format '" + info.format + "' with " + std::to_string(info.ndim) + " dimensions",
         .expected = "float64, one dimension, contiguous",
         .hint = "numpy.ascontiguousarray(x, dtype=float)"});
  return {static_cast<double*>(info.ptr), static_cast<std::size_t>(info.shape[0])};
}

/// Evaluates columns into `out`; each input is a float or a buffer.
void run_batch(const Resolver& resolver, const py::list& inputs, const py::list& out, std::size_t points) {
  const LawEntry& law = law_of(resolver);
  std::vector<py::buffer_info> held(inputs.size() + out.size());
  std::vector<Column> columns;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const py::object item = inputs[i];
    if (PyFloat_Check(item.ptr()))
      columns.emplace_back(item.cast<double>());
    else
      columns.emplace_back(std::span<const double>(numbers_in(item.cast<py::buffer>(), false, held[i])));
  }
  std::vector<std::span<double>> results;
  for (std::size_t i = 0; i < out.size(); ++i)
    results.push_back(numbers_in(py::object(out[i]).cast<py::buffer>(), true, held[inputs.size() + i]));
  const py::gil_scoped_release free;
  check_columns(law, columns, points);
  BatchKernel(law).run(columns, results, points);
}

/// A law over columns that are as it takes them: numpy arrays of float64 in base units, quantities, floats.
/// Calls of `batch` share the compiled tape, its buffers and the names.
class LawBatch {
 public:
  LawBatch(std::shared_ptr<Resolver> resolver, py::object array_type)
      : resolver_(std::move(resolver)),
        law_(law_of(*resolver_)),
        kernel_(law_),
        array_type_(std::move(array_type)),
        empty_(py::module_::import("numpy").attr("empty")),
        magnitude_("magnitude"),
        unit_("_unit") {
    for (const auto& f : law_.inputs) inputs_.emplace_back(f);
    for (const auto& f : law_.results) results_.emplace_back(f);
  }

  /// The results of a call of `batch`; None where something must be converted, or said about it.
  py::object run(const py::dict& given, const py::object& out) {
    if (busy_) return py::none();
    const Views views;
    std::vector<Py_buffer>& held = views.held;
    held.reserve(inputs_.size() + results_.size());
    std::vector<Column> columns;
    std::size_t points = 1, used = 0;
    bool sized = false;
    for (const auto& in : inputs_) {
      PyObject* value = PyDict_GetItem(given.ptr(), in.name.ptr());
      if (value != nullptr) ++used;
      if (value == nullptr || value == Py_None) {
        const auto* usual = std::get_if<double>(&in.field->default_value);
        if (in.field->required || usual == nullptr) return py::none();
        columns.emplace_back(*usual);
        continue;
      }
      double one = 0;
      if (in.number(value, one)) {
        columns.emplace_back(one);
        continue;
      }
      const auto column = column_of(in, value, held);
      if (!column.data() || (sized && column.size() != points)) return py::none();
      for (const double x : column)
        if (!in.range.holds(x)) return py::none();
      points = column.size();
      sized = true;
      columns.emplace_back(column);
    }
    if (used != given.size()) return py::none();
    std::vector<std::span<double>> to(results_.size());
    std::vector<py::object> made;
    if (!places(out, points, to, made, held)) return py::none();
    evaluate(columns, to, points);
    if (!out.is_none()) return out;
    py::dict answer;
    for (std::size_t i = 0; i < results_.size(); ++i)
      answer[results_[i].name] = results_[i].unit.is_none() ? made[i] : array_of(made[i], results_[i].unit);
    return answer;
  }

 private:
  struct Named {
    const FieldInfo* field;
    py::str name;
    py::object unit;  ///< base unit; None for plain numbers
    BaseRange range;

    explicit Named(const FieldInfo& f)
        : field(&f),
          name(py::reinterpret_steal<py::str>(PyUnicode_InternFromString(f.name.c_str()))),
          range(BaseRange::of(f)) {
      if (f.kind == ValueKind::quantity)
        unit = py::str(canonical_unit(f.exps));
      else
        unit = py::none();
    }
    /// One value for all points that is right as it is.
    bool number(PyObject* value, double& x) const {
      const AnyQuantity* q = quantity_in(value);
      if (q != nullptr ? !(q->exponents() == field->exps) : !PyFloat_Check(value) || !unit.is_none())
        return false;
      x = q != nullptr ? q->base() : PyFloat_AS_DOUBLE(value);
      return range.holds(x);
    }
  };
  /// Buffers in use; let go at the end of a call.
  struct Views {
    mutable std::vector<Py_buffer> held;
    Views() = default;
    Views(const Views&) = delete;
    Views& operator=(const Views&) = delete;
    ~Views() {
      for (auto& view : held) PyBuffer_Release(&view);
    }
  };

  /// The numbers of a contiguous array of float64; nothing for any other object.
  static std::span<double> doubles_in(PyObject* array, int flags, std::vector<Py_buffer>& held) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
      PyErr_Clear();
      return {};
    }
    held.push_back(view);
    if (view.ndim != 1 || view.itemsize != sizeof(double) || view.format == nullptr ||
        std::string_view(view.format) != "d")
      return {};
    return {static_cast<double*>(view.buf), static_cast<std::size_t>(view.shape[0])};
  }
  std::span<const double> column_of(const Named& in, PyObject* value, std::vector<Py_buffer>& held) const {
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != array_type_.ptr())
      return in.unit.is_none() && PyObject_CheckBuffer(value) != 0 ? doubles_in(value, 0, held)
                                                                   : std::span<double>();
    const auto part = [&](const py::str& name) {
      return py::reinterpret_steal<py::object>(PyObject_GetAttr(value, name.ptr()));
    };
    const py::object unit = part(unit_), magnitude = part(magnitude_);
    if (!unit || !magnitude || in.unit.is_none() || PyUnicode_Compare(unit.ptr(), in.unit.ptr()) != 0) {
      PyErr_Clear();
      return {};
    }
    return doubles_in(magnitude.ptr(), 0, held);
  }
  /// Where the results go: the caller's arrays, new ones, or scratch for those that nobody asked for.
  bool places(const py::object& out, std::size_t points, std::vector<std::span<double>>& to,
              std::vector<py::object>& made, std::vector<Py_buffer>& held) {
    const bool asked = !out.is_none();
    if (asked && !PyDict_CheckExact(out.ptr())) return false;
    std::size_t found = 0;
    const auto count = asked ? py::object() : py::object(py::int_(points));
    for (std::size_t i = 0; i < results_.size(); ++i) {
      PyObject* array = asked ? PyDict_GetItem(out.ptr(), results_[i].name.ptr()) : nullptr;
      if (!asked) {
        array = made.emplace_back(
                        py::reinterpret_steal<py::object>(PyObject_CallOneArg(empty_.ptr(), count.ptr())))
                    .ptr();
        if (array == nullptr) throw py::error_already_set();
      }
      if (array == nullptr) {
        scratch_.resize(results_.size());
        scratch_[i].resize(points);
        to[i] = scratch_[i];
        continue;
      }
      ++found;
      to[i] = doubles_in(array, PyBUF_WRITABLE, held);
      if (to[i].size() < points) return false;
    }
    return !asked || found == static_cast<std::size_t>(PyDict_GET_SIZE(out.ptr()));
  }
  /// Long columns let other threads run meanwhile; the kernel is one thread's.
  void evaluate(std::span<const Column> in, std::span<const std::span<double>> out, std::size_t points) {
    constexpr std::size_t kLong = 16384;
    if (points < kLong) return kernel_.run(in, out, points);
    busy_ = true;
    try {
      const py::gil_scoped_release free;
      kernel_.run(in, out, points);
    } catch (...) {
      busy_ = false;
      throw;
    }
    busy_ = false;
  }
  py::object array_of(const py::object& magnitude, const py::object& unit) const {
    auto* type = reinterpret_cast<PyTypeObject*>(array_type_.ptr());
    auto array = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
    if (!array || PyObject_SetAttr(array.ptr(), magnitude_.ptr(), magnitude.ptr()) != 0 ||
        PyObject_SetAttr(array.ptr(), unit_.ptr(), unit.ptr()) != 0)
      throw py::error_already_set();
    return array;
  }

  std::shared_ptr<Resolver> resolver_;
  const LawEntry& law_;
  BatchKernel kernel_;
  py::object array_type_, empty_;
  py::str magnitude_, unit_;
  std::vector<Named> inputs_, results_;
  std::vector<std::vector<double>> scratch_;
  bool busy_ = false;  ///< another thread is in the kernel without the GIL; read and written under the GIL
};

py::list run_gradient(const Resolver& resolver, const std::vector<double>& in) {
  const LawEntry& law = law_of(resolver);
  const Gradient g = gradient(law, in);
  static constexpr const char* names[] = {"smooth", "kink", "step"};
  py::list out;
  for (std::size_t r = 0; r < law.results.size(); ++r)
    for (std::size_t i = 0; i < law.inputs.size(); ++i) {
      const auto& s = g.at(r, i);
      out.append(py::make_tuple(law.results[r].name, law.inputs[i].name, names[static_cast<int>(s.slope)],
                                s.right, s.left, s.value(), g.elasticity(r, i)));
    }
  return out;
}

py::list run_bounds(const Resolver& resolver, const std::vector<std::pair<double, double>>& box) {
  std::vector<Interval> in;
  for (const auto& [low, high] : box) in.push_back(Interval{low, high});
  py::list out;
  for (const auto& r : bound(law_of(resolver), in).results) out.append(py::make_tuple(r.low, r.high));
  return out;
}

py::dict run_inverse(const Resolver& resolver, const std::vector<double>& in, const std::string& free,
                     const std::string& result, const std::string& relation, double target) {
  const LawEntry& law = law_of(resolver);
  InverseQuery query{.free = law.input(free), .result = law.result(result), .target = target};
  query.relation = relation == "at_most"    ? Relation::at_most
                   : relation == "at_least" ? Relation::at_least
                                            : Relation::equals;
  const Inversion answer = invert(law, in, query);
  static constexpr const char* outcomes[] = {"unique", "several", "everywhere", "none", "undefined"};
  py::dict d;
  d["outcome"] = outcomes[static_cast<int>(answer.outcome)];
  py::list solutions;
  for (const auto& s : answer.solutions) solutions.append(py::make_tuple(s.low, s.high, s.value, s.residual));
  d["solutions"] = solutions;
  d["reachable"] = py::make_tuple(answer.reachable_low, answer.reachable_high);
  d["evaluations"] = answer.evaluations;
  d["exhaustive"] = answer.exhaustive;
  return d;
}

}  // namespace

void bind_tools(py::module_& m) {
  m.def("_law_batch", &run_batch);
  py::class_<LawBatch>(m, "_LawBatch")
      .def(py::init<std::shared_ptr<Resolver>, py::object>())
      .def("run", &LawBatch::run);
  m.def("_law_gradient", &run_gradient);
  m.def("_law_bounds", &run_bounds);
  m.def("_law_inverse", &run_inverse);
  m.def("_law_derivation",
        [](const Resolver& r, const std::vector<double>& in, const std::vector<std::string>& open) {
          return to_text(derive(law_of(r), in, open));
        });
  m.def("_law_inputs", [](const Resolver& r) {
    std::vector<std::string> names;
    for (const auto& f : law_of(r).inputs) names.push_back(f.name);
    return names;
  });
}

}  // namespace mlsysim::python
