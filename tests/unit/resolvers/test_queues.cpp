// Waiting lines: tail latency, capacity, jobs of a fleet.

#include "worked.hpp"

#include <mlsysim/physics/batching.hpp>
#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/orchestration.hpp>
#include <mlsysim/resolvers/models/serving_capacity.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace worked;
using Catch::Matchers::WithinRel;

namespace {

TailLatencyModel::Inputs line(double rate, double service_ms, double servers, double cv,
                              Fidelity fidelity = Fidelity::textbook) {
  return {.arrival_rate = rate * per_s,
          .service_latency = service_ms * unit::ms,
          .num_replicas = servers,
          .service_time_cv = cv,
          .fidelity = fidelity};
}

/// The textbook sum for the probability of waiting, term by term.
double erlang_c_by_definition(int servers, double load) {
  double term = 1, sum = 0;
  for (int k = 0; k < servers; ++k) {
    sum += term;
    term *= load / (k + 1);
  }
  const double all_busy = term / (1 - load / servers);
  return all_busy / (sum + all_busy);
}

}  // namespace

TEST_CASE("Erlang's delay formula agrees with its definition", "[catalogue][queue]") {
  for (const int servers : {1, 2, 3, 7, 20, 100})
    for (const double utilization : {0.05, 0.3, 0.5, 0.8, 0.95, 0.999}) {
      INFO(servers << " servers at " << utilization);
      const double load = utilization * servers;
      const double due = erlang_c_by_definition(servers, load);
      if (due > 1e-20)
        CHECK_THAT(ErlangC::solve<double>({static_cast<double>(servers), load}).wait_probability,
                   WithinRel(due, 1e-11));
    }
  CHECK(ErlangC::solve<double>({4, 4}).wait_probability == 1.0);
  CHECK(ErlangC::solve<double>({4, 9}).wait_probability == 1.0);
}

TEST_CASE("tail latency: the figures of the Python package", "[catalogue][queue][golden]") {
  struct Row {
    double rate, service, servers, cv, rho, wait, p50, p99, ratio;
  };
  for (const Row& row : {Row{50, 10, 1, 1, 0.5, 0.5, 10.0, 88.2405, 1.56481},
                         Row{80, 10, 1, 1, 0.8, 0.8, 33.5002, 229.101, 4.38203},
                         Row{80, 10, 4, 1, 0.2, 0.00958084, 10.0, 10.0, 0},
                         Row{300, 10, 4, 1, 0.75, 0.509434, 10.1869, 49.3072, 0.786143},
                         Row{350, 10, 4, 1, 0.875, 0.737861, 17.7829, 96.0234, 1.72047},
                         Row{350, 10, 4, 0.5, 0.875, 0.737861, 14.8643, 63.7646, 1.07529}}) {
    INFO(row.rate << "/s, " << row.servers << " servers, cv " << row.cv);
    const auto r = TailLatencyModel{}.solve(line(row.rate, row.service, row.servers, row.cv));
    REQUIRE(r.is_stable);
    CHECK_THAT(r.queue_utilization, is(row.rho));
    CHECK_THAT(r.wait_probability, is(row.wait));
    CHECK_THAT(r.p50_latency->in(unit::ms), is(row.p50));
    CHECK_THAT(r.p99_latency->in(unit::ms), is(row.p99));
    CHECK_THAT(*r.slo_headroom_ratio, is(row.ratio) || Catch::Matchers::WithinAbs(row.ratio, 1e-12));
  }
}

TEST_CASE("an unstable line is an answer", "[catalogue][queue]") {
  const auto answer = evaluate(TailLatencyModel{}, line(150, 10, 1, 1));
  REQUIRE(answer);
  CHECK_FALSE(answer->is_stable);
  CHECK_FALSE(answer->p99_latency);
  // The Python package reports a utilization of exactly 1 and a headroom ratio of 1 whenever the line is
  // unstable; ours says by how much it is overloaded and what it would take.
  CHECK_THAT(answer->queue_utilization, is(1.5));
  CHECK(answer->stable_replicas == 2);
  CHECK_THAT(std::string(answer.report().warnings()[0]), Catch::Contains("at least 2 are needed"));
}

TEST_CASE("M/M/1: the response time is exponential", "[catalogue][queue]") {
  // P(T > t) = exp(-(mu - lambda) t): the median and the tail in closed form.
  const auto r = TailLatencyModel{}.solve(line(80, 10, 1, 1, Fidelity::operator_level));
  CHECK_THAT(r.p50_latency->in(unit::s), WithinRel(std::log(2.0) / 20, 1e-9));
  CHECK_THAT(r.p99_latency->in(unit::s), WithinRel(std::log(100.0) / 20, 1e-9));
  auto target = line(80, 10, 1, 1, Fidelity::operator_level);
  target.target_latency = 100.0 * unit::ms;
  CHECK_THAT(*TailLatencyModel{}.solve(target).slo_attainment, WithinRel(1 - std::exp(-2.0), 1e-9));
}

TEST_CASE("wait quantile plus mean service is not the tail of the sum", "[catalogue][queue]") {
  // One server at half load: the Python package gives 88.24 ms, 82.40 waiting of 10 + ...; the sum's P99 is
  // ln(100)/50.
  const auto sum = TailLatencyModel{}.solve(line(50, 10, 1, 1, Fidelity::operator_level));
  CHECK_THAT(sum.p99_latency->in(unit::ms), WithinRel(std::log(100.0) / 50 * 1e3, 1e-9));
  CHECK(sum.p50_latency->in(unit::ms) < 15);
  // With idle servers nobody waits, and the tail is that of the service itself, not its mean.
  const auto idle = TailLatencyModel{}.solve(line(1, 10, 64, 1, Fidelity::operator_level));
  CHECK_THAT(idle.p99_latency->in(unit::ms), WithinRel(10 * std::log(100.0), 1e-6));
}

TEST_CASE("M/D/1 and M/G/1: the mean wait of Pollaczek and Khinchine", "[catalogue][queue]") {
  for (const double cv : {0.0, 0.5, 1.0, 2.5}) {
    const auto r = TailLatencyModel{}.solve(line(70, 10, 1, cv, Fidelity::operator_level));
    CHECK_THAT(r.mean_wait->in(unit::s), WithinRel(0.7 * 0.01 * (1 + cv * cv) / 2 / 0.3, 1e-12));
    CHECK_THAT(*r.queue_length, WithinRel(70 * r.mean_wait->in(unit::s), 1e-12));  // Little's law
  }
}

TEST_CASE("the response quantile against a simulated line", "[catalogue][queue][slow]") {
  // Kiefer and Wolfowitz's recursion for a line with several servers, by brute force.
  std::mt19937_64 bits(7);
  std::exponential_distribution<double> arrival(350.0), service(100.0);
  std::vector<double> free_at(4, 0.0), times;
  double now = 0;
  for (int i = 0; i < 400000; ++i) {
    now += arrival(bits);
    auto first = std::min_element(free_at.begin(), free_at.end());
    const double start = std::max(now, *first);
    *first = start + service(bits);
    times.push_back(*first - now);
  }
  std::sort(times.begin(), times.end());
  const auto r = TailLatencyModel{}.solve(line(350, 10, 4, 1, Fidelity::operator_level));
  CHECK_THAT(r.p50_latency->in(unit::s), WithinRel(times[times.size() / 2], 0.03));
  CHECK_THAT(r.p99_latency->in(unit::s), WithinRel(times[times.size() * 99 / 100], 0.06));
}

TEST_CASE("tails grow with variation and load, and shrink with servers", "[catalogue][queue]") {
  double last = 0;
  for (const double cv : {0.0, 0.3, 0.7, 1.0, 1.5, 3.0}) {
    const double p99 =
        TailLatencyModel{}.solve(line(300, 10, 4, cv, Fidelity::operator_level)).p99_latency->in(unit::ms);
    CHECK(p99 > last);
    last = p99;
  }
  for (const double servers : {5.0, 6.0, 12.0}) {
    const double p99 = TailLatencyModel{}
                           .solve(line(300, 10, servers, 3.0, Fidelity::operator_level))
                           .p99_latency->in(unit::ms);
    CHECK(p99 < last);
    last = p99;
  }
}

TEST_CASE("jobs in the line of a fleet", "[catalogue][queue][golden]") {
  const auto run = [](double rate, double days) {
    return OrchestrationModel{}.solve({.fleet = &fleet("Research_256"),
                                       .arrival_rate_jobs_per_day = rate,
                                       .avg_job_duration = days * unit::d,
                                       .fidelity = Fidelity::textbook});
  };
  CHECK_THAT(run(0.1, 2).cluster_utilization, is(0.2));
  CHECK_THAT(run(0.1, 2).avg_wait_time->in(unit::d), is(0.25));
  CHECK_THAT(*run(0.1, 2).avg_queue_length, is(0.025));
  CHECK_THAT(run(0.4, 2).avg_wait_time->in(unit::d), is(4));
  CHECK_THAT(*run(0.4, 2).avg_queue_length, is(1.6));
  CHECK_FALSE(run(0.6, 2).is_stable);
  CHECK_FALSE(run(0.6, 2).avg_wait_time);
  // The whole fleet is one server in the Python package. Thirty-two jobs of eight devices side by side hardly
  // wait.
  const auto slots = OrchestrationModel{}.solve({.fleet = &fleet("Research_256"),
                                                 .arrival_rate_jobs_per_day = 12,
                                                 .avg_job_duration = 2.0 * unit::d,
                                                 .accelerators_per_job = 8});
  CHECK(slots.slots == 32);
  CHECK_THAT(slots.cluster_utilization, is(0.75));
  CHECK(slots.avg_wait_time->in(unit::d) < 0.1);
  CHECK_THROWS_AS(OrchestrationModel{}.solve({.fleet = &fleet("Research_256"),
                                              .arrival_rate_jobs_per_day = 1,
                                              .avg_job_duration = 1.0 * unit::d,
                                              .accelerators_per_job = 257}),
                  DomainError);
}

TEST_CASE("continuous batching: paged against static allocation", "[catalogue][golden]") {
  ContinuousBatchingModel::Inputs in{.workload = &model("Llama3_8B"),
                                     .hardware = &device("H100"),
                                     .max_seq_len = 8192,
                                     .mean_request_tokens = 2048,
                                     .max_batch_size = 4096,
                                     .precision = Precision::fp16,
                                     .efficiency = 0.5,
                                     .fidelity = Fidelity::textbook};
  const auto r = ContinuousBatchingModel{}.solve(in);
  CHECK(r.static_max_active_requests == 65);
  CHECK(r.max_active_requests == 259);
  CHECK_THAT(r.paged_internal_fragmentation, is(0.00381904));
  CHECK_THAT(r.static_internal_fragmentation, is(0.75));
  CHECK_THAT(r.token_throughput.base(), is(10137.9));
  CHECK_THAT(r.static_token_throughput.base(), is(6498.39));
  CHECK_THAT(r.speedup_vs_static, is(1.56006));
  // Full requests of whole pages leave nothing to gain.
  in.mean_request_tokens.reset();
  const auto full = ContinuousBatchingModel{}.solve(in);
  CHECK(full.max_active_requests == full.static_max_active_requests);
  CHECK(full.paged_internal_fragmentation == 0.0);
  CHECK(full.speedup_vs_static == 1.0);
  in.workload = &model("Llama3_70B");
  const auto large = ContinuousBatchingModel{}.solve(in);
  CHECK_FALSE(large.feasible);
  CHECK(large.token_throughput.base() == 0);
  in.mean_request_tokens = 9000;
  CHECK_THROWS_WITH(ContinuousBatchingModel{}.solve(in),
                    Catch::Contains("mean_request_tokens") && Catch::Contains("8192"));
}

TEST_CASE("expected tokens in pages", "[catalogue][golden]") {
  struct Row {
    double page, held, fragmentation;
  };
  const double scale = 1044.71;
  for (const Row& row :
       {Row{16, 1031.86, 0.00761866}, Row{64, 1055.69, 0.0300144}, Row{2048, 2336.38, 0.561715}}) {
    const auto p = PagedTokens::solve<double>({scale, row.page, 4096});
    CHECK_THAT(p.mean, WithinRel(1024.0, 1e-5));
    CHECK_THAT(p.held, is(row.held));
    CHECK_THAT(1 - 1024.0 / p.held, WithinRel(row.fragmentation, 2e-3));  // the scale has six digits
  }
}

TEST_CASE("operators: prefills take their share of a batch", "[catalogue]") {
  ContinuousBatchingModel::Inputs in{.workload = &model("Llama3_8B"),
                                     .hardware = &device("H100"),
                                     .max_seq_len = 4096,
                                     .mean_request_tokens = 1024,
                                     .output_tokens = 256,
                                     .max_batch_size = 64,
                                     .precision = Precision::bf16};
  const auto r = ContinuousBatchingModel{}.solve(in);
  CHECK(r.fidelity == Fidelity::operator_level);
  CHECK(r.feasible);
  CHECK(r.max_active_requests == 64);
  CHECK(r.prefill_share > 0.05);
  CHECK(r.prefill_share < 0.6);
  in.output_tokens = 900;  // longer answers amortize their prefill
  CHECK(ContinuousBatchingModel{}.solve(in).prefill_share < r.prefill_share);
  in.output_tokens = 1024;  // the whole request
  CHECK_THROWS_WITH(ContinuousBatchingModel{}.solve(in),
                    Catch::Contains("no room for a prompt") && Catch::Contains("at most 1023 tokens"));
}

TEST_CASE("replicas for a request rate", "[catalogue][queue][golden]") {
  ServingCapacityModel::Inputs in{.workload = &model("Llama3_8B"),
                                  .hardware = &device("H100"),
                                  .arrival_rate = 5.0 * per_s,
                                  .target_p99_latency = 2000.0 * unit::ms,
                                  .max_seq_len = 512,
                                  .output_tokens = 32,
                                  .max_batch_size = 8,
                                  .precision = Precision::fp16,
                                  .efficiency = 0.5,
                                  .fidelity = Fidelity::textbook};
  const auto few = ServingCapacityModel{}.solve(in);
  CHECK(few.active_batch_size == 8);
  CHECK_THAT(few.per_replica_capacity.base(), is(50.4613));
  CHECK_THAT(few.base_request_latency->in(unit::ms), is(304.038));
  CHECK(*few.required_replicas == 1);
  CHECK_THAT(few.queue_wait_p99->in(unit::ms), is(50.4473));
  CHECK_THAT(few.estimated_p99_latency->in(unit::ms), is(354.485));
  CHECK_THAT(*few.queue_utilization, is(0.0990858));
  in.arrival_rate = 80.0 * per_s;
  const auto more = ServingCapacityModel{}.solve(in);
  CHECK(*more.required_replicas == 2);
  CHECK_THAT(more.queue_wait_p99->in(unit::ms), is(203.127));
  CHECK_THAT(more.estimated_p99_latency->in(unit::ms), is(507.164));
  CHECK_THAT(*more.queue_utilization, is(0.792686));
  // The fewest: one less misses the target.
  in.max_replicas = 1;
  const auto none = ServingCapacityModel{}.solve(in);
  CHECK_FALSE(none.feasible);
  CHECK(none.limit == CapacityLimit::queueing);
  CHECK_FALSE(none.required_replicas);
  in.workload = &model("Llama3_70B");
  const auto large = ServingCapacityModel{}.solve(in);
  CHECK(large.limit == CapacityLimit::memory);
  // A time of nothing is no time: a search for the shortest would take a zero.
  CHECK_FALSE((large.itl || large.ttft || large.base_request_latency));
  InFlightBatchingModel::Inputs replica{
      .workload = in.workload, .hardware = in.hardware, .precision = Precision::bf16};
  replica.arrival_rate = 1.0 * per_s;
  const auto alone = InFlightBatchingModel{}.solve(replica);
  CHECK_FALSE(alone.feasible);
  CHECK(alone.running_requests == 0);
  // 141 GB of weights at 3.35 TB/s take 42 ms at least.
  CHECK(alone.itl > 42.0 * unit::ms);
  CHECK(alone.decode_step_time > 42.0 * unit::ms);
}

TEST_CASE("a replica that batches is many servers, not a fast one", "[catalogue][queue]") {
  ServingCapacityModel::Inputs in{.workload = &model("Llama3_8B"),
                                  .hardware = &device("H100"),
                                  .arrival_rate = 20.0 * per_s,
                                  .target_p99_latency = 20.0 * unit::s,
                                  .max_seq_len = 1024,
                                  .output_tokens = 128,
                                  .max_batch_size = 32,
                                  .precision = Precision::bf16};
  const auto r = ServingCapacityModel{}.solve(in);
  REQUIRE(r.feasible);
  CHECK(*r.estimated_p99_latency <= in.target_p99_latency);
  CHECK(*r.estimated_p99_latency > *r.base_request_latency);
  in.max_replicas = *r.required_replicas - 1;
  if (in.max_replicas >= 1) CHECK_FALSE(ServingCapacityModel{}.solve(in).feasible);
}

TEST_CASE("a fleet is sized from replicas that batch in flight", "[catalogue][queue][in_flight]") {
  ServingCapacityModel::Inputs in{.workload = &model("Llama3_8B"),
                                  .hardware = &device("H100"),
                                  .arrival_rate = 60.0 * per_s,
                                  .target_p99_latency = 10.0 * unit::s,
                                  .max_seq_len = 1152,
                                  .output_tokens = 128,
                                  .max_batch_size = 64,
                                  .precision = Precision::bf16,
                                  .service_time_cv = 0.2};
  const auto r = ServingCapacityModel{}.solve(in);
  REQUIRE(r.feasible);
  const double n = *r.required_replicas;
  REQUIRE(n >= 2);
  // One replica at its share of the arrivals, asked directly.
  InFlightBatchingModel::Inputs one{.workload = in.workload,
                                    .hardware = in.hardware,
                                    .seq_len = 1024,
                                    .output_tokens = 128,
                                    .arrival_rate = in.arrival_rate / n,
                                    .max_batch_size = r.active_batch_size,
                                    .page_tokens = 1,
                                    .precision = Precision::bf16};
  const auto replica = InFlightBatchingModel{}.solve(one);
  CHECK_THAT(r.per_replica_capacity.base(), WithinRel(replica.capacity.base(), 1e-12));
  CHECK_THAT(r.itl->base(), WithinRel(replica.itl.base(), 1e-12));
  CHECK_THAT(r.ttft->base(), WithinRel(replica.ttft->base(), 1e-12));
  CHECK_THAT(r.base_request_latency->base(), WithinRel(replica.request_latency->base(), 1e-12));
  CHECK_THAT(*r.queue_utilization, WithinRel(60 / (n * replica.capacity.base()), 1e-12));
  CHECK(*r.p99_ttft >= *replica.p99_ttft);
  CHECK(*r.estimated_p99_latency > *replica.p99_request_latency);  // answers vary
  // More replicas are faster ones: each has less in flight.
  in.target_p99_latency = 0.8 * *r.estimated_p99_latency;
  const auto faster = ServingCapacityModel{}.solve(in);
  REQUIRE(faster.feasible);
  CHECK(*faster.required_replicas > n);
  CHECK(*faster.itl < *r.itl);
  // Targets of the tokens count as well, and name no number that is not needed.
  in.target_p99_latency = 10.0 * unit::s;
  in.target_itl = 0.9 * *r.itl;
  const auto steady = ServingCapacityModel{}.solve(in);
  CHECK(*steady.required_replicas > n);
  CHECK(*steady.itl <= *in.target_itl);
  in.target_itl.reset();
  in.target_p99_ttft = 0.95 * *r.p99_ttft;
  const auto prompt = ServingCapacityModel{}.solve(in);
  REQUIRE(prompt.feasible);
  CHECK(*prompt.p99_ttft <= *in.target_p99_ttft);
  CHECK(*prompt.required_replicas > n);
  // No number of replicas is faster than an empty one.
  in.target_p99_ttft = 1.0 * unit::ms;
  const auto never = ServingCapacityModel{}.solve(in);
  CHECK_FALSE(never.feasible);
  CHECK(never.limit == CapacityLimit::first_token);
  in.target_p99_ttft.reset();
  // An engine that stops steps for prompts has less capacity.
  in.engine = &standard_zoo().at<ServingEngine>("sglang");
  CHECK(ServingCapacityModel{}.solve(in).per_replica_capacity < r.per_replica_capacity);
  // Pipeline stages and expert ranks are devices too.
  in.engine = nullptr;
  in.pp_size = 2;
  const auto staged = ServingCapacityModel{}.solve(in);
  CHECK(staged.accelerators == 2 * *staged.required_replicas);
}

TEST_CASE("continuous batching at operator fidelity is in-flight batching with so many requests",
          "[catalogue][in_flight]") {
  ContinuousBatchingModel::Inputs in{.workload = &model("Llama3_8B"),
                                     .hardware = &device("H100"),
                                     .max_seq_len = 4096,
                                     .mean_request_tokens = 1024,
                                     .output_tokens = 256,
                                     .max_batch_size = 48,
                                     .precision = Precision::bf16};
  const auto r = ContinuousBatchingModel{}.solve(in);
  const auto loop = InFlightBatchingModel{}.solve({.workload = in.workload,
                                                   .hardware = in.hardware,
                                                   .seq_len = 768,
                                                   .output_tokens = 256,
                                                   .concurrency = 48,
                                                   .precision = Precision::bf16});
  CHECK_THAT(r.token_throughput.base(), WithinRel(loop.token_throughput.base(), 1e-12));
  REQUIRE((r.itl && r.ttft && loop.ttft));
  CHECK_THAT(r.itl->base(), WithinRel(loop.itl.base(), 1e-12));
  CHECK_THAT(r.ttft->base(), WithinRel(loop.ttft->base(), 1e-12));
  // Reserved whole, a quarter as many requests of a quarter of the length would fit; here the cap decides for
  // both.
  CHECK(r.static_max_active_requests == 48);
  in.max_batch_size = 4096;
  const auto full = ContinuousBatchingModel{}.solve(in);
  CHECK(full.max_active_requests > 3 * full.static_max_active_requests);
  CHECK(full.speedup_vs_static > 1);
  in.output_tokens = 1024;
  CHECK_THROWS_WITH(ContinuousBatchingModel{}.solve(in),
                    Catch::Contains("output_tokens") && Catch::Contains("1023"));
}

TEST_CASE("bad arguments of lines are refused", "[catalogue][queue]") {
  CHECK_THROWS_WITH(evaluate(TailLatencyModel{}, line(0, 10, 1, 1)),
                    Catch::Contains("arrival_rate") && Catch::Contains("more than 0"));
  CHECK_THROWS_AS(evaluate(TailLatencyModel{}, line(10, -1, 1, 1)), DomainError);
  CHECK_THROWS_AS(evaluate(TailLatencyModel{}, line(10, 10, 0, 1)), DomainError);
  CHECK_THROWS_AS(evaluate(TailLatencyModel{}, line(10, 10, 1, -0.5)), DomainError);
  CHECK_THROWS_AS(evaluate(TailLatencyModel{}, line(std::nan(""), 10, 1, 1)), DomainError);
}
