// Counts the work of PyTorch operators by their names in ATen.

#include "detail/aten.hpp"

#include <algorithm>
#include <array>

namespace mlsysim::detail {
namespace {

struct Pointwise {
  std::string_view name;
  double simple, hard;
};
/// Operations for each value of the result.
constexpr std::array<Pointwise, 88> kPointwise{{{"abs", 1, 0},
                                                {"add", 1, 0},
                                                {"add_", 1, 0},
                                                {"addcdiv", 2, 1},
                                                {"addcmul", 3, 0},
                                                {"bitwise_and", 1, 0},
                                                {"bitwise_not", 1, 0},
                                                {"bitwise_or", 1, 0},
                                                {"bitwise_xor", 1, 0},
                                                {"ceil", 1, 0},
                                                {"clamp", 2, 0},
                                                {"clamp_min", 1, 0},
                                                {"clamp_max", 1, 0},
                                                {"cos", 0, 1},
                                                {"div", 0, 1},
                                                {"dropout", 1, 0},
                                                {"native_dropout", 2, 0},
                                                {"elu", 2, 1},
                                                {"eq", 1, 0},
                                                {"erf", 0, 1},
                                                {"exp", 0, 1},
                                                {"expm1", 0, 1},
                                                {"fill", 0, 0},
                                                {"floor", 1, 0},
                                                {"fmod", 0, 1},
                                                {"full", 0, 0},
                                                {"full_like", 0, 0},
                                                {"ge", 1, 0},
                                                {"gelu", 4, 1},
                                                {"gelu_backward", 8, 2},
                                                {"gt", 1, 0},
                                                {"hardsigmoid", 3, 0},
                                                {"hardswish", 4, 0},
                                                {"hardtanh", 2, 0},
                                                {"isinf", 1, 0},
                                                {"isnan", 1, 0},
                                                {"le", 1, 0},
                                                {"leaky_relu", 2, 0},
                                                {"lerp", 3, 0},
                                                {"log", 0, 1},
                                                {"log1p", 0, 1},
                                                {"log_sigmoid", 1, 2},
                                                {"logical_and", 1, 0},
                                                {"logical_not", 1, 0},
                                                {"logical_or", 1, 0},
                                                {"lt", 1, 0},
                                                {"masked_fill", 1, 0},
                                                {"maximum", 1, 0},
                                                {"minimum", 1, 0},
                                                {"mish", 1, 3},
                                                {"mul", 1, 0},
                                                {"mul_", 1, 0},
                                                {"ne", 1, 0},
                                                {"neg", 1, 0},
                                                {"ones", 0, 0},
                                                {"ones_like", 0, 0},
                                                {"pow", 0, 2},
                                                {"prelu", 2, 0},
                                                {"rand", 4, 0},
                                                {"randn", 4, 2},
                                                {"reciprocal", 0, 1},
                                                {"relu", 1, 0},
                                                {"relu_", 1, 0},
                                                {"remainder", 0, 1},
                                                {"round", 1, 0},
                                                {"rsqrt", 0, 1},
                                                {"rsub", 1, 0},
                                                {"scalar_tensor", 0, 0},
                                                {"sigmoid", 1, 2},
                                                {"sign", 1, 0},
                                                {"silu", 2, 2},
                                                {"silu_backward", 5, 2},
                                                {"sin", 0, 1},
                                                {"softplus", 1, 2},
                                                {"sqrt", 0, 1},
                                                {"sub", 1, 0},
                                                {"tanh", 0, 1},
                                                {"tanh_backward", 3, 0},
                                                {"threshold", 1, 0},
                                                {"threshold_backward", 1, 0},
                                                {"to", 0, 0},
                                                {"_to_copy", 0, 0},
                                                {"convert_element_type", 0, 0},
                                                {"tril", 1, 0},
                                                {"triu", 1, 0},
                                                {"where", 1, 0},
                                                {"zeros", 0, 0},
                                                {"zeros_like", 0, 0}}};

/// Operations for each value of the first operand.
constexpr std::array<Pointwise, 36> kReductions{{{"_log_softmax", 3, 1},
                                                 {"_softmax", 3, 2},
                                                 {"_softmax_backward_data", 4, 0},
                                                 {"all", 1, 0},
                                                 {"amax", 1, 0},
                                                 {"amin", 1, 0},
                                                 {"any", 1, 0},
                                                 {"argmax", 1, 0},
                                                 {"argmin", 1, 0},
                                                 {"avg_pool2d", 1, 0},
                                                 {"adaptive_avg_pool2d", 1, 0},
                                                 {"_adaptive_avg_pool2d", 1, 0},
                                                 {"batch_norm", 4, 0},
                                                 {"cumsum", 1, 0},
                                                 {"group_norm", 7, 0},
                                                 {"instance_norm", 7, 0},
                                                 {"layer_norm", 7, 0},
                                                 {"log_softmax", 3, 1},
                                                 {"logsumexp", 3, 1},
                                                 {"max", 1, 0},
                                                 {"max_pool2d", 1, 0},
                                                 {"max_pool2d_with_indices", 1, 0},
                                                 {"mean", 1, 0},
                                                 {"min", 1, 0},
                                                 {"_native_batch_norm_legit", 7, 0},
                                                 {"_native_batch_norm_legit_no_training", 4, 0},
                                                 {"native_batch_norm", 7, 0},
                                                 {"native_group_norm", 7, 0},
                                                 {"native_layer_norm", 7, 0},
                                                 {"native_layer_norm_backward", 14, 0},
                                                 {"prod", 1, 0},
                                                 {"rms_norm", 4, 0},
                                                 {"softmax", 3, 2},
                                                 {"sum", 1, 0},
                                                 {"var", 4, 0},
                                                 {"var_mean", 5, 0}}};

constexpr std::array<std::string_view, 33> kViews{"alias",
                                                  "as_strided",
                                                  "chunk",
                                                  "detach",
                                                  "detach_",
                                                  "diagonal",
                                                  "expand",
                                                  "expand_as",
                                                  "flatten",
                                                  "getitem",
                                                  "item",
                                                  "lift",
                                                  "lift_fresh",
                                                  "lift_fresh_copy",
                                                  "movedim",
                                                  "narrow",
                                                  "permute",
                                                  "reshape",
                                                  "select",
                                                  "slice",
                                                  "split",
                                                  "split_with_sizes",
                                                  "squeeze",
                                                  "sym_size",
                                                  "t",
                                                  "transpose",
                                                  "unbind",
                                                  "unflatten",
                                                  "unsqueeze",
                                                  "_unsafe_view",
                                                  "view",
                                                  "view_as",
                                                  "_assert_tensor_metadata"};
constexpr std::array<std::string_view, 12> kMoves{"cat",  "clone", "concat", "contiguous", "constant_pad_nd",
                                                  "copy", "copy_", "flip",   "pad",        "repeat",
                                                  "roll", "stack"};
constexpr std::array<std::string_view, 8> kParts{"embedding",     "gather", "index", "index_select",
                                                 "masked_select", "take",   "topk",  "arange"};
constexpr std::array<std::string_view, 6> kInPlace{"index_put",   "index_put_",    "scatter",
                                                   "scatter_add", "slice_scatter", "index_add"};

template <class List> bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

double extent(const TensorType& t, std::int64_t from_end) {
  const auto rank = std::ssize(t.dims);
  if (rank < from_end) return 1;
  return std::max<double>(1, static_cast<double>(t.dims[static_cast<std::size_t>(rank - from_end)]));
}

/// (..., m, k) with (..., k, n), the copies being those of the result.
void matrices(ProgramOp& op, const TensorType& a, const TensorType& b, const TensorType& out) {
  const double depth = extent(a, 1), columns = b.dims.size() < 2 ? 1 : extent(b, 1);
  const double all = out.elements() / columns;
  const double copies = b.dims.size() > 2 ? out.elements() / (columns * extent(a, 2)) : 1;
  set_product(op, all / copies, columns, depth, copies);
}

bool matrix_product(ProgramOp& op, std::string_view name, const OpTypes& t) {
  if (t.out.empty()) return false;
  const auto need = [&](std::size_t n) { return t.in.size() >= n; };
  if ((name == "mm" || name == "bmm" || name == "matmul" || name == "_scaled_mm" || name == "mv" ||
       name == "dot") &&
      need(2)) {
    matrices(op, *t.in[0], *t.in[1], *t.out[0]);
    return true;
  }
  if ((name == "addmm" || name == "baddbmm") && need(3)) {
    matrices(op, *t.in[1], *t.in[2], *t.out[0]);
    return true;
  }
  if (name == "linear" && need(2)) {
    const double depth = extent(*t.in[1], 1), columns = t.in[1]->dims.size() < 2 ? 1 : extent(*t.in[1], 2);
    set_product(op, t.out[0]->elements() / columns, columns, depth, 1);
    return true;
  }
  return false;
}

/// @param transposed every input value meets the whole kernel
bool convolution(ProgramOp& op, std::string_view name, const OpTypes& t, bool transposed) {
  const bool known = name.starts_with("conv") || name == "_convolution" || name == "cudnn_convolution";
  if (!known || name == "convolution_backward" || t.in.size() < 2 || t.out.empty() ||
      t.in[1]->dims.size() < 3)
    return false;
  const auto& x = *t.in[0];
  const auto& w = *t.in[1];
  const double first = std::max<double>(1, static_cast<double>(w.dims[0])),
               second = std::max<double>(1, static_cast<double>(w.dims[1]));
  const double field = w.elements() / (first * second);
  const double features =
      x.dims.size() > 1 ? std::max<double>(1, static_cast<double>(x.dims[x.dims.size() - w.dims.size() + 1]))
                        : 1;
  op.kind = ListedKind::convolution;
  const double groups = features / (transposed ? first : second);
  op.copies = transposed ? 1 : std::max(1.0, groups);
  if (transposed) {
    op.rows = x.elements() / features;
    op.columns = second * field;
    op.depth = first;
  } else {
    op.rows = t.out[0]->elements() / first;
    op.columns = first / op.copies;
    op.depth = second * field;
    op.window = field;
  }
  return true;
}

/// Scores and their sums over the values are one product of the two depths together.
bool attention(ProgramOp& op, std::string_view name, const OpTypes& t) {
  if (!name.starts_with("scaled_dot_product") && !name.starts_with("_scaled_dot_product")) return false;
  if (name.find("backward") != std::string_view::npos || t.in.size() < 3) return false;
  const auto &q = *t.in[0], &k = *t.in[1], &v = *t.in[2];
  set_product(op, extent(q, 2), extent(k, 2), extent(q, 1) + extent(v, 1),
              q.elements() / (extent(q, 1) * extent(q, 2)));
  op.transcendentals = op.rows * op.columns * op.copies;
  return true;
}

}  // namespace

std::string_view aten_name(std::string_view target) {
  // "torch.ops.aten.addmm.default", "aten::addmm", "torch._C._nn.linear"
  for (const std::string_view space : {"aten.", "aten::", "prims."})
    if (const auto at = target.find(space); at != std::string_view::npos) {
      target = target.substr(at + space.size());
      return target.substr(0, target.find('.'));
    }
  if (target.starts_with("torch.ops.")) {  // of others, with their name space and without the overload
    target = target.substr(10);
    return target.substr(0, target.rfind('.'));
  }
  const auto dot = target.rfind('.');
  return dot == std::string_view::npos ? target : target.substr(dot + 1);
}

Rule count_aten(ProgramOp& op, std::string_view name, const OpTypes& t, bool transposed) {
  op.kind = ListedKind::movement;
  if (matrix_product(op, name, t) || convolution(op, name, t, transposed) || attention(op, name, t))
    return Rule::counted;
  if (holds(kViews, name)) {
    op.touch = Touch::none;
    return Rule::free;
  }
  const double results = t.out.empty() ? 0 : t.out[0]->elements(),
               values = t.in.empty() ? 0 : t.in[0]->elements();
  for (const auto& p : kPointwise)
    if (p.name == name) {
      op.kind = ListedKind::pointwise;
      op.flops = p.simple * results;
      op.transcendentals = p.hard * results;
      return Rule::counted;
    }
  for (const auto& r : kReductions)
    if (r.name == name) {
      op.kind = ListedKind::reduction;
      op.flops = r.simple * values;
      op.transcendentals = r.hard * values;
      return Rule::counted;
    }
  if (holds(kMoves, name)) return Rule::counted;
  if (holds(kParts, name)) {
    op.touch = Touch::part;
    return Rule::counted;
  }
  if (holds(kInPlace, name)) {
    op.touch = Touch::in_place;
    return Rule::counted;
  }
  return Rule::unknown;
}

}  // namespace mlsysim::detail
