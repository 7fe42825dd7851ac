// Extents of the results of ONNX operators, and what the operators compute.
// Source: the operator specifications of ONNX (docs/Operators.md of onnx 1.17).

#include "detail/onnx_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

using Dims = std::vector<std::int64_t>;

struct Elementwise {
  std::string_view name;
  double simple, hard;
};
/// Result as large as the operands together; operations for each value.
constexpr std::array<Elementwise, 78> kElementwise{{{"Abs", 1, 0},
                                                    {"Add", 1, 0},
                                                    {"And", 1, 0},
                                                    {"BitShift", 1, 0},
                                                    {"BitwiseAnd", 1, 0},
                                                    {"BitwiseNot", 1, 0},
                                                    {"BitwiseOr", 1, 0},
                                                    {"BitwiseXor", 1, 0},
                                                    {"Cast", 0, 0},
                                                    {"CastLike", 0, 0},
                                                    {"Ceil", 1, 0},
                                                    {"Celu", 2, 1},
                                                    {"Clip", 2, 0},
                                                    {"Cos", 0, 1},
                                                    {"Cosh", 0, 2},
                                                    {"DequantizeLinear", 2, 0},
                                                    {"Div", 0, 1},
                                                    {"Dropout", 0, 0},
                                                    {"Elu", 2, 1},
                                                    {"Equal", 1, 0},
                                                    {"Erf", 0, 1},
                                                    {"Exp", 0, 1},
                                                    {"Floor", 1, 0},
                                                    {"Gelu", 4, 1},
                                                    {"Greater", 1, 0},
                                                    {"GreaterOrEqual", 1, 0},
                                                    {"HardSigmoid", 3, 0},
                                                    {"HardSwish", 4, 0},
                                                    {"IsInf", 1, 0},
                                                    {"IsNaN", 1, 0},
                                                    {"LeakyRelu", 2, 0},
                                                    {"Less", 1, 0},
                                                    {"LessOrEqual", 1, 0},
                                                    {"Log", 0, 1},
                                                    {"Max", 1, 0},
                                                    {"Mean", 1, 0},
                                                    {"Min", 1, 0},
                                                    {"Mish", 1, 3},
                                                    {"Mod", 0, 1},
                                                    {"Mul", 1, 0},
                                                    {"Neg", 1, 0},
                                                    {"Not", 1, 0},
                                                    {"Or", 1, 0},
                                                    {"PRelu", 2, 0},
                                                    {"Pow", 0, 2},
                                                    {"QuantizeLinear", 2, 1},
                                                    {"Reciprocal", 0, 1},
                                                    {"Relu", 1, 0},
                                                    {"Round", 1, 0},
                                                    {"Selu", 2, 1},
                                                    {"Shrink", 2, 0},
                                                    {"Sigmoid", 1, 2},
                                                    {"Sign", 1, 0},
                                                    {"Sin", 0, 1},
                                                    {"Sinh", 0, 2},
                                                    {"Softplus", 1, 2},
                                                    {"Softsign", 1, 1},
                                                    {"Sqrt", 0, 1},
                                                    {"Sub", 1, 0},
                                                    {"Sum", 1, 0},
                                                    {"Tan", 0, 1},
                                                    {"Tanh", 0, 1},
                                                    {"ThresholdedRelu", 1, 0},
                                                    {"Where", 1, 0},
                                                    {"Xor", 1, 0},
                                                    {"Swish", 2, 2},
                                                    {"Silu", 2, 2},
                                                    {"FastGelu", 4, 1},
                                                    {"BiasGelu", 5, 1},
                                                    {"QuickGelu", 2, 2},
                                                    {"Acos", 0, 1},
                                                    {"Asin", 0, 1},
                                                    {"Atan", 0, 1},
                                                    {"Acosh", 0, 2},
                                                    {"Asinh", 0, 2},
                                                    {"Atanh", 0, 2},
                                                    {"Trilu", 1, 0},
                                                    {"RotaryEmbedding", 4, 0}}};

/// Result as large as the first operand; operations for each of its values.
constexpr std::array<Elementwise, 16> kNorms{{{"BatchNormalization", 4, 0},
                                              {"InstanceNormalization", 7, 0},
                                              {"LayerNormalization", 7, 0},
                                              {"GroupNormalization", 7, 0},
                                              {"RMSNormalization", 4, 0},
                                              {"SimplifiedLayerNormalization", 4, 0},
                                              {"SkipLayerNormalization", 8, 0},
                                              {"SkipSimplifiedLayerNormalization", 5, 0},
                                              {"EmbedLayerNormalization", 7, 0},
                                              {"LpNormalization", 3, 0},
                                              {"MeanVarianceNormalization", 6, 0},
                                              {"LRN", 6, 2},
                                              {"Softmax", 3, 2},
                                              {"LogSoftmax", 3, 1},
                                              {"Hardmax", 2, 0},
                                              {"CumSum", 1, 0}}};

constexpr std::array<std::string_view, 5> kAliases{"Identity", "Squeeze", "Unsqueeze", "Flatten", "Reshape"};

bool is_wildcard(std::int64_t d) { return d < 0; }

/// Numpy's rule; an open extent beside a number above 1 is that number.
Dims broadcast(const Dims& a, const Dims& b) {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const auto shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& d = out[i + shift];
    if (d == 1)
      d = shorter[i];
    else if (is_wildcard(d) && shorter[i] > 1)
      d = shorter[i];
  }
  return out;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(axis < 0 ? axis + r : axis, 0, std::max<std::int64_t>(r, 1) - 1));
}

}  // namespace

void OnnxShapes::product() {
  Dims a = dims(0), b = dims(n_.op == "QLinearMatMul" ? 3 : 1);
  if (n_.op == "Gemm") {
    if (a.size() != 2 || b.size() != 2) return;
    if (n_.integer("transA", 0) != 0) std::swap(a[0], a[1]);
    if (n_.integer("transB", 0) != 0) std::swap(b[0], b[1]);
  }
  if (a.empty() || b.empty()) return;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  Dims out = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  double copies = 1;
  for (const auto d : out) copies *= std::max<double>(1, static_cast<double>(d));
  double rows = std::max<double>(1, static_cast<double>(a[a.size() - 2]));
  // One matrix for all: the copies are rows.
  if (b.size() == 2) rows *= std::exchange(copies, 1);
  if (!row) out.push_back(a[a.size() - 2]);
  if (!column) out.push_back(b.back());
  set_product(n_.made, rows, std::max<double>(1, static_cast<double>(b.back())),
              std::max<double>(1, static_cast<double>(a.back())), copies);
  give(0, out);
}

void OnnxShapes::reduce() {
  Dims x = dims(0);
  const bool keeps = n_.integer("keepdims", 1) != 0;
  Dims axes = n_.ints("axes");
  if (const auto* given = ints(1)) axes = *given;
  if (n_.op == "ArgMax" || n_.op == "ArgMin") axes = {n_.integer("axis", 0)};
  std::vector<char> gone(x.size(), axes.empty() && n_.integer("noop_with_empty_axes", 0) == 0);
  for (const auto a : axes)
    if (!gone.empty()) gone[axis_of(a, x.size())] = 1;
  Dims out;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (gone[i] == 0 || keeps) out.push_back(gone[i] != 0 ? 1 : x[i]);
  n_.made.kind = ListedKind::reduction;
  n_.made.flops = type(0).elements();
  give(0, out, n_.op.starts_with("Arg") ? "i64" : "");
}

bool OnnxShapes::alias() {
  if (std::find(kAliases.begin(), kAliases.end(), n_.op) == kAliases.end()) return false;
  const Dims x = dims(0);
  Dims out = x;
  n_.made.touch = Touch::none;
  Dims axes = n_.ints("axes");
  if (const auto* given = ints(1)) axes = *given;
  if (n_.op == "Squeeze") {
    out.clear();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool named =
          std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) { return axis_of(a, x.size()) == i; });
      if (axes.empty() ? x[i] != 1 : !named) out.push_back(x[i]);
    }
  } else if (n_.op == "Unsqueeze") {
    std::vector<std::size_t> places;
    for (const auto a : axes) places.push_back(axis_of(a, x.size() + axes.size()));
    std::sort(places.begin(), places.end());
    for (const auto p : places)
      out.insert(out.begin() + static_cast<std::ptrdiff_t>(std::min(p, out.size())), 1);
  } else if (n_.op == "Flatten") {
    const auto axis = static_cast<std::ptrdiff_t>(
        n_.integer("axis", 1) < 0 ? n_.integer("axis", 1) + static_cast<std::int64_t>(x.size())
                                  : n_.integer("axis", 1));
    out = {extent_of(Dims(x.begin(), x.begin() + axis)), extent_of(Dims(x.begin() + axis, x.end()))};
  } else if (n_.op == "Reshape") {
    const auto* shape = ints(1);
    const Dims attribute = n_.ints("shape");
    if (shape == nullptr && attribute.empty()) return unknown("the shape is computed by the program"), true;
    out = shape != nullptr ? *shape : attribute;
    reshape(out, x);
  }
  give(0, out);
  if (const auto* values = ints(0)) remember(0, *values);
  return true;
}

/// -1 is what is left over, 0 the extent of the operand.
void OnnxShapes::reshape(Dims& out, const Dims& x) {
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == 0 && n_.integer("allowzero", 0) == 0) out[i] = i < x.size() ? x[i] : 1;
  const auto open = std::find(out.begin(), out.end(), kLeftOver);
  const auto minus = open != out.end() ? open : std::find(out.begin(), out.end(), -1);
  if (minus == out.end()) return;
  // Extents on both sides cancel, open ones too.
  Dims above = x, below;
  for (auto i = out.begin(); i != out.end(); ++i)
    if (i != minus) {
      const auto same = std::find(above.begin(), above.end(), *i);
      if (same != above.end() && *i != 1)
        above.erase(same);
      else
        below.push_back(*i);
    }
  const bool known = std::none_of(above.begin(), above.end(), is_wildcard) &&
                     std::none_of(below.begin(), below.end(), is_wildcard);
  std::int64_t up = 1, down = 1;
  for (const auto d : above) up *= d;
  for (const auto d : below) down *= d;
  if (known && down > 0) {
    *minus = up / down;
  } else {
    above.erase(std::remove(above.begin(), above.end(), 1), above.end());
    *minus = above.size() == 1 && down == 1 ? above[0] : new_symbol();
  }
}

void OnnxShapes::movement() {
  auto& op = n_.made;
  op.kind = ListedKind::movement;
  const Dims x = dims(0);
  if (n_.op == "Transpose") {
    Dims perm = n_.ints("perm"), out;
    if (perm.empty())
      for (std::size_t i = x.size(); i > 0; --i) perm.push_back(static_cast<std::int64_t>(i) - 1);
    for (const auto p : perm) out.push_back(axis_of(p, x.size()) < x.size() ? x[axis_of(p, x.size())] : 1);
    give(0, out);
  } else if (n_.op == "Concat") {
    Dims out = x;
    const auto axis = axis_of(n_.integer("axis", 0), x.size());
    std::vector<std::int64_t> all;
    bool every = true;
    for (std::size_t i = 0; i < n_.operands.size(); ++i) {
      const Dims d = dims(i);
      if (i > 0 && axis < d.size() && axis < out.size())
        out[axis] = out[axis] < 0 || d[axis] < 0 ? new_symbol() : out[axis] + d[axis];
      const auto* values = ints(i);
      every = every && values != nullptr;
      if (values != nullptr) all.insert(all.end(), values->begin(), values->end());
    }
    give(0, out);
    if (every) remember(0, all);
  } else if (n_.op == "Split") {
    split(x);
  } else if (n_.op == "Slice") {
    slice(x);
  } else if (n_.op == "Gather" || n_.op == "GatherElements" || n_.op == "GatherND") {
    gather(x);
  } else if (n_.op == "Expand" || n_.op == "Tile") {
    const auto* shape = ints(1);
    if (shape == nullptr) return unknown("the shape is computed by the program");
    Dims out = broadcast(x, *shape);
    if (n_.op == "Tile") {
      out = x;
      for (std::size_t i = 0; i < std::min(out.size(), shape->size()); ++i) out[i] *= (*shape)[i];
    }
    op.kind = ListedKind::pointwise;
    give(0, out);
  } else if (n_.op == "Pad") {
    const auto* pads = ints(1);
    const Dims list = pads != nullptr ? *pads : n_.ints("pads");
    Dims out = x;
    for (std::size_t i = 0; i < out.size() && list.size() == 2 * out.size(); ++i)
      if (out[i] >= 0) out[i] += list[i] + list[i + out.size()];
    give(0, out);
  } else if (n_.op.starts_with("Scatter")) {
    op.touch = Touch::in_place;
    give(0, x);
  } else {
    unknown("");
  }
}

void OnnxShapes::split(const Dims& x) {
  const auto axis = axis_of(n_.integer("axis", 0), x.size());
  Dims parts = n_.ints("split");
  if (const auto* given = ints(1)) parts = *given;
  for (std::size_t i = 0; i < n_.results.size(); ++i) {
    Dims out = x;
    if (axis < out.size() && out[axis] >= 0) {
      const auto equal = (out[axis] + static_cast<std::int64_t>(n_.results.size()) - 1) /
                         static_cast<std::int64_t>(n_.results.size());
      out[axis] =
          i < parts.size() ? parts[i] : std::min(equal, x[axis] - equal * static_cast<std::int64_t>(i));
    }
    give(i, out);
  }
}

void OnnxShapes::slice(const Dims& x) {
  n_.made.touch = Touch::part;
  const auto list = [&](std::size_t i, const char* name) {
    const auto* given = ints(i);
    return given != nullptr ? *given : n_.ints(name);
  };
  const Dims starts = list(1, "starts"), ends = list(2, "ends"), steps = list(4, "steps");
  Dims axes = list(3, "axes");
  if (starts.empty() || starts.size() != ends.size())
    return unknown("its bounds are computed by the program");
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  Dims out = x;
  for (std::size_t i = 0; i < std::min(axes.size(), starts.size()); ++i) {
    const auto axis = axis_of(axes[i], x.size());
    if (axis >= out.size()) continue;
    const auto size = x[axis];
    if (size < 0) {
      if (starts[i] == 0 && ends[i] > (1ll << 30)) continue;
      out[axis] = starts[i] == 0 && ends[i] > 0 ? ends[i] : new_symbol();
      continue;
    }
    const auto step = i < steps.size() && steps[i] != 0 ? steps[i] : 1;
    const auto clip = [&](std::int64_t v) {
      return std::clamp<std::int64_t>(v < 0 ? v + size : v, step < 0 ? -1 : 0, size);
    };
    const auto span = step > 0 ? clip(ends[i]) - clip(starts[i])
                               : std::min(clip(starts[i]), size - 1) - (ends[i] < -size ? -1 : clip(ends[i]));
    const auto stride = std::abs(step);
    out[axis] = std::max<std::int64_t>(0, (span + stride - 1) / stride);
  }
  give(0, out);
  const auto* values = ints(0);
  if (values == nullptr || out.size() != 1 || out[0] < 0) return;
  const auto size = std::ssize(*values), step = steps.empty() || steps[0] == 0 ? 1 : steps[0];
  auto at = starts[0] < 0 ? starts[0] + size : starts[0];
  if (step < 0) at = std::min<std::int64_t>(at, size - 1);
  Dims kept;
  for (std::int64_t i = 0; i < out[0] && at >= 0 && at < size; ++i, at += step)
    kept.push_back((*values)[static_cast<std::size_t>(at)]);
  if (std::ssize(kept) == out[0]) remember(0, std::move(kept));
}

void OnnxShapes::gather(const Dims& x) {
  n_.made.touch = Touch::part;
  const Dims indices = dims(1);
  if (n_.op == "GatherElements") {
    give(0, indices);
    return;
  }
  const auto axis = axis_of(n_.integer("axis", 0), x.size());
  Dims out;
  if (n_.op == "GatherND") {
    const auto depth =
        indices.empty() ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(0, indices.back()));
    out.assign(indices.begin(), indices.empty() ? indices.end() : indices.end() - 1);
    for (auto i = depth; i < x.size(); ++i) out.push_back(x[i]);
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i == axis)
        out.insert(out.end(), indices.begin(), indices.end());
      else
        out.push_back(x[i]);
    }
  }
  give(0, out);
  const auto *values = ints(0), *at = ints(1);
  if (values != nullptr && at != nullptr && x.size() <= 1) {
    Dims chosen;
    for (const auto i : *at) {
      const auto k = i < 0 ? i + std::ssize(*values) : i;
      if (k < 0 || k >= std::ssize(*values)) return;
      chosen.push_back((*values)[static_cast<std::size_t>(k)]);
    }
    remember(0, chosen);
  }
}

bool OnnxShapes::elementwise() {
  for (const auto& e : kElementwise)
    if (e.name == n_.op) {
      Dims out = dims(0);
      for (std::size_t i = 1; i < n_.operands.size(); ++i)
        if (n_.op != "Clip" && !n_.op.ends_with("Linear") && n_.op != "Dropout" && n_.op != "Trilu" &&
            n_.op != "CastLike")
          out = broadcast(out, dims(i));
      auto& op = n_.made;
      op.kind = ListedKind::pointwise;
      std::string_view element;
      if (n_.op == "Equal" || n_.op.starts_with("Greater") || n_.op.starts_with("Less") || n_.op == "And" ||
          n_.op == "Or" || n_.op == "Not" || n_.op == "Xor" || n_.op.starts_with("Is"))
        element = "i1";
      if (n_.op == "Cast") element = onnx_element(static_cast<int>(n_.integer("to", 1)));
      if (n_.op == "DequantizeLinear") element = "f32";
      if (n_.op == "QuantizeLinear") element = "ui8";
      if (n_.op == "Where") element = type(1).element->name;
      const double values = give(0, out, element).elements();
      op.flops = e.simple * values;
      op.transcendentals = e.hard * values;
      if (n_.results.size() > 1) give(1, out, "i1");  // the mask of Dropout
      fold();
      return true;
    }
  for (const auto& e : kNorms)
    if (e.name == n_.op) {
      n_.made.kind = n_.op == "BatchNormalization" ? ListedKind::pointwise : ListedKind::reduction;
      const double values = give(0, dims(0)).elements();
      n_.made.flops = e.simple * values;
      n_.made.transcendentals = e.hard * values;
      for (std::size_t i = 1; i < n_.results.size(); ++i) give(i, dims(i < n_.operands.size() ? i : 0));
      return true;
    }
  return false;
}

std::optional<std::vector<double>> OnnxShapes::known(std::size_t i) const {
  if (i >= n_.operands.size()) return std::nullopt;
  if (const auto* whole = ints(i); whole != nullptr) {
    if (std::any_of(whole->begin(), whole->end(), [](std::int64_t v) { return v < 0; })) return std::nullopt;
    return std::vector<double>(whole->begin(), whole->end());
  }
  const auto found = s_.floats.find(n_.operands[i]);
  return found == s_.floats.end() ? std::nullopt : std::optional(found->second);
}

namespace {

/// One number of an operator on extents; nothing for an operator that extents are not computed with.
/// @param whole whether the operands are whole numbers, whose quotient is one
std::optional<double> folded(std::string_view op, double x, double y, bool whole) {
  if (op == "Floor") return std::floor(x);
  if (op == "Ceil") return std::ceil(x);
  if (op == "Round") return std::nearbyint(x);
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  if (op == "Min") return std::min(x, y);
  if (op == "Max") return std::max(x, y);
  if (op == "Div" && y != 0) return whole ? std::floor(x / y) : x / y;
  return std::nullopt;
}

}  // namespace

/// Arithmetic on extents that a program does with small constants.
void OnnxShapes::fold() {
  if (const auto* extents = ints(0); extents != nullptr && n_.op == "Cast") return remember(0, *extents);
  const auto a = known(0), b = n_.operands.size() > 1 ? known(1) : std::vector<double>{0};
  if (!a || !b || n_.operands.size() > 2 || a->empty() || b->empty()) return;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return;
  const auto is_float = [](const TensorType& t) {
    return t.element->name.find('f') != std::string_view::npos;  // f32, bf16, f8E4M3FN
  };
  std::vector<double> out(std::max(a->size(), b->size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double x = (*a)[a->size() == 1 ? 0 : i], y = (*b)[b->size() == 1 ? 0 : i];
    const auto made = n_.op == "Cast" ? std::optional(is_float(n_.types[0]) ? x : std::trunc(x))
                                      : folded(n_.op, x, y, !is_float(type(0)));
    if (!made || !(std::abs(*made) <= kLargestWhole)) return;
    out[i] = *made;
  }
  if (std::all_of(out.begin(), out.end(), [](double v) { return v == std::floor(v); }))
    remember(0, Dims(out.begin(), out.end()));
  else
    n_.fractions = std::move(out);
}

void OnnxShapes::resize() {
  // Inputs that a file leaves out are not among the operands: sizes or scales are the last of them.
  Dims out = dims(0);
  const std::size_t last = std::max<std::size_t>(1, n_.operands.size()) - 1;
  n_.made.kind = ListedKind::movement;
  const bool by_size = last > 0 && type(last).element->name == "i64";
  const auto* sizes = by_size ? ints(last) : nullptr;
  const auto scales = by_size || last == 0 ? std::nullopt : known(last);
  if (sizes != nullptr && sizes->size() == out.size()) {
    out = *sizes;
  } else {
    if (!scales || scales->size() != out.size())
      return unknown(fmt::format("its {} are computed by the program", by_size ? "sizes" : "scales"));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] >= 0) out[i] = computed_extent(static_cast<double>(out[i]) * (*scales)[i]);
  }
  give(0, out);
}

void OnnxShapes::attention() {
  // com.microsoft: (batch, tokens, hidden); ONNX since 23 also (batch, heads, tokens, head).
  const Dims q = dims(0), k = dims(1), v = dims(2);
  const auto counted = [](std::int64_t d) { return std::max<double>(1, static_cast<double>(d)); };
  const bool split = q.size() == 4;
  if (!split && q.size() != 3) return unknown("");
  const std::size_t token = split ? 2 : 1;
  const double heads = split ? counted(q[1]) : counted(n_.integer("num_heads", n_.integer("q_num_heads", 1)));
  const double head = split ? counted(q[3]) : counted(q[2]) / heads;
  const double own = split && v.size() == 4 ? counted(v[3]) : head;
  const double keys = k.size() == q.size() ? counted(k[token]) : counted(q[token]);
  set_product(n_.made, counted(q[token]), keys, head + own, counted(q[0]) * heads);
  Dims out = q;
  if (split && v.size() == 4) out[3] = v[3];
  give(0, out);
}

void OnnxShapes::recurrent() {
  const Dims x = dims(0), w = dims(1);
  if (x.size() != 3 || w.size() != 3) return unknown("");
  const auto hidden = n_.integer("hidden_size", 1), ways = w[0];
  const double steps = std::max<double>(1, static_cast<double>(x[0])),
               batch = std::max<double>(1, static_cast<double>(x[1]));
  set_product(n_.made, steps * batch, static_cast<double>(w[1]), static_cast<double>(x[2] + hidden),
              static_cast<double>(ways));
  give(0, {x[0], ways, x[1], hidden});
  for (std::size_t i = 1; i < n_.results.size(); ++i) give(i, {ways, x[1], hidden});
}

void OnnxShapes::run() {
  const auto& o = n_.op;
  if (o == "Conv" || o == "ConvTranspose" || o == "ConvInteger" || o == "QLinearConv") return convolution();
  if (o == "Einsum") return einsum();
  if (o == "MatMul" || o == "Gemm" || o == "MatMulInteger" || o == "QLinearMatMul") return product();
  if (o.ends_with("Pool")) return pool();
  if (o.starts_with("Reduce") || o == "ArgMax" || o == "ArgMin") return reduce();
  if (o == "LSTM" || o == "GRU" || o == "RNN") return recurrent();
  if (o == "MultiHeadAttention" || (o == "Attention" && dims(1).size() > 2)) return attention();
  if (o == "Resize" || o == "Upsample") return resize();
  if (alias() || elementwise()) return;
  if (o == "Shape") {
    const Dims x = dims(0);
    n_.made.touch = Touch::none;
    give(0, {static_cast<std::int64_t>(x.size())}, "i64");
    remember(0, x);
    return;
  }
  if (o == "TopK") {
    Dims out = dims(0);
    const auto* k = ints(1);
    const auto axis = axis_of(n_.integer("axis", -1), out.size());
    if (axis < out.size()) out[axis] = k != nullptr && !k->empty() ? (*k)[0] : n_.integer("k", 1);
    n_.made.kind = ListedKind::reduction;
    n_.made.flops = type(0).elements() * std::log2(std::max(2.0, type(0).elements()));
    give(0, out);
    if (n_.results.size() > 1) give(1, out, "i64");
    return;
  }
  movement();
}

}  // namespace mlsysim::detail
