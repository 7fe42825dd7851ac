#include <mlsysim/tape/derivation.hpp>

#include <mlsysim/tape/record.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

namespace mlsysim {
namespace {

constexpr std::uint32_t kNoCall = ~std::uint32_t{0};

DerivedValue value_of(const FieldInfo& field, double x) {
  return {.name = field.name, .unit = field.unit, .exps = field.exps, .value = x};
}

/// Reads a tape back as calls of laws and the operations between them.
///
/// A node belongs to no call: equal operations are shared. So every opened call is read from its results down to what is a
/// leaf for it: its own inputs, results of calls inside it, and constants.
class TapeReader {
 public:
  TapeReader(const Tape& tape, std::span<const double> in, std::span<const std::string> open) : r_(tape.recording()), values_(tape.size()) {
    tape.evaluate(in, values_);
    opened_.resize(r_.calls.size());
    known_.resize(r_.calls.size());
    kept_.resize(r_.calls.size());
    for (std::size_t c = 0; c < r_.calls.size(); ++c)
      opened_[c] = std::find(open.begin(), open.end(), r_.calls[c].law->info->id) != open.end();
    for (std::uint32_t c = 0; c < r_.calls.size(); ++c) {
      const TapeCall& call = r_.calls[c];
      if (call.parent == 0) continue;
      auto& children = known_[call.parent - 1].results;
      for (std::uint16_t i = 0; i < call.results; ++i) children.try_emplace(result_of(call, i), c, i);
    }
    for (const auto& n : r_.names)
      if (n.call != 0) known_[n.call - 1].names.try_emplace(n.node, n.name);
  }

  /// All calls.
  [[nodiscard]] Derivation whole() {
    std::fill(kept_.begin(), kept_.end(), true);
    return read();
  }
  /// The calls that one result of the outermost call hangs on. Of a choice the side not taken, and terms of zero, are left out.
  [[nodiscard]] Derivation behind(std::size_t result) {
    sides_ = false;
    children_.resize(r_.calls.size());
    for (std::uint32_t c = 0; c < r_.calls.size(); ++c)
      if (r_.calls[c].parent != 0) children_[r_.calls[c].parent - 1].push_back(c);
    kept_[0] = true;
    reach(0, result_of(r_.calls[0], result));
    return read();
  }

 private:
  struct Origin {
    std::uint32_t call;
    std::uint16_t field;
  };
  /// What is a leaf inside a call, and the names that were given in it.
  struct Known {
    std::unordered_map<std::uint32_t, std::uint16_t> inputs;
    std::unordered_map<std::uint32_t, Origin> results;
    std::unordered_map<std::uint32_t, std::string_view> names;
    std::unordered_map<std::uint32_t, std::size_t> nodes;  ///< operations read so far
    bool ready = false;
  };

  [[nodiscard]] std::uint32_t input_of(const TapeCall& c, std::size_t i) const { return r_.call_values[c.first + i]; }
  [[nodiscard]] std::uint32_t result_of(const TapeCall& c, std::size_t i) const { return r_.call_values[c.first + c.inputs + i]; }

  Known& known(std::uint32_t c) {
    Known& k = known_[c];
    if (k.ready) return k;
    k.ready = true;
    for (std::uint16_t i = 0; i < r_.calls[c].inputs; ++i) {
      const std::uint32_t node = input_of(r_.calls[c], i);
      // A constant input has no place of its own: the same number may come from anywhere.
      if (r_.nodes[node].op != TapeOp::constant) k.inputs.try_emplace(node, i);
    }
    return k;
  }

  /// Operands that count for the value at hand.
  template <class F>
  void for_each_taken(const TapeNode& node, F&& f) const {
    if (node.op == TapeOp::select) {
      f(values_[node.a] != 0 ? node.b : node.c);
    } else if (node.op == TapeOp::add || node.op == TapeOp::subtract) {
      if (node.op == TapeOp::subtract || values_[node.a] != 0 || values_[node.b] == 0) f(node.a);
      if (values_[node.b] != 0) f(node.b);
    } else {
      for_each_operand(r_, node, f);
    }
  }

  void reach(std::uint32_t call, std::uint32_t node) {
    if (!seen_.emplace(std::uint64_t{call} << 32 | node, true).second) return;
    Known& k = known(call);
    if (k.inputs.contains(node)) return;
    if (const auto made = k.results.find(node); made != k.results.end()) return keep(made->second.call);
    for_each_taken(r_.nodes[node], [&](std::uint32_t o) { reach(call, o); });
  }
  void keep(std::uint32_t c) {
    if (kept_[c]) return;
    kept_[c] = true;
    const TapeCall& call = r_.calls[c];
    const std::uint32_t parent = call.parent - 1;
    if (call.parent != 0 && opened_[parent])
      for (std::uint16_t i = 0; i < call.inputs; ++i) reach(parent, input_of(call, i));
    if (opened_[c])
      for (std::uint16_t i = 0; i < call.results; ++i) reach(c, result_of(call, i));
    // What the law called on its way.
    for (const auto child : children_[c]) keep(child);
  }

  /// The operation of an opened call that a node is, with those that it needs before it.
  std::size_t read_node(std::uint32_t call, std::uint32_t node) {
    Known& k = known(call);
    if (const auto at = k.nodes.find(node); at != k.nodes.end()) return at->second;
    const TapeNode& n = r_.nodes[node];
    DerivedNode out{.op = name_of(n.op), .operands = {}, .value = values_[node], .name = {}};
    const auto input = k.inputs.find(node);
    const auto made = k.results.find(node);
    if (input != k.inputs.end()) {
      out.op = name_of(TapeOp::input);
      out.record = record_at_[call];
      out.field = input->second;
      out.name = r_.calls[call].law->inputs()[input->second].name;
    } else if (made != k.results.end() && n.op != TapeOp::constant) {
      out.op = "law_result";
      out.record = record_at_[made->second.call];
      out.field = made->second.field;
      out.name = r_.calls[made->second.call].law->results()[made->second.field].name;
    } else {
      if (n.op == TapeOp::input) {
        out.name = "input";  // of a tape that no law encloses
      } else {
        const auto operand = [&](std::uint32_t o) { out.operands.push_back(read_node(call, o)); };
        if (sides_) for_each_operand(r_, n, operand);
        else read_taken(call, n, out.operands);
        if (const auto name = k.names.find(node); name != k.names.end()) out.name = name->second;
      }
    }
    d_.nodes.push_back(std::move(out));
    return k.nodes.emplace(node, d_.nodes.size() - 1).first->second;
  }
  /// The same without the sides not taken, in the shape that the operation has.
  void read_taken(std::uint32_t call, const TapeNode& n, std::vector<std::size_t>& operands) {
    if (n.op == TapeOp::select) {
      operands.assign(3, read_node(call, values_[n.a] != 0 ? n.b : n.c));
      return;
    }
    std::vector<std::uint32_t> taken;
    for_each_taken(n, [&](std::uint32_t o) { taken.push_back(o); });
    if (operands_of(n.op) == 2 && taken.size() == 1) {
      // The term of zero that is left out.
      const bool first = taken[0] == n.a;
      d_.nodes.push_back({.op = name_of(TapeOp::constant), .operands = {}, .value = 0.0, .name = {}});
      const std::size_t zero = d_.nodes.size() - 1, kept = read_node(call, taken[0]);
      operands = first ? std::vector{kept, zero} : std::vector{zero, kept};
      return;
    }
    for (const auto o : taken) operands.push_back(read_node(call, o));
  }

  /// Where a value comes from, as seen in a call: one of its inputs, or a result of a call inside it.
  void locate(std::uint32_t call, std::uint32_t node, DerivedValue& v) {
    if (r_.nodes[node].op == TapeOp::constant) return;
    Known& k = known(call);
    if (const auto input = k.inputs.find(node); input != k.inputs.end()) {
      v.record = record_at_[call];
      v.from_input = true;
      v.field = input->second;
    } else if (const auto made = k.results.find(node); made != k.results.end() && record_at_[made->second.call] != kNone) {
      v.record = record_at_[made->second.call];
      v.field = made->second.field;
    }
  }

  [[nodiscard]] Derivation read() {
    record_at_.assign(r_.calls.size(), kNone);
    std::size_t count = 0;
    for (std::uint32_t c = 0; c < r_.calls.size(); ++c)
      if (kept_[c]) record_at_[c] = count++;
    for (std::uint32_t c = 0; c < r_.calls.size(); ++c)
      if (kept_[c]) d_.records.push_back(read_call(c));
    return std::move(d_);
  }
  [[nodiscard]] DerivedRecord read_call(std::uint32_t c) {
    const TapeCall& call = r_.calls[c];
    DerivedRecord record;
    record.law = call.law->info;
    const std::uint32_t parent = call.parent == 0 ? kNoCall : call.parent - 1;
    if (parent != kNoCall) {
      record.parent = record_at_[parent];
      record.depth = d_.records[record.parent].depth + 1;
    }
    const auto inputs = call.law->inputs(), results = call.law->results();
    for (std::uint16_t i = 0; i < call.inputs; ++i) {
      const std::uint32_t node = input_of(call, i);
      record.inputs.push_back(value_of(inputs[i], values_[node]));
      if (parent == kNoCall) continue;
      locate(parent, node, record.inputs.back());
      if (opened_[parent]) record.inputs.back().node = read_node(parent, node);
    }
    for (std::uint16_t i = 0; i < call.results; ++i) {
      const std::uint32_t node = result_of(call, i);
      record.results.push_back(value_of(results[i], values_[node]));
      locate(c, node, record.results.back());
      if (!opened_[c] || (!sides_ && c == 0 && !seen_.contains(node))) continue;
      record.roots.resize(call.results, kNone);
      record.roots[i] = read_node(c, node);
    }
    return record;
  }

  const Recording& r_;
  std::vector<double> values_;
  std::vector<bool> opened_, kept_;
  std::vector<Known> known_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::size_t> record_at_;
  std::unordered_map<std::uint64_t, bool> seen_;
  bool sides_ = true;  ///< whether both sides of a choice are read
  Derivation d_;
};

}  // namespace

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

namespace {

const Tape& tape_of(const LawEntry& law) {
  if (law.is_law()) return law.tape();
  throw SolverError({.id = "mlsysim.tools.015",
                     .message = fmt::format("'{}' cannot be derived", law.info.id),
                     .found = "a resolver that is not a law",
                     .expected = "a law: templates Inputs<T>, Result<T> and solve<T>",
                     .hint = "its inputs and results are all that is known of it"});
}

}  // namespace

Derivation derive(const LawEntry& law, std::span<const double> in, std::span<const std::string> open) {
  const Tape& tape = tape_of(law);
  check_inputs(law, in);
  return TapeReader(tape, in, open).whole();
}

Derivation read_calls(const LawEntry& law, std::span<const double> in) { return TapeReader(tape_of(law), in, {}).whole(); }

Derivation derive_result(const LawEntry& law, std::span<const double> in, std::size_t result, std::span<const std::string> open) {
  const Tape& tape = tape_of(law);
  check_inputs(law, in);
  std::vector<std::string> opened{std::string(law.info.id)};
  opened.insert(opened.end(), open.begin(), open.end());
  return slice(TapeReader(tape, in, opened).behind(result), result);
}

}  // namespace mlsysim
