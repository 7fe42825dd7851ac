#include <mlsysim/estimate/replicas.hpp>

#include <fmt/format.h>

namespace mlsysim {

void warn_of_uneven_batch(double batch, double replicas, Notes& notes) {
  const auto share = share_batch(batch, replicas);
  if (share.working < 1)
    notes.remark([&] {
      return fmt::format("the global batch of {:g} is smaller than the {:g} replicas: {:g} of them idle",
                         batch, replicas, replicas - batch);
    });
  else if (share.sequences * replicas != batch)
    notes.warn([&] {
      return fmt::format(
          "the global batch of {:g} does not divide into the {:g} replicas: each is priced with {:g}", batch,
          replicas, share.sequences);
    });
}

}  // namespace mlsysim
