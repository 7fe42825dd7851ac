// Operators of ONNX that slide a window over an image: convolutions and pools; and sums over letters.

#include "detail/groups.hpp"
#include "detail/onnx_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace mlsysim::detail {
namespace {

/// One number of a list of a node, as a double: files state what they like, and sums of it must not wrap.
double at(const std::vector<std::int64_t>& list, std::size_t i, double otherwise) {
  return i < list.size() ? static_cast<double>(list[i]) : otherwise;
}

}  // namespace

std::int64_t OnnxShapes::spatial(std::int64_t size, std::size_t axis, const Dims& kernel) const {
  if (size < 0) return size;
  const double n = static_cast<double>(size), stride = std::max(1.0, at(n_.ints("strides"), axis, 1));
  const double reach = at(n_.ints("dilations"), axis, 1) * (at(kernel, axis, 1) - 1) + 1;
  const auto pad = n_.text("auto_pad");
  if (pad == "SAME_UPPER" || pad == "SAME_LOWER") return computed_extent(std::ceil(n / stride));
  const auto& pads = n_.ints("pads");
  const double span =
      n - reach + (pad == "VALID" ? 0 : at(pads, axis, 0) + at(pads, axis + kernel.size(), 0));
  if (span < 0) return 0;
  return computed_extent(
      (n_.integer("ceil_mode", 0) != 0 ? std::ceil(span / stride) : std::floor(span / stride)) + 1);
}

void OnnxShapes::convolution() {
  const Dims x = dims(0), w = dims(n_.op == "QLinearConv" ? 3 : 1);
  if (x.size() < 3 || w.size() != x.size()) return;
  const double groups =
      checked_groups(static_cast<double>(n_.integer("group", 1)), n_.op, s_.file, n_.number);
  const Dims kernel(w.begin() + 2, w.end());
  const bool transposed = n_.op == "ConvTranspose";
  Dims out{x[0], transposed && w[1] >= 0 ? computed_extent(static_cast<double>(w[1]) * groups)
                                         : w[transposed ? 1 : 0]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (!transposed || x[i + 2] < 0) {
      out.push_back(transposed ? x[i + 2] : spatial(x[i + 2], i, kernel));
      continue;
    }
    const auto& pads = n_.ints("pads");
    out.push_back(computed_extent(at(n_.ints("strides"), i, 1) * (static_cast<double>(x[i + 2]) - 1) +
                                  at(n_.ints("output_padding"), i, 0) +
                                  (at(kernel, i, 1) - 1) * at(n_.ints("dilations"), i, 1) + 1 -
                                  at(pads, i, 0) - at(pads, i + kernel.size(), 0)));
  }
  const TensorType result = give(0, out);
  // An open extent counts as 1, as everywhere.
  const auto counted = [](std::int64_t d) { return static_cast<double>(std::max<std::int64_t>(1, d)); };
  double field = 1;
  for (const auto k : kernel) field *= counted(k);
  auto& op = n_.made;
  op.kind = ListedKind::convolution;
  op.copies = groups;
  if (transposed) {  // every input value meets the whole kernel
    op.rows = type(0).elements() / counted(x[1]);
    op.columns = counted(w[1]) * field;
    op.depth = counted(w[0]) / groups;
  } else {
    op.rows = result.elements() / counted(w[0]);
    op.columns = counted(w[0]) / groups;
    op.depth = counted(w[1]) * field;
    op.window = field;
  }
}

void OnnxShapes::einsum() {
  std::string equation(n_.text("equation"));
  std::erase(equation, ' ');
  const auto comma = equation.find(','), arrow = equation.find("->");
  const Dims a = dims(0), b = dims(1);
  if (n_.operands.size() != 2 || comma == std::string::npos || arrow == std::string::npos || arrow < comma ||
      equation.find('.') != std::string::npos)
    return unknown("einsum of two operands, written out, is read");
  const auto left = equation.substr(0, comma), right = equation.substr(comma + 1, arrow - comma - 1),
             made = equation.substr(arrow + 2);
  if (left.size() != a.size() || right.size() != b.size())
    return unknown("the letters are not those of the operands");
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < left.size(); ++i) extents[left[i]] = a[i];
  for (std::size_t i = 0; i < right.size(); ++i)
    if (const auto known = extents.find(right[i]); known == extents.end() || known->second <= 1)
      extents[right[i]] = b[i];
  double rows = 1, columns = 1, depth = 1, copies = 1;
  for (const auto& [letter, extent] : extents) {
    const bool in_left = left.find(letter) != std::string::npos,
               in_right = right.find(letter) != std::string::npos;
    const bool stays = made.find(letter) != std::string::npos;
    (!stays                ? depth
     : in_left && in_right ? copies
     : in_left             ? rows
                           : columns) *= std::max<double>(1, static_cast<double>(extent));
  }
  Dims out;
  for (const char letter : made) {
    const auto known = extents.find(letter);
    if (known == extents.end()) return unknown("the letters are not those of the operands");
    out.push_back(known->second);
  }
  set_product(n_.made, rows, columns, depth, copies);
  give(0, out);
}

void OnnxShapes::pool() {
  Dims x = dims(0);
  if (x.size() < 3) return;
  const bool global = n_.op.starts_with("Global");
  const Dims kernel = global ? Dims(x.begin() + 2, x.end()) : n_.ints("kernel_shape");
  double field = 1;
  for (const auto k : kernel) field *= std::max<double>(1, static_cast<double>(k));
  for (std::size_t i = 2; i < x.size(); ++i) x[i] = global ? 1 : spatial(x[i], i - 2, kernel);
  n_.made.kind = ListedKind::reduction;
  n_.made.flops = field * give(0, x).elements();
  if (n_.results.size() > 1) give(1, x, "i64");
}

}  // namespace mlsysim::detail
