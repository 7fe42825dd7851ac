#include <mlsysim/specs/software.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

template <class F> void for_each_family(const KernelFamily* family, F&& f) {
  for (; family != nullptr; family = family->extends) f(*family);
}

/// The first along `extends` that states a number.
template <class Read> double first(const KernelFamily* family, double otherwise, Read&& read) {
  std::optional<double> found;
  for_each_family(family, [&](const KernelFamily& f) {
    if (!found) found = read(f);
  });
  return found.value_or(otherwise);
}

SettledKernel kernel(const KernelFamily* family, KernelRate KernelFamily::*kind) {
  return {first(family, 0, [&](const auto& f) { return (f.*kind).floor; }),
          first(family, 1, [&](const auto& f) { return (f.*kind).share; })};
}

std::optional<SettledConvolution> convolution_of(const KernelFamily* family) {
  if (family == nullptr) return std::nullopt;
  using C = ConvolutionRates;
  const auto number = [&](std::optional<double> C::*member, double otherwise) {
    return first(family, otherwise, [&](const auto& f) { return f.convolution.*member; });
  };
  return SettledConvolution{.matrix = number(&C::matrix, 1),
                            .vector = number(&C::vector, 1),
                            .tile_m = number(&C::tile_m, 1),
                            .tile_n = number(&C::tile_n, 1),
                            .group_n = number(&C::group_n, 1),
                            .depth_step = number(&C::depth_step, 1),
                            .memory = number(&C::memory, 1),
                            .floor = number(&C::floor, 0),
                            .wave = number(&C::wave, 0),
                            .split = number(&C::split, 0),
                            .split_depth = number(&C::split_depth, 1)};
}

}  // namespace

std::span<const LaunchPart* const> Software::of(std::string_view name) const {
  const auto is = [&](const LaunchPart* part) { return part->operation == name; };
  const auto begin = std::find_if(launches.begin(), launches.end(), is);
  return {begin, std::find_if_not(begin, launches.end(), is)};
}

std::vector<const LaunchPart*> launches_of(const ServingEngine& runtime) {
  std::vector<const LaunchPart*> out;
  for (const auto* r = &runtime; r != nullptr; r = r->extends) {
    const std::size_t nearer = out.size();
    for (const auto& part : r->launches)
      if (std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(nearer), [&](const auto* p) {
            return p->operation == part.operation && p->direction == part.direction;
          }))
        out.push_back(&part);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->operation < b->operation; });
  return out;
}

std::optional<Time<>> stated(const ServingEngine& runtime, std::optional<Time<>> FrameworkHost::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->host.*member) return r->host.*member;
  return std::nullopt;
}

std::optional<double> stated(const ServingEngine& runtime, std::optional<double> RuntimePower::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->power.*member) return r->power.*member;
  return std::nullopt;
}

std::optional<Time<>> stated(const ServingEngine& runtime, std::optional<Time<>> CompilerHost::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->compile.*member) return r->compile.*member;
  return std::nullopt;
}

bool is_unfused(const ServingEngine& runtime) {
  const auto* form = stated(runtime, &ServingEngine::form);
  return form != nullptr && *form == KernelForm::unfused;
}

std::shared_ptr<const Software> software_of(const ServingEngine* runtime, const HardwareNode& hardware,
                                            Precision precision, Frequency<> clock) {
  if (runtime == nullptr || !is_unfused(*runtime)) return nullptr;
  const KernelFamily *small = nullptr, *convolutions = nullptr;
  for (const auto* r = runtime; r != nullptr; r = r->extends) {
    if (small == nullptr) small = r->small_kernels;
    if (convolutions == nullptr) convolutions = r->convolutions;
  }
  if (small == nullptr)
    throw InputError({.id = "mlsysim.spec.090",
                      .message = fmt::format("runtime '{}' names no kernels", runtime->name),
                      .key = "small_kernels",
                      .found = "form: unfused without small_kernels",
                      .expected = "a family of kernels, e.g. aten",
                      .hint = "state small_kernels, or extend a runtime that does"});
  auto out = std::make_shared<Software>();
  out->runtime = runtime;
  out->launches = launches_of(*runtime);
  using K = KernelFamily;
  const auto set = [&](LaunchKernel kind, KernelRate K::*member) {
    out->kernels[static_cast<std::size_t>(kind)] = kernel(small, member);
  };
  set(LaunchKernel::elementwise, &K::elementwise);
  set(LaunchKernel::strided, &K::strided);
  set(LaunchKernel::copy, &K::copy);
  set(LaunchKernel::concatenate, &K::concatenate);
  set(LaunchKernel::gather, &K::gather);
  set(LaunchKernel::norm, &K::norm);
  set(LaunchKernel::layer_norm, &K::layer_norm);
  set(LaunchKernel::norm_backward, &K::norm_backward);
  set(LaunchKernel::batch_norm, &K::batch_norm);
  set(LaunchKernel::batch_norm_training, &K::batch_norm_training);
  set(LaunchKernel::reduce, &K::reduce);
  set(LaunchKernel::softmax, &K::softmax);
  set(LaunchKernel::sort, &K::sort);
  set(LaunchKernel::pool, &K::pool);
  set(LaunchKernel::fused, &K::fused);
  out->switched = first(small, 0, [](const auto& f) { return f.switch_cycles; });
  out->cached = first(small, 0, [](const auto& f) { return f.cached_reads; });
  out->register_row = first(small, 0, [](const auto& f) { return f.register_row; });
  for_each_family(small, [&](const K& f) {
    if (f.gap && out->gap == Time<>()) out->gap = *f.gap;
  });
  out->convolution = convolution_of(convolutions);
  using H = FrameworkHost;
  out->operation = stated(*runtime, &H::operation).value_or(Time<>());
  out->record = stated(*runtime, &H::record).value_or(Time<>());
  out->backward_operation = stated(*runtime, &H::backward_operation).value_or(out->operation);
  out->hook = stated(*runtime, &H::hook).value_or(Time<>());
  out->module = stated(*runtime, &H::module).value_or(Time<>());
  out->step = stated(*runtime, &H::step).value_or(Time<>());
  out->allocation = stated(*runtime, &H::allocation).value_or(Time<>());
  out->host_gap = stated(*runtime, &H::gap).value_or(Time<>());
  const auto flag = [&](std::optional<bool> ServingEngine::*member, bool otherwise) {
    const bool* found = stated(*runtime, member);
    return found == nullptr ? otherwise : *found;
  };
  out->joined = flag(&ServingEngine::joined, true);
  out->masked = flag(&ServingEngine::masked, false);
  out->autocast = flag(&ServingEngine::autocast, false) && precision == Precision::fp16;
  out->full_precision = precision == Precision::fp32 || precision == Precision::tf32;
  out->clock = hardware.compute.clock.value_or(clock);
  out->l2_cache = hardware.memory.l2_cache.value_or(Data<>());
  return out;
}

}  // namespace mlsysim
