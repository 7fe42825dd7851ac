#include "observe/sinks.hpp"

#include <mlsysim/telemetry/commit.hpp>
#include <mlsysim/telemetry/push.hpp>

#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/detail/yaml_faults.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace mlsysim {
namespace {

using Kind = YamlValue::Kind;

/// Whether a form may go to a server.
bool is_sent(ExportForm form) {
  return form == ExportForm::otlp || form == ExportForm::prometheus || form == ExportForm::loki;
}

class Reader {
 public:
  Reader(const YamlDocument& document, std::filesystem::path folder)
      : faults_(document, "a configuration of exporters",
                {"mlsysim.observe.002", "mlsysim.observe.003", "mlsysim.observe.004"}),
        root_(document.root()),
        folder_(std::move(folder)) {}

  ObservePlan read() {
    static const std::vector<std::string> known{"version", "commit", "times", "exporters"};
    if (!faults_.is_map(root_, "the file", "a map with version and exporters")) faults_.raise();
    faults_.only(root_, "", known);
    if (const auto* v = faults_.need(root_, "version", "version: \"1\""); v != nullptr && v->text != "1")
      faults_.wrong(*v, "version", "\"1\"");
    if (const auto* c = root_.find("commit"); c != nullptr && faults_.is_text(*c, "commit", "a text"))
      out_.commit = c->text;
    if (std::getenv("SOURCE_DATE_EPOCH") != nullptr) out_.times = EventTimes::none;
    if (const auto* t = root_.find("times")) {
      if (t->text != "clock" && t->text != "none") faults_.wrong(*t, "times", "clock or none");
      if (t->text == "none") out_.times = EventTimes::none;
    }
    if (const auto* list = faults_.need(root_, "exporters", "exporters: [{form: jsonl, file: events.jsonl}]");
        list != nullptr && faults_.is_list(*list, "exporters", "a list of exporters"))
      for (const auto& item : list->items) exporter(item);
    faults_.raise();
    return std::move(out_);
  }

 private:
  void exporter(const YamlValue& item) {
    static const std::vector<std::string> known{"form", "file", "url", "job", "credentials", "retry_wait"};
    if (!faults_.is_map(item, "exporters", "a map with form and file or url")) return;
    faults_.only(item, "an exporter", known);
    ExportPlan plan;
    const auto* form = faults_.need(item, "form", "form: jsonl");
    const auto choice = form != nullptr ? choice_of<ExportForm>(form->text) : std::nullopt;
    if (form != nullptr && !choice)
      faults_.wrong(*form, "form", fmt::format("one of {}", fmt::join(Choices<ExportForm>::names, ", ")));
    plan.form = choice.value_or(ExportForm::jsonl);
    const auto text = [&](std::string_view key, std::string& to) {
      if (const auto* v = item.find(key); v != nullptr && faults_.is_text(*v, key, "a text")) to = v->text;
    };
    std::string file;
    text("file", file);
    if (!file.empty()) plan.file = folder_ / file;
    text("url", plan.url);
    text("job", plan.job);
    secret(item, plan);
    if (const auto* w = item.find("retry_wait")) {
      const auto [end, bad] =
          std::from_chars(w->text.data(), w->text.data() + w->text.size(), plan.retry_wait);
      if (bad != std::errc{} || end != w->text.data() + w->text.size() || !(plan.retry_wait >= 0))
        faults_.wrong(*w, "retry_wait", "seconds, 0 or more");
    }
    if (choice && plan.file.empty() && plan.url.empty())
      faults_.wrong(item, "exporters", is_sent(*choice) ? "a file or a url" : "a file");
    if (choice && !plan.url.empty() && !is_sent(*choice))
      faults_.wrong(*item.find("url"), "url", fmt::format("a file: {} is not sent", name_of(*choice)));
    out_.exporters.push_back(std::move(plan));
  }

  /// A secret that stands in the file is not repeated: the fault has no excerpt.
  void secret(const YamlValue& item, ExportPlan& plan) {
    const auto* v = item.find("credentials");
    if (v == nullptr) return;
    if (v->text.starts_with("env:") || v->text.starts_with("file:")) {
      plan.credentials = v->text;
      return;
    }
    faults_.add({.id = "mlsysim.observe.005",
                 .message = "a secret stands where a reference to it is due",
                 .key = "credentials",
                 .found = fmt::format("a text of {} characters", v->text.size()),
                 .expected = "env:NAME or file:PATH",
                 .hint = "move it into a variable or a file, and change it: it may have been seen",
                 .where = v->where});
  }

  detail::YamlFaults faults_;
  const YamlValue& root_;
  std::filesystem::path folder_;
  ObservePlan out_;
};

}  // namespace

ObservePlan read_observability(const std::filesystem::path& file) {
  const auto document = YamlDocument::read(file);
  return Reader(document, file.parent_path()).read();
}

bool is_of_metrics(const ExportPlan& plan) {
  return plan.form == ExportForm::prometheus ||
         (plan.form == ExportForm::otlp && plan.url.ends_with("/v1/metrics"));
}

std::string shown(const ObservePlan& plan) {
  auto out = fmt::format("commit: {}\ntimes: {}\nexporters:\n",
                         current_commit(plan.commit, std::filesystem::current_path()),
                         plan.times == EventTimes::clock ? "clock" : "none");
  for (const auto& e : plan.exporters) {
    out += fmt::format("- form: {}\n", name_of(e.form));
    if (!e.file.empty()) out += fmt::format("  file: {}\n", e.file.string());
    if (!e.url.empty()) out += fmt::format("  url: {}\n  job: {}\n", masked_url(e.url), e.job);
    if (!e.credentials.empty()) out += fmt::format("  credentials: {}\n", e.credentials);
  }
  return out;
}

std::shared_ptr<EventSink> sink_of(const ExportPlan& plan) {
  switch (plan.form) {
    case ExportForm::jsonl:
    case ExportForm::logfmt:
    case ExportForm::csv:
      return detail::line_sink(plan);
    case ExportForm::chrome:
    case ExportForm::otlp:
      if (!is_of_metrics(plan)) return detail::trace_sink(plan);
      break;
    case ExportForm::prometheus:
    case ExportForm::loki:
      break;
  }
  return detail::server_sink(plan);
}

std::unique_ptr<Observer> observer_of(const ObservePlan& plan) {
  auto out =
      std::make_unique<Observer>(current_commit(plan.commit, std::filesystem::current_path()), plan.times);
  for (const auto& e : plan.exporters) out->add(sink_of(e));
  return out;
}

}  // namespace mlsysim
