#include "detail/row_measurand.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {

std::vector<FieldInfo> detail::fields_of_row(std::span<const FieldInfo> described) {
  std::vector<FieldInfo> out;
  for (FieldInfo f : described) {
    if (const auto dot = f.name.find('.'); dot != std::string::npos) {
      f.name.erase(0, dot + 1);
      const bool given = f.name == "fidelity" || f.name == "conventions" || f.object_type == "fleet";
      if (given || std::ranges::any_of(described, [&](const FieldInfo& own) { return own.name == f.name; }))
        continue;
    }
    out.push_back(std::move(f));
  }
  return out;
}

std::span<const Measurand* const> measurands() {
  static const std::vector<const Measurand*> all = [] {
    std::vector<const Measurand*> out;
    for (const auto& family :
         {detail::kernel_measurands(), detail::collective_measurands(), detail::training_measurands(),
          detail::serving_measurands(), detail::steady_measurands(), detail::diffusion_measurands(),
          detail::other_measurands()})
      out.insert(out.end(), family.begin(), family.end());
    return out;
  }();
  return all;
}

const Measurand& measurand(std::string_view name, const Location& where) {
  std::vector<std::string> names;
  for (const Measurand* t : measurands()) {
    if (t->name() == name) return *t;
    names.emplace_back(t->name());
  }
  throw LookupError(unknown_name("mlsysim.validation.060", fmt::format("there is no measurand '{}'", name),
                                 name, names, {}, where));
}

}  // namespace mlsysim
