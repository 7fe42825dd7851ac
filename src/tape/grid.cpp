#include <mlsysim/tape/grid.hpp>

#include "transplant.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <utility>

namespace mlsysim {
namespace {

/// Parts of at most so many rows are tables; of more in a grid that has kShare times as many points.
constexpr std::uint64_t kTable = 4096, kMostTable = 16384, kShare = 256;
/// A part must have so many times fewer rows than the grid.
constexpr std::uint64_t kWorth = 4;

/// Time of a node against that of an addition.
double weight_of(TapeOp op) {
  switch (op) {
    case TapeOp::input:
    case TapeOp::constant:
      return 0;
    case TapeOp::divide:
      return 4;
    case TapeOp::sqrt:
    case TapeOp::quadrature:
      return 12;
    case TapeOp::log:
    case TapeOp::log2:
    case TapeOp::exp:
    case TapeOp::pow:
      return 50;
    case TapeOp::loop:
      return 1000;
    default:
      return 1;
  }
}

/// Axes as bits.
using Axes = std::uint64_t;
constexpr Axes up_to(std::size_t axes) { return (Axes{1} << axes) - 1; }

}  // namespace

/// Divides the nodes of a tape among parts.
class GridProgram::Plan {
 public:
  Plan(GridProgram& to, const Tape& tape, const std::vector<std::size_t>& sizes)
      : to_(to),
        r_(tape.recording()),
        sizes_(sizes),
        home_(r_.nodes.size()),
        wanted_(r_.nodes.size()),
        table_(std::clamp(to.points_ / kShare, kTable, kMostTable)) {
    place_nodes();
    // The whole grid first: it says what it wants of the others. A part has fewer rows than those that read
    // it.
    std::vector<std::uint32_t> order(axes_.size());
    for (std::uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return rows_of(axes_[a]) > rows_of(axes_[b]); });
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
    std::vector<std::uint32_t> at(axes_.size(), kAxis);
    for (std::size_t k = made.size(); k-- > 0;) {
      const auto& [g, recording] = made[k];
      at[g] = static_cast<std::uint32_t>(to_.parts_.size());
      Part part{.program = ColumnProgram(Tape(recording)),
                .sources = {},
                .rows = rows_of(axes_[g]),
                .weight = 0,
                .is_table = false,
                .table = {}};
      part.is_table = g != whole_ && part.rows <= table_;
      for (const auto& node : recording.nodes) part.weight += weight_of(node.op);
      Axes last = 0;
      for (const auto& w : sources[k]) {
        const Axes from = axes_of(w);
        if (part.sources.empty() || from != last) part.patterns.push_back(digits(from, axes_[g]));
        last = from;
        part.sources.push_back({w.group == kAxis ? kAxis : at[w.group], w.which,
                                static_cast<std::uint32_t>(part.patterns.size() - 1)});
        part.weight += 1;
      }
      to_.parts_.push_back(std::move(part));
    }
  }

 private:
  struct Wanted {
    std::uint32_t group, which;
  };

  [[nodiscard]] Axes axes_of(const Wanted& w) const {
    return w.group == kAxis ? Axes{1} << to_.inputs_[w.which].axis : axes_[w.group];
  }
  [[nodiscard]] std::uint64_t rows_of(Axes axes) const {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < sizes_.size(); ++a)
      if ((axes >> a & 1u) != 0) n *= sizes_[a];
    return n;
  }

  /// The row of a part of axes `from` in that of a part which has these axes and others. Neighbours are one
  /// digit.
  [[nodiscard]] std::vector<Digit> digits(Axes from, Axes reader) const {
    std::vector<Digit> out;
    std::uint64_t stride = 1, weight = 1;
    bool neighbours = false;
    for (std::size_t a = sizes_.size(); a-- > 0;) {
      if ((reader >> a & 1u) == 0 || sizes_[a] == 1) continue;
      const bool one_of_them = (from >> a & 1u) != 0;
      if (one_of_them && neighbours)
        out.back().rows *= sizes_[a];
      else if (one_of_them)
        out.push_back({stride, sizes_[a], weight});
      if (one_of_them) weight *= sizes_[a];
      neighbours = one_of_them;
      stride *= sizes_[a];
    }
    if (out.empty()) out.push_back({});
    std::reverse(out.begin(), out.end());
    return out;
  }

  /// The axes of the part in which nodes of these axes are computed.
  [[nodiscard]] Axes widened(Axes axes) const {
    if (rows_of(axes) > table_) axes = up_to(static_cast<std::size_t>(std::bit_width(axes)));
    return rows_of(axes) * kWorth > to_.points_ ? up_to(sizes_.size()) : axes;
  }

  std::uint32_t group_of(Axes axes) {
    const auto [found, added] = groups_.try_emplace(axes, static_cast<std::uint32_t>(axes_.size()));
    if (added) axes_.push_back(axes);
    return found->second;
  }

  void place_nodes() {
    whole_ = group_of(up_to(sizes_.size()));
    std::vector<Axes> axes(r_.nodes.size());
    for (std::size_t n = 0; n < r_.nodes.size(); ++n) {
      const TapeNode& node = r_.nodes[n];
      if (node.op == TapeOp::input) {
        // An axis of one row is none.
        const std::size_t axis = to_.inputs_[node.a].axis;
        if (sizes_[axis] > 1) axes[n] = Axes{1} << axis;
        continue;
      }
      for_each_operand(r_, node, [&](std::uint32_t o) { axes[n] |= axes[o]; });
      home_[n] = group_of(widened(axes[n]));
    }
    // The work of a part compared with the size of its results.
    std::vector<double> weight(axes_.size()), handed(axes_.size());
    std::vector<bool> handed_on(r_.nodes.size());
    for (std::size_t n = 0; n < r_.nodes.size(); ++n) {
      if (is_leaf(n)) continue;
      weight[home_[n]] += weight_of(r_.nodes[n].op);
      for_each_operand(r_, r_.nodes[n],
                       [&](std::uint32_t o) { handed_on[o] = handed_on[o] || home_[o] != home_[n]; });
    }
    for (const auto o : r_.outputs) handed_on[o] = true;
    for (std::size_t n = 0; n < r_.nodes.size(); ++n)
      if (!is_leaf(n) && handed_on[n]) handed[home_[n]] += 1;
    dissolved_.assign(axes_.size(), false);
    for (std::uint32_t g = 0; g < axes_.size(); ++g)
      dissolved_[g] = g != whole_ && weight[g] <= 1.5 * handed[g];
    outputs_.resize(axes_.size());
  }

  [[nodiscard]] bool is_leaf(std::size_t n) const {
    return r_.nodes[n].op == TapeOp::input || r_.nodes[n].op == TapeOp::constant;
  }

  /// The nodes that a group computes, as a tape of its own.
  Recording extract(std::uint32_t g) {
    const std::size_t size = r_.nodes.size();
    const auto inside = [&](std::size_t n) { return home_[n] == g || dissolved_[home_[n]]; };
    std::vector<std::uint8_t> need(size);
    const std::vector<std::uint32_t> roots = g == whole_ ? r_.outputs : outputs_[g];
    for (const auto o : roots) need[o] = 1;
    for (std::size_t n = size; n-- > 0;)
      if (need[n] != 0 && !is_leaf(n) && inside(n))
        for_each_operand(r_, r_.nodes[n], [&](std::uint32_t o) { need[o] = 1; });
    sources_.clear();
    // Inputs are the first nodes, and those of the same axes neighbors.
    std::vector<std::pair<Wanted, std::size_t>> from;
    for (std::size_t n = 0; n < size; ++n) {
      if (need[n] == 0 || r_.nodes[n].op == TapeOp::constant) continue;
      if (r_.nodes[n].op == TapeOp::input)
        from.push_back({{kAxis, r_.nodes[n].a}, n});
      else if (!inside(n))
        from.push_back({{home_[n], output_of(static_cast<std::uint32_t>(n))}, n});
    }
    std::stable_sort(from.begin(), from.end(),
                     [&](const auto& a, const auto& b) { return axes_of(a.first) < axes_of(b.first); });
    detail::Transplant out(r_);
    for (const auto& [source, n] : from) {
      out.make_input(n);
      sources_.push_back(source);
    }
    for (std::size_t n = 0; n < size; ++n)
      if (need[n] != 0 && (r_.nodes[n].op == TapeOp::constant || (!is_leaf(n) && inside(n)))) out.copy(n);
    for (const auto o : roots) out.make_output(o);
    return out.finish();
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
  std::uint64_t table_;                ///< most rows of a table
  std::vector<Axes> axes_;             ///< of each group
  std::map<Axes, std::uint32_t> groups_;
  std::vector<bool> dissolved_;
  std::vector<std::vector<std::uint32_t>> outputs_;  ///< nodes, by group
  std::vector<Wanted> sources_;                      ///< of the group that was extracted last
  std::uint32_t whole_ = 0;
};

GridProgram::GridProgram(const Tape& tape, const std::vector<std::size_t>& sizes,
                         std::vector<GridInput> inputs)
    : inputs_(std::move(inputs)), results_(tape.results()) {
  assert(inputs_.size() == tape.inputs() && sizes.size() <= kMostAxes);
  for (const auto n : sizes) points_ *= n;
  const Plan plan(*this, tape, sizes);  // fills this program
  Workspace workspace(*this);
  std::vector<double*> out;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    if (!part.is_table) continue;
    part.table.resize(part.program.results() * part.rows);
    for (std::uint64_t row = 0; row < part.rows; row += kBlock) {
      out.clear();
      for (std::size_t k = 0; k < part.program.results(); ++k)
        out.push_back(part.table.data() + k * part.rows + row);
      run_part(p, row, static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, part.rows - row)), out.data(),
               workspace);
    }
  }
}

GridProgram::Workspace::Workspace(const GridProgram& program) : windows_(program.parts_.size()) {
  for (std::size_t p = 0; p < program.parts_.size(); ++p) {
    const Part& part = program.parts_[p];
    parts_.emplace_back(part.program);
    if (!part.is_table && p + 1 < program.parts_.size())
      windows_[p].values.resize(part.program.results() * kBlock);
  }
}

double GridProgram::work_per_point() const {
  double work = 0;
  for (const auto& part : parts_)
    work += part.weight * static_cast<double>(part.rows) / static_cast<double>(points_);
  return work;
}

void GridProgram::divide(const std::vector<Digit>& pattern, std::uint64_t row, std::size_t count,
                         std::vector<Segment>& segments) {
  segments.clear();
  const Digit& last = pattern.back();
  for (std::size_t p = 0; p < count;) {
    // Up to the end of the last digit; the other digits do not change before that.
    std::uint64_t at = 0;
    for (const Digit& d : pattern) at += (row + p) / d.stride % d.rows * d.weight;
    std::uint64_t digit = (row + p) / last.stride % last.rows, left = last.stride - (row + p) % last.stride;
    if (last.stride == 1) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(last.rows - digit, count - p));
      segments.push_back({p, length, at, true});
      p += length;
      continue;
    }
    for (; p < count && digit < last.rows; ++digit, ++at, left = last.stride) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left, count - p));
      segments.push_back({p, length, at, false});
      p += length;
    }
  }
}

namespace {

/// Rows of a table or of a window, from row `begins` on.
struct Stored {
  const double* values;
  std::uint64_t begins = 0;

  [[nodiscard]] double operator[](std::uint64_t row) const { return values[row - begins]; }
  void copy(std::uint64_t first, std::size_t count, double* to) const {
    std::copy_n(values + (first - begins), count, to);
  }
};

/// Values of a source, spread over the rows of its reader.
template <class Values, class Segment>
void place(const Values& values, const std::vector<Segment>& segments, double* to) {
  for (const Segment& segment : segments) {
    if (segment.follows) {
      values.copy(segment.at, segment.length, to + segment.to);
      continue;
    }
    // Eight at a time; what is written too much is written again, or lies in the room between two slots.
    const double value = values[segment.at];
    for (std::size_t i = segment.to; i < segment.to + segment.length; i += 8)
      for (std::size_t j = 0; j < 8; ++j) to[i + j] = value;
  }
}

}  // namespace

void GridProgram::run_part(std::size_t p, std::uint64_t row, std::size_t rows, double* const* out,
                           Workspace& workspace) const {
  const Part& part = parts_[p];
  for (const Source& s : part.sources) {
    if (s.part == kAxis || parts_[s.part].is_table) continue;
    // A window has the slowest axes, so its rows are one digit, which never begins again.
    const auto stride = part.patterns[s.pattern][0].stride;
    reach(s.part, row / stride, (row + rows - 1) / stride, workspace);
  }
  auto& own = workspace.parts_[p];
  std::uint32_t pattern = kAxis;
  for (std::size_t k = 0; k < part.sources.size(); ++k) {
    double* const to = part.program.input(k, own);
    if (to == nullptr) continue;
    const Source& s = part.sources[k];
    // Sources of one pattern follow one another.
    if (s.pattern != pattern) divide(part.patterns[pattern = s.pattern], row, rows, workspace.segments_);
    if (s.part == kAxis) {
      const Axis& axis = inputs_[s.which].values;
      if (axis.listed() != nullptr)
        place(Stored{axis.listed()}, workspace.segments_, to);
      else
        place(axis, workspace.segments_, to);
    } else if (const Part& from = parts_[s.part]; from.is_table) {
      place(Stored{from.table.data() + s.which * from.rows}, workspace.segments_, to);
    } else {
      const auto& window = workspace.windows_[s.part];
      place(Stored{window.values.data() + s.which * kBlock, window.first}, workspace.segments_, to);
    }
    std::fill(to + rows, to + std::max(rows, kBlock), to[rows - 1]);
  }
  part.program.run_filled(out, rows, own);
}

void GridProgram::reach(std::size_t p, std::uint64_t row, std::uint64_t last, Workspace& workspace) const {
  auto& window = workspace.windows_[p];
  if (row >= window.first && last < window.first + window.rows) return;
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, parts_[p].rows - row));
  assert(last < row + rows);
  std::vector<double*> out;
  for (std::size_t k = 0; k < parts_[p].program.results(); ++k)
    out.push_back(window.values.data() + k * kBlock);
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
