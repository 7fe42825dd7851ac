// The rows of a space as columns of Python.

#include "space_rows.hpp"
#include "plugin_host.hpp"
#include "values.hpp"

#include <mlsysim/explore/ask/optimize.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace mlsysim::python {

void heed_signals() {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> next{0};
  const auto now = Clock::now().time_since_epoch();
  if (now.count() < next.load(std::memory_order_relaxed)) return;
  next.store((now + std::chrono::duration_cast<Clock::duration>(std::chrono::milliseconds(20))).count(),
             std::memory_order_relaxed);
  const py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void warn_of(const SweepCallbacks& callbacks) {
  for (const auto& f : callbacks.failures())
    if (const auto text = fmt::format("the callback {}.{} failed: {}", f.who, f.event, f.what);
        PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0)
      throw py::error_already_set();
}

std::vector<Callback*> pointers_to(const std::vector<std::shared_ptr<Callback>>& kept) {
  std::vector<Callback*> out;
  for (const auto& c : kept) out.push_back(c.get());
  return out;
}

namespace {

/// Columns of results as they are shown: (name, unit, buffer of numbers) each.
py::list shown_columns(const Space& space, const std::vector<std::string>& texts,
                       const std::vector<std::string>& names, std::vector<std::vector<double>> columns) {
  const ExpressionScope scope{space.sample().entry.inputs, space.sample().entry.results};
  py::list out;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const auto e = Expression::parse(texts[k], scope);
    const std::string unit = e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit());
    const double scale = unit.empty() ? 1.0 : AnyQuantity::parse("1 " + unit).base();
    for (auto& x : columns[k]) x /= scale;
    out.append(py::make_tuple(
        names[k], unit,
        py::bytes(reinterpret_cast<const char*>(columns[k].data()), columns[k].size() * sizeof(double))));
  }
  return out;
}

/// The ends of the intervals at points of a space, a column for each end of each result.
std::vector<std::vector<double>> interval_columns(SpaceIntervals& intervals, std::uint64_t first,
                                                  std::uint64_t last) {
  std::vector<std::vector<double>> out(2 * intervals.results().size());
  for (std::uint64_t i = first; i < last; ++i) {
    heed_signals();
    std::vector<SpaceIntervals::Ends> ends(intervals.results().size(), {NAN, NAN});
    try {
      ends = intervals.at(i);
    } catch (const Error&) {
      // A point without a subject is skipped, and why stands beside the rows.
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      out[2 * k].push_back(ends[k].lower);
      out[2 * k + 1].push_back(ends[k].upper);
    }
  }
  return out;
}

}  // namespace

py::dict space_rows(const Space& space, const Question& question, const RowsAsked& asked,
                    const PointRange& range) {
  const auto& [about, interval, title] = asked;
  const std::size_t n = range.last - range.first;
  std::vector<std::vector<double>> columns(question.show.size(),
                                           std::vector<double>(n, std::numeric_limits<double>::quiet_NaN()));
  std::string feasible(n, 0);
  std::vector<std::pair<std::uint64_t, std::string>> skipped;
  const auto watching = the_host().kept_callbacks();  // another thread may reload their plugin
  SweepCallbacks plugins(pointers_to(watching), title);
  std::vector<std::string> ends_of, ends_names;
  std::vector<std::vector<double>> ends;
  {
    const py::gil_scoped_release unlocked;
    visit_points(space, question, range.first, range.last, [&](const RowBlock& b) {
      heed_signals();
      const std::size_t at = b.first - range.first;
      if (!b.skipped.empty()) skipped.emplace_back(b.first, std::string(b.skipped));
      for (std::size_t k = 0; k < b.shown.size(); ++k)
        std::copy_n(b.shown[k], b.points, columns[k].begin() + static_cast<std::ptrdiff_t>(at));
      for (std::size_t p = 0; p < b.points; ++p) feasible[at + p] = static_cast<char>(b.feasible[p]);
    });
    if (interval > 0) {
      SpaceIntervals intervals(space, about, question.show, interval);
      ends = interval_columns(intervals, range.first, range.last);
      for (const auto& name : intervals.results())
        for (const char* end : {"_lower", "_upper"}) {
          ends_of.push_back(name);
          ends_names.push_back(name + end);
        }
    }
    plugins.finish(static_cast<double>(n));
  }
  warn_of(plugins);
  py::list axis_rows, why;
  std::uint64_t stride = space.size();
  for (const auto& axis : space.axes()) {
    stride /= axis.size();
    py::list labels;
    for (std::size_t r = 0; r < axis.size(); ++r) {
      py::list values;
      for (std::size_t i = 0; i < axis.names.size(); ++i) {
        const DynamicValue v = axis.value(r, i);
        values.append(std::holds_alternative<ObjectRef>(v.value) ? py::object(py::str(axis.label(r)))
                                                                 : to_python(v));
      }
      labels.append(py::tuple(values));
    }
    axis_rows.append(py::make_tuple(axis.names, labels, stride));
  }
  py::list shown = shown_columns(space, question.show, question.show, std::move(columns));
  for (const auto& column : shown_columns(space, ends_of, ends_names, std::move(ends))) shown.append(column);
  for (const auto& [first, reason] : skipped) why.append(py::make_tuple(first, reason));
  py::dict out;
  out["points"] = n;
  out["first"] = range.first;
  out["digest"] = digest_of(space, question);
  out["axes"] = axis_rows;
  out["shown"] = shown;
  out["feasible"] = py::bytes(feasible);
  out["skipped"] = why;
  return out;
}

}  // namespace mlsysim::python
