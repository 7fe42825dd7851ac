// Events as lines: JSON, logfmt and CSV.

#include "ops/events/sinks.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/passing.hpp>
#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace mlsysim {
namespace detail {

BufferedFile::BufferedFile(std::filesystem::path file, std::string_view mark)
    : path_(std::move(file)),
      file_(files::begin_passing(path_,
                                 {.replace = files::Replace::own, .mark = mark, .forced = "another file"})) {}
BufferedFile::~BufferedFile() {
  (void)files::put(file_, buffer_);
  ::close(file_);
}
void BufferedFile::flush() {
  const int fault = files::put(file_, buffer_);
  buffer_.clear();
  if (fault != 0)
    throw InputError({.id = "mlsysim.observe.001",
                      .message = fmt::format("{} takes no more events", path_.string()),
                      .found = std::strerror(fault),
                      .expected = "room on the disk",
                      .hint = "what was written so far stays"});
}

std::string value_text(const DynamicValue& v) {
  if (const auto* x = std::get_if<double>(&v.value)) return fmt::format("{}", *x);
  if (const auto* b = std::get_if<bool>(&v.value)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&v.value)) return *s;
  return {};
}

void append_json(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
  if (!plain) {
    out += detail::json_text(nlohmann::json(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}
void append_json(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

/// Calls `say` with each text field of an event, in the order that all forms share.
template <class F> void each_text(const Event& e, F&& say) {
  say("pipeline", e.pipeline);
  say("stage", e.stage);
  say("resolver", e.resolver);
  say("model_family", e.family);
  say("model_name", e.model);
  say("hardware", e.hardware);
  say("commit", e.commit);
  say("status", e.status);
  say("detail", e.reason);
}
/// Calls `say` with each numeric field of an event.
template <class F> void each_number(const Event& e, F&& say) {
  say("seconds", e.seconds);
  say("done", e.done);
  say("total", e.total);
}

std::vector<std::pair<std::string, std::string>> fields_of(const Event& e) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("time_unix_nano", std::to_string(e.time));
  out.emplace_back("kind", name_of(e.kind));
  out.emplace_back("run", std::to_string(e.run));
  each_text(e, [&](const char* name, std::string_view text) { out.emplace_back(name, text); });
  each_number(e, [&](const char* name, double x) { out.emplace_back(name, fmt::format("{}", x)); });
  const bool is_break = e.kind == EventKind::breaks;
  out.emplace_back("reason", is_break ? name_of(e.why) : std::string_view());
  out.emplace_back("id", is_break ? about(e.why).id : std::string_view());
  return out;
}

}  // namespace detail

std::string json_line(const Event& e) {
  std::string out = "{\"time_unix_nano\":\"" + std::to_string(e.time) + "\",\"kind\":\"";
  out += name_of(e.kind);
  out += "\",\"run\":" + std::to_string(e.run);
  const auto text = [&](const char* name, std::string_view value) {
    if (value.empty()) return;
    out += ",\"";
    out += name;
    out += "\":";
    detail::append_json(out, value);
  };
  const auto number = [&](const char* name, double value) {
    if (value == 0) return;
    out += ",\"";
    out += name;
    out += "\":";
    detail::append_json(out, value);
  };
  detail::each_text(e, text);
  detail::each_number(e, number);
  if (e.kind == EventKind::breaks) {
    text("reason", name_of(e.why));
    text("id", about(e.why).id);
    text("severity", about(e.why).severity);
  }
  if (!e.results.empty()) {
    out += ",\"results\":{";
    bool first = true;
    for (const auto& f : e.results) {
      const auto* x = std::get_if<double>(&f.value.value);
      const auto words = x == nullptr ? detail::value_text(f.value) : std::string();
      if (x == nullptr && words.empty()) continue;
      if (!first) out += ',';
      first = false;
      detail::append_json(out, f.name);
      out += ":{\"value\":";
      if (x != nullptr)
        detail::append_json(out, *x);
      else
        detail::append_json(out, words);
      if (!f.value.exps.dimensionless()) text("unit", canonical_unit(f.value.exps));
      out += '}';
    }
    out += '}';
  }
  return out + "}";
}

namespace {

class JsonLines final : public EventSink {
 public:
  explicit JsonLines(const std::filesystem::path& file) : file_(file, "{\"time_unix_nano\"") {}
  void take(const Event& e) override { file_.append(json_line(e) + "\n"); }
  void finish() override { file_.flush(); }

 private:
  detail::BufferedFile file_;
};

class Logfmt final : public EventSink {
 public:
  explicit Logfmt(const std::filesystem::path& file) : file_(file, "time_unix_nano=") {}
  void take(const Event& e) override {
    auto fields = detail::fields_of(e);
    std::erase_if(fields, [](const auto& f) { return f.second.empty() || f.second == "0"; });
    for (const auto& r : e.results)
      if (auto text = detail::value_text(r.value); !text.empty())
        fields.emplace_back("result_" + std::string(r.name), std::move(text));
    file_.append(logfmt_text({{.time = e.time, .fields = std::move(fields)}}));
  }
  void finish() override { file_.flush(); }

 private:
  detail::BufferedFile file_;
};

/// A row for each result of an event, and one for an event without any.
class Csv final : public EventSink {
 public:
  explicit Csv(const std::filesystem::path& file) : file_(file, "time_unix_nano,") {}
  void take(const Event& e) override {
    const auto fields = detail::fields_of(e);
    std::string row;
    if (!begun_) {
      for (const auto& [name, text] : fields) row += name + ",";
      file_.append(row + "result,value,unit\r\n");
      row.clear();
      begun_ = true;
    }
    for (const auto& [name, text] : fields) row += detail::csv_field(text) + ",";
    bool any = false;
    for (const auto& r : e.results) {
      const auto text = detail::value_text(r.value);
      if (text.empty()) continue;
      any = true;
      file_.append(fmt::format("{}{},{},{}\r\n", row, detail::csv_field(r.name), detail::csv_field(text),
                               canonical_unit(r.value.exps)));
    }
    if (!any) file_.append(row + ",,\r\n");
  }
  void finish() override { file_.flush(); }

 private:
  detail::BufferedFile file_;
  bool begun_ = false;
};

}  // namespace

std::shared_ptr<EventSink> detail::line_sink(const ExportPlan& plan) {
  if (plan.form == ExportForm::jsonl) return std::make_shared<JsonLines>(plan.file);
  if (plan.form == ExportForm::logfmt) return std::make_shared<Logfmt>(plan.file);
  return std::make_shared<Csv>(plan.file);
}

}  // namespace mlsysim
