#include "observed.hpp"

#include "output.hpp"
#include "plugins.hpp"

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {

Observed::Observed() : watcher_(watcher_of_environment()) {}

SweepCallbacks& Observed::sweep(const std::string& title) {
  if (sweep_ == nullptr) {
    auto callbacks = plugin_callbacks();
    if (observer() != nullptr) callbacks.push_back(observer());
    sweep_ = std::make_unique<SweepCallbacks>(std::move(callbacks), title);
  }
  return *sweep_;
}

std::function<void(const Progress&)> Observed::progress(const std::string& title,
                                                        std::function<void(const Progress&)> next) {
  auto& told = sweep(title);
  if (told.empty()) return next;
  return [&told, next = std::move(next)](const Progress& p) {
    told.tell(p.done, p.total, p.seconds_left);
    if (next) next(p);
  };
}

void Observed::swept(const std::string& title, double points) { sweep(title).finish(points); }

std::string Observed::sent() {
  std::string faults;
  if (sweep_ != nullptr)
    for (const auto& f : sweep_->failures())
      faults += fmt::format("mlsysim: error: callback '{}' threw in {}: {}\n", f.who, f.event, f.what);
  if (observer() == nullptr) return faults;
  try {
    watcher_.finish();
  } catch (const Error& error) {
    faults += error_text(error);
  }
  return faults;
}

}  // namespace mlsysim::cli
