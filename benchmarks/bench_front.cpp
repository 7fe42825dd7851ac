// Fronts of points of which most are on the front, beside the obvious program that compares every pair.

#include <benchmark/benchmark.h>

#include <mlsysim/resolver_api/non_dominated.hpp>

#include <cmath>
#include <random>

using namespace mlsysim;

namespace {

/// Points near a sphere that faces the origin, one after the other.
std::vector<double> points_of(std::size_t objectives, std::size_t points) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> far(1.0, 1.0002);
  std::vector<double> out;
  for (std::size_t i = 0; i < points; ++i) {
    double square = 0;
    const std::size_t from = out.size();
    for (std::size_t k = 0; k < objectives; ++k) {
      out.push_back(-std::fabs(normal(random)));
      square += out.back() * out.back();
    }
    for (std::size_t k = from; k < out.size(); ++k) out[k] *= far(random) / std::sqrt(square);
  }
  return out;
}

void front(benchmark::State& state) {
  const auto objectives = static_cast<std::size_t>(state.range(0)),
             points = static_cast<std::size_t>(state.range(1));
  const auto values = points_of(objectives, points);
  std::size_t found = 0;
  for (auto _ : state) {
    NonDominated kept;
    for (std::size_t i = 0; i < points; ++i)
      kept.add(std::span(values).subspan(i * objectives, objectives), i);
    found = kept.entries().size();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<long>(points));
  state.counters["front"] = static_cast<double>(found);
}

void front_of_pairs(benchmark::State& state) {
  const auto objectives = static_cast<std::size_t>(state.range(0)),
             points = static_cast<std::size_t>(state.range(1));
  const auto values = points_of(objectives, points);
  std::size_t found = 0;
  for (auto _ : state) {
    found = 0;
    for (std::size_t i = 0; i < points; ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < points && !beaten; ++j) {
        bool no_larger = j != i, less = j < i;
        for (std::size_t k = 0; k < objectives && no_larger; ++k) {
          const double a = values[j * objectives + k], b = values[i * objectives + k];
          no_larger = a <= b;
          less = less || a < b;
        }
        beaten = no_larger && less;
      }
      found += beaten ? 0 : 1;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<long>(points));
  state.counters["front"] = static_cast<double>(found);
}

BENCHMARK(front)
    ->Args({2, 8192})
    ->Args({3, 8192})
    ->Args({5, 8192})
    ->Args({3, 131072})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(front_of_pairs)->Args({2, 8192})->Args({3, 8192})->Args({5, 8192})->Unit(benchmark::kMillisecond);

}  // namespace
