#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <nlohmann/json.hpp>

#include <cmath>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

/// Counts as whole numbers.
std::int64_t whole(double n) { return std::llround(n); }

Json counts_json(const ReadCounts& c) {
  return {{"records", whole(c.records)},         {"bad_record", whole(c.bad_record)},
          {"bad_payload", whole(c.bad_payload)}, {"unknown", whole(c.unknown)},
          {"foreign", whole(c.foreign)},         {"missing", whole(c.missing)},
          {"truncated", whole(c.truncated)}};
}

Json record_json(const CompileRecord& r) {
  Json out = Json::parse(explain_document(r));
  out["source"] = r.source;
  out["form"] = name_of(r.form);
  out["digest"] = r.digest;
  out["frames"] = whole(r.frames);
  out["ranks"] = r.ranks;
  out["restarts"] = {{"count", whole(r.restarts)},
                     {"lost", {{"value", r.lost_to_restarts / unit::s}, {"unit", "s"}}}};
  out["recompiles"] = whole(r.recompiles);
  out["cache"] = {{"hits", whole(r.cache_hits)}, {"misses", whole(r.cache_misses)}};
  out["failures"] = whole(r.failures);
  Json kinds = Json::object();
  for (const auto& [kind, n] : r.kinds) kinds[kind] = whole(n);
  out["kinds"] = std::move(kinds);
  out["read"] = counts_json(r.read);
  out["notes"] = r.notes;
  return out;
}

}  // namespace

std::string report_json(const CompileRecords& all) {
  Json records = Json::array(), same = Json::array();
  for (const auto& r : all.records) records.push_back(record_json(r));
  for (const auto& d : all.duplicates) same.push_back({{"counted", d.counted}, {"others", d.others}});
  const auto groups = [&](BreaksBy by) {
    Json rows = Json::array();
    for (const auto& g : groups_of(all, by))
      rows.push_back({{"breaks", whole(g.count)},
                      {"models", whole(g.models)},
                      {"type", g.type},
                      {"category", name_of(g.category)},
                      {"id", g.gb_id},
                      {"file", g.place.file},
                      {"line", g.place.line},
                      {"function", g.place.function},
                      {"hint", g.hint}});
    return rows;
  };
  const Json out{{"schema", "mlsysim/compile_report@1"}, {"records", std::move(records)},
                 {"duplicates", std::move(same)},        {"by_type", groups(BreaksBy::type)},
                 {"by_place", groups(BreaksBy::place)},  {"notes", all.notes}};
  return detail::json_document(out);
}

}  // namespace mlsysim
