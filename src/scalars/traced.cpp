#include <mlsysim/scalars/traced.hpp>

#include <algorithm>
#include <bit>

namespace mlsysim {

namespace detail {
constinit thread_local Trace* current_trace = nullptr;
}

namespace {

Trace& recorder() { return *detail::current_trace; }

}  // namespace

Trace::Trace() : cells_(1024), nodes_(256) {}

Trace& Trace::open(std::string law) {
  if (!opens(law)) open_.push_back(std::move(law));
  return *this;
}

void Trace::clear() {
  size_ = 1;
  node_count_ = 0;
  names_.clear();
  parent = 0;
  inside_open = false;
}

bool Trace::opens(std::string_view law) const { return std::find(open_.begin(), open_.end(), law) != open_.end(); }

void Trace::grow(std::size_t need) { cells_.resize(std::max(cells_.size() * 2, size_ + need)); }

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

inline std::uint64_t Trace::push(TraceOp op, double value, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (node_count_ == nodes_.size()) nodes_.resize(2 * nodes_.size());
  // Member by member: a node built aside and copied waits for its own stores.
  TraceNode& node = nodes_[node_count_];
  node.op = op;
  node.operand[0] = a;
  node.operand[1] = b;
  node.operand[2] = c;
  node.value = value;
  return kNode | node_count_++;
}

std::uint64_t Trace::add_leaf(TraceOp op, double value, std::uint64_t source) {
  return push(op, value, static_cast<std::uint32_t>(source));
}

inline std::uint32_t Trace::operand(const Traced& x) {
  if ((x.id & kNode) != 0) return static_cast<std::uint32_t>(x.id);
  return static_cast<std::uint32_t>(add_leaf(x.id == 0 ? TraceOp::constant : TraceOp::law_result, x.value, x.id));
}

std::uint64_t Trace::add_node(TraceOp op, double value, const Traced& a) {
  return push(op, value, operand(a));
}
std::uint64_t Trace::add_node(TraceOp op, double value, const Traced& a, const Traced& b) {
  const std::uint32_t first = operand(a), second = operand(b);
  return push(op, value, first, second);
}
std::uint64_t Trace::add_node(TraceOp op, double value, const Traced& a, const Traced& b, const Traced& c) {
  const std::uint32_t first = operand(a), second = operand(b), third = operand(c);
  return push(op, value, first, second, third);
}

void Trace::name_node(std::uint64_t id, std::string_view name) { names_.push_back({static_cast<std::uint32_t>(id), name}); }

TraceScope::TraceScope(Trace& trace) : before_(detail::current_trace) { detail::current_trace = &trace; }
TraceScope::~TraceScope() { detail::current_trace = before_; }

// Only a value made inside an opened law carries a node, and its recorder is the current one.
std::uint64_t Traced::note(TraceOp op, double value, const Traced& a, const Traced& b) {
  return recorder().add_node(op, value, a, b);
}
std::uint64_t Traced::note(TraceOp op, double value, const Traced& a) { return recorder().add_node(op, value, a); }
Traced Traced::choose(const TracedCondition& c, const Traced& a, const Traced& b) {
  const double value = c.value ? a.value : b.value;
  return {value, recorder().add_node(TraceOp::select, value, {c.value ? 1.0 : 0.0, c.id}, a, b)};
}
std::uint64_t TracedCondition::make(TraceOp op, bool value, const TracedCondition& a, const TracedCondition& b,
                                    int operands) {
  const Traced first(a.value ? 1.0 : 0.0, a.id), second(b.value ? 1.0 : 0.0, b.id);
  return operands == 1 ? recorder().add_node(op, value ? 1.0 : 0.0, first)
                       : recorder().add_node(op, value ? 1.0 : 0.0, first, second);
}

}  // namespace mlsysim
