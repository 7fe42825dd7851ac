// A replica that batches in flight, in its limits.

#include "plain_replica.hpp"

#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace worked;
using Catch::Matchers::WithinRel;
using In = InFlightBatchingModel::Inputs;

TEST_CASE("in flight: more arrivals, later tokens, until the replica is full", "[catalogue][in_flight]") {
  Time<> before_first, before_next;
  for (const double rate : {1.0, 4.0, 8.0, 12.0, 16.0}) {
    auto in = request(1000, 100);
    in.arrival_rate = rate * per_s;
    const auto r = steady(in);
    REQUIRE(r.is_stable);
    CHECK(*r.ttft > before_first);
    CHECK(r.itl > before_next);
    CHECK(*r.p50_ttft < *r.p99_ttft);
    CHECK(rate * per_s < r.capacity);
    before_first = *r.ttft;
    before_next = r.itl;
  }
  auto in = request(1000, 100);
  in.arrival_rate = 1e3 * per_s;
  const auto full = steady(in);
  CHECK(full.feasible);
  CHECK_FALSE(full.is_stable);
  CHECK_FALSE(full.ttft);
  CHECK(full.goodput.base() == 0);
  CHECK_THAT(full.request_throughput.base(), WithinRel(full.capacity.base(), 1e-12));
}

TEST_CASE("in flight: of a run above the capacity half waits on average", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.arrival_rate = 1e3 * per_s;
  in.num_requests = 1e5;
  const auto r = steady(in);
  REQUIRE_FALSE(r.is_stable);
  // The last of 1e5 requests comes after 100 s and is taken when all before it were.
  const double capacity = r.request_throughput.base(), longest = 1e5 * (1 / capacity - 1e-3);
  CHECK_THAT(r.waiting_requests, WithinRel(longest / 2 * capacity, 1e-9));
}

TEST_CASE("in flight: alone in a closed loop nothing waits", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.concurrency = 1;
  const auto r = steady(in);
  CHECK_THAT(r.itl.base(), WithinRel(PlainPasses::step(1), 1e-12));
  CHECK_THAT(r.ttft->base(), WithinRel(PlainPasses::prompt(1000), 1e-12));
  CHECK(r.p50_ttft->base() <= r.p99_ttft->base());
  in.engine = &standard_zoo().at<ServingEngine>("vllm");
  ServingEngine engine;
  engine.host_step = 2 * unit::ms;
  engine.host_request = 1 * unit::ms;
  engine.request_time = 7 * unit::ms;
  engine.lookahead = 1;
  const auto slow = steady(in, engine);
  CHECK_THAT(slow.itl.base(), WithinRel(PlainPasses::step(1) + 3e-3, 1e-12));
  CHECK_THAT(slow.ttft->base(), WithinRel(PlainPasses::prompt(1000) + 3e-3 + 7e-3 + slow.itl.base(), 1e-12));
  // The sampler takes no more time than the host, but draws power: 0.4 of 1 ms at half of the dynamic power.
  engine.sampling = 0.4 * unit::ms;
  const auto sampled = steady(in, engine);
  CHECK_THAT(sampled.itl.base(), WithinRel(slow.itl.base(), 1e-12));
  const double decodes = (sampled.request_throughput * sampled.itl).base() * 99;  // share of the time
  CHECK_THAT(sampled.utilization - slow.utilization,
             WithinRel(decodes * 0.5 * 0.4e-3 / slow.itl.base(), 1e-9));
}

TEST_CASE("in flight: a device draws for the prompt and the steps of every request that ends",
          "[catalogue][in_flight]") {
  ServingEngine engine;
  engine.mixed = false;
  const double request_time = PlainPasses::prompt(1000) + 99 * PlainPasses::step(1);
  auto in = request(1000, 100);
  in.concurrency = 1;
  CHECK_THAT(steady(in, engine).utilization, WithinRel(1, 1e-9));
  in.concurrency.reset();
  in.arrival_rate = 1e-3 * per_s;
  CHECK_THAT(steady(in, engine).utilization, WithinRel(1e-3 * request_time, 1e-3));
  in.arrival_rate = 8 * per_s;  // several decode at all times
  const auto busy = steady(in, engine);
  REQUIRE(busy.running_requests > 1);
  CHECK_THAT(busy.utilization, WithinRel(1, 1e-9));
}

TEST_CASE("in flight: chunks of one prompt follow each other and stop no step for long",
          "[catalogue][in_flight]") {
  auto in = request(8000, 100);
  in.concurrency = 4;
  const auto whole = steady(in);
  in.prefill_chunk_tokens = 1000;
  const auto chunked = steady(in);
  CHECK_THAT((8.0 * chunked.mixed_step_time).base(),
             WithinRel(whole.mixed_step_time.base() + 7 * PlainPasses::prompt(3),
                       1e-2));  // not as many decode beside
  CHECK(chunked.p99_token_gap < 0.2 * whole.p99_token_gap);
  in.cached_prefix_len = 7000;
  CHECK(*steady(in).ttft < 0.3 * *chunked.ttft);
}

TEST_CASE("in flight: equal requests run in step", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.concurrency = 32;
  ServingEngine apart;
  apart.mixed = false;
  const auto spread = steady(in), spread_apart = steady(in, apart);
  in.equal_lengths = true;
  const auto mixed = steady(in), burst = steady(in, apart);
  CHECK(*mixed.ttft > *spread.ttft);
  // Separate passes keep all requests together: 32 prompts, 8 in a pass of 8192 tokens.
  CHECK_THAT(burst.ttft->base(), WithinRel(PlainPasses::prompt(1000) * (32 + 8) / 2, 1e-12));
  CHECK(*burst.ttft > 5.0 * *spread_apart.ttft);
  // Most prompts come before one's own first token, so fewer of them stop one's answer.
  CHECK(burst.itl < spread_apart.itl);
  CHECK_FALSE(burst.p99_ttft);
  // While one decodes all do, however long the prompts take before that.
  CHECK_THAT(burst.decode_step_time.base(), WithinRel(PlainPasses::step(32), 1e-12));
  CHECK_THAT(mixed.decode_step_time.base(), WithinRel(PlainPasses::step(32), 1e-12));
  CHECK(burst.running_requests < 32);
  CHECK_THAT((burst.request_throughput * *burst.request_latency).base(), WithinRel(32, 1e-9));
  // A run of ten rounds sees its first round as a burst.
  in.equal_lengths = false;
  in.num_requests = 320;
  CHECK_THAT(steady(in).ttft->base(), WithinRel(0.9 * spread.ttft->base() + 0.1 * burst.ttft->base(), 1e-9));
}

TEST_CASE("in flight: who finds no slot waits", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.concurrency = 500;
  const auto r = steady(in);
  // 400 slots, some of which hold requests that are at their prompts.
  CHECK(r.running_requests < 400);
  CHECK(r.running_requests > 380);
  CHECK(*r.ttft > 100.0 / r.request_throughput * unit::request);
  // Little's law over all that are in flight.
  CHECK_THAT((r.request_throughput * *r.request_latency).base(), WithinRel(500, 1e-9));
  in.max_batch_size = 16;
  CHECK(steady(in).running_requests < 16);
  in.concurrency.reset();
  const auto queue = steady(in);
  CHECK(queue.running_requests < 16);
  CHECK(queue.running_requests > 14);
  CHECK_FALSE(queue.ttft);
  CHECK_THAT(queue.request_throughput.base(), WithinRel(queue.capacity.base(), 1e-12));
}

TEST_CASE("in flight: prompts on workers of their own stop no step", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.arrival_rate = 8 * per_s;
  const auto together = steady(in);
  in.prefill_replicas = 1;
  const auto apart = steady(in);
  CHECK(apart.itl < together.itl);
  CHECK_THAT(apart.itl.base(), WithinRel(PlainPasses::step(apart.running_requests), 1e-9));
  CHECK_THAT(apart.kv_transfer_time.base(), WithinRel(1000 * 100e3 / 100e9, 1e-12));
  in.prefill_replicas = 4;
  const auto four = steady(in);
  CHECK(*four.ttft < *apart.ttft);
  CHECK(*four.matched_prefill_replicas == std::ceil(four.capacity.base() * PlainPasses::prompt(1000)));
  // One worker does 25 prompts a second.
  in.arrival_rate = 26 * per_s;
  in.prefill_replicas = 1;
  CHECK_FALSE(steady(in).is_stable);
  in.prefill_replicas = 2;
  CHECK(steady(in).is_stable);
}

TEST_CASE("in flight: a loop that one worker cannot feed waits for it", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.prefill_replicas = 1;
  in.concurrency = 200;
  const auto r = steady(in);
  const double most = 1 / PlainPasses::prompt(1000);  // 25 prompts a second
  CHECK(r.request_throughput.base() < most);
  CHECK(r.request_throughput.base() > 0.9 * most);
  // Little's law over all of the loop, most of which waits for the worker.
  CHECK_THAT((r.request_throughput * *r.request_latency).base(), WithinRel(200, 1e-2));
  CHECK(*r.ttft > 100.0 / r.request_throughput * unit::request);
}

TEST_CASE("in flight: goodput counts what meets the targets", "[catalogue][in_flight]") {
  auto in = request(1000, 100);
  in.arrival_rate = 8 * per_s;
  const auto free = steady(in);
  CHECK(free.goodput == free.request_throughput);
  in.target_ttft = *free.p99_ttft;
  CHECK_THAT(*steady(in).slo_attainment, WithinRel(0.99, 1e-6));
  in.target_ttft = *free.p50_ttft;
  CHECK_THAT(steady(in).goodput.base(), WithinRel(4.0, 1e-6));
  in.target_itl = 0.5 * free.itl;
  CHECK(steady(in).goodput.base() < 1e-3);
  in.target_itl = 4.0 * free.itl;
  CHECK_THAT(steady(in).goodput.base(), WithinRel(4.0, 1e-6));
}

TEST_CASE("in flight: both fidelities, engines, and what each assumes", "[catalogue][in_flight]") {
  In in = request(1024, 256);
  in.precision = Precision::bf16;
  in.concurrency = 16;
  NoteBook book;
  Notes notes(book);
  const auto r = InFlightBatchingModel{}.solve(in, notes);
  const auto mentions = [&](std::string_view name) {
    return std::any_of(book.assumptions.begin(), book.assumptions.end(),
                       [&](const auto& a) { return a.name == name; });
  };
  CHECK(mentions("engine"));
  CHECK(mentions("engine.generic.host_step"));
  CHECK(mentions("prefill_chunk_tokens"));
  CHECK(r.feasible);
  // Slower than the step of the same batch, by its prompts and its host.
  const auto serving = ServingModel{}.solve({.workload = in.workload,
                                             .hardware = in.hardware,
                                             .seq_len = 1024 + 128,
                                             .batch_size = 16,
                                             .precision = Precision::bf16});
  CHECK(r.decode_step_time > serving.itl);
  CHECK(r.itl > r.decode_step_time);
  CHECK(r.itl < 2.0 * serving.itl);
  in.engine = &standard_zoo().at<ServingEngine>("sglang");
  CHECK(InFlightBatchingModel{}.solve(in).itl != r.itl);
  in.fidelity = Fidelity::textbook;
  book.clear();
  CHECK(InFlightBatchingModel{}.solve(in, notes).host_time == Time<>());
  CHECK(std::any_of(book.warnings.begin(), book.warnings.end(),
                    [](const auto& w) { return w.find("engine") != std::string::npos; }));
}

TEST_CASE("in flight: the host's times are not drawn out beyond what was measured in silence",
          "[catalogue][in_flight]") {
  In in = request(128, 128);
  in.precision = Precision::bf16;
  in.engine = &standard_zoo().at<ServingEngine>("tensorrt_llm");
  const auto warned = [&](double concurrency) {
    in.concurrency = concurrency;
    NoteBook book;
    Notes notes(book);
    const auto r = InFlightBatchingModel{}.solve(in, notes);
    CHECK(r.running_requests == Approx(concurrency).epsilon(0.05));
    return std::any_of(book.warnings.begin(), book.warnings.end(), [](const auto& w) {
      return w.find("measured with up to 128 requests in a pass") != std::string::npos;
    });
  };
  CHECK_FALSE(warned(128));
  CHECK(warned(140));                                                 // of which some are at their prompts
  in.engine = &standard_zoo().at<ServingEngine>("tensorrt_llm_cpp");  // its host has no time for a request
  CHECK_FALSE(warned(140));
}

TEST_CASE("in flight: speculation yields several tokens a pass", "[catalogue][in_flight]") {
  In in = request(1024, 256);
  in.precision = Precision::bf16;
  in.concurrency = 4;
  const auto plain = InFlightBatchingModel{}.solve(in);
  in.draft_model = &model("GPT2_Small");
  in.draft_tokens = 4;
  in.draft_acceptance_rate = 1;
  const auto sure = InFlightBatchingModel{}.solve(in);
  CHECK(sure.tokens_per_pass == 5);
  CHECK(sure.decode_step_time > plain.decode_step_time);
  CHECK(sure.itl < 0.5 * plain.itl);
  in.draft_acceptance_rate = 0;
  CHECK(InFlightBatchingModel{}.solve(in).itl > plain.itl);
  // The draft's weights and caches take their room.
  CHECK(sure.max_active_requests < plain.max_active_requests);
  CHECK(sure.max_active_requests > 0.5 * plain.max_active_requests);
}

TEST_CASE("in flight: requests that make no sense, and models that do not fit", "[catalogue][in_flight]") {
  In in = request(1024, 256);
  in.arrival_rate = 1 * per_s;
  in.concurrency = 4;
  CHECK_THROWS_WITH(InFlightBatchingModel{}.solve(in), ContainsSubstring("not both"));
  in.arrival_rate.reset();
  in.cached_prefix_len = 1024;
  CHECK_THROWS_WITH(InFlightBatchingModel{}.solve(in), ContainsSubstring("shorter than the prompt"));
  in.cached_prefix_len = 0;
  in.decode_hardware = &device("H200");
  CHECK_THROWS_WITH(InFlightBatchingModel{}.solve(in), ContainsSubstring("prefill_replicas"));
  in.decode_hardware = nullptr;
  in.workload = &model("Llama3_405B");
  const auto none = InFlightBatchingModel{}.solve(in);
  CHECK_FALSE(none.feasible);
  CHECK(none.max_active_requests == 0);
}

TEST_CASE("in flight: no chunk of a prompt is left out", "[catalogue][in_flight]") {
  for (const bool mixed : {false, true})
    for (const auto& [prompt, answer] : {std::pair{8000.0, 16.0}, {1000.0, 256.0}, {32000.0, 128.0}}) {
      double before = 1e300;
      for (const double chunk : {32768.0, 8192.0, 2048.0, 512.0, 128.0}) {
        INFO(mixed << " " << prompt << " " << answer << " " << chunk);
        auto in = request(prompt, answer);
        in.prefill_chunk_tokens = chunk;
        const auto r = steady(in, {.mixed = mixed});
        // The replica reads a token in 40 us: a second holds no more of them.
        CHECK(r.capacity.base() * PlainPasses::prompt(prompt) <= 1 + 1e-9);
        // Where prompts have passes of their own, cutting them gains nothing.
        if (!mixed) CHECK(r.capacity.base() <= before * (1 + 1e-9));
        before = r.capacity.base();
        in.arrival_rate = 1.01 / PlainPasses::prompt(prompt) * (unit::request / unit::s);
        CHECK_FALSE(steady(in, {.mixed = mixed}).is_stable);
      }
    }
}

TEST_CASE("in flight: no replica computes above its peak", "[catalogue][in_flight]") {
  const double peak = 8 * device("H100").compute.dense[Precision::bf16]->base();
  for (const auto& [prompt, answer] : {std::pair{8000.0, 16.0}, {1000.0, 256.0}, {32000.0, 128.0}})
    for (const double chunk : {32768.0, 8192.0, 2048.0, 512.0, 256.0}) {
      INFO(prompt << " " << answer << " " << chunk);
      auto in = request(prompt, answer);
      in.workload = &model("Llama3_70B");
      in.precision = Precision::bf16;
      in.tp_size = 8;
      in.prefill_chunk_tokens = chunk;
      const double rate = InFlightBatchingModel{}.solve(in).capacity.base();
      CHECK(rate * (prompt + answer) * 2 * parameter_count(*in.workload).base() < peak);
    }
}

namespace {

/// Every way of arriving, with and without chunks, workers of their own, slots and the start of a run.
std::vector<std::pair<In, ServingEngine>> many_ways() {
  ServingEngine mixed{.host_step = 2 * unit::ms,
                      .host_request = 100 * unit::us,
                      .request_time = 7 * unit::ms,
                      .mixed = true,
                      .lookahead = 1};
  ServingEngine apart = mixed;
  apart.mixed = false;
  ServingEngine beside = mixed;
  beside.beside = true;
  beside.lookahead = 2;
  std::vector<std::pair<In, ServingEngine>> out;
  for (const auto& engine : {mixed, apart, beside, ServingEngine{}})
    for (const double prompt : {200.0, 1000.0, 20000.0})
      for (const double load : {0.0, 0.3, 1.0, 2.5, 32.0, 500.0})
        for (const bool equal : {false, true})
          for (const bool workers : {false, true}) {
            In in = request(prompt, 100);
            if (load < 1)
              in.arrival_rate = (0.01 + load / PlainPasses::prompt(prompt)) * per_s;
            else
              in.concurrency = load;
            in.equal_lengths = equal && load >= 1;
            if (equal && load > 2) in.num_requests = 3 * load;
            if (workers) in.prefill_replicas = 2;
            out.emplace_back(in, engine);
          }
  return out;
}

}  // namespace

TEST_CASE("in flight: the five terms of the first token are what it is", "[catalogue][in_flight]") {
  int seen = 0;
  for (const auto& [in, engine] : many_ways()) {
    const auto r = steady(in, engine);
    INFO(*in.seq_len << " tokens, rate " << (in.arrival_rate ? in.arrival_rate->base() : 0) << ", in flight "
                     << in.concurrency.value_or(0) << ", workers " << in.prefill_replicas.value_or(0));
    CHECK(r.ttft.has_value() == r.ttft_queue.has_value());
    if (!r.ttft) continue;
    ++seen;
    CHECK(*r.ttft == *r.ttft_ingress + *r.ttft_queue + *r.ttft_dispatch + *r.ttft_prefill + *r.ttft_egress);
    CHECK(*r.ttft_queue >= Time<>());
    CHECK(*r.ttft_ingress == engine.request_time);
    // The prompt is the same work whoever else is there, and wherever it runs.
    CHECK_THAT(r.ttft_prefill->base(), WithinRel(PlainPasses::prompt(*in.seq_len), 1e-12));
    CHECK(*r.ttft_dispatch >= Time<>());
    CHECK(r.p50_ttft.has_value() == r.p50_ttft_queue.has_value());
    if (!r.p99_ttft || in.num_requests) continue;
    // Requests differ in the queue alone.
    const Time<> fixed = *r.ttft - *r.ttft_queue;
    CHECK_THAT((*r.p99_ttft - *r.p99_ttft_queue).base(), WithinRel(fixed.base(), 1e-6));
    CHECK_THAT((*r.p50_ttft - *r.p50_ttft_queue).base(), WithinRel(fixed.base(), 1e-6));
    CHECK(*r.p50_ttft_queue <= *r.p99_ttft_queue);
  }
  CHECK(seen > 200);
}

TEST_CASE("in flight: who is alone waits for nobody, and pays the host on any worker",
          "[catalogue][in_flight]") {
  const ServingEngine engine{.host_step = 2 * unit::ms,
                             .host_request = 1 * unit::ms,
                             .request_time = 7 * unit::ms,
                             .mixed = true,
                             .lookahead = 1};
  auto in = request(1000, 100);
  in.concurrency = 1;
  const auto alone = steady(in, engine);
  CHECK_THAT(alone.ttft_queue->base(), WithinAbs(0, 1e-12));
  CHECK_THAT(alone.ttft_dispatch->base(), WithinRel(3e-3, 1e-9));
  CHECK_THAT(alone.ttft_egress->base(), WithinRel(PlainPasses::step(1) + 3e-3, 1e-12));
  in.prefill_replicas = 1;
  const auto apart = steady(in, engine);
  CHECK_THAT(apart.ttft_dispatch->base(), WithinRel(3e-3, 1e-9));
  CHECK_THAT((*apart.ttft_egress - *alone.ttft_egress).base(),
             WithinRel(apart.kv_transfer_time.base(), 1e-9));
}

TEST_CASE("in flight: a mixed pass is one pass over prompts and requests", "[catalogue][in_flight]") {
  In in = request(1000, 100);
  in.precision = Precision::bf16;
  in.concurrency = 64;
  const auto r = InFlightBatchingModel{}.solve(in);
  ServingEngine none{.name = "none"};
  Notes quiet;
  const auto passes = pass_times(in, none, quiet);
  // More than the prompt alone, and less than the prompt and a step one after the other.
  const auto prompt = passes.prefill(1, 1000, 1000).total, step = passes.decode(64, 1050).total;
  const auto mixed = r.mixed_step_time - r.host_time;
  CHECK(mixed > prompt);
  CHECK(mixed < prompt + step);
}
