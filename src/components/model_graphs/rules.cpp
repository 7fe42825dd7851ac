// Counts the work of operators of the HLO family (StableHLO, MHLO, HLO text).

#include "detail/builder.hpp"
#include "detail/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

enum class Kin : std::uint8_t {
  simple,
  hard,
  convert,
  free,
  move,
  part,
  in_place,
  reduce,
  window,
  norm,
  sort,
  collective,
  create
};
struct Known {
  std::string_view name;
  Kin kin;
  double per_value = 1;  ///< operations for each value of the result, or of the input of a reduction
};
/// Sorted by name. Sources: the StableHLO specification (what each computes) and the cost analysis of XLA
/// (xla/service/hlo_cost_analysis.cc: which operations are transcendental, that a reduction costs its body
/// for each value it takes in).
constexpr std::array<Known, 128> kKnown{{{"abs", Kin::simple},
                                         {"add", Kin::simple},
                                         {"after_all", Kin::free},
                                         {"all_gather", Kin::collective},
                                         {"all_reduce", Kin::collective},
                                         {"all_to_all", Kin::collective},
                                         {"and", Kin::simple},
                                         {"atan2", Kin::hard},
                                         {"batch_norm_grad", Kin::norm, 10},
                                         {"batch_norm_inference", Kin::norm, 4},
                                         {"batch_norm_training", Kin::norm, 7},
                                         {"bitcast", Kin::free},
                                         {"bitcast_convert", Kin::free},
                                         {"broadcast", Kin::convert},
                                         {"broadcast_in_dim", Kin::convert},
                                         {"cbrt", Kin::hard},
                                         {"ceil", Kin::simple},
                                         {"cholesky", Kin::norm, 1},
                                         {"clamp", Kin::simple, 2},
                                         {"collective_broadcast", Kin::collective},
                                         {"collective_permute", Kin::collective},
                                         {"compare", Kin::simple},
                                         {"complex", Kin::convert},
                                         {"concatenate", Kin::move},
                                         {"constant", Kin::free},
                                         {"convert", Kin::convert},
                                         {"copy", Kin::move},
                                         {"cosine", Kin::hard},
                                         {"count_leading_zeros", Kin::simple},
                                         {"create_token", Kin::free},
                                         {"custom_call", Kin::move},
                                         {"divide", Kin::hard},
                                         {"dynamic_broadcast_in_dim", Kin::convert},
                                         {"dynamic_gather", Kin::part},
                                         {"dynamic_iota", Kin::create},
                                         {"dynamic_pad", Kin::move},
                                         {"dynamic_reshape", Kin::free},
                                         {"dynamic_slice", Kin::part},
                                         {"dynamic_update_slice", Kin::in_place},
                                         {"erf", Kin::hard},
                                         {"exponential", Kin::hard},
                                         {"exponential_minus_one", Kin::hard},
                                         {"fft", Kin::norm, 5},
                                         {"floor", Kin::simple},
                                         {"gather", Kin::part},
                                         {"get_dimension_size", Kin::free},
                                         {"get_tuple_element", Kin::free},
                                         {"imag", Kin::convert},
                                         {"infeed", Kin::move},
                                         {"iota", Kin::create},
                                         {"is_finite", Kin::simple},
                                         {"log", Kin::hard},
                                         {"log_plus_one", Kin::hard},
                                         {"logistic", Kin::hard, 2},
                                         {"maximum", Kin::simple},
                                         {"minimum", Kin::simple},
                                         {"multiply", Kin::simple},
                                         {"negate", Kin::simple},
                                         {"not", Kin::simple},
                                         {"optimization_barrier", Kin::free},
                                         {"or", Kin::simple},
                                         {"outfeed", Kin::move},
                                         {"pad", Kin::move},
                                         {"partition_id", Kin::free},
                                         {"popcnt", Kin::simple},
                                         {"power", Kin::hard, 2},
                                         {"real", Kin::convert},
                                         {"real_dynamic_slice", Kin::part},
                                         {"recv", Kin::collective},
                                         {"reduce", Kin::reduce},
                                         {"reduce_precision", Kin::simple},
                                         {"reduce_scatter", Kin::collective},
                                         {"reduce_window", Kin::window},
                                         {"remainder", Kin::hard},
                                         {"replica_id", Kin::free},
                                         {"reshape", Kin::free},
                                         {"return", Kin::free},
                                         {"reverse", Kin::move},
                                         {"rng", Kin::hard},
                                         {"rng_bit_generator", Kin::hard},
                                         {"round_nearest_afz", Kin::simple},
                                         {"round_nearest_even", Kin::simple},
                                         {"rsqrt", Kin::hard},
                                         {"scatter", Kin::in_place},
                                         {"select", Kin::simple},
                                         {"select_and_scatter", Kin::window},
                                         {"send", Kin::collective},
                                         {"set_dimension_size", Kin::free},
                                         {"shift_left", Kin::simple},
                                         {"shift_right_arithmetic", Kin::simple},
                                         {"shift_right_logical", Kin::simple},
                                         {"sign", Kin::simple},
                                         {"sine", Kin::hard},
                                         {"slice", Kin::part},
                                         {"sort", Kin::sort},
                                         {"sqrt", Kin::hard},
                                         {"subtract", Kin::simple},
                                         {"tan", Kin::hard},
                                         {"tanh", Kin::hard},
                                         {"top_k", Kin::sort},
                                         {"torch_index_select", Kin::part},
                                         {"transpose", Kin::move},
                                         {"triangular_solve", Kin::norm, 1},
                                         {"tuple", Kin::free},
                                         {"uniform_dequantize", Kin::simple, 2},
                                         {"uniform_quantize", Kin::simple, 2},
                                         {"xor", Kin::simple},
                                         // HLO text spells some of them in its own way.
                                         {"bitcast-convert", Kin::free},
                                         {"broadcast-in-dim", Kin::convert},
                                         {"dynamic-slice", Kin::part},
                                         {"dynamic-update-slice", Kin::in_place},
                                         {"parameter", Kin::free},
                                         {"topk", Kin::sort},
                                         {"exponential-minus-one", Kin::hard},
                                         {"log-plus-one", Kin::hard},
                                         {"reduce-window", Kin::window},
                                         {"get-tuple-element", Kin::free},
                                         {"shift-left", Kin::simple},
                                         {"all-reduce", Kin::collective},
                                         {"all-gather", Kin::collective},
                                         {"reduce-scatter", Kin::collective},
                                         {"is-finite", Kin::simple},
                                         {"add-dependency", Kin::free},
                                         {"opt-barrier", Kin::free},
                                         {"copy-start", Kin::move},
                                         {"copy-done", Kin::free}}};

/// Targets of custom calls whose arithmetic is known: operations for each value of the result, of them
/// transcendental.
struct Target {
  std::string_view name;
  double simple, hard;
  bool joins;  ///< element by element
};
constexpr std::array<Target, 4> kTargets{{{"byteir.layer_norm", 7, 0, false},
                                          {"byteir.softmax", 4, 1, false},
                                          {"byteir.gelu", 4, 1, true},
                                          {"mhlo.erf", 0, 1, true}}};
/// Targets that compute nothing.
constexpr std::array<std::string_view, 6> kMarkers{"Sharding",
                                                   "SPMDFullToShardShape",
                                                   "SPMDShardToFullShape",
                                                   "annotate_device_placement",
                                                   "xla.sdy.FuncResultSharding",
                                                   "LayoutConstraint"};

double product_of(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& chosen) {
  double n = 1;
  for (const auto d : chosen)
    if (d >= 0 && static_cast<std::size_t>(d) < dims.size())
      n *= std::max(1.0, static_cast<double>(dims[static_cast<std::size_t>(d)]));
  return n;
}

/// dot_general: what is neither batch nor summed are rows on the left and columns on the right.
void dot(ProgramOp& op, const TensorType& a, const TensorType& b, const OpAttributes& at,
         const std::string& file) {
  const double copies = product_of(a.dims, at.lhs_batch), depth = product_of(a.dims, at.lhs_contract);
  const double other = product_of(b.dims, at.rhs_contract);
  if (depth != other)
    throw InputError("mlsysim.programs.001", "a product sums over two different extents",
                     std::string(op.name), fmt::format("{:g} on the left, {:g} on the right", depth, other),
                     "equal extents", "look at the dimension numbers of this operator", place(file, op.line));
  set_product(op, a.elements() / (copies * depth), b.elements() / (copies * depth), depth, copies);
}

/// `dot` without dimension numbers sums the last extent of the left with the first of the right.
void dot_rule(ProgramOp& op, std::string_view name, const OpTypes& t, const OpAttributes& at,
              const std::string& file) {
  if (name == "dot_general" || !at.lhs_contract.empty()) return dot(op, *t.in[0], *t.in[1], at, file);
  OpAttributes plain;
  plain.lhs_contract = {static_cast<std::int64_t>(t.in[0]->dims.size()) - 1};
  plain.rhs_contract = {0};
  dot(op, *t.in[0], *t.in[1], plain, file);
}

}  // namespace

double checked_groups(double groups, std::string_view op, const std::string& file, std::size_t where) {
  if (groups >= 1) return groups;
  throw InputError("mlsysim.programs.030", "a convolution has no group", std::string(op),
                   fmt::format("{:g} groups", groups), "one group or more",
                   "give the program as its compiler prints it", place(file, where));
}

namespace {

void convolution(ProgramOp& op, const OpTypes& t, const OpAttributes& at, const std::string& file) {
  const auto& kernel = t.in[1]->dims;
  const auto size = static_cast<int>(kernel.size());
  if (at.kernel_out < 0 || at.kernel_in < 0 || at.kernel_out >= size || at.kernel_in >= size)
    throw InputError("mlsysim.programs.002", "a convolution does not say how its kernel is laid out",
                     std::string(op.name), fmt::format("{} extents", size), "dim_numbers",
                     "give the program as its compiler prints it", place(file, op.line));
  const auto extent = [&](int i) {
    return std::max(1.0, static_cast<double>(kernel[static_cast<std::size_t>(i)]));
  };
  const double out = extent(at.kernel_out), in = extent(at.kernel_in);
  const double field = t.in[1]->elements() / (out * in);
  const double outputs = t.out[0]->elements();
  op.kind = ListedKind::convolution;
  // In each of the groups: output pixels x output features of the group x terms of one sum.
  op.copies = checked_groups(at.groups, op.name, file, op.line) *
              checked_groups(at.batch_groups, op.name, file, op.line);
  op.columns = out / op.copies;
  op.depth = in * field;
  op.window = field;
  op.rows = outputs / out;
}

const Known* known(std::string_view name) {
  const auto found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

Rule custom_call(ProgramOp& op, const OpTypes& t, std::string_view target) {
  if (std::find(kMarkers.begin(), kMarkers.end(), target) != kMarkers.end()) {
    op.touch = Touch::none;
    return Rule::free;
  }
  op.kind = ListedKind::movement;
  for (const auto& k : kTargets)
    if (k.name == target && !t.out.empty()) {
      op.kind = k.joins ? ListedKind::pointwise : ListedKind::reduction;
      op.flops = k.simple * t.out[0]->elements();
      op.transcendentals = k.hard * t.out[0]->elements();
      return Rule::counted;
    }
  return Rule::unknown;
}

}  // namespace

void set_product(ProgramOp& op, double rows, double columns, double depth, double copies) {
  op.kind = ListedKind::product;
  op.rows = rows;
  op.columns = columns;
  op.depth = depth;
  op.copies = copies;
}

namespace {
/// 1 of what has none.
double last_extent(const TensorType& t) {
  return t.dims.empty() ? 1 : std::max(1.0, static_cast<double>(t.dims.back()));
}
}  // namespace

Rule count_hlo(ProgramOp& op, std::string_view name, const OpTypes& t, const OpAttributes& at,
               const std::string& file) {
  const auto need = [&](std::size_t operands) {
    if (t.in.size() < operands || t.out.empty())
      throw InputError("mlsysim.programs.003", "an operator has too few values", std::string(name),
                       fmt::format("{} operands, {} results", t.in.size(), t.out.size()),
                       fmt::format("{} operands and a result", operands),
                       "give the program as its compiler prints it", place(file, op.line));
  };
  if (name == "dot_general" || name == "dot") {
    need(2);
    dot_rule(op, name, t, at, file);
    return Rule::counted;
  }
  if (name == "convolution" || name == "dynamic_conv") {
    need(2);
    convolution(op, t, at, file);
    return Rule::counted;
  }
  if (name == "custom_call" || name == "custom-call") return custom_call(op, t, at.target);
  const Known* k = known(name);
  if (k == nullptr) {
    op.kind = ListedKind::movement;
    return Rule::unknown;
  }
  const double results = t.out.empty() ? 0 : t.out[0]->elements();
  const double values = t.in.empty() ? 0 : t.in[0]->elements();
  op.kind = ListedKind::movement;
  switch (k->kin) {
    case Kin::free:
      op.touch = Touch::none;
      return Rule::free;
    case Kin::simple:
      op.kind = ListedKind::pointwise;
      op.flops = k->per_value * results;
      break;
    case Kin::hard:
      op.kind = ListedKind::pointwise;
      op.transcendentals = k->per_value * results;
      break;
    case Kin::convert:
    case Kin::create:
      op.kind = ListedKind::pointwise;
      break;
    case Kin::reduce:
      op.kind = ListedKind::reduction;
      op.flops = at.region_flops * values;
      break;
    case Kin::window: {
      double field = 1;
      for (const auto w : at.window) field *= static_cast<double>(w);
      op.kind = ListedKind::reduction;
      op.flops = at.region_flops * std::max(1.0, field) * results;
      break;
    }
    case Kin::norm:
      op.kind = name.starts_with("batch_norm_inf") ? ListedKind::pointwise : ListedKind::reduction;
      op.flops = k->per_value * results;
      if (name == "fft") op.flops *= std::log2(std::max(results, 2.0));
      if (name == "cholesky" || name == "triangular_solve") {
        need(1);
        op.flops *= last_extent(*t.in[0]) / (name == "cholesky" ? 3 : 1);
      }
      break;
    case Kin::sort:
      op.kind = ListedKind::reduction;
      op.flops = values * std::log2(std::max(values, 2.0));
      break;
    case Kin::part:
      op.touch = Touch::part;
      break;
    case Kin::in_place:
      op.touch = Touch::in_place;
      break;
    case Kin::move:
    case Kin::collective:
      break;
  }
  return Rule::counted;
}

}  // namespace mlsysim::detail
