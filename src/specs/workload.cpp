#include <mlsysim/specs/workload.hpp>

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

namespace mlsysim {

Data<> Workload::size(Precision precision) const {
  if (model_size) return *model_size;
  if (recommendation.model_size) return *recommendation.model_size;
  if (parameters) return *parameters * (bytes_per_element(precision) * unit::B / unit::param);
  throw InputError(
      {.id = "mlsysim.spec.020",
       .message = fmt::format("the size of {} is not known", name.empty() ? "the model" : "'" + name + "'"),
       .key = "parameters",
       .found = "neither parameters nor model_size",
       .expected = "one of them",
       .hint = "set parameters, e.g. 8.03 Gparam, or model_size, e.g. 100 GB",
       .reason = BreakReason::missing_field});
}

}  // namespace mlsysim
