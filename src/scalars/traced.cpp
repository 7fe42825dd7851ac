#include <mlsysim/scalars/traced.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace mlsysim {

namespace detail {
constinit thread_local Trace* current_trace = nullptr;
}

namespace {

constexpr std::uint64_t packed(std::uint32_t parent, std::uint16_t inputs, std::uint16_t results) {
  return std::uint64_t{parent} << 32 | std::uint64_t{inputs} << 16 | results;
}

Trace& recorder() { return *detail::current_trace; }

}  // namespace

Trace::Trace() : cells_(1024) {}

Trace& Trace::open(std::string law) {
  if (!opens(law)) open_.push_back(std::move(law));
  return *this;
}

void Trace::clear() {
  size_ = 1;
  nodes_.clear();
  parent = 0;
  inside_open = false;
}

bool Trace::opens(std::string_view law) const { return std::find(open_.begin(), open_.end(), law) != open_.end(); }

void Trace::grow(std::size_t need) { cells_.resize(std::max(cells_.size() * 2, size_ + need)); }

std::uint32_t Trace::begin(const LawShape* law, const Traced* inputs, std::uint16_t n_inputs,
                           std::uint16_t n_results) {
  const std::size_t need = 1u + n_inputs + n_results;
  if (size_ + need > cells_.size()) grow(need);
  const auto at = static_cast<std::uint32_t>(size_);
  Cell* c = cells_.data() + at;
  c[0] = {static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(law)), packed(parent, n_inputs, n_results)};
  std::memcpy(c + 1, static_cast<const void*>(inputs), n_inputs * sizeof(Cell));
  std::memset(static_cast<void*>(c + 1 + n_inputs), 0, n_results * sizeof(Cell));
  size_ += need;
  return at;
}

void Trace::end(std::uint32_t call, Traced* results, std::uint16_t n_inputs, std::uint16_t n_results) {
  const std::uint32_t first = call + 1 + n_inputs;
  std::memcpy(cells_.data() + first, static_cast<const void*>(results), n_results * sizeof(Cell));
  for (std::uint32_t i = 0; i < n_results; ++i) results[i].id = first + i;
}

std::vector<Trace::Call> Trace::calls() const {
  std::vector<Call> out;
  for (std::size_t i = 1; i < size_;) {
    Call c;
    c.law = reinterpret_cast<const LawShape*>(static_cast<std::uintptr_t>(cells_[i].first));
    c.cell = static_cast<std::uint32_t>(i);
    c.parent = static_cast<std::uint32_t>(cells_[i].second >> 32);
    c.inputs = static_cast<std::uint16_t>(cells_[i].second >> 16);
    c.results = static_cast<std::uint16_t>(cells_[i].second);
    i += 1u + c.inputs + c.results;
    out.push_back(c);
  }
  return out;
}

Traced Trace::value(std::uint32_t cell) const {
  return {std::bit_cast<double>(cells_.at(cell).first), cells_.at(cell).second};
}

std::uint64_t Trace::add_leaf(TraceOp op, double value, std::uint64_t source) {
  nodes_.push_back({.op = op, .value = value, .source = source});
  return kNode | (nodes_.size() - 1);
}

std::uint32_t Trace::operand(std::uint64_t id, double value) {
  if ((id & kNode) != 0) return static_cast<std::uint32_t>(id);
  return static_cast<std::uint32_t>(add_leaf(id == 0 ? TraceOp::constant : TraceOp::law_result, value, id));
}

std::uint64_t Trace::add_node(TraceOp op, double value, std::uint64_t a, double av, std::uint64_t b, double bv,
                              std::uint64_t c, double cv, int operands) {
  TraceNode node{.op = op, .value = value};
  node.operand[0] = operand(a, av);
  if (operands > 1) node.operand[1] = operand(b, bv);
  if (operands > 2) node.operand[2] = operand(c, cv);
  nodes_.push_back(node);
  return kNode | (nodes_.size() - 1);
}

void Trace::name_node(std::uint64_t id, std::string_view name) { nodes_[static_cast<std::uint32_t>(id)].name = name; }

TraceScope::TraceScope(Trace& trace) : before_(detail::current_trace) { detail::current_trace = &trace; }
TraceScope::~TraceScope() { detail::current_trace = before_; }

// Only a value made inside an opened law carries a node, and its recorder is the current one.
std::uint64_t Traced::note(TraceOp op, double value, const Traced& a, const Traced& b) {
  return recorder().add_node(op, value, a.id, a.value, b.id, b.value, 0, 0, 2);
}
std::uint64_t Traced::note(TraceOp op, double value, const Traced& a) {
  return recorder().add_node(op, value, a.id, a.value, 0, 0, 0, 0, 1);
}
Traced Traced::choose(const TracedCondition& c, const Traced& a, const Traced& b) {
  const double value = c.value ? a.value : b.value;
  return {value, recorder().add_node(TraceOp::select, value, c.id, c.value ? 1.0 : 0.0, a.id, a.value, b.id, b.value, 3)};
}
std::uint64_t TracedCondition::make(TraceOp op, bool value, const TracedCondition& a, const TracedCondition& b,
                                    int operands) {
  return recorder().add_node(op, value ? 1.0 : 0.0, a.id, a.value ? 1.0 : 0.0, b.id, b.value ? 1.0 : 0.0, 0, 0, operands);
}

}  // namespace mlsysim
