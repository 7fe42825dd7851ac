#pragma once
/// Configuration of event exporters: reads observability.yaml and builds the sinks that it names.
///
/// An exporter writes one form (JSON lines, logfmt, CSV, Chrome trace, OTLP, Prometheus, Loki) to a file or a
/// URL. Relative files lie beside the YAML file. SOURCE_DATE_EPOCH in the environment leaves times out of the
/// events. A secret is a reference (env:NAME or file:PATH). A secret in the file itself is refused and not
/// repeated.
/// Example: `{version: "1", exporters: [{form: jsonl, file: events.jsonl}]}` writes one JSON object per
/// event.

#include <mlsysim/ops/events/events.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace mlsysim {

/// Forms of exports.
enum class ExportForm : std::uint8_t { jsonl, logfmt, csv, chrome, otlp, prometheus, loki };
template <> inline constexpr auto names_of<ExportForm> = ChoiceNames{"form of exports"};

/// One exporter.
struct ExportPlan {
  ExportForm form = ExportForm::jsonl;
  std::filesystem::path file;  ///< or a URL
  std::string url;  ///< of OTLP traces or metrics (.../v1/metrics), Loki, or a Pushgateway; nothing is sent
                    ///< where it is empty
  std::string job = "mlsysim";
  std::string credentials;                    ///< a reference: env:NAME or file:PATH
  double retry_wait = 1;                      ///< [s] before the second of three tries
  double timeout = 10;                        ///< [s] that one try may take
  std::map<std::string, std::string> from{};  ///< where each value that was given stands, by its key
};
/// All of them.
struct ObservePlan {
  std::string commit;  ///< empty: as `current_commit` finds it
  EventTimes times = EventTimes::clock;
  std::vector<ExportPlan> exporters;
  std::map<std::string, std::string> from{};  ///< as of an exporter
};

/// Reads observability.yaml.
/// @throws InputError for a file that cannot be read, ErrorList with every fault
[[nodiscard]] ObservePlan read_observability(const std::filesystem::path& file);
/// Whether an exporter takes numbers, and not events: prometheus, and otlp where its URL ends in /v1/metrics.
[[nodiscard]] bool is_of_metrics(const ExportPlan& plan);
/// One value that is in force.
struct Setting {
  std::string name, value;
  std::string from;  ///< "observability.yaml:3:5", "environment, GIT_COMMIT", "default"
};
/// Every value of a plan that is in force, and its origin. Secrets appear as references with their state, and
/// URLs without user and password.
[[nodiscard]] std::vector<Setting> settings_of(const ObservePlan& plan);
/// An observer with the sinks of a plan. @throws InputError for files that may not be written and secrets
/// that are missing
[[nodiscard]] std::unique_ptr<Observer> observer_of(const ObservePlan& plan);
/// One sink. @throws as `observer_of`
[[nodiscard]] std::shared_ptr<EventSink> sink_of(const ExportPlan& plan);

/// An event as one line of JSON, without its end. Numbers of results are in base units.
[[nodiscard]] std::string json_line(const Event& event);
/// JSON Schema of such a line, and of an observability.yaml.
[[nodiscard]] std::string event_schema();
[[nodiscard]] std::string observability_schema();

}  // namespace mlsysim
