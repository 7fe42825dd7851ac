#include <mlsysim/ops/export/compile_metrics.hpp>

#include <map>

namespace mlsysim {
namespace {

/// Samples that are added up as they come: the same model may be in several files.
class Sums {
 public:
  Sums(std::string name, std::string help, MetricType type)
      : family_{std::move(name), std::move(help), type, {}} {}
  void add(std::map<std::string, std::string> labels, double value) { sums_[std::move(labels)] += value; }
  MetricFamily family() {
    for (auto& [labels, value] : sums_) family_.samples.push_back({labels, value, {}});
    return std::move(family_);
  }

 private:
  MetricFamily family_;
  std::map<std::map<std::string, std::string>, double> sums_;
};

std::map<std::string, std::string> labels_of(const CompileRecord& r) {
  return {{"model_family", r.family}, {"model_name", r.model}, {"commit", r.commit}};
}

constexpr std::size_t kMostLines = 1'000'000;  // metrics count what is beyond them

}  // namespace

std::vector<MetricFamily> compile_metrics(const CompileRecords& records, Aliases aliases) {
  Sums breaks("mlsysim_compile_breaks_total", "Listed breaks of one run by reason; not added up over runs.",
              MetricType::counter);
  Sums alias("compile_breaks_total", "Listed breaks of one run by reason; not added up over runs.",
             MetricType::counter);
  Sums graph_breaks("mlsysim_compile_graph_breaks", "Breaks as the compiler counts them, listed or not.",
                    MetricType::gauge);
  Sums graphs("mlsysim_compile_graphs", "Graphs that were compiled.", MetricType::gauge);
  Sums ops("mlsysim_compile_operators", "Operators in all graphs.", MetricType::gauge);
  Sums guards("mlsysim_compile_guards", "Guards of all graphs.", MetricType::gauge);
  Sums seconds("mlsysim_compile_seconds", "Time to compile.", MetricType::gauge);
  Sums lost("mlsysim_compile_restart_seconds", "Time lost to restarts of the compiler.", MetricType::gauge);
  Sums failed("mlsysim_compile_failures", "Compilations that failed.", MetricType::gauge);
  for (const auto& r : records.records) {
    const auto model = labels_of(r);
    const auto count = [&](const std::string& reason, const std::string& category, double n) {
      auto labels = model;
      labels["reason"] = reason;
      alias.add({{"model", r.model}, {"commit", r.commit}, {"reason", reason}}, n);
      labels["category"] = category;
      breaks.add(std::move(labels), n);
    };
    for (const auto& b : r.breaks) count(b.type, std::string(name_of(b.category)), b.count);
    if (r.breaks.empty()) count("none", "none", 0);
    graph_breaks.add(model, r.graph_breaks);
    graphs.add(model, r.graph_count);
    ops.add(model, r.op_count);
    guards.add(model, r.guards);
    seconds.add(model, r.compile_time / unit::s);
    lost.add(model, r.lost_to_restarts / unit::s);
    failed.add(model, r.failures);
  }
  std::vector<MetricFamily> out;
  for (auto* sums : {&breaks, &graph_breaks, &graphs, &ops, &guards, &seconds, &lost, &failed})
    out.push_back(sums->family());
  if (aliases == Aliases::compile_breaks) out.push_back(alias.family());
  return out;
}

std::vector<LogRecord> compile_log(const CompileRecords& records, std::uint64_t time) {
  std::vector<LogRecord> out;
  for (const auto& r : records.records)
    for (const auto& b : r.breaks) {
      const auto place = b.place();
      LogRecord one{0,
                    {{"level", "warning"},
                     {"kind", "compile_break"},
                     {"model_family", r.family},
                     {"model_name", r.model},
                     {"commit", r.commit},
                     {"type", b.type},
                     {"category", std::string(name_of(b.category))},
                     {"gb_id", b.gb_id},
                     {"file", place.file},
                     {"line", std::to_string(place.line)},
                     {"function", place.function},
                     {"reason", b.reason}}};
      // Whoever counts lines counts breaks, also those that are kept as one.
      for (double n = 0; n < b.count && out.size() < kMostLines; ++n) {
        one.time = time++;
        out.push_back(one);
      }
    }
  return out;
}

}  // namespace mlsysim
