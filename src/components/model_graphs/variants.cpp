// Facts that tell variants of one network apart; which of them is meant is for the reader to say.

#include "detail/variants.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace mlsysim::detail {
namespace {

/// Places of a kernel as people write it: 9 as "3 x 3".
std::string window_text(double places) {
  const double side = std::round(std::sqrt(places));
  return side * side == places ? fmt::format("{0:g} x {0:g}", side) : fmt::format("{:g} places", places);
}

/// Whether a convolution gives fewer places than it reads: by half at least in one direction.
bool strides(const Program& p, const ProgramOp& op) {
  if (op.operands.empty()) return false;
  const double features = op.depth / op.window * op.copies;
  const double read = p.values[op.operands[0]].type.elements() / features;
  // A window without padding loses a rim, never a third of the places of an image.
  return read > 1.5 * op.rows && op.rows > 1;
}

}  // namespace

void note_strides(Program& p) {
  std::map<double, int, std::greater<>> striding, all;  // by places of the kernel
  for (const auto& op : p.ops) {
    if (op.kind != ListedKind::convolution || op.window <= 0) continue;
    all[op.window] += 1;
    if (strides(p, op)) striding[op.window] += 1;
  }
  if (striding.empty()) return;
  std::string text = "convolutions with a stride: ";
  for (const auto& [window, count] : striding)
    text += fmt::format("{}{} of {}", text.ends_with(' ') ? "" : ", ", count, window_text(window));
  // Blocks of 1 x 1, 3 x 3, 1 x 1: the shorter way has a 1 x 1 with the same stride, other 1 x 1 have none.
  if (all.contains(9) && all.contains(1) && striding.contains(1) && all[1] > striding[1])
    text += striding.contains(9)
                ? ", so that its blocks shrink in their 3 x 3: the variant of ResNet that is called 1.5"
                : ", so that its blocks shrink in their first 1 x 1: ResNet as it was published";
  p.notes.push_back(std::move(text));
}

}  // namespace mlsysim::detail
