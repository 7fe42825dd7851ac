#include <mlsysim/request_trace/traffic.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <nlohmann/json.hpp>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const CountedSpread& s) {
  Json out{{"count", s.count}, {"mean", s.mean}, {"deviation", s.deviation},
           {"cv", s.cv()},     {"min", s.least}, {"max", s.most},
           {"p50", s.p50},     {"p90", s.p90},   {"p99", s.p99}};
  out["laws"] = Json::array();
  for (const auto& f : s.laws)
    out["laws"].push_back({{"law", name_of(f.law)},
                           {"first", f.first},
                           {"second", f.second},
                           {"text", law_text(f)},
                           {"distance", f.distance}});
  return out;
}

Json arrivals_json(const Arrivals& a) {
  Json out{
      {"rate", a.rate.in(unit::request / unit::s)}, {"span", a.span / unit::s}, {"together", a.together}};
  if (a.cv) out["cv"] = *a.cv;
  if (a.busiest) out["busiest_minute"] = *a.busiest;
  if (a.gaps) out["gaps"] = spread_json(*a.gaps);
  return out;
}

Json prefixes_json(const SharedPrefixes& p) {
  Json out{
      {"block_tokens", p.block}, {"found_share", p.found_share}, {"mean", p.mean}, {"sampled", p.sampled}};
  if (p.sampled >= 1) out["without"] = p.without;
  if (p.found) out["found"] = spread_json(*p.found);
  return out;
}

}  // namespace

std::string traffic_json(const RecordedTraffic& t) {
  Json out{{"schema", "mlsysim/traffic@1"},
           {"format", name_of(t.format)},
           {"source", t.source},
           {"requests", t.requests},
           {"prompt", spread_json(t.prompt)}};
  if (t.answer) out["answer"] = spread_json(*t.answer);
  if (t.arrivals) out["arrivals"] = arrivals_json(*t.arrivals);
  if (t.concurrency) out["concurrency"] = *t.concurrency;
  if (t.prefixes) out["prefixes"] = prefixes_json(*t.prefixes);
  out["inputs"] = Json::object();
  for (const auto& [key, text] : traffic_inputs(t)) out["inputs"][key] = text;
  out["notes"] = t.notes;
  return detail::json_document(out);
}

}  // namespace mlsysim
