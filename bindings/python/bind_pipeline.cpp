/// Pipelines: stages of C++ and Python on one graph.
///
/// A stage written in Python is a resolver made at run time that holds its Python object: nothing is lost
/// when Python drops its own reference. It takes the GIL around calls and destruction and is not thread-safe.

#include "plugin_host.hpp"
#include "result_box.hpp"
#include "values.hpp"

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/resolver_api/detail/standard_registry.hpp>
#include <mlsysim/resolver_api/dynamic_resolver.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

/// Hidden output of a Python stage: the very object that its solve() returned.
constexpr const char* kWhole = "result";

Infeasible infeasible_from(const py::tuple& t) {
  Infeasible why;
  why.reason = t[1].cast<std::string>();
  why.smallest_change = t[2].cast<std::string>();
  for (const auto& [name, value] : t[3].cast<py::dict>())
    why.facts.push_back({name.cast<std::string>(), std::string(py::str(value))});
  return why;
}

ValueKind kind_named(const std::string& name) {
  for (const auto kind : {ValueKind::number, ValueKind::quantity, ValueKind::flag, ValueKind::text})
    if (name_of(kind) == name) return kind;
  return ValueKind::any;
}

/// The value, where it has the kind of the field; an int for a number, a text for a quantity.
DynamicValue default_of(const DynamicField& field, const py::handle& value) {
  if (value.is_none() || field.kind == ValueKind::object || field.kind == ValueKind::any) return {};
  return to_dynamic(value);
}

/// @param inputs (name, required, kind, unit, default) each, a kind may also be "count"; @param outputs
/// (name, kind, unit) each
/// @param evaluate called with a dict of the inputs that have a value; returns ("ok", whole result,
/// [outputs]), ("infeasible", reason, smallest change, facts) or ("failed", type of the exception, its text)
std::shared_ptr<Resolver> python_stage(const std::string& name, const std::string& tier,
                                       const std::string& about, const std::string& origin,
                                       const py::list& inputs, const py::list& outputs,
                                       const py::object& evaluate) {
  ResolverInfo info;
  info.name = name;
  info.tier = choice_of<Tier>(tier).value_or(Tier::model);
  info.about = about;
  info.origin = origin;
  std::vector<DynamicField> in, out;
  std::vector<std::string> names;
  for (const auto& row : inputs) {
    const auto t = row.cast<py::tuple>();
    const auto input = t[0].cast<std::string>();
    names.push_back(input);
    const auto kind = t[2].cast<std::string>();
    DynamicField field{.name = input,
                       .kind = kind == "count" ? ValueKind::number : kind_named(kind),
                       .unit = t[3].cast<std::string>(),
                       .required = t[1].cast<bool>()};
    field.integral = kind == "count";
    // Objects of the vocabulary keep their type, so that a wrong one is refused before the stage runs.
    if (const auto* known = ResolverRegistry::standard().key_field(input);
        known != nullptr && known->kind == ValueKind::object) {
      field.kind = ValueKind::object;
      field.object_type = known->object_type;
      field.meaning = known->meaning;
    }
    field.default_value = default_of(field, t[4]);
    in.push_back(std::move(field));
  }
  for (const auto& row : outputs) {
    const auto t = row.cast<py::tuple>();
    out.push_back({.name = t[0].cast<std::string>(),
                   .kind = kind_named(t[1].cast<std::string>()),
                   .unit = t[2].cast<std::string>()});
  }
  out.push_back({.name = kWhole, .meaning = "what solve() returned", .shared = false});

  const auto held = std::make_shared<PyHost>(evaluate);
  return std::make_shared<DynamicResolver>(
      std::move(info), std::move(in), std::move(out),
      [held, name, names = std::move(names)](std::span<const DynamicValue> values,
                                             SolveContext&) -> DynamicAnswer {
        const py::gil_scoped_acquire gil;
        py::dict given;
        for (std::size_t i = 0; i < values.size(); ++i)
          if (!std::holds_alternative<std::monostate>(values[i].value))
            given[py::str(names[i])] = to_python(values[i]);
        const py::tuple answer = held->object()(given);
        const auto status = answer[0].cast<std::string>();
        if (status == "failed")
          throw PluginError({.id = "mlsysim.python.180",
                             .message = fmt::format("{} raised {}", name, answer[1].cast<std::string>()),
                             .found = answer[2].cast<std::string>(),
                             .expected = "a result, or Infeasible with a reason",
                             .hint = "correct its solve(); called from Python it shows the traceback"});
        if (status != "ok") return infeasible_from(answer);
        std::vector<DynamicValue> result;
        for (const auto& value : answer[2].cast<py::list>()) result.push_back(to_dynamic(value));
        result.emplace_back(HostRef(std::make_shared<PyHost>(answer[1])));
        return result;
      });
}

/// A run with everything that it points to.
struct HeldRun {
  Run run;
  std::vector<py::object> keeps;
  explicit HeldRun(const Pipeline& p) : run(p) {}
};

/// The result of a stage as Python sees it. `classes` finds the class of a resolver's results by its name.
py::object result_of_stage(const Resolver& resolver, const void* result,
                           const std::shared_ptr<const void>& owner, const py::object& classes) {
  if (const auto* whole = find_field(resolver.outputs(), kWhole); whole != nullptr && is_dynamic(*whole))
    return to_python(read_dynamic(*whole, result));
  const py::type type = classes(resolver.info().name);
  return make_result(reinterpret_cast<PyTypeObject*>(type.ptr()),
                     std::make_shared<Box>(std::shared_ptr<const Resolver>(owner, &resolver), result, owner));
}

/// Passes events to `notify(event, values)` of a Python observer. Calls come without the GIL.
class PyCallback final : public Callback {
 public:
  PyCallback(py::object observer, py::object classes, std::weak_ptr<HeldRun> owner)
      : observer_(std::move(observer)), classes_(std::move(classes)), owner_(std::move(owner)) {}

  [[nodiscard]] std::string name() const override {
    const py::gil_scoped_acquire gil;
    return observer_.attr("name").cast<std::string>();
  }
  void on_pipeline_start(const Run& run) override {
    notify("on_pipeline_start", [&](py::dict& d) { d["pipeline_name"] = run.pipeline().name(); });
  }
  void on_pipeline_end(const Run& run, double seconds) override {
    notify("on_pipeline_end", [&](py::dict& d) {
      d["pipeline_name"] = run.pipeline().name();
      d["seconds"] = seconds;
    });
  }
  void on_stage_start(const StageEvent& e) override {
    notify("on_stage_start", [&](py::dict& d) { d["stage_name"] = e.stage; });
  }
  void on_stage_end(const StageEvent& e) override {
    notify("on_stage_end", [&](py::dict& d) {
      d["stage_name"] = e.stage;
      d["result"] = result_of_stage(e.resolver, e.result, owner_.lock(), classes_);
      d["seconds"] = e.seconds;
    });
  }
  void on_skip(const StageEvent& e) override { with_reason("on_skip", e); }
  void on_error(const StageEvent& e) override { with_reason("on_error", e); }
  void on_infeasible(const StageEvent& e) override { with_reason("on_infeasible", e); }
  void on_break(const BreakEvent& e) override {
    notify("on_break", [&](py::dict& d) {
      const auto& why = about(e.why);
      d["stage_name"] = e.at.stage;
      d["reason"] = name_of(e.why);
      d["id"] = why.id;
      d["severity"] = why.severity;
      d["text"] = e.at.reason;
      d["hint"] = why.hint;
    });
  }
  void on_progress(const ProgressEvent& e) override {
    notify("on_progress", [&](py::dict& d) {
      d["stage_name"] = e.stage;
      d["done"] = e.done;
      d["total"] = e.total;
      d["searched"] = e.search == nullptr ? py::object(py::none())
                                          : py::object(py::float_(static_cast<double>(e.search->searched)));
    });
  }

 private:
  template <class F> void notify(const char* event, F&& fill) {
    const py::gil_scoped_acquire gil;
    if (!observer_.attr("listens")(event).cast<bool>()) return;
    py::dict d;
    fill(d);
    observer_.attr("notify")(event, d);
  }
  void with_reason(const char* event, const StageEvent& e) {
    notify(event, [&](py::dict& d) {
      d["stage_name"] = e.stage;
      d["reason"] = e.reason.empty() && e.why != nullptr ? std::string_view(e.why->reason) : e.reason;
    });
  }

  py::object observer_, classes_;
  std::weak_ptr<HeldRun> owner_;
};

Pipeline build(const std::string& name, const py::list& stages, const std::vector<std::string>& given,
               const std::vector<std::pair<std::string, std::string>>& links) {
  PipelineBuilder builder(name);
  builder.registry(ResolverRegistry::standard());
  for (const auto& stage : stages) {
    const auto t = stage.cast<py::tuple>();
    builder.stage(std::shared_ptr<const Resolver>(t[1].cast<std::shared_ptr<Resolver>>()),
                  t[0].cast<std::string>());
  }
  for (const auto& [from, to] : links) builder.link(from, to);
  for (const auto& key : given) builder.given(key);
  return builder.build();
}

std::shared_ptr<HeldRun> execute(const Pipeline& pipeline, const py::dict& values, const py::list& observers,
                                 const py::object& classes) {
  auto held = std::make_shared<HeldRun>(pipeline);
  for (const auto& [key, value] : values) {
    held->keeps.push_back(py::reinterpret_borrow<py::object>(value));
    const auto name = key.cast<std::string>();
    // A key that no stage takes may still be an entry of the zoo that supplies their inputs.
    const auto* field = pipeline.input(name);
    if (field == nullptr) field = ResolverRegistry::standard().key_field(canonical_key(name));
    held->run.set(name, field != nullptr ? to_dynamic(*field, value) : to_dynamic(value));
  }
  std::vector<std::unique_ptr<PyCallback>> callbacks;
  RunOptions options;
  for (const auto& observer : observers) {
    callbacks.push_back(
        std::make_unique<PyCallback>(py::reinterpret_borrow<py::object>(observer), classes, held));
    options.callbacks.push_back(callbacks.back().get());
  }
  const auto watching = the_host().kept_callbacks();  // another thread may reload their plugin
  for (const auto& callback : watching) options.callbacks.push_back(callback.get());
  const py::gil_scoped_release free;
  held->run.execute(options);
  return held;
}

/// (stage, status, result or None, reason, smallest change, facts) each, in the order in which they ran.
py::list outcomes(const std::shared_ptr<HeldRun>& held, const py::object& classes) {
  py::list out;
  for (const auto& view : held->run.stages()) {
    py::object result = py::none();
    if (view.ok()) result = result_of_stage(view.resolver(), view.result(), held, classes);
    py::dict facts;
    if (const auto* why = view.why())
      for (const auto& f : why->facts) facts[py::str(f.name)] = f.value;
    out.append(py::make_tuple(view.name(), name_of(view.status()), result,
                              view.why() != nullptr ? std::string_view(view.why()->reason) : view.reason(),
                              view.why() != nullptr ? view.why()->smallest_change : std::string(), facts));
  }
  return out;
}

}  // namespace

void bind_pipeline(py::module_& m) {
  m.def("_python_stage", &python_stage);
  m.def("_publish_resolvers", [](const std::vector<std::shared_ptr<Resolver>>& own) {
    publish_host_resolvers({own.begin(), own.end()});
  });
  m.def("_build_pipeline", &build);
  m.def("_canonical_key", [](const std::string& name) { return canonical_key(name); });
  m.def("_canonical_name", [](const std::string& name) {
    const auto found = canonical_name(name);
    return found.empty() ? name : std::string(found);
  });
  m.def("_is_object_key", [](const std::string& name) {
    const auto* known = ResolverRegistry::standard().key_field(name);
    return known != nullptr && known->kind == ValueKind::object;
  });
  py::class_<Pipeline>(m, "_Pipeline")
      .def_property_readonly("name", [](const Pipeline& p) { return p.name(); })
      .def_property_readonly("stages", &Pipeline::stages)
      .def_property_readonly("given", &Pipeline::given)
      .def("show", &Pipeline::show)
      .def("to_dot", &Pipeline::to_dot)
      .def("to_mermaid", &Pipeline::to_mermaid)
      .def("to_json", &Pipeline::to_json)
      .def("execute", &execute);
  py::class_<HeldRun, std::shared_ptr<HeldRun>>(m, "_Run")
      .def("outcomes", &outcomes)
      .def("value", [](const HeldRun& h, const std::string& key) { return to_python(h.run.value(key)); })
      .def("explain", [](const HeldRun& h, const std::string& key) { return h.run.explain(key); })
      .def("show", [](const HeldRun& h) { return h.run.show(); })
      .def("to_json", [](const HeldRun& h) { return h.run.to_json(); })
      .def("assumptions",
           [](const HeldRun& h, const std::string& stage) {
             py::list out;
             for (const auto& a : h.run.assumptions(stage))
               out.append(py::make_tuple(a.name.view(), a.value.str(), a.source.view()));
             return out;
           })
      .def("warnings",
           [](const HeldRun& h, const std::string& stage) { return py::cast(h.run.notes(stage).warnings); })
      .def("breaks",
           [](const HeldRun& h) {
             py::list out;
             for (const auto& b : h.run.breaks())
               out.append(py::dict(py::arg("stage") = b.stage, py::arg("reason") = name_of(b.why),
                                   py::arg("id") = about(b.why).id,
                                   py::arg("severity") = about(b.why).severity, py::arg("text") = b.text,
                                   py::arg("hint") = about(b.why).hint));
             return out;
           })
      .def("callback_failures", [](const HeldRun& h) {
        py::list out;
        for (const auto& f : h.run.report().callback_failures)
          out.append(py::make_tuple(f.who, f.event, f.what));
        return out;
      });
}

}  // namespace mlsysim::python
