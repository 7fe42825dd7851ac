#include <mlsysim/tools/derivation.hpp>

#include <mlsysim/tools/trace.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

std::string_view name_of(TraceOp op) {
  static constexpr std::string_view names[] = {
      "input", "constant", "law_result", "add", "subtract", "multiply", "divide", "negate", "min", "max",
      "select", "abs", "ceil", "floor", "sqrt", "pow", "log", "log2", "exp", "less",
      "greater", "less_equal", "greater_equal", "equal", "not_equal", "both", "either", "negation"};
  return names[static_cast<std::size_t>(op)];
}

std::size_t operands_of(TraceOp op) {
  switch (op) {
    case TraceOp::input:
    case TraceOp::constant:
    case TraceOp::law_result: return 0;
    case TraceOp::negate:
    case TraceOp::abs:
    case TraceOp::ceil:
    case TraceOp::floor:
    case TraceOp::sqrt:
    case TraceOp::log:
    case TraceOp::log2:
    case TraceOp::exp:
    case TraceOp::negation: return 1;
    case TraceOp::select: return 3;
    default: return 2;
  }
}

/// Finds which record and field a cell of the log is.
class Cells {
 public:
  explicit Cells(const std::vector<Trace::Call>& calls) : calls_(calls) {}

  void locate(std::uint64_t id, DerivedValue& value) const {
    if (id == 0 || (id & Trace::kNode) != 0) return;
    const std::size_t r = record_of(static_cast<std::uint32_t>(id));
    const std::size_t offset = id - calls_[r].cell - 1;
    value.record = r;
    value.from_input = offset < calls_[r].inputs;
    value.field = value.from_input ? offset : offset - calls_[r].inputs;
  }
  [[nodiscard]] std::size_t record_of(std::uint32_t cell) const {
    const auto after = std::upper_bound(calls_.begin(), calls_.end(), cell,
                                        [](std::uint32_t c, const Trace::Call& call) { return c < call.cell; });
    return static_cast<std::size_t>(after - calls_.begin()) - 1;
  }

 private:
  const std::vector<Trace::Call>& calls_;
};

DerivedValue value_of(const FieldInfo& field, const Traced& x) {
  return {.name = field.name, .unit = field.unit, .exps = field.exps, .value = x.value};
}

}  // namespace

Derivation read_trace(const Trace& trace) {
  const auto calls = trace.calls();
  const Cells cells(calls);
  Derivation d;
  for (const auto& call : calls) {
    DerivedRecord record;
    record.law = call.law->info;
    if (call.parent != 0) {
      record.parent = cells.record_of(call.parent);
      record.depth = d.records[record.parent].depth + 1;
    }
    const auto inputs = call.law->inputs(), results = call.law->results();
    for (std::uint16_t i = 0; i < call.inputs; ++i) {
      const Traced x = trace.value(call.cell + 1u + i);
      record.inputs.push_back(value_of(inputs[i], x));
      cells.locate(x.id, record.inputs.back());
      if ((x.id & Trace::kNode) != 0) {
        // Handed over inside an opened law: a plain leaf leads on to what it stands for.
        const TraceNode& node = trace.nodes()[static_cast<std::uint32_t>(x.id)];
        if (operands_of(node.op) == 0) cells.locate(node.operand[0], record.inputs.back());
      }
    }
    for (std::uint16_t i = 0; i < call.results; ++i) {
      const Traced x = trace.value(call.cell + 1u + call.inputs + i);
      record.results.push_back(value_of(results[i], x));
      cells.locate(x.id, record.results.back());
      if ((x.id & Trace::kNode) != 0) {
        record.roots.resize(call.results, kNone);
        record.roots[i] = static_cast<std::uint32_t>(x.id);
      }
    }
    d.records.push_back(std::move(record));
  }
  for (const auto& node : trace.nodes()) {
    DerivedNode n{.op = name_of(node.op), .operands = {}, .value = node.value, .name = {}};
    n.operands.assign(node.operand, node.operand + operands_of(node.op));
    if (n.operands.empty() && node.operand[0] != 0) {
      DerivedValue leaf;
      cells.locate(node.operand[0], leaf);
      const auto& record = d.records[leaf.record];
      n.name = (leaf.from_input ? record.inputs : record.results)[leaf.field].name;
      n.record = leaf.record;
    }
    d.nodes.push_back(std::move(n));
  }
  for (const auto& [node, name] : trace.names()) d.nodes[node].name = name;
  return d;
}

Derivation derive(const LawEntry& law, std::span<const double> in, std::span<const std::string> open) {
  if (law.traced == nullptr) {
    throw SolverError({.id = "mlsysim.tools.015",
                       .message = fmt::format("'{}' cannot be traced", law.info.id),
                       .found = "a resolver that is not a law",
                       .expected = "a law: templates Inputs<T>, Result<T> and solve<T>",
                       .hint = "its inputs and results are all that is known of it"});
  }
  check_inputs(law, in);
  Trace trace;
  for (const auto& id : open) trace.open(id);
  const TraceScope recording(trace);
  std::vector<Traced> given(in.begin(), in.end()), found(law.results.size());
  law.traced(law.self.get(), given.data(), found.data());
  return read_trace(trace);
}

}  // namespace mlsysim
