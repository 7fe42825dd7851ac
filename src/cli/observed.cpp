#include "observed.hpp"

#include "output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <cstdlib>

namespace mlsysim::cli {

Observed::Observed() {
  const char* file = files::secure() ? nullptr : std::getenv("MLSYSIM_OBSERVE");
  if (file != nullptr && *file != '\0') observer_ = observer_of(read_observability(file));
}

std::function<void(const Progress&)> Observed::progress(std::string title,
                                                        std::function<void(const Progress&)> next) {
  if (observer_ == nullptr) return next;
  return [this, title = std::move(title), next = std::move(next)](const Progress& p) {
    {
      const std::lock_guard lock(mutex_);
      observer_->on_sweep(title, p.done, p.total, 0);
    }
    if (next) next(p);
  };
}

void Observed::swept(const std::string& title, double points) {
  if (observer_ != nullptr) observer_->on_sweep(title, points, points, 0);
}

std::string Observed::sent() {
  if (observer_ == nullptr) return {};
  try {
    observer_->finish();
  } catch (const Error& error) {
    return error_text(error);
  }
  return {};
}

}  // namespace mlsysim::cli
