// How many servers a latency target needs: the tail of a waiting line, and the line that never ends.
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdio>

using namespace mlsysim;

int main() {
  for (const double servers : {3.0, 4.0, 5.0, 6.0}) {
    const auto line = evaluate(TailLatencyModel{}, {.arrival_rate = 300.0 * unit::request / unit::s,
                                                    .service_latency = 10.0 * unit::ms,
                                                    .num_replicas = servers,
                                                    .target_latency = 50.0 * unit::ms});
    std::printf("%.0f servers, %3.0f %% busy: ", servers, 100 * line->queue_utilization);
    if (line->is_stable)
      std::printf("P99 %.1f ms, %.1f %% within 50 ms\n", line->p99_latency->in(unit::ms),
                  100 * *line->slo_attainment);
    else
      std::printf("the line grows for ever\n");
  }
}
