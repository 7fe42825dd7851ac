#include "ops/events/sinks.hpp"

#include <mlsysim/ops/export/commit.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/push.hpp>

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
    if (const auto* c = root_.find("commit"); c != nullptr && faults_.is_text(*c, "commit", "a text")) {
      out_.commit = c->text;
      out_.from["commit"] = c->where.text();
    }
    if (std::getenv("SOURCE_DATE_EPOCH") != nullptr) {
      out_.times = EventTimes::none;
      out_.from["times"] = "environment, SOURCE_DATE_EPOCH";
    }
    if (const auto* t = root_.find("times")) {
      if (t->text != "clock" && t->text != "none") faults_.wrong(*t, "times", "clock or none");
      if (t->text == "none") out_.times = EventTimes::none;
      out_.from.try_emplace("times", t->where.text());
    }
    if (const auto* list = faults_.need(root_, "exporters", "exporters: [{form: jsonl, file: events.jsonl}]");
        list != nullptr && faults_.is_list(*list, "exporters", "a list of exporters"))
      for (const auto& item : list->items) exporter(item);
    faults_.raise();
    return std::move(out_);
  }

 private:
  void exporter(const YamlValue& item) {
    static const std::vector<std::string> known{"form",        "file",       "url",    "job",
                                                "credentials", "retry_wait", "timeout"};
    if (!faults_.is_map(item, "exporters", "a map with form and file or url")) return;
    faults_.only(item, "an exporter", known);
    ExportPlan plan;
    for (const auto& pair : item.pairs) plan.from[pair.key.text] = pair.value.where.text();
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
    number(item, "retry_wait", 0, plan.retry_wait);
    number(item, "timeout", 0.001, plan.timeout);
    if (choice && plan.file.empty() && plan.url.empty())
      faults_.wrong(item, "exporters", is_sent(*choice) ? "a file or a url" : "a file");
    if (choice && !plan.url.empty() && !is_sent(*choice))
      faults_.wrong(*item.find("url"), "url", fmt::format("a file: {} is not sent", name_of(*choice)));
    out_.exporters.push_back(std::move(plan));
  }

  /// Seconds of at least `least`.
  void number(const YamlValue& item, std::string_view key, double least, double& to) {
    const auto* v = item.find(key);
    if (v == nullptr) return;
    const auto* const last = v->text.data() + v->text.size();
    const auto [end, bad] = std::from_chars(v->text.data(), last, to);
    if (bad != std::errc{} || end != last || !(to >= least))
      faults_.wrong(*v, key, least > 0 ? "seconds, more than 0" : "seconds, 0 or more");
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

std::vector<Setting> settings_of(const ObservePlan& plan) {
  const auto from = [](const std::map<std::string, std::string>& places, const std::string& key) {
    const auto at = places.find(key);
    return at == places.end() ? std::string("default") : at->second;
  };
  const auto commit = find_commit(plan.commit, std::filesystem::current_path());
  std::vector<Setting> out{
      {"commit", commit.commit, plan.commit.empty() ? commit.from : from(plan.from, "commit")},
      {"times", plan.times == EventTimes::clock ? "clock" : "none", from(plan.from, "times")}};
  for (std::size_t i = 0; i < plan.exporters.size(); ++i) {
    const auto& e = plan.exporters[i];
    const auto say = [&](const char* key, std::string value) {
      out.push_back({fmt::format("exporters[{}].{}", i, key), std::move(value), from(e.from, key)});
    };
    say("form", std::string(name_of(e.form)));
    if (!e.file.empty()) say("file", e.file.string());
    if (e.url.empty()) continue;
    say("url", masked_url(e.url));
    say("job", e.job);
    if (!e.credentials.empty())
      say("credentials", fmt::format("{} ({})", e.credentials, state_of_secret(e.credentials)));
    say("retry_wait", fmt::format("{} s", e.retry_wait));
    say("timeout", fmt::format("{} s", e.timeout));
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
  for (const auto& e : plan.exporters)
    out->add(sink_of(e),
             fmt::format("{} {}", name_of(e.form), e.file.empty() ? masked_url(e.url) : e.file.string()));
  return out;
}

}  // namespace mlsysim
