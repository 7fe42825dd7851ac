#include <mlsysim/tape/grid.hpp>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace mlsysim {
namespace {

/// Parts of at most so many rows are tables.
constexpr std::uint64_t kTable = 4096;
/// A part must have so many times fewer rows than the grid.
constexpr std::uint64_t kWorth = 4;

/// Time of a node against that of an addition.
double weight_of(TapeOp op) {
  switch (op) {
    case TapeOp::input:
    case TapeOp::constant: return 0;
    case TapeOp::divide: return 4;
    case TapeOp::sqrt:
    case TapeOp::quadrature: return 12;
    case TapeOp::log:
    case TapeOp::log2:
    case TapeOp::exp:
    case TapeOp::pow: return 50;
    case TapeOp::loop: return 1000;
    default: return 1;
  }
}

/// A run of neighbouring axes [first, last); empty for what hangs on none.
struct Run {
  std::size_t first = 0, last = 0;

  friend auto operator<=>(const Run&, const Run&) = default;
  [[nodiscard]] bool empty() const { return first == last; }
};
Run hull(const Run& a, const Run& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

}  // namespace

/// Divides the nodes of a tape among parts.
class GridProgram::Plan {
 public:
  Plan(GridProgram& to, const Tape& tape, const std::vector<std::size_t>& sizes)
      : to_(to), r_(tape.recording()), sizes_(sizes), home_(r_.nodes.size()), wanted_(r_.nodes.size()) {
    place_nodes();
    // The whole grid first: it says what it wants of the others. A part has fewer rows than those that read it.
    std::vector<std::uint32_t> order(runs_.size());
    for (std::uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rows_of(runs_[a]) > rows_of(runs_[b]); });
    std::vector<std::pair<std::uint32_t, Recording>> made;
    std::vector<std::vector<Wanted>> sources;
    for (const auto g : order) {
      if (dissolved_[g]) continue;
      Recording part = extract(g);
      if (part.outputs.empty() && g != whole_) continue;
      sources.push_back(std::move(sources_));
      made.emplace_back(g, std::move(part));
    }
    // Those that are read before those that read them.
    std::vector<std::uint32_t> at(runs_.size(), kAxis);
    for (std::size_t k = made.size(); k-- > 0;) {
      const auto& [g, recording] = made[k];
      at[g] = static_cast<std::uint32_t>(to_.parts_.size());
      Part part{.program = ColumnProgram(Tape(recording)), .sources = {}, .rows = rows_of(runs_[g]), .weight = 0, .is_table = false, .table = {}};
      part.is_table = g != whole_ && part.rows <= kTable;
      for (const auto& node : recording.nodes) part.weight += weight_of(node.op);
      for (const auto& w : sources[k]) {
        const Run from = w.group == kAxis ? Run{to_.inputs_[w.which].axis, to_.inputs_[w.which].axis + 1} : runs_[w.group];
        part.sources.push_back({w.group == kAxis ? kAxis : at[w.group], w.which, product(from.last, from.empty() ? sizes_.size() : runs_[g].last), rows_of(from)});
        part.weight += 1;
      }
      to_.parts_.push_back(std::move(part));
    }
  }

 private:
  struct Wanted {
    std::uint32_t group, which;
  };

  [[nodiscard]] std::uint64_t product(std::size_t first, std::size_t last) const {
    std::uint64_t n = 1;
    for (std::size_t a = first; a < last; ++a) n *= sizes_[a];
    return n;
  }
  [[nodiscard]] std::uint64_t rows_of(const Run& run) const { return product(run.first, run.last); }

  /// The run of a part in which nodes of this run are computed.
  [[nodiscard]] Run widened(Run run) const {
    if (rows_of(run) > kTable) run.first = 0;
    return rows_of(run) * kWorth > to_.points_ ? Run{0, sizes_.size()} : run;
  }

  std::uint32_t group_of(const Run& run) {
    const auto [found, added] = groups_.try_emplace(run, static_cast<std::uint32_t>(runs_.size()));
    if (added) runs_.push_back(run);
    return found->second;
  }

  void place_nodes() {
    whole_ = group_of({0, sizes_.size()});
    std::vector<Run> run(r_.nodes.size());
    for (std::size_t n = 0; n < r_.nodes.size(); ++n) {
      const TapeNode& node = r_.nodes[n];
      if (node.op == TapeOp::input) {
        // An axis of one row is none.
        const std::size_t axis = to_.inputs_[node.a].axis;
        if (sizes_[axis] > 1) run[n] = {axis, axis + 1};
        continue;
      }
      for_each_operand(r_, node, [&](std::uint32_t o) { run[n] = hull(run[n], run[o]); });
      home_[n] = group_of(widened(run[n]));
    }
    // What a part computes against what it hands on.
    std::vector<double> weight(runs_.size()), handed(runs_.size());
    std::vector<bool> handed_on(r_.nodes.size());
    for (std::size_t n = 0; n < r_.nodes.size(); ++n) {
      if (is_leaf(n)) continue;
      weight[home_[n]] += weight_of(r_.nodes[n].op);
      for_each_operand(r_, r_.nodes[n], [&](std::uint32_t o) { handed_on[o] = handed_on[o] || home_[o] != home_[n]; });
    }
    for (const auto o : r_.outputs) handed_on[o] = true;
    for (std::size_t n = 0; n < r_.nodes.size(); ++n)
      if (!is_leaf(n) && handed_on[n]) handed[home_[n]] += 1;
    dissolved_.assign(runs_.size(), false);
    for (std::uint32_t g = 0; g < runs_.size(); ++g) dissolved_[g] = g != whole_ && weight[g] <= 1.5 * handed[g];
    outputs_.resize(runs_.size());
  }

  [[nodiscard]] bool is_leaf(std::size_t n) const { return r_.nodes[n].op == TapeOp::input || r_.nodes[n].op == TapeOp::constant; }

  /// The nodes that a group computes, as a tape of its own.
  Recording extract(std::uint32_t g) {
    const std::size_t size = r_.nodes.size();
    const auto inside = [&](std::size_t n) { return home_[n] == g || dissolved_[home_[n]]; };
    std::vector<std::uint8_t> need(size);
    const std::vector<std::uint32_t> roots = g == whole_ ? r_.outputs : outputs_[g];
    for (const auto o : roots) need[o] = 1;
    for (std::size_t n = size; n-- > 0;)
      if (need[n] != 0 && !is_leaf(n) && inside(n)) for_each_operand(r_, r_.nodes[n], [&](std::uint32_t o) { need[o] = 1; });
    Recording out;
    sources_.clear();
    std::vector<std::uint32_t> moved(size);
    std::vector<std::uint32_t> loops(r_.loops.size(), kAxis);
    // Inputs are the first nodes.
    for (std::size_t n = 0; n < size; ++n) {
      if (need[n] == 0 || r_.nodes[n].op == TapeOp::constant) continue;
      const bool axis = r_.nodes[n].op == TapeOp::input;
      if (!axis && inside(n)) continue;
      moved[n] = out.inputs;
      out.nodes.push_back({TapeOp::input, out.inputs++});
      sources_.push_back(axis ? Wanted{kAxis, r_.nodes[n].a} : Wanted{home_[n], output_of(static_cast<std::uint32_t>(n))});
    }
    for (std::size_t n = 0; n < size; ++n) {
      TapeNode node = r_.nodes[n];
      if (need[n] == 0 || node.op == TapeOp::input || (node.op != TapeOp::constant && !inside(n))) continue;
      const int operands = operands_of(node.op);
      if (operands > 0) node.a = moved[node.a];
      if (operands > 1) node.b = moved[node.b];
      if (operands > 2) node.c = moved[node.c];
      if (node.op == TapeOp::constant) {
        out.constants.push_back(r_.constants[node.a]);
        node.a = static_cast<std::uint32_t>(out.constants.size() - 1);
      } else if (node.op == TapeOp::loop) {
        if (loops[node.a] == kAxis) {
          TapeLoop loop = r_.loops[node.a];
          loop.count = moved[loop.count];
          for (auto& x : loop.initial) x = moved[x];
          for (auto& x : loop.captured) x = moved[x];
          loops[node.a] = static_cast<std::uint32_t>(out.loops.size());
          out.loops.push_back(std::move(loop));
        }
        node.a = loops[node.a];
      }
      moved[n] = static_cast<std::uint32_t>(out.nodes.size());
      out.nodes.push_back(node);
    }
    for (const auto o : roots) out.outputs.push_back(moved[o]);
    return out;
  }

  /// Which output of its group a node is.
  std::uint32_t output_of(std::uint32_t n) {
    auto& outputs = outputs_[home_[n]];
    if (wanted_[n] == 0) {
      outputs.push_back(n);
      wanted_[n] = static_cast<std::uint32_t>(outputs.size());
    }
    return wanted_[n] - 1;
  }

  GridProgram& to_;
  const Recording& r_;
  const std::vector<std::size_t>& sizes_;
  std::vector<std::uint32_t> home_;    ///< group of each node that is no leaf
  std::vector<std::uint32_t> wanted_;  ///< place among the outputs of its group, plus 1
  std::vector<Run> runs_;              ///< of each group
  std::map<Run, std::uint32_t> groups_;
  std::vector<bool> dissolved_;
  std::vector<std::vector<std::uint32_t>> outputs_;  ///< nodes, by group
  std::vector<Wanted> sources_;                      ///< of the group that was extracted last
  std::uint32_t whole_ = 0;
};

GridProgram::GridProgram(const Tape& tape, std::vector<std::size_t> sizes, std::vector<GridInput> inputs)
    : inputs_(std::move(inputs)), results_(tape.results()) {
  assert(inputs_.size() == tape.inputs());
  for (const auto n : sizes) points_ *= n;
  Plan(*this, tape, sizes);
  Workspace workspace(*this);
  std::vector<double*> out;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    if (!part.is_table) continue;
    part.table.resize(part.program.results() * part.rows);
    for (std::uint64_t row = 0; row < part.rows; row += kBlock) {
      out.clear();
      for (std::size_t k = 0; k < part.program.results(); ++k) out.push_back(part.table.data() + k * part.rows + row);
      run_part(p, row, static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, part.rows - row)), out.data(), workspace);
    }
  }
}

GridProgram::Workspace::Workspace(const GridProgram& program) : windows_(program.parts_.size()) {
  for (std::size_t p = 0; p < program.parts_.size(); ++p) {
    const Part& part = program.parts_[p];
    parts_.emplace_back(part.program);
    if (!part.is_table && p + 1 < program.parts_.size()) windows_[p].values.resize(part.program.results() * kBlock);
  }
}

double GridProgram::work_per_point() const {
  double work = 0;
  for (const auto& part : parts_) work += part.weight * static_cast<double>(part.rows) / static_cast<double>(points_);
  return work;
}

namespace {

void copy_values(const double* from, std::uint64_t first, std::size_t count, double* to) { std::copy_n(from + first, count, to); }
void copy_values(const Axis& from, std::uint64_t first, std::size_t count, double* to) { from.copy(first, count, to); }

/// Values of rows [row, row + count) of a reader, `stride` of which share a value, into a slot.
/// @param values of the source, whose first one is that of its row `begins`
template <class Values>
void spread(const Values& values, std::uint64_t begins, std::uint64_t source_rows, std::uint64_t stride, std::uint64_t row, std::size_t count,
            double* to) {
  std::uint64_t at = row / stride % source_rows, left = stride - row % stride;
  for (std::size_t p = 0; p < count;) {
    if (stride == 1) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(source_rows - at, count - p));
      copy_values(values, at - begins, length, to + p);
      p += length;
      at = 0;
      continue;
    }
    // Eight at a time; what is written too much is written again, or lies in the room between two slots.
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left, count - p));
    const double x = values[at - begins];
    for (std::size_t k = 0; k < length; k += 8)
      for (std::size_t j = 0; j < 8; ++j) to[p + k + j] = x;
    p += length;
    at = at + 1 == source_rows ? 0 : at + 1;
    left = stride;
  }
  std::fill(to + count, to + std::max(count, kBlock), to[count - 1]);
}

}  // namespace

void GridProgram::run_part(std::size_t p, std::uint64_t row, std::size_t rows, double* const* out, Workspace& workspace) const {
  const Part& part = parts_[p];
  for (const Source& s : part.sources) {
    if (s.part == kAxis || parts_[s.part].is_table) continue;
    reach(s.part, row / s.stride, (row + rows - 1) / s.stride, workspace);
  }
  auto& own = workspace.parts_[p];
  for (std::size_t k = 0; k < part.sources.size(); ++k) {
    double* const to = part.program.input(k, own);
    if (to == nullptr) continue;
    const Source& s = part.sources[k];
    if (s.part == kAxis) {
      const Axis& axis = inputs_[s.which].values;
      if (axis.listed() != nullptr) spread(axis.listed(), 0, s.rows, s.stride, row, rows, to);
      else spread(axis, 0, s.rows, s.stride, row, rows, to);
    } else if (const Part& from = parts_[s.part]; from.is_table) {
      spread(from.table.data() + s.which * from.rows, 0, s.rows, s.stride, row, rows, to);
    } else {
      const auto& window = workspace.windows_[s.part];
      spread(window.values.data() + s.which * kBlock, window.first, s.rows, s.stride, row, rows, to);
    }
  }
  part.program.run_filled(out, rows, own);
}

void GridProgram::reach(std::size_t p, std::uint64_t row, std::uint64_t last, Workspace& workspace) const {
  auto& window = workspace.windows_[p];
  if (row >= window.first && last < window.first + window.rows) return;
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, parts_[p].rows - row));
  assert(last < row + rows);
  std::vector<double*> out;
  for (std::size_t k = 0; k < parts_[p].program.results(); ++k) out.push_back(window.values.data() + k * kBlock);
  run_part(p, row, rows, out.data(), workspace);
  window.first = row;
  window.rows = rows;
}

void GridProgram::run(std::uint64_t at, std::size_t points, double* const* out, Workspace& workspace) const {
  workspace.out_.assign(out, out + results_);
  for (std::size_t done = 0; done < points; done += kBlock) {
    run_part(parts_.size() - 1, at + done, std::min(kBlock, points - done), workspace.out_.data(), workspace);
    for (auto& column : workspace.out_) column += kBlock;
  }
}

}  // namespace mlsysim
