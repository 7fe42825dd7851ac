#pragma once
/// Prices a list of operators: sums by pass and by place in the pipeline.
///
///     sums[pass][place] += count (launch + kernel)
///
/// A collective that repeats the one before is priced once. Software that does not fuse its kernels turns an
/// operator into the rows of its launch list.
///
/// Example: Llama-3.1-8B, decode of one sequence at 2,048 tokens, bf16 on an H100: 17 operators, 15.3 GB of
/// traffic in all.

#include <mlsysim/timing/breakdown.hpp>
#include <mlsysim/timing/launches.hpp>
#include <mlsysim/timing/op_price.hpp>

#include <array>
#include <span>

namespace mlsysim {

template <class T>
void PassBreakdown<T>::add(const Op<T>& op, const OpCost<T>& cost, const Time<T>& launch_overhead) {
  // A collective of one rank is not launched.
  host_launch_time +=
      launch_overhead * (op.kind == OpKind::collective ? select(op.ranks > T{1.0}, op.count, T{0.0})
                                                       : op.count * cost.launches);
  total += named(op.name, cost.total);
  if (!op.on_device()) {  // they have neither work nor launches
    (op.kind == OpKind::collective ? network : host) += cost.network;
    if (op.overlap_with == OverlapWith::pass) prefetch_comm += cost.network;
    if (op.overlap_with == OverlapWith::product) tp_comm += cost.network;
    if (op.overlap_with == OverlapWith::marked) ep_comm += cost.network;
    return;
  }
  if (op.kind == OpKind::attention || op.kind == OpKind::recurrence) sequence_mixing += cost.total;
  const Time<T> kernel = cost.total - cost.overhead;
  const auto by_compute = cost.compute > cost.memory;
  compute_bound += select(by_compute, kernel, Time<T>());
  memory_bound += select(by_compute, Time<T>(), kernel);
  if (op.parts & part::overlap_compute) overlap_compute += kernel;
  overhead += cost.overhead;
  work += op.work * op.count;
  traffic += op.memory_bytes * op.count;
}

template <class T>
void PassBreakdown<T>::add(const Op<T>& op, const Launched<T>& launched, const Time<T>& launch_overhead,
                           const T& eager, const Software& software, const Time<T>& operator_time) {
  const Time<T> gaps = Time<T>(software.gap + software.host_gap) * (launched.kernels * eager);
  total += named(op.name, launched.total + gaps);
  memory_bound += launched.memory;
  overhead += launched.total - launched.memory + gaps;
  traffic += launched.traffic;
  host_launch_time += launch_overhead * launched.kernels;
  host_launch_time +=
      (operator_time * launched.operators + Time<T>(software.module) * launched.modules + launched.host) *
      eager;
}

/// Sums of a list by pass and place.
template <class T = double> struct ListCost {
  std::array<std::array<PassBreakdown<T>, kStageScopes>, kPasses> at{};
  std::array<Time<T>, kCommGroups> network{};  ///< of the passes of one micro-batch, by whom it joins

  [[nodiscard]] const Time<T>& between(CommGroup t) const { return network[static_cast<std::size_t>(t)]; }

  [[nodiscard]] const PassBreakdown<T>& of(Pass pass, StageScope place) const {
    return at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
  }
  /// Sums one pass on a pipeline stage, without the operators that run once on every stage. `first`, `last`:
  /// 1 where it is that stage; `blocks`: its share of the fullest stage's blocks.
  [[nodiscard]] PassBreakdown<T> stage(Pass pass, const T& first, const T& last, const T& blocks) const {
    PassBreakdown<T> sum = of(pass, StageScope::every_block) * blocks;
    sum.add(of(pass, StageScope::first), first);
    sum.add(of(pass, StageScope::last), last);
    return sum;
  }
};

namespace detail {

/// Prices the operators of a list in turn. Collectives are the dearest to price and mostly repeat the one
/// before.
template <class T> class ListPricer {
 public:
  ListPricer(const Device<T>& device, const Links<T>& links) : device_(device), links_(links) {}

  [[nodiscard]] OpCost<T> operator()(const Op<T>& op) {
    if (same_number(op.count, T{0.0})) return {};
    if (op.kind != OpKind::collective) return price(op, device_, links_);
    if (same_number(op.ranks, T{1.0})) return {};  // as the laws of every collective say, without asking them
    if (before_ == nullptr || !repeats(*before_, op)) {
      once_ = collective_time(op, links_);
      before_ = &op;
    }
    OpCost<T> cost;
    cost.network = cost.total = once_ * op.count;
    return cost;
  }

 private:
  [[nodiscard]] static bool repeats(const Op<T>& a, const Op<T>& b) {
    return a.collective == b.collective && same_number(a.message.base(), b.message.base()) &&
           same_number(a.ranks, b.ranks) && same_number(a.stride, b.stride) && same_number(a.m, b.m) &&
           same_number(a.routed.experts, b.routed.experts) && same_number(a.routed.top_k, b.routed.top_k);
  }

  const Device<T>& device_;
  const Links<T>& links_;
  const Op<T>* before_ = nullptr;
  Time<T> once_;
};

/// Adds an operator of software that does not fuse its kernels: its own kernel and those of its launch list.
template <class T>
void add_launches(const Op<T>& op, const LaunchFrame<T>& frame, ListPricer<T>& price_one,
                  const Links<T>& links, const Device<T>& device, const Time<T>& launch_overhead,
                  PassBreakdown<T>& sum) {
  const Software& software = frame.software();
  const T one{1.0}, eager = select(launch_overhead > Time<T>(), one, T{0.0});
  if (frame.vanishes(op)) return;
  sum.host_launch_time += frame.hook_time(op) * eager;
  const auto own = [&](const LaunchPart* part) {
    Op<T> it = op;
    const bool split_keys = op.kind == OpKind::attention && frame.decodes();
    if (software.masked && split_keys) {
      // The mask rules grouped heads out, and its kernel does not divide the keys.
      it.memory_bytes = it.working_set + (it.memory_bytes - it.working_set) * it.group_heads;
      it.group_heads = one;
      it.keys = Keys::undivided;
    }
    OpCost<T> cost;
    const T matrices = frame.matrices(op);
    if (op.kind == OpKind::convolution && software.convolution) {
      const auto r = frame.convolution(op);
      cost = {r.time * op.count, r.compute * op.count, r.memory * op.count, {}, {}};
    } else if (op.kind == OpKind::matmul && !same_number(matrices, one)) {
      cost = price(frame.one_of(op), device, links);
    } else {
      cost = price_one(it);
    }
    sum.add(it, cost, Time<T>());
    Launched<T> more;  // the kernel's time is counted, its launches are not
    more.kernels = op.count * (matrices + (split_keys ? 1.0 : 0.0));
    more.operators = op.count * matrices * (part == nullptr ? 1.0 : part->operators);
    more.modules = op.count * (part == nullptr ? 0.0 : part->modules);
    sum.add(op, more, launch_overhead, eager, software, frame.operator_time(op.pass));
    // Weights that are kept in fp32 are cast for each product.
    if (!software.autocast || !(op.kind == OpKind::convolution || op.kind == OpKind::matmul) ||
        op.name.starts_with("attention_"))
      return;
    for (const LaunchPart* cast : software.of("autocast"))
      sum.add(op, frame.small(*cast, op), launch_overhead, eager, software, frame.operator_time(op.pass));
  };
  const auto rows = frame.rows_of(op);
  // An operator without rows in its pass stays one kernel; so does the update of weights.
  bool listed = false;
  for (const LaunchPart* part : rows) listed = listed || frame.is_in(*part, op.pass);
  if (!listed || op.pass == Pass::update) return own(nullptr);
  for (const LaunchPart* part : rows) {
    if (!frame.is_in(*part, op.pass) || !frame.runs(*part)) continue;
    // Gradients of weights are products of their own; what goes with them runs beside the gradient of the
    // input.
    if (op.pass == Pass::weight_gradient && part->kernel != LaunchKernel::own) continue;
    if (part->kernel == LaunchKernel::own)
      own(part);
    else
      sum.add(op, frame.small(*part, op), launch_overhead, eager, software, frame.operator_time(op.pass));
  }
}

}  // namespace detail

/// Prices a list. @param launch_overhead host time of one kernel
/// @param frame where each operator becomes launches of its own; null where they are fused
template <class T>
[[nodiscard]] ListCost<T> price_list(std::span<const Op<T>> ops, const Device<T>& device,
                                     const Links<T>& links, const Time<T>& launch_overhead,
                                     const LaunchFrame<T>* frame = nullptr) {
  ListCost<T> sums;
  detail::ListPricer<T> price_one(device, links);
  // Neighbors mostly share pass and place: the sums of a run of them stay in registers.
  const Op<T>* op = ops.data();
  const Op<T>* const end = op + ops.size();
  while (op != end) {
    const Pass pass = op->pass;
    const StageScope place = op->place;
    PassBreakdown<T>& here = sums.at[static_cast<std::size_t>(pass)][static_cast<std::size_t>(place)];
    PassBreakdown<T> sum = here;
    for (; op != end && op->pass == pass && op->place == place; ++op) {
      if (frame != nullptr && op->on_device()) {
        detail::add_launches(*op, *frame, price_one, links, device, launch_overhead, sum);
        continue;
      }
      const OpCost<T> cost = price_one(*op);
      sum.add(*op, cost, launch_overhead);
      if (op->comm_group != CommGroup::none && pass != Pass::update)
        sums.network[static_cast<std::size_t>(op->comm_group)] += cost.network;
    }
    here = sum;
  }
  return sums;
}

}  // namespace mlsysim
