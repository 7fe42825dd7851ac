// The observer that MLSYSIM_OBSERVE names.

#include "cli/observed.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/events/exporters.hpp>

#include <cstdlib>

namespace mlsysim::cli {

Watcher watcher_of_environment() {
  const char* file = files::secure() ? nullptr : std::getenv("MLSYSIM_OBSERVE");
  if (file == nullptr || *file == '\0') return {};
  std::shared_ptr<Observer> observer = observer_of(read_observability(file));
  return {observer, [observer] { observer->finish(); }};
}

}  // namespace mlsysim::cli
