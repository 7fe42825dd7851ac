/// The generic tools on laws: batches, derivatives, bounds, inversion, derivations. Numbers are in base units; the units
/// are put on and taken off in mlsysim/laws.py.

#include "bindings.hpp"

#include <mlsysim/resolve/resolver.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/invert.hpp>

#include <pybind11/stl.h>

#include <string>
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
    throw InputError({.id = "mlsysim.python.020",
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
    if (PyFloat_Check(item.ptr())) columns.emplace_back(item.cast<double>());
    else columns.emplace_back(std::span<const double>(numbers_in(item.cast<py::buffer>(), false, held[i])));
  }
  std::vector<std::span<double>> results;
  for (std::size_t i = 0; i < out.size(); ++i)
    results.push_back(numbers_in(py::object(out[i]).cast<py::buffer>(), true, held[inputs.size() + i]));
  const py::gil_scoped_release free;
  check_columns(law, columns, points);
  BatchKernel(law).run(columns, results, points);
}

py::list run_gradient(const Resolver& resolver, const std::vector<double>& in) {
  const LawEntry& law = law_of(resolver);
  const Gradient g = gradient(law, in);
  static constexpr const char* names[] = {"smooth", "kink", "step"};
  py::list out;
  for (std::size_t r = 0; r < law.results.size(); ++r)
    for (std::size_t i = 0; i < law.inputs.size(); ++i) {
      const auto& s = g.at(r, i);
      out.append(py::make_tuple(law.results[r].name, law.inputs[i].name, names[static_cast<int>(s.slope)], s.right, s.left,
                                s.value(), g.elasticity(r, i)));
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
  query.relation = relation == "at_most" ? Relation::at_most : relation == "at_least" ? Relation::at_least : Relation::equals;
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
  m.def("_law_gradient", &run_gradient);
  m.def("_law_bounds", &run_bounds);
  m.def("_law_inverse", &run_inverse);
  m.def("_law_derivation", [](const Resolver& r, const std::vector<double>& in, const std::vector<std::string>& open) {
    return to_text(derive(law_of(r), in, open));
  });
  m.def("_law_inputs", [](const Resolver& r) {
    std::vector<std::string> names;
    for (const auto& f : law_of(r).inputs) names.push_back(f.name);
    return names;
  });
}

}  // namespace mlsysim::python
