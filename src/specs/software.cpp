#include <mlsysim/specs/software.hpp>

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace mlsysim {
namespace {

/// Fills the members of `into` that are absent with those of `from`.
template <HasFields S> void fill_absent(S& into, const S& from) {
  for_each_field<S>([&](const auto& row) {
    auto& mine = into.*row.member;
    const auto& other = from.*row.member;
    if constexpr (HasFields<std::remove_cvref_t<decltype(mine)>>) {
      fill_absent(mine, other);
    } else if constexpr (requires { mine.has_value(); }) {
      if (!mine) mine = other;
    }
  });
}

/// A family with what it extends.
KernelFamily whole(const KernelFamily& family) {
  KernelFamily out = family;
  for (const auto* f = family.extends; f != nullptr; f = f->extends) fill_absent(out, *f);
  return out;
}

/// @throws InputError where a family that `runtime` launches leaves out what its law needs
void refuse_absent(const ServingEngine& runtime, const KernelFamily& family, std::string_view kind) {
  throw InputError({.id = "mlsysim.spec.091",
                    .message = fmt::format("runtime '{}' launches kernels that family '{}' does not state",
                                           runtime.name, family.name),
                    .key = std::string(kind),
                    .found = fmt::format("no figure of '{}', here or in what it extends", kind),
                    .expected = "every figure of this kind of kernel",
                    .hint = "state it in the family, or name a family that does"});
}

using Kernels = std::array<std::optional<SettledKernel>, Choices<LaunchKernel>::names.size()>;

Kernels kernels_of(const KernelFamily& family) {
  Kernels out{};
  for_each_field<KernelFamily>([&](const auto& row) {
    const auto& rate = family.*row.member;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(rate)>, KernelRate>) {
      if (rate.floor && rate.share)
        out[static_cast<std::size_t>(*choice_of<LaunchKernel>(row.name))] = {*rate.floor, *rate.share,
                                                                             rate.unit_bytes.value_or(0)};
    }
  });
  return out;
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

const KernelFamily* stated(const ServingEngine& runtime, const KernelFamily* ServingEngine::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->*member != nullptr) return r->*member;
  return nullptr;
}

std::optional<Time<>> stated(const ServingEngine& runtime, std::optional<Time<>> FrameworkHost::*member) {
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    if (r->host.*member) return r->host.*member;
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

std::optional<Software> software_of(const ServingEngine& runtime, Precision precision) {
  if (!is_unfused(runtime)) return std::nullopt;
  const KernelFamily *small = stated(runtime, &ServingEngine::small_kernels),
                     *convolutions = stated(runtime, &ServingEngine::convolutions);
  if (small == nullptr)
    throw InputError({.id = "mlsysim.spec.090",
                      .message = fmt::format("runtime '{}' names no kernels", runtime.name),
                      .key = "small_kernels",
                      .found = "form: unfused without small_kernels",
                      .expected = "a family of kernels, e.g. aten",
                      .hint = "state small_kernels, or extend a runtime that does"});
  Software out;
  out.runtime = &runtime;
  out.launches = launches_of(runtime);
  const KernelFamily family = whole(*small);
  const Kernels stated_kernels = kernels_of(family);
  for (std::size_t i = 0; i < stated_kernels.size(); ++i)
    if (stated_kernels[i]) out.kernels[i] = *stated_kernels[i];
  for (const auto* part : out.launches)
    if (part->kernel != LaunchKernel::own && part->kernel != LaunchKernel::allocation &&
        !stated_kernels[static_cast<std::size_t>(part->kernel)])
      refuse_absent(runtime, family, name_of(part->kernel));
  out.switched = family.switch_cycles.value_or(0);
  out.cached = family.cached_reads.value_or(0);
  out.register_row = family.register_row.value_or(0);
  out.gap = family.gap.value_or(Time<>());
  if (convolutions != nullptr) {
    const KernelFamily own = whole(*convolutions);
    for_each_field<ConvolutionRates>([&](const auto& row) {
      if (!(own.convolution.*row.member)) refuse_absent(runtime, own, row.name);
    });
    out.convolution = own.convolution;
  }
  using H = FrameworkHost;
  out.operation = stated(runtime, &H::operation).value_or(Time<>());
  out.record = stated(runtime, &H::record).value_or(Time<>());
  out.backward_operation = stated(runtime, &H::backward_operation).value_or(out.operation);
  out.hook = stated(runtime, &H::hook).value_or(Time<>());
  out.module = stated(runtime, &H::module).value_or(Time<>());
  out.step = stated(runtime, &H::step).value_or(Time<>());
  out.allocation = stated(runtime, &H::allocation).value_or(Time<>());
  out.host_gap = stated(runtime, &H::gap).value_or(Time<>());
  const auto flag = [&](std::optional<bool> ServingEngine::*member, bool otherwise) {
    const bool* found = stated(runtime, member);
    return found == nullptr ? otherwise : *found;
  };
  out.joined = flag(&ServingEngine::joined, true);
  out.masked = flag(&ServingEngine::masked, false);
  out.autocast = flag(&ServingEngine::autocast, false) && precision == Precision::fp16;
  out.full_precision = precision == Precision::fp32 || precision == Precision::tf32;
  return out;
}

}  // namespace mlsysim
