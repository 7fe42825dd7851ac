#include "cli/commands_watch.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/push.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace mlsysim::cli {
namespace {

constexpr std::string_view kMetricsMark = "# HELP mlsysim_watch_up";
constexpr int kNoAnswer = 5;

/// One server over several askings.
struct Asked {
  std::string url;
  Exposition now, before;
  bool asked_before = false;
};

/// Asks one server once. @return an entry for each model that it serves
std::vector<WatchedServer> ask(Asked& server, const WatchRequest& request, const std::string& credentials,
                               const WatchPlan& plan) {
  WatchedServer entry{.url = masked_url(server.url)};
  try {
    auto page =
        read_exposition(fetch({.url = server.url, .credentials = credentials, .timeout = request.timeout}));
    if (server.asked_before) server.before = std::move(server.now);
    server.now = std::move(page);
    std::vector<WatchedServer> out;
    if (server.now.damaged > 0)
      entry.notes.push_back(fmt::format("{} lines are no metrics", server.now.damaged));
    for (auto& live : live_numbers(server.now, server.asked_before ? &server.before : nullptr)) {
      auto one = entry;
      one.live = std::move(live);
      try {
        one.numbers = watched_numbers(one.live, plan, zoo());
      } catch (const Error& error) {
        one.trouble = error.what();
      }
      out.push_back(std::move(one));
    }
    server.asked_before = true;
    if (!out.empty()) return out;
    entry.trouble = "it exposes no metrics of vLLM or SGLang (a histogram time_to_first_token_seconds)";
  } catch (const Error& error) {
    entry.trouble = error.what();
  }
  return {entry};
}

Table table_of(const std::vector<WatchedServer>& servers) {
  Table t{.schema = "mlsysim/watch@1",
          .title = "Measured, and the band that is predicted",
          .columns = {{"server"},
                      {"engine"},
                      {"model"},
                      {"number"},
                      {"measured", "ms"},
                      {"low", "ms"},
                      {"predicted", "ms"},
                      {"high", "ms"},
                      {"place"},
                      {"requests"},
                      {"running"},
                      {"waiting"},
                      {"cache_use"}}};
  for (const auto& s : servers)
    for (const auto& n : s.numbers) {
      const auto some = [](const std::optional<double>& x) { return x ? Table::Cell(*x) : Table::Cell(); };
      t.rows.push_back({s.url, s.live.engine, s.live.model, n.name, n.measured, n.low, n.predicted, n.high,
                        name_of(n.place), s.live.requests, some(s.live.running), some(s.live.waiting),
                        some(s.live.cache_use)});
    }
  return t;
}

WatchPlan plan_of(const WatchRequest& request) {
  auto out = request.plan;
  for (const auto& text : request.fields) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError("mlsysim.watch.002", "an input of the scenario cannot be read", "with",
                       fmt::format("'{}'", text), "NAME=VALUE", "e.g. --with accelerators=8");
    out.fields[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

}  // namespace

Answer watch(const WatchRequest& request, const RenderOptions& options) {
  const auto credentials = credentials_in(request.credentials_env);
  const auto plan = plan_of(request);
  std::vector<Asked> servers;
  for (const auto& url : request.urls) servers.push_back({.url = url});
  std::vector<WatchedServer> found;
  Answer out;
  for (std::size_t i = 0; i < request.count; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(request.interval));
    found.clear();
    for (auto& server : servers)
      for (auto& one : ask(server, request, credentials, plan)) found.push_back(std::move(one));
    const auto metrics = watch_metrics(found);
    if (!request.metrics.empty())
      files::write(request.metrics, prometheus_text(metrics), {.mark = kMetricsMark});
    if (request.push.empty()) continue;
    try {
      // Each server is a group: two that watch do not replace what the other has pushed.
      for (const auto& [key, families] : by_group(metrics, {"server"}))
        send({.url = push_url({request.push, request.job, key}, families),
              .method = "PUT",
              .type = "text/plain; version=0.0.4",
              .body = prometheus_text(families),
              .credentials = credentials});
    } catch (const InputError& error) {
      out.diagnostics += fmt::format("mlsysim: error: {}\n", error.what());
      out.exit = static_cast<Exit>(kNoAnswer);
    }
  }
  out.payload = render(table_of(found), options);
  bool outside = false;
  for (const auto& s : found) {
    for (const auto& n : s.notes) out.diagnostics += fmt::format("mlsysim: note: {}: {}\n", s.url, n);
    if (!s.trouble.empty()) {
      out.diagnostics += fmt::format("mlsysim: error: {}: {}\n", s.url, s.trouble);
      out.exit = static_cast<Exit>(kNoAnswer);
    }
    for (const auto& n : s.numbers) {
      if (n.place == InBand::inside) continue;
      outside = true;
      out.diagnostics += fmt::format("mlsysim: alert: {}: {} of {} is {} its band\n", s.url, n.name,
                                     s.live.model, name_of(n.place));
    }
  }
  if (outside && out.exit == Exit::fine) out.exit = static_cast<Exit>(1);
  return out;
}

}  // namespace mlsysim::cli
