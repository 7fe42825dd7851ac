#include <mlsysim/tape/columns.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace mlsysim {

using detail::ColumnStep;

namespace {

constexpr std::size_t kStride = detail::kSlotStride;

/// Gives out slots, the one that was freed last first, because it is still in the nearest cache.
class Slots {
 public:
  std::uint32_t take() {
    if (!free_.empty()) {
      const auto s = free_.back();
      free_.pop_back();
      return s;
    }
    return static_cast<std::uint32_t>(count_++);
  }
  void give_back(std::uint32_t s) { free_.push_back(s); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
};

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}
bool fits_divisor(double x) {
  return std::fabs(x) >= detail::kLeastDivisor && std::fabs(x) <= detail::kMostDivisor;
}

}  // namespace

ColumnProgram::ColumnProgram(Tape tape) : tape_(std::move(tape)) {
  const Recording& r = tape_.recording();
  const std::size_t size = r.nodes.size();
  slot_.assign(size, kNoSlot);
  is_scalar_.assign(size, 0);
  input_slot_.assign(r.inputs, kNoSlot);
  // The last use of each node; results are used to the end.
  std::vector<std::size_t> last(size, 0);
  std::vector<std::uint8_t> used(size, 0);
  for (std::size_t n = 0; n < size; ++n)
    for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { last[o] = n, used[o] = 1; });
  for (const auto o : r.outputs) last[o] = size, used[o] = 1;
  // Columns that divide several others. Their reciprocals live as long as the last division.
  struct Divisor {
    std::size_t count = 0, last = 0;
    std::uint32_t slot = kNoSlot;
  };
  std::vector<Divisor> divisors(size);
  const bool corrects = detail::corrects_divisions();
  for (std::size_t n = 0; corrects && n < size; ++n)
    if (const TapeNode& node = r.nodes[n]; node.op == TapeOp::divide)
      ++divisors[node.b].count, divisors[node.b].last = n;
  Slots slots;
  for (std::size_t n = 0; n < size; ++n) {
    const TapeNode& node = r.nodes[n];
    if (node.op == TapeOp::constant) {
      is_scalar_[n] = 1;
      slot_[n] = static_cast<std::uint32_t>(scalars_.size());
      scalars_.push_back(r.constants[node.a]);
      continue;
    }
    if (node.op == TapeOp::input && used[n] == 0) continue;
    const bool shared =
        node.op == TapeOp::divide && divisors[node.b].count > 1 && r.nodes[node.b].op != TapeOp::constant;
    if (Divisor& d = divisors[node.b]; shared && d.slot == kNoSlot) {
      d.slot = slots.take();
      steps_.push_back(
          {.op = node.op, .way = detail::ColumnWay::reciprocal, .to = d.slot, .a = slot_[node.b]});
    }
    // Operands that end here give their slots to the result.
    for_each_operand(r, node, [&](std::uint32_t o) {
      if (last[o] != n || is_scalar_[o] != 0) return;
      slots.give_back(slot_[o]);
      last[o] = size + 1;  // once, however often it is an operand
    });
    slot_[n] = slots.take();
    if (shared && divisors[node.b].last == n) slots.give_back(divisors[node.b].slot);
    if (node.op == TapeOp::input) {
      input_slot_[node.a] = slot_[n];
      continue;
    }
    ColumnStep step{.op = node.op, .to = slot_[n]};
    if (node.op == TapeOp::loop) {
      // A loop reads its operands while it writes, so its slot must be none of theirs.
      breaks_.push_back(steps_.size());
      loops_.push_back(static_cast<std::uint32_t>(n));
      continue;
    }
    const auto operand = [&](std::uint32_t o, unsigned bit) {
      if (is_scalar_[o] != 0) step.scalars = static_cast<std::uint8_t>(step.scalars | bit);
      return slot_[o];
    };
    step.a = operand(node.a, 1);
    if (operands_of(node.op) > 1) step.b = operand(node.b, 2);
    if (operands_of(node.op) > 2) step.c = operand(node.c, 4);
    if (shared) {
      step.way = detail::ColumnWay::corrected;
      step.c = divisors[node.b].slot;
    } else if (node.op == TapeOp::divide && (step.scalars & 2u) != 0) {
      divide_by_scalar(step, corrects);
    }
    steps_.push_back(step);
  }
  slots_ = slots.count();
}

void ColumnProgram::divide_by_scalar(ColumnStep& step, bool corrects) {
  const double divisor = scalars_[step.b];
  if (!fits_divisor(divisor)) return;
  const auto reciprocal = static_cast<std::uint32_t>(scalars_.size());
  if (is_power_of_two(divisor)) {
    step.op = TapeOp::multiply;
    step.b = reciprocal;
  } else if (corrects) {
    step.way = detail::ColumnWay::corrected;
    step.scalars |= 4u;
    step.c = reciprocal;
  } else {
    return;
  }
  scalars_.push_back(1.0 / divisor);
}

ColumnProgram::Workspace::Workspace(const ColumnProgram& program)
    : slots_(program.slots_ * kStride + 8), scalars_(program.scalars_) {
  // Slots begin at cache lines.
  void* at = slots_.data();
  std::size_t room = slots_.size() * sizeof(double);
  base_ = static_cast<double*>(std::align(64, program.slots_ * kStride * sizeof(double), at, room));
}

double* ColumnProgram::input(std::size_t i, Workspace& w) const {
  return input_slot_[i] == kNoSlot ? nullptr : w.base_ + input_slot_[i] * kStride;
}

void ColumnProgram::run_filled(double* const* out, std::size_t points, Workspace& w) const {
  const Recording& r = tape_.recording();
  std::size_t done = 0;
  for (std::size_t k = 0; k <= breaks_.size(); ++k) {
    const std::size_t end = k < breaks_.size() ? breaks_[k] : steps_.size();
    detail::run_columns(std::span(steps_).subspan(done, end - done), w.base_, w.scalars_.data());
    done = end;
    if (k == breaks_.size()) break;
    const std::uint32_t n = loops_[k];
    const TapeLoop& loop = r.loops[r.nodes[n].a];
    const auto value = [&](std::uint32_t node, std::size_t lane) {
      return is_scalar_[node] != 0 ? scalars_[slot_[node]] : w.base_[slot_[node] * kStride + lane];
    };
    // A lane that enters the loop with what the lane before entered with leaves it with the same.
    std::vector<double> states, now, before, column(kBlock);
    for (std::size_t lane = 0; lane < kBlock; ++lane, before.swap(now)) {
      now.assign(1, value(loop.count, lane));
      for (const auto x : loop.initial) now.push_back(value(x, lane));
      for (const auto x : loop.captured) now.push_back(value(x, lane));
      if (now.size() == before.size() &&
          std::memcmp(now.data(), before.data(), now.size() * sizeof(double)) == 0) {
        column[lane] = column[lane - 1];
        continue;
      }
      const auto captured = std::span<const double>(now).subspan(1 + loop.initial.size());
      states.assign(now.begin() + 1, now.end() - static_cast<std::ptrdiff_t>(captured.size()));
      run_loop(loop, now[0], states, captured);
      column[lane] = states[r.nodes[n].b];
    }
    std::copy(column.begin(), column.end(), w.base_ + slot_[n] * kStride);
  }
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    const std::uint32_t n = r.outputs[i];
    if (is_scalar_[n] != 0)
      std::fill_n(out[i], points, scalars_[slot_[n]]);
    else
      std::copy_n(w.base_ + slot_[n] * kStride, points, out[i]);
  }
}

void ColumnProgram::run(const double* const* in, double* const* out, std::size_t points,
                        Workspace& workspace) const {
  std::vector<double*> to(out, out + results());
  for (std::size_t at = 0; at < points; at += kBlock) {
    const std::size_t here = std::min(kBlock, points - at);
    for (std::size_t i = 0; i < inputs(); ++i) {
      double* const column = input(i, workspace);
      if (column == nullptr) continue;
      std::copy_n(in[i] + at, here, column);
      // Lanes without a point compute what the last point computes.
      std::fill(column + here, column + kBlock, in[i][at + here - 1]);
    }
    run_filled(to.data(), here, workspace);
    for (double*& column : to) column += here;
  }
}

}  // namespace mlsysim
