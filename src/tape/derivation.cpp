#include <mlsysim/tape/derivation.hpp>

#include <mlsysim/tape/record.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

namespace mlsysim {
namespace {

constexpr std::uint32_t kNoCall = ~std::uint32_t{0};

DerivedValue value_of(const FieldInfo& field, double x) {
  return {.name = field.name, .unit = field.unit, .exps = field.exps, .value = x};
}

/// From nodes to what is known of them, in one piece of memory; the first value of a node stays.
template <class V> class NodeMap {
 public:
  [[nodiscard]] const V* find(std::uint32_t node) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(node)];
    return slot.node == node ? &slot.value : nullptr;
  }
  /// Whether the node was new.
  bool add(std::uint32_t node, const V& value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(node)];
    if (slot.node == node) return false;
    slot = {node, value};
    ++count_;
    return true;
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  struct Slot {
    std::uint32_t node = kFree;
    V value{};
  };
  [[nodiscard]] std::size_t place(std::uint32_t node) const {
    std::size_t at = (node * std::uint32_t{2654435769}) >> shift_;
    while (slots_[at].node != kFree && slots_[at].node != node) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    auto old = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(16, 2 * slots_.size())));
    shift_ = 32 - std::countr_zero(slots_.size());
    for (const auto& slot : old)
      if (slot.node != kFree) slots_[place(slot.node)] = slot;
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
  int shift_ = 32;
};

/// Reads a tape back as calls of laws and the operations between them.
///
/// A node belongs to no call: equal operations are shared. So every opened call is read from its results down
/// to what is a leaf for it: its own inputs, results of calls inside it, and constants.
class TapeReader {
 public:
  TapeReader(const Tape& tape, std::span<const double> in, std::span<const std::string> open)
      : r_(tape.recording()), values_(tape.size()) {
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
      for (std::uint16_t i = 0; i < call.results; ++i) children.add(result_of(call, i), {c, i});
    }
    for (const auto& n : r_.names)
      if (n.call != 0 && opened_[n.call - 1]) known_[n.call - 1].names.add(n.node, n.name);
  }

  /// All calls.
  [[nodiscard]] Derivation whole() {
    std::fill(kept_.begin(), kept_.end(), true);
    return read();
  }
  /// The calls that one result of the outermost call hangs on. Of a choice the side not taken, and terms of
  /// zero, are left out.
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
  /// The leaves inside a call, and the names that were given in it.
  struct Known {
    NodeMap<std::uint16_t> inputs;
    NodeMap<Origin> results;
    NodeMap<std::string_view> names;
    NodeMap<std::size_t> nodes;  ///< operations read so far
    NodeMap<bool> seen;          ///< on the way to what a result hangs on
    bool ready = false;
  };

  [[nodiscard]] std::uint32_t input_of(const TapeCall& c, std::size_t i) const {
    return r_.call_values[c.first + i];
  }
  [[nodiscard]] std::uint32_t result_of(const TapeCall& c, std::size_t i) const {
    return r_.call_values[c.first + c.inputs + i];
  }

  Known& known(std::uint32_t c) {
    Known& k = known_[c];
    if (k.ready) return k;
    k.ready = true;
    for (std::uint16_t i = 0; i < r_.calls[c].inputs; ++i) {
      const std::uint32_t node = input_of(r_.calls[c], i);
      // A constant input has no place of its own: the same number may come from anywhere.
      if (r_.nodes[node].op != TapeOp::constant) k.inputs.add(node, i);
    }
    return k;
  }

  /// Operands that count for the value at hand.
  template <class F> void for_each_taken(const TapeNode& node, F&& f) const {
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
    Known& k = known(call);
    if (!k.seen.add(node, true) || k.inputs.find(node) != nullptr) return;
    if (const auto* made = k.results.find(node)) return keep(made->call);
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
    // The calls that the law made.
    for (const auto child : children_[c]) keep(child);
  }

  /// The operation of an opened call that a node is, with those that it needs before it.
  std::size_t read_node(std::uint32_t call, std::uint32_t node) {
    Known& k = known(call);
    if (const auto* at = k.nodes.find(node)) return *at;
    const TapeNode& n = r_.nodes[node];
    DerivedNode out{.op = name_of(n.op), .operands = {}, .value = values_[node], .name = {}};
    const auto* input = k.inputs.find(node);
    const auto* made = k.results.find(node);
    if (input != nullptr) {
      out.op = name_of(TapeOp::input);
      out.record = record_at_[call];
      out.field = *input;
      out.name = r_.calls[call].law->inputs()[*input].name;
    } else if (made != nullptr && n.op != TapeOp::constant) {
      out.op = "law_result";
      out.record = record_at_[made->call];
      out.field = made->field;
      out.name = r_.calls[made->call].law->results()[made->field].name;
    } else {
      if (n.op == TapeOp::input) {
        out.name = "input";  // of a tape that no law encloses
      } else {
        out.operands.reserve(static_cast<std::size_t>(operands_of(n.op)));
        const auto operand = [&](std::uint32_t o) { out.operands.push_back(read_node(call, o)); };
        if (sides_)
          for_each_operand(r_, n, operand);
        else
          read_taken(call, n, out.operands);
        if (const auto* name = k.names.find(node)) out.name = *name;
      }
    }
    d_.nodes.push_back(std::move(out));
    k.nodes.add(node, d_.nodes.size() - 1);
    return d_.nodes.size() - 1;
  }
  /// Reads the operands without the sides not taken, in the shape that the operation has.
  void read_taken(std::uint32_t call, const TapeNode& n, std::vector<std::size_t>& operands) {
    if (n.op == TapeOp::select) {
      operands.assign(3, read_node(call, values_[n.a] != 0 ? n.b : n.c));
      return;
    }
    std::size_t count = 0;
    std::uint32_t last = 0;
    for_each_taken(n, [&](std::uint32_t o) {
      last = o;
      ++count;
    });
    if (operands_of(n.op) == 2 && count == 1) {
      // The term of zero that is left out.
      d_.nodes.push_back({.op = name_of(TapeOp::constant), .operands = {}, .value = 0.0, .name = {}});
      const std::size_t zero = d_.nodes.size() - 1, kept = read_node(call, last);
      if (last == n.a)
        operands.assign({kept, zero});
      else
        operands.assign({zero, kept});
      return;
    }
    for_each_taken(n, [&](std::uint32_t o) { operands.push_back(read_node(call, o)); });
  }

  /// Where a value comes from, as seen in a call: one of its inputs, or a result of a call inside it.
  void locate(std::uint32_t call, std::uint32_t node, DerivedValue& v) {
    if (r_.nodes[node].op == TapeOp::constant) return;
    Known& k = known(call);
    if (const auto* input = k.inputs.find(node)) {
      v.record = record_at_[call];
      v.from_input = true;
      v.field = *input;
    } else if (const auto* made = k.results.find(node); made != nullptr && record_at_[made->call] != kNone) {
      v.record = record_at_[made->call];
      v.field = made->field;
    }
  }

  [[nodiscard]] Derivation read() {
    record_at_.assign(r_.calls.size(), kNone);
    std::size_t count = 0;
    for (std::uint32_t c = 0; c < r_.calls.size(); ++c)
      if (kept_[c]) record_at_[c] = count++;
    d_.records.reserve(count);
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
    record.inputs.reserve(call.inputs);
    record.results.reserve(call.results);
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
      if (!opened_[c] || (!sides_ && c == 0 && known_[0].seen.find(node) == nullptr)) continue;
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
  bool sides_ = true;  ///< whether both sides of a choice are read
  Derivation d_;
};

}  // namespace

namespace {

/// Reduces the operations of a derivation to what one result hangs on.
class Slicer {
 public:
  explicit Slicer(Derivation whole)
      : whole_(std::move(whole)),
        taken_(whole_.nodes.size(), kNone),
        records_(whole_.records.size()),
        kept_(whole_.nodes.size()),
        inputs_(whole_.records.front().inputs.size()),
        inside_(whole_.records.size()) {
    records_[0] = true;
    for (std::size_t r = 1; r < whole_.records.size(); ++r)
      if (whole_.records[r].parent != kNone) inside_[whole_.records[r].parent].push_back(r);
  }

  Derivation run(std::size_t result) {
    const auto& first = whole_.records.front();
    name_results(result);
    const std::size_t root =
        result < first.roots.size() && first.roots[result] != kNone ? taken(first.roots[result]) : kNone;
    if (root != kNone) keep(root);
    name_shared();
    number_names();
    return compact(result, root);
  }

 private:
  [[nodiscard]] bool leaf(std::size_t n) const { return whole_.nodes[n].operands.empty(); }

  /// The node that stands for this one once choices are taken and terms without effect are gone.
  std::size_t taken(std::size_t n) {
    if (taken_[n] != kNone) return taken_[n];
    auto& node = whole_.nodes[n];
    for (auto& o : node.operands)
      if (node.op != "select" || &o != node.operands.data()) o = taken(o);
    std::size_t to = n;
    const auto value = [&](std::size_t i) { return whole_.nodes[node.operands[i]].value; };
    const auto is_constant = [&](std::size_t i) { return whole_.nodes[node.operands[i]].op == "constant"; };
    if (node.op == "select")
      to = node.operands[whole_.nodes[node.operands[0]].value != 0 ? 1 : 2];
    else if (node.op == "add" && value(0) == 0)
      to = node.operands[1];
    else if ((node.op == "add" || node.op == "subtract") && value(1) == 0)
      to = node.operands[0];
    else if (node.op == "multiply" && is_constant(0) && value(0) == 1)
      to = node.operands[1];
    else if ((node.op == "multiply" || node.op == "divide") && is_constant(1) && value(1) == 1)
      to = node.operands[0];
    else if ((node.op == "min" || node.op == "max") && node.operands[0] == node.operands[1])
      to = node.operands[0];
    else if (std::all_of(node.operands.begin(), node.operands.end(),
                         [&](std::size_t o) { return whole_.nodes[o].op == "constant"; }) &&
             !node.operands.empty()) {
      node.op = "constant";
      node.operands.clear();
      node.name.clear();
    }
    if (to != n && !node.name.empty() && !leaf(to) && whole_.nodes[to].name.empty())
      whole_.nodes[to].name = node.name;
    return taken_[n] = to;
  }

  void name_results(std::size_t result) {
    const auto& first = whole_.records.front();
    const auto name = [&](std::size_t i, bool always) {
      if (i >= first.roots.size() || first.roots[i] == kNone) return;
      const std::size_t root = taken(first.roots[i]);
      if (!leaf(root) && (always || whole_.nodes[root].name.empty()))
        whole_.nodes[root].name = first.results[i].name;
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
      const auto& node = whole_.nodes[n];
      for (const std::size_t o : node.operands) open.push_back(o);
      if (node.operands.empty() && node.record != kNone) {
        if (node.op == "law_result")
          keep_record(node.record);
        else if (node.record == 0)
          inputs_[node.field] = true;
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
    // The calls that the law made.
    for (const std::size_t c : inside_[r]) keep_record(c);
  }
  void keep_value(const DerivedValue& v) {
    if (v.node != kNone) return keep(taken(v.node));
    if (v.record == kNone) return;
    if (v.record == 0 && v.from_input)
      inputs_[v.field] = true;
    else if (v.record != 0)
      keep_record(v.record);
  }

  /// Operations that are used twice and are longer than a few words get a name and are written once.
  /// It also keeps expressions from growing without bound.
  void name_shared() {
    constexpr std::size_t few = 6;
    std::vector<std::size_t> uses(kept_.size()), words(kept_.size());
    for (std::size_t n = 0; n < kept_.size(); ++n)
      if (kept_[n])
        for (const std::size_t o : whole_.nodes[n].operands) ++uses[o];
    for (std::size_t r = 1; r < records_.size(); ++r)
      if (records_[r])
        for (const auto& v : whole_.records[r].inputs)
          if (v.node != kNone) ++uses[taken(v.node)];
    std::size_t count = 0;
    for (std::size_t n = 0; n < kept_.size(); ++n) {
      if (!kept_[n]) continue;
      auto& node = whole_.nodes[n];
      words[n] = 1;
      for (const std::size_t o : node.operands) words[n] += whole_.nodes[o].name.empty() ? words[o] : 1;
      if (uses[n] > 1 && node.name.empty() && words[n] > few) node.name = fmt::format("part_{}", ++count);
    }
  }

  /// A name stands for one operation.
  void number_names() {
    std::map<std::string, int, std::less<>> seen;
    for (std::size_t n = 0; n < whole_.nodes.size(); ++n) {
      auto& node = whole_.nodes[n];
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
    d.own = std::move(whole_.own);
    const auto moved = [&](DerivedValue& from) {
      DerivedValue v = std::move(from);
      if (v.node != kNone) v.node = node_at[taken(v.node)];
      if (v.record != kNone) {
        if (v.record == 0 && v.from_input) v.field = input_at[v.field];
        v.record = record_at[v.record];
      }
      return v;
    };
    for (std::size_t r = 0; r < records_.size(); ++r) {
      if (!records_[r]) continue;
      auto& from = whole_.records[r];
      DerivedRecord to{.law = from.law,
                       .parent = from.parent == kNone ? kNone : record_at[from.parent],
                       .depth = from.depth,
                       .inputs = {},
                       .results = {},
                       .roots = {}};
      for (std::size_t i = 0; i < from.inputs.size(); ++i)
        if (r != 0 || inputs_[i]) to.inputs.push_back(moved(from.inputs[i]));
      if (r == 0) {
        to.results.push_back(std::move(from.results[result]));
        auto& v = to.results.back();
        v.record = v.node = kNone;
        v.from_input = false;
        if (root != kNone) to.roots = {node_at[root]};
      } else {
        for (auto& v : from.results) to.results.push_back(moved(v));
        for (const std::size_t n : from.roots) to.roots.push_back(n == kNone ? kNone : node_at[taken(n)]);
      }
      d.records.push_back(std::move(to));
    }
    for (std::size_t n = 0; n < kept_.size(); ++n) {
      if (!kept_[n]) continue;
      DerivedNode node = std::move(whole_.nodes[n]);
      for (auto& o : node.operands) o = node_at[o];
      if (node.record != kNone) {
        if (node.op == "input" && node.record == 0) node.field = input_at[node.field];
        node.record = record_at[node.record];
      }
      d.nodes.push_back(std::move(node));
    }
    return d;
  }

  Derivation whole_;
  std::vector<std::size_t> taken_;
  std::vector<bool> records_, kept_, inputs_;
  std::vector<std::vector<std::size_t>> inside_;  ///< calls inside each
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

Derivation read_calls(const LawEntry& law, std::span<const double> in) {
  return TapeReader(tape_of(law), in, {}).whole();
}

Derivation derive_result(const LawEntry& law, std::span<const double> in, std::size_t result,
                         std::span<const std::string> open) {
  const Tape& tape = tape_of(law);
  std::vector<std::string> opened{std::string(law.info.id)};
  opened.insert(opened.end(), open.begin(), open.end());
  return Slicer(TapeReader(tape, in, opened).behind(result)).run(result);
}

}  // namespace mlsysim
