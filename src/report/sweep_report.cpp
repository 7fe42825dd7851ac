#include <mlsysim/report/sweep_report.hpp>

namespace mlsysim {

Table sweep_table(std::span<const SweepPoint> points) {
  Table t{.schema = "mlsysim/sweep@1",
          .title = "sweep",
          .columns = {{"hardware"},
                      {"batch_size", "", "samples of one batch"},
                      {"precision"},
                      {"fits", "", "in memory"},
                      {"latency", "ms", "time of one batch"},
                      {"throughput", "sample/s", "samples per second"},
                      {"mfu", "", "model FLOPs utilisation"},
                      {"memory", "GB", "bytes resident on the device"},
                      {"energy", "J", "of one batch"},
                      {"bottleneck", "", "what limits the time"},
                      {"note", "", "why a point was skipped"}}};
  for (const auto& p : points) {
    std::vector<Table::Cell> row{p.hardware->name, p.batch_size, name_of(p.precision)};
    if (p.skipped) {
      row.resize(t.columns.size() - 1);
      row.emplace_back("skipped: " + p.reason);
    } else {
      const auto& r = p.profile;
      row.insert(row.end(), {Value(r.feasible), r.latency, r.throughput, r.mfu, r.memory_footprint,
                             r.energy ? Table::Cell(*r.energy) : Table::Cell(), name_of(r.bottleneck),
                             r.feasible ? "" : "does not fit; time as if it spilled to the host"});
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace mlsysim
