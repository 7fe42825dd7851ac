// JSON Schemas of what is written line by line, and of the file that says where it goes.

#include <mlsysim/ops/events/exporters.hpp>
#include <mlsysim/pipeline/breaks.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <nlohmann/json.hpp>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

template <class E> Json choice() {
  Json out{{"enum", Json::array()}};
  for (const auto name : Choices<E>::names) out["enum"].push_back(name);
  return out;
}

Json text(const char* about) { return {{"type", "string"}, {"minLength", 1}, {"description", about}}; }
Json number(const char* about) { return {{"type", Json::array({"number", "null"})}, {"description", about}}; }

Json with_head(const char* title, const Json& rest) {
  Json out{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}, {"type", "object"}};
  out.update(rest);
  out["additionalProperties"] = false;
  return out;
}

}  // namespace

std::string event_schema() {
  const Json result{
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"value"})},
      {"properties",
       {{"value", {{"type", Json::array({"number", "string", "null"})}, {"description", "in base units"}}},
        {"unit", text("base unit")}}}};
  const Json properties{{"time_unix_nano", {{"type", "string"}, {"pattern", "^[0-9]+$"}}},
                        {"kind", choice<EventKind>()},
                        {"run", {{"type", "integer"}, {"minimum", 0}}},
                        {"pipeline", text("name of the pipeline or the sweep")},
                        {"stage", text("name of the stage")},
                        {"resolver", text("what the stage asks")},
                        {"model_family", text("family of the model")},
                        {"model_name", text("name of the model")},
                        {"hardware", text("name of the device")},
                        {"commit", text("of what is observed, or unknown")},
                        {"status", text("how it stands")},
                        {"detail", text("why it is so")},
                        {"seconds", number("that it took [s]")},
                        {"done", number("points or candidates that have passed by")},
                        {"total", number("of them in all")},
                        {"reason", choice<BreakReason>()},
                        {"id", {{"type", "string"}, {"pattern", "^MB[0-9]{3}$"}}},
                        {"severity", {{"enum", Json::array({"error", "degraded"})}}},
                        {"results", {{"type", "object"}, {"additionalProperties", result}}}};
  return detail::json_document(
      with_head("one event of mlsysim, a line of JSON",
                {{"required", Json::array({"time_unix_nano", "kind", "run", "commit"})},
                 {"properties", properties},
                 {"if", {{"properties", {{"kind", {{"const", "break"}}}}}}},
                 {"then", {{"required", Json::array({"reason", "id", "severity"})}}},
                 {"else", {{"not", {{"required", Json::array({"reason"})}}}}}}));
}

std::string observability_schema() {
  const Json exporter{
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"form"})},
      {"anyOf",
       Json::array({Json{{"required", Json::array({"file"})}}, Json{{"required", Json::array({"url"})}}})},
      {"properties",
       {{"form", choice<ExportForm>()},
        {"file", text("beside this file where it is relative")},
        {"url", text("of a receiver of OTLP, Loki or a Pushgateway; nothing is sent without one")},
        {"job", text("under which a server keeps it")},
        {"credentials",
         {{"type", "string"},
          {"pattern", "^(env|file):"},
          {"description", "a reference to user:password, never the secret itself"}}},
        {"retry_wait", {{"type", "number"}, {"minimum", 0}, {"description", "before the second try [s]"}}},
        {"timeout",
         {{"type", "number"}, {"exclusiveMinimum", 0}, {"description", "that one try may take [s]"}}}}}};
  return detail::json_document(
      with_head("observability.yaml of mlsysim",
                {{"required", Json::array({"version", "exporters"})},
                 {"properties",
                  {{"version", {{"const", "1"}}},
                   {"commit", text("of what is observed; else the environment or git says it")},
                   {"times", {{"enum", Json::array({"clock", "none"})}}},
                   {"exporters", {{"type", "array"}, {"items", exporter}}}}}}));
}

}  // namespace mlsysim
