// Prompts in chunks: what many of them cost, against the sum over every one.
#include <support/catch.hpp>

#include <mlsysim/estimate/chunks.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <cmath>

using namespace mlsysim;

namespace {

template <class F> double sampled(double count, F&& cost) {
  double sum = 0;
  detail::for_chunks(count, [&](double i, double times) { sum += times * cost(i); });
  return sum;
}
template <class F> double summed(double count, F&& cost) {
  double sum = 0;
  for (double i = 0; i < count; ++i) sum += cost(i);
  return sum;
}

}  // namespace

TEST_CASE("the chunks of a prompt are all counted, by a bounded number of visits", "[catalogue][chunks]") {
  for (const double count : {1.0, 2.0, 4095.0, 4096.0, 4097.0, 5003.0, 1e6 + 7, 1e9 + 1, 1e15, 1e18, 1e300}) {
    INFO(count);
    std::size_t visits = 0;
    double last = -1, stand_for = 0;
    detail::for_chunks(count, [&](double i, double times) {
      ++visits;
      CHECK((i >= 0 && i <= count - 1 && times > 0));
      last = i;
      stand_for += times;
    });
    CHECK(visits <= 4096);
    CHECK(last == count - 1);
    CHECK(stand_for == Approx(count).epsilon(1e-12));
  }
}

TEST_CASE("many chunks cost what the sum over every one costs, within the bound that is stated",
          "[catalogue][chunks]") {
  for (const double count : {4097.0, 6001.0, 50000.0, 1000003.0}) {
    INFO(count);
    const auto line = [](double i) { return 3 + 0.25 * i; };
    CHECK(sampled(count, line) == Approx(summed(count, line)).epsilon(1e-12));
    // Where the slower side changes, and where keys come in tiles.
    const auto roof = [&](double i) { return std::max(0.3 * count, i); };
    const auto tiles = [](double i) { return 10 + 128 * std::ceil((i + 1) / 128); };
    for (const auto& [name, exact, found, rise] :
         {std::tuple{"roof", summed(count, roof), sampled(count, roof), roof(count - 1) - roof(0)},
          std::tuple{"tiles", summed(count, tiles), sampled(count, tiles), tiles(count - 1) - tiles(0)}}) {
      INFO(name);
      CHECK(std::fabs(found - exact) <= std::ceil(count / detail::kChunkRuns) * rise);
      CHECK(found == Approx(exact).epsilon(1e-4));
    }
    // Attention in chunks of its own: a saw whose teeth must not meet the visits in step.
    for (const double teeth : {2.0, 16.0, 64.0, std::floor(count / detail::kChunkRuns)}) {
      const auto saw = [&](double i) { return 1 + std::fmod(i, teeth) / teeth; };
      INFO("teeth of " << teeth);
      CHECK(sampled(count, saw) == Approx(summed(count, saw)).epsilon(5e-3));
    }
  }
}

TEST_CASE("a prompt in many chunks takes what its chunks take one by one", "[catalogue][chunks]") {
  constexpr double chunk = 4, count = 4500;
  for (const char* model : {"Llama3_8B", "Llama4_Scout", "Gemma3_27B"}) {
    if (standard_zoo().find<Workload>(model) == nullptr) continue;
    INFO(model);
    ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>(model),
                            .hardware = &standard_zoo().at<HardwareNode>("H100"),
                            .precision = Precision::fp16};
    in.seq_len = chunk * count;
    in.prefill_chunk_tokens = chunk;
    const auto whole = ServingModel{}.solve(in);
    CHECK(whole.prefill_chunks == count);
    in.prefill_chunk_tokens.reset();
    double sum = 0;
    for (double i = 0; i < count; ++i) {
      in.cached_prefix_len = i * chunk;
      in.seq_len = (i + 1) * chunk;
      sum += ServingModel{}.solve(in).ttft.base();
    }
    CHECK(whole.ttft.base() == Approx(sum).epsilon(1e-3));
  }
}

TEST_CASE("one token a chunk is answered for any length of a prompt", "[catalogue][chunks]") {
  double before = 0;
  for (const double tokens : {1e4, 1e7, 1e10, 1e13}) {
    ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>("Llama3_8B"),
                            .hardware = &standard_zoo().at<HardwareNode>("H100"),
                            .precision = Precision::fp16};
    in.seq_len = tokens;
    in.prefill_chunk_tokens = 1;
    const auto out = ServingModel{}.solve(in);
    CHECK(std::isfinite(out.ttft.base()));
    CHECK(out.ttft.base() > 900 * before);
    before = out.ttft.base();
  }
}
