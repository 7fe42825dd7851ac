/// Laws that are written in Python: a function that was recorded becomes a tape, one that was not is called
/// point by point. Exported programs of laws are here too. Units and the recording itself are in
/// mlsysim/recording.py.

#include "bindings.hpp"
#include "export_law.hpp"

#include <mlsysim/resolver_api/dynamic_resolver.hpp>
#include <mlsysim/tape/export.hpp>
#include <mlsysim/tape/method.hpp>
#include <mlsysim/tape/record.hpp>

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

/// State that entries of a Python law share; it owns their texts.
struct PythonLawState {
  std::string id, equation, source;
  std::optional<Tape> tape;                ///< of a function that was recorded
  std::shared_ptr<py::object> function;    ///< else: base numbers in, base numbers out
  std::unique_ptr<DynamicResolver> plain;  ///< fields, and structs in memory

  void run(const double* in, double* out) const {
    if (tape) {
      std::vector<double> values;
      tape->evaluate({in, tape->inputs()}, {out, tape->results()}, values);
      return;
    }
    const py::gil_scoped_acquire gil;
    py::list given;
    for (std::size_t i = 0; i < plain->inputs().size(); ++i) given.append(in[i]);
    const auto found = (*function)(given).cast<std::vector<double>>();
    std::copy(found.begin(), found.end(), out);
  }
};

/// A law whose text is Python.
class PythonLaw final : public Resolver {
 public:
  PythonLaw(ResolverInfo about, std::shared_ptr<PythonLawState> state, std::vector<FieldInfo> inputs)
      : Resolver(std::move(about)), state_(std::move(state)), inputs_(std::move(inputs)) {
    entry_.info = {.id = state_->id, .equation = state_->equation, .source = state_->source};
    entry_.inputs = inputs_;
    entry_.results.assign(state_->plain->outputs().begin(), state_->plain->outputs().end());
    entry_.self = state_;
    entry_.evaluate = [](const void* self, const double* in, double* out) {
      static_cast<const PythonLawState*>(self)->run(in, out);
    };
    if (state_->tape)
      entry_.recorded = [](const void* self) -> const Tape& {
        return *static_cast<const PythonLawState*>(self)->tape;
      };
  }

  [[nodiscard]] std::span<const FieldInfo> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const FieldInfo> outputs() const override { return state_->plain->outputs(); }
  [[nodiscard]] std::size_t input_size() const override { return state_->plain->input_size(); }
  [[nodiscard]] std::size_t output_size() const override { return state_->plain->output_size(); }
  void construct_inputs(void* memory) const override { state_->plain->construct_inputs(memory); }
  void destroy_inputs(void* memory) const override { state_->plain->destroy_inputs(memory); }
  void construct_outputs(void* memory) const override { state_->plain->construct_outputs(memory); }
  void destroy_outputs(void* memory) const override { state_->plain->destroy_outputs(memory); }
  Status solve(const void* in, void* out, SolveContext& context) const override {
    return state_->plain->solve(in, out, context);
  }
  [[nodiscard]] Verification verify(const void* in, const void* out) const override {
    return state_->plain->verify(in, out);
  }
  [[nodiscard]] const LawEntry* law() const override { return &entry_; }

 private:
  std::shared_ptr<PythonLawState> state_;
  std::vector<FieldInfo> inputs_;
  LawEntry entry_;
};

TapeOp op_named(const std::string& name) {
  for (std::size_t i = 0; i < kTapeOps; ++i)
    if (name_of(static_cast<TapeOp>(i)) == name) return static_cast<TapeOp>(i);
  throw InputError({.id = "mlsysim.python.220",
                    .message = "a recording has an operation that no tape has",
                    .found = name,
                    .expected = "an operation"});
}

/// @param program tuples (operation, operands...): operands are positions in it, that of an input or constant
/// its index or value
Tape tape_of(const py::list& program, std::size_t inputs, const std::vector<std::size_t>& outputs) {
  return record_tape(inputs, [&](std::span<const Recorded> in) {
    std::vector<Recorded> values, results;
    for (const auto item : program) {
      const auto node = item.cast<py::tuple>();
      const TapeOp op = op_named(node[0].cast<std::string>());
      const auto operand = [&](std::size_t i) { return values.at(node[i].cast<std::size_t>()); };
      if (op == TapeOp::input)
        values.push_back(in[node[1].cast<std::size_t>()]);
      else if (op == TapeOp::constant)
        values.emplace_back(node[1].cast<double>());
      else if (operands_of(op) == 1)
        values.push_back(detail::record(op, operand(1)));
      else if (operands_of(op) == 2)
        values.push_back(detail::record(op, operand(1), operand(2)));
      else
        values.push_back(detail::record(op, operand(1), operand(2), operand(3)));
    }
    for (const auto o : outputs) results.push_back(values.at(o));
    return results;
  });
}

DynamicField field_from(const py::dict& row) {
  DynamicField f;
  f.name = row["name"].cast<std::string>();
  f.unit = row["unit"].cast<std::string>();
  f.meaning = row["meaning"].cast<std::string>();
  f.kind = f.unit.empty() ? ValueKind::number : ValueKind::quantity;
  if (!row["low"].is_none()) f.low = row["low"].cast<double>();
  if (!row["high"].is_none()) f.high = row["high"].cast<double>();
  if (!row["default"].is_none()) {
    f.required = false;
    f.default_value = f.unit.empty() ? DynamicValue(row["default"].cast<double>())
                                     : DynamicValue(Value(row["default"].cast<double>()),
                                                    AnyQuantity::parse("1 " + f.unit).exponents());
    f.default_source = "the function's own";
  }
  return f;
}

/// @param function null for one that was recorded
std::shared_ptr<Resolver> python_law(const std::string& name, const std::string& about,
                                     const std::string& equation, const std::vector<py::dict>& inputs,
                                     const std::vector<py::dict>& results,
                                     const std::optional<py::list>& program,
                                     const std::vector<std::size_t>& outputs, const py::object& function) {
  auto state = std::make_shared<PythonLawState>();
  state->id = name;
  state->equation = equation;
  if (program) {
    state->tape = tape_of(*program, inputs.size(), outputs);
  } else {
    // Whoever lets go of it last may not hold the GIL.
    state->function = std::shared_ptr<py::object>(new py::object(function), [](py::object* held) {
      const py::gil_scoped_acquire gil;
      delete held;
    });
  }
  std::vector<DynamicField> in, out;
  for (const auto& row : inputs) in.push_back(field_from(row));
  for (const auto& row : results) out.push_back(field_from(row));
  ResolverInfo info;
  info.name = name;
  info.about = about;
  info.law = equation;
  info.origin = "Python";
  info.thread_safe = program.has_value();
  const PythonLawState* const own = state.get();
  state->plain = std::make_unique<DynamicResolver>(
      info, std::move(in), std::move(out),
      [own](std::span<const DynamicValue> values, SolveContext&) -> DynamicAnswer {
        std::vector<double> given, found(own->plain->outputs().size());
        for (const auto& v : values) given.push_back(std::get<double>(v.value));
        own->run(given.data(), found.data());
        std::vector<DynamicValue> answer;
        for (std::size_t i = 0; i < found.size(); ++i)
          answer.emplace_back(Value(found[i]), own->plain->outputs()[i].exps);
        return answer;
      });
  std::vector<FieldInfo> fields(state->plain->inputs().begin(), state->plain->inputs().end());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].nullable = false;
    fields[i].integral = inputs[i]["whole"].cast<bool>();
    fields[i].open_low = inputs[i]["open_low"].cast<bool>();
  }
  return std::make_shared<PythonLaw>(std::move(info), std::move(state), std::move(fields));
}

}  // namespace

std::string export_law(const LawEntry& law, const std::vector<std::string>& results,
                       const std::vector<double>& point, const std::string& language,
                       const std::string& name) {
  std::vector<std::size_t> wanted;
  for (const auto& r : results) wanted.push_back(law.result(r));
  const ExportedProgram program(law, wanted, point);
  if (language == "c") return program.c_source(name);
  if (language == "json") return program.json();
  throw InputError({.id = "mlsysim.python.221",
                    .message = "there is no such language to export to",
                    .key = "language",
                    .found = "'" + language + "'",
                    .expected = "'c' or 'json'"});
}

void bind_recording(py::module_& m) {
  m.def("_python_law", &python_law);
  m.def("_law_export", [](const Resolver& r, const std::vector<std::string>& results,
                          const std::string& language, const std::string& name) {
    if (r.law() == nullptr)
      throw SolverError({.id = "mlsysim.python.222",
                         .message = r.info().name + " is not a law",
                         .expected = "a law, or a subject of a scenario",
                         .hint = "mlsysim.ask(workload, hardware, ...).export(results)"});
    return export_law(*r.law(), results, {}, language, name);
  });
  m.def("_law_methods", [](const Resolver& r) {
    const bool exact = r.law() != nullptr && r.law()->is_law();
    return std::pair{std::string(describe_method(exact ? Method::exact : Method::scalar_loop)),
                     std::string(describe_method(exact ? Method::exact : Method::central_differences))};
  });
}

}  // namespace mlsysim::python
