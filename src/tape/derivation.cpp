#include <mlsysim/tape/derivation.hpp>

#include <mlsysim/tape/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

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
        record.inputs.back().node = static_cast<std::uint32_t>(x.id);
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
      n.field = leaf.field;
    }
    d.nodes.push_back(std::move(n));
  }
  // The result of a law call keeps the law's name for it.
  for (const auto& [node, name] : trace.names())
    if (d.nodes[node].op != name_of(TraceOp::law_result)) d.nodes[node].name = name;
  return d;
}

namespace {

/// Reduces the operations of a derivation to what one result hangs on.
class Slicer {
 public:
  explicit Slicer(const Derivation& whole)
      : whole_(whole), taken_(whole.nodes.size(), kNone), records_(whole.records.size()), kept_(whole.nodes.size()),
        inputs_(whole.records.front().inputs.size()) {
    out_.nodes = whole.nodes;
    out_.own = whole.own;
    records_[0] = true;
  }

  Derivation run(std::size_t result) {
    const auto& first = whole_.records.front();
    name_results(result);
    const std::size_t root = result < first.roots.size() && first.roots[result] != kNone ? taken(first.roots[result]) : kNone;
    if (root != kNone) keep(root);
    name_shared();
    number_names();
    return compact(result, root);
  }

 private:
  [[nodiscard]] bool leaf(std::size_t n) const { return out_.nodes[n].operands.empty(); }

  /// The node that stands for this one once choices are taken and terms without effect are gone.
  std::size_t taken(std::size_t n) {
    if (taken_[n] != kNone) return taken_[n];
    auto& node = out_.nodes[n];
    for (auto& o : node.operands)
      if (node.op != "select" || &o != node.operands.data()) o = taken(o);
    std::size_t to = n;
    const auto value = [&](std::size_t i) { return out_.nodes[node.operands[i]].value; };
    const auto is_constant = [&](std::size_t i) { return out_.nodes[node.operands[i]].op == "constant"; };
    if (node.op == "select") to = node.operands[out_.nodes[node.operands[0]].value != 0 ? 1 : 2];
    else if (node.op == "add" && value(0) == 0) to = node.operands[1];
    else if ((node.op == "add" || node.op == "subtract") && value(1) == 0) to = node.operands[0];
    else if (node.op == "multiply" && is_constant(0) && value(0) == 1) to = node.operands[1];
    else if ((node.op == "multiply" || node.op == "divide") && is_constant(1) && value(1) == 1) to = node.operands[0];
    else if ((node.op == "min" || node.op == "max") && node.operands[0] == node.operands[1]) to = node.operands[0];
    else if (std::all_of(node.operands.begin(), node.operands.end(), [&](std::size_t o) { return out_.nodes[o].op == "constant"; }) &&
             !node.operands.empty()) {
      node.op = "constant";
      node.operands.clear();
      node.name.clear();
    }
    if (to != n && !node.name.empty() && !leaf(to) && out_.nodes[to].name.empty()) out_.nodes[to].name = node.name;
    return taken_[n] = to;
  }

  void name_results(std::size_t result) {
    const auto& first = whole_.records.front();
    const auto name = [&](std::size_t i, bool always) {
      if (i >= first.roots.size() || first.roots[i] == kNone) return;
      const std::size_t root = taken(first.roots[i]);
      if (!leaf(root) && (always || out_.nodes[root].name.empty())) out_.nodes[root].name = first.results[i].name;
    };
    name(result, true);
    for (std::size_t i = 0; i < first.results.size(); ++i) name(i, false);
  }

  void keep(std::size_t start) {
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      const std::size_t n = open.back();
      open.pop_back();
      if (kept_[n]) continue;
      kept_[n] = true;
      const auto& node = out_.nodes[n];
      for (const std::size_t o : node.operands) open.push_back(o);
      if (node.operands.empty() && node.record != kNone) {
        if (node.op == "law_result") keep_record(node.record);
        else if (node.record == 0) inputs_[node.field] = true;
      }
    }
  }
  void keep_record(std::size_t r) {
    if (records_[r]) return;
    records_[r] = true;
    const auto& record = whole_.records[r];
    if (record.parent != kNone) keep_record(record.parent);
    for (const auto* side : {&record.inputs, &record.results})
      for (const auto& v : *side) keep_value(v);
    for (const std::size_t root : record.roots)
      if (root != kNone) keep(taken(root));
    // What the law called on its way.
    for (std::size_t c = r + 1; c < whole_.records.size(); ++c)
      if (whole_.records[c].parent == r) keep_record(c);
  }
  void keep_value(const DerivedValue& v) {
    if (v.node != kNone) return keep(taken(v.node));
    if (v.record == kNone) return;
    if (v.record == 0 && v.from_input) inputs_[v.field] = true;
    else if (v.record != 0) keep_record(v.record);
  }

  /// What is used twice is written once: a name for each shared operation that takes more than a few words. It also keeps
  /// expressions from growing without bound.
  void name_shared() {
    constexpr std::size_t few = 6;
    std::vector<std::size_t> uses(kept_.size()), words(kept_.size());
    for (std::size_t n = 0; n < kept_.size(); ++n)
      if (kept_[n])
        for (const std::size_t o : out_.nodes[n].operands) ++uses[o];
    for (std::size_t r = 1; r < records_.size(); ++r)
      if (records_[r])
        for (const auto& v : whole_.records[r].inputs)
          if (v.node != kNone) ++uses[taken(v.node)];
    std::size_t count = 0;
    for (std::size_t n = 0; n < kept_.size(); ++n) {
      if (!kept_[n]) continue;
      auto& node = out_.nodes[n];
      words[n] = 1;
      for (const std::size_t o : node.operands) words[n] += out_.nodes[o].name.empty() ? words[o] : 1;
      if (uses[n] > 1 && node.name.empty() && words[n] > few) node.name = fmt::format("part_{}", ++count);
    }
  }

  /// A name stands for one operation.
  void number_names() {
    std::map<std::string, int, std::less<>> seen;
    for (std::size_t n = 0; n < out_.nodes.size(); ++n) {
      auto& node = out_.nodes[n];
      if (!kept_[n] || node.name.empty() || leaf(n)) continue;
      if (const int count = ++seen[node.name]; count > 1) node.name += fmt::format("_{}", count);
    }
  }

  Derivation compact(std::size_t result, std::size_t root) {
    std::vector<std::size_t> node_at(whole_.nodes.size(), kNone), record_at(whole_.records.size(), kNone),
        input_at(inputs_.size(), kNone);
    std::size_t count = 0;
    for (std::size_t n = 0; n < kept_.size(); ++n)
      if (kept_[n]) node_at[n] = count++;
    count = 0;
    for (std::size_t r = 0; r < records_.size(); ++r)
      if (records_[r]) record_at[r] = count++;
    count = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i]) input_at[i] = count++;
    Derivation d;
    d.own = out_.own;
    const auto moved = [&](DerivedValue v) {
      if (v.node != kNone) v.node = node_at[taken(v.node)];
      if (v.record != kNone) {
        if (v.record == 0 && v.from_input) v.field = input_at[v.field];
        v.record = record_at[v.record];
      }
      return v;
    };
    for (std::size_t r = 0; r < records_.size(); ++r) {
      if (!records_[r]) continue;
      const auto& from = whole_.records[r];
      DerivedRecord to{.law = from.law, .parent = from.parent == kNone ? kNone : record_at[from.parent], .depth = from.depth,
                       .inputs = {}, .results = {}, .roots = {}};
      for (std::size_t i = 0; i < from.inputs.size(); ++i)
        if (r != 0 || inputs_[i]) to.inputs.push_back(moved(from.inputs[i]));
      if (r == 0) {
        to.results.push_back(from.results[result]);
        auto& v = to.results.back();
        v.record = v.node = kNone;
        v.from_input = false;
        if (root != kNone) to.roots = {node_at[root]};
      } else {
        for (const auto& v : from.results) to.results.push_back(moved(v));
        for (const std::size_t n : from.roots) to.roots.push_back(n == kNone ? kNone : node_at[taken(n)]);
      }
      d.records.push_back(std::move(to));
    }
    for (std::size_t n = 0; n < kept_.size(); ++n) {
      if (!kept_[n]) continue;
      DerivedNode node = out_.nodes[n];
      for (auto& o : node.operands) o = node_at[o];
      if (node.record != kNone) {
        if (node.op == "input" && node.record == 0) node.field = input_at[node.field];
        node.record = record_at[node.record];
      }
      d.nodes.push_back(std::move(node));
    }
    return d;
  }

  const Derivation& whole_;
  Derivation out_;
  std::vector<std::size_t> taken_;
  std::vector<bool> records_, kept_, inputs_;
};

}  // namespace

Derivation slice(const Derivation& whole, std::size_t result) { return Slicer(whole).run(result); }

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
