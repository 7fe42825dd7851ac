#pragma once
/// Kernel launches of each operator in software that does not fuse kernels, such as PyTorch eager.
///
/// A runtime's launch list states the kernels of an operator, the arrays that they move, and their host work.
///
///     time = times ((floor + switched) / clock + bytes / (share bandwidth))     one row of the list
///
/// times: executions of the row. floor: cycles of the smallest kernel. switched: cycles more after another
/// kernel. share: sustained share of the memory bandwidth. Norms also work row by row
/// (physics/small_kernels.hpp). Rows of kind `own` take the operator's own law (timing/op_price.hpp).
/// @cite measured-h100
/// Example: residual sum and RMSNorm, Llama-3.1-8B, one token, `transformers`, H100: 9 kernels, 19.0 us.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/physics/small_kernels.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/specs/views.hpp>

#include <span>
#include <string_view>
#include <type_traits>

namespace mlsysim {

/// One row of a launch list for one operator, all its executions.
template <class T> struct Launched {
  Time<T> total, memory;  ///< on the device; `memory` is the part in which bytes move
  Data<T> traffic;
  T kernels{0.0}, operators{0.0};  ///< launches, and operators of the framework
  T modules{0.0};
  Time<T> host;  ///< beside them
};

/// Turns the operators of a pass into launches; holds the sizes that they share.
template <class T> class LaunchFrame {
 public:
  LaunchFrame(const Software& software, const Structure& structure, const T& hidden, const Plan<T>& plan,
              const Device<T>& device, std::span<const Op<T>> ops)
      : software_(software),
        decode_(structure.phase == Phase::decode),
        training_(structure.phase == Phase::training),
        hidden_(max(hidden, T{1.0})),
        recomputed_(structure.recomputed == part::all ? plan.recomputed : T{0.0}),
        plan_(plan),
        device_(device) {
    for (const Op<T>& op : ops) {
      if (op.name == "attention_scores") scores_ = op.copies * op.m * op.n;
      if (op.kind == OpKind::attention || op.name == "attention_scores") head_ = op.k;
      if (op.name == "rotary_and_cache" && op.pass == Pass::forward)
        stored_ = (op.memory_bytes - op.working_set) / plan.kv_bytes;
    }
  }

  [[nodiscard]] const Software& software() const { return software_; }

  /// The rows of an operator; none where it stays one kernel. Only decoders rotate and cache.
  [[nodiscard]] std::span<const LaunchPart* const> rows_of(const Op<T>& op) const {
    if (is_norm(op)) return software_.of("norm");
    if (op.kind == OpKind::convolution) return software_.of("convolution");
    if (op.name.ends_with("activation") && op.name != "convolution_activation")
      return software_.of("activation");
    const auto own = software_.of(op.name);
    return own.empty() && op.kind == OpKind::matmul ? software_.of("product") : own;
  }
  /// Whether the operator is no kernel: encoders rotate nothing, and norms of queries and keys are rows of
  /// rotary_and_cache.
  [[nodiscard]] bool vanishes(const Op<T>& op) const {
    return (op.name == "rotary_and_cache" && !software_.decoder) || op.name == "query_key_norm";
  }

  /// Whether a row runs in the pass of an operator.
  [[nodiscard]] static bool is_in(const LaunchPart& part, Pass pass) {
    return part.direction == (pass == Pass::backward || pass == Pass::weight_gradient
                                  ? LaunchDirection::backward
                                  : LaunchDirection::forward);
  }
  /// Host time of an operator of the framework in a pass.
  [[nodiscard]] Time<T> operator_time(Pass pass) const {
    if (pass == Pass::backward || pass == Pass::weight_gradient) return Time<T>(software_.backward_operation);
    return Time<T>(training_ ? software_.operation + software_.record : software_.operation);
  }
  [[nodiscard]] bool runs(const LaunchPart& part) const {
    switch (part.when) {
      case LaunchWhen::always:
        return true;
      case LaunchWhen::rms:
        return software_.root_mean_square;
      case LaunchWhen::layer:
        return !software_.root_mean_square;
      case LaunchWhen::gated:
        return software_.gated;
      case LaunchWhen::plain:
        return !software_.gated;
      case LaunchWhen::head_norm:
        return software_.head_norm;
      case LaunchWhen::positions:
        return software_.positions;
      case LaunchWhen::decode:
        return decode_;
      case LaunchWhen::prompt:
        return !decode_;
      case LaunchWhen::autocast:
        return software_.autocast;
      case LaunchWhen::decoder:
        return software_.decoder;
      case LaunchWhen::encoder:
        return !software_.decoder;
    }
    return true;
  }

  /// Calls of a framework that a tracer captures for an operator: of its rows in the forward pass.
  [[nodiscard]] T calls_of(const Op<T>& op) const {
    T calls{0.0};
    bool listed = false;
    if (vanishes(op)) return calls;
    for (const LaunchPart* part : rows_of(op)) {
      if (part->direction != LaunchDirection::forward) continue;
      listed = true;
      if (!runs(*part) || part->kernel == LaunchKernel::allocation) continue;
      const T kernels = part->kernel == LaunchKernel::own ? matrices(op) : T{part->times};
      calls += op.count * kernels * part->calls.value_or(part->operators);
    }
    return listed ? calls : op.count;
  }
  /// Host time of the tensors that the blocks save and that recomputation makes again: a hook handles each
  /// once in the forward pass, and twice in the backward pass, where it is made and where it is used.
  [[nodiscard]] Time<T> hook_time(const Op<T>& op) const {
    const bool backward = op.pass == Pass::backward;
    if (software_.hook == Time<>() || op.place != StageScope::every_block ||
        !(backward || op.pass == Pass::forward))
      return Time<T>();
    double saved = 0;
    for (const LaunchPart* part : rows_of(op))
      if (part->direction == LaunchDirection::forward && runs(*part)) saved += part->saved;
    // A product of two activations has two gradients.
    const double times = !backward ? 1.0 : op.kind == OpKind::matmul && (op.parts & part::core) ? 1.0 : 2.0;
    return Time<T>(software_.hook) * (op.count * matrices(op) * recomputed_ * (saved * times));
  }

  /// A kernel of the list.
  [[nodiscard]] Launched<T> small(const LaunchPart& part, const Op<T>& op) const {
    Launched<T> out;
    const T times = op.count * part.times;
    const T values = array(part.over, op);
    const bool rows = part.row == LaunchRow::head || part.row == LaunchRow::hidden;
    const T width = part.row == LaunchRow::head ? head_ : hidden_;
    const Data<T> value = plan_.activation_bytes;
    if (part.kernel == LaunchKernel::allocation) {
      const Data<T> cached = plan_.kv_bytes * values;
      // PyTorch's allocator: 10 MiB and more are asked for one by one, less in pieces of 20 MiB.
      const T asked = select(cached >= Data<T>(10.0 * unit::MiB), T{1.0}, T(cached / (20.0 * unit::MiB)));
      out.host = Time<T>(software_.allocation) * (times * asked);
      return out;
    }
    const Data<T> read = bytes(part.read_bytes, part.autocast_read_bytes, value) * (values * part.reads);
    T writes = values * part.writes;
    if (part.grouped) writes = writes * group(op);
    const Data<T> written = bytes(part.write_bytes, part.autocast_write_bytes, value) * writes;
    const SettledKernel& start = at(LaunchKernel::elementwise);
    // Short rows stay in registers.
    const bool by_keys = part.row == LaunchRow::keys;
    const SettledKernel& own = at(part.kernel);
    const T in_registers =
        by_keys ? select(plan_.context <= T{software_.register_row}, T{1.0}, T{0.0}) : T{0.0};
    const bool chains = part.kernel != LaunchKernel::fused;
    const bool caches = chains && part.kernel != LaunchKernel::gather;
    const auto r =
        apply<SmallKernelTime, T>({.read = read,
                                   .written = written,
                                   .row = rows ? Data<T>(value * width) : Data<T>(),
                                   .l2_cache = Data<T>(software_.l2_cache),
                                   .rows = rows ? T(values / width) : T{0.0},
                                   .units = device_.compute.units,
                                   .floor = in_registers * start.floor + (T{1.0} - in_registers) * own.floor,
                                   .start = T{start.floor},
                                   .switched = T{chains ? software_.switched : 0.0},
                                   .share = in_registers * start.share + (T{1.0} - in_registers) * own.share,
                                   .cached = T{caches ? software_.cached : 0.0},
                                   .bandwidth = device_.memory.bandwidth,
                                   .clock = Frequency<T>(software_.clock)});
    out.total = r.time * times;
    out.memory = r.memory * times;
    out.traffic = (read + written) * times;
    out.kernels = times;
    out.operators = times * part.operators;
    out.modules = times * part.modules;
    return out;
  }

  [[nodiscard]] bool decodes() const { return decode_; }
  /// Products into which an operator divides where matrices of one input are not joined.
  [[nodiscard]] T matrices(const Op<T>& op) const {
    return software_.joined || op.kind != OpKind::matmul ? T{1.0} : op.merged_matrices;
  }
  /// All executions of an operator as so many products of equal width.
  [[nodiscard]] Op<T> one_of(const Op<T>& op) const {
    Op<T> one = op;
    const T parts = matrices(op), left = op.m * (op.pass == Pass::backward ? op.n : op.k) * op.copies;
    const Data<T> input = plan_.activation_bytes * left;
    // The gradient of the input sums over the columns.
    (op.pass == Pass::backward ? one.k : one.n) /= parts;
    one.work = op.work / parts;
    one.working_set = input + (op.working_set - input) / parts;
    one.memory_bytes = input + (op.memory_bytes - input) / parts;
    one.count = op.count * parts;
    return one;
  }

  /// One execution of a convolution.
  [[nodiscard]] ConvolutionTime::Result<T> convolution(const Op<T>& op) const {
    const ConvolutionRates& c = *software_.convolution;
    const ComputeRate<T> rate =
        software_.full_precision
            ? ComputeRate<T>(device_.compute.dense * *c.vector * op.fewer_products)
            : ComputeRate<T>(device_.compute.dense * device_.efficiency.matrix * *c.matrix);
    return apply<ConvolutionTime, T>({.m = op.m,
                                      .n = op.n,
                                      .k = op.k,
                                      .groups = op.copies,
                                      .tile_m = T{*c.tile_m},
                                      .tile_n = T{*c.tile_n},
                                      .group_n = T{*c.group_n},
                                      .depth_step = T{*c.depth_step},
                                      .units = device_.compute.units,
                                      .floor = T{*c.floor},
                                      .wave = T{*c.wave},
                                      .split = T{*c.split},
                                      .split_depth = T{*c.split_depth},
                                      .rate = rate,
                                      .traffic = op.memory_bytes,
                                      .bandwidth = device_.memory.bandwidth * *c.memory,
                                      .clock = Frequency<T>(software_.clock)});
  }

 private:
  [[nodiscard]] const SettledKernel& at(LaunchKernel kind) const {
    return software_.kernels[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] Data<T> bytes(const std::optional<double>& stated, const std::optional<double>& cast,
                              const Data<T>& otherwise) const {
    const auto& found = software_.autocast && cast ? cast : stated;
    return found ? Data<T>::from_base(T{*found}) : otherwise;
  }
  [[nodiscard]] T group(const Op<T>& op) const {
    const T key = array(LaunchArray::key, op);
    return array(LaunchArray::query, op) / max(key, T{1.0});
  }
  [[nodiscard]] static bool is_norm(const Op<T>& op) {
    return op.group == OpGroup::norm && op.name.ends_with("_norm");
  }
  [[nodiscard]] T values_of(const Op<T>& op) const {
    const T live = op.working_set / plan_.activation_bytes;
    // Six operations a value, twice as many backward.
    if (is_norm(op)) return op.work.base() / (op.pass == Pass::backward ? 12.0 : 6.0);
    if (op.name == "softmax") return scores_;
    // Six operations a logit, twice as many backward.
    if (op.name == "loss") return op.work.base() / (op.pass == Pass::backward ? 12.0 : 6.0);
    if (op.kind == OpKind::gather || op.name == "pool") return live;
    return live / 2.0;
  }
  /// Values of an array of the operator.
  [[nodiscard]] T array(LaunchArray which, const Op<T>& op) const {
    const T written = stored_ / 2.0;
    switch (which) {
      case LaunchArray::values:
        return values_of(op);
      case LaunchArray::rows:
        return is_norm(op) ? T(values_of(op) / hidden_) : T(plan_.batch * plan_.new_tokens);
      case LaunchArray::query:
        return max(T(op.working_set / plan_.activation_bytes / 2.0 - written), T{0.0});
      case LaunchArray::key:
      case LaunchArray::written:
        return written;
      case LaunchArray::cached:
        return written * (plan_.context / plan_.new_tokens);
      case LaunchArray::scores:
        return scores_;
      case LaunchArray::inputs:
        return op.m * op.k * op.copies;
      case LaunchArray::output:
        return op.m * op.n * op.copies;
      case LaunchArray::weights:
        return op.params.base();
    }
    return T{0.0};
  }

  const Software& software_;
  bool decode_, training_;
  T hidden_;
  T recomputed_;  ///< share of the blocks that are recomputed as a whole
  const Plan<T>& plan_;
  const Device<T>& device_;
  T scores_{0.0}, head_{1.0}, stored_{0.0};
};

}  // namespace mlsysim
