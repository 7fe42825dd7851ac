#pragma once
/// A running engine beside its prediction.

#include "commands.hpp"

#include <mlsysim/ops/live/live.hpp>

#include <string>
#include <vector>

namespace mlsysim::cli {

struct WatchRequest {
  std::vector<std::string> urls;
  WatchPlan plan;
  std::vector<std::string> fields;  ///< NAME=VALUE of the scenario
  std::string metrics, push, job = "mlsysim-watch", credentials_env;
  double timeout = 5, interval = 10;  ///< [s]
  std::size_t count = 1;
};
/// Asks each server, `count` times. Exit code 1 where a number lies outside of its band, 5 where a server
/// gave nothing or did not take what was sent.
[[nodiscard]] Answer watch(const WatchRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
