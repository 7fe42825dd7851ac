/// Fuzzes states of searches, as --resume and merge read them: as they are, and with the seal of whoever
/// changed them made right again, so that what lies behind the checksum is reached. Whatever the bytes, only
/// mlsysim::Error is thrown, every refusal has an id and words; a state that is not as it was written is
/// never taken, one that is goes on to the answer of a whole run, and a forged one leads to no point outside
/// of the space.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_states [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"
#include "unit/explore/sample_problems.hpp"

#include <mlsysim/files/detail/seal.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;

ExploreOptions alone() {
  ExploreOptions o;
  o.strategy = Strategy::exhaustive;
  o.threads = 1;
  return o;
}

/// A space, a question, and the states that runs of it leave behind.
struct Search {
  Space space{test::ring(), {test::axis("ranks=2..9"), test::axis("bandwidth=50 GB/s..900 GB/s:5")}};
  Question question;
  std::vector<std::string> seeds;
  std::string whole;

  explicit Search(std::vector<ObjectiveExpression> objectives) {
    question.objectives = std::move(objectives);
    question.constraints = {"time <= 20 ms"};
    question.histogram = "time";
    whole = explore(space, question, alone()).state;
    seeds.push_back(whole);
    std::atomic<bool> cancel{true};
    auto o = alone();
    o.cancel = &cancel;
    seeds.push_back(explore(space, question, o).state);
    for (o.shards = 2, o.shard = 1, o.cancel = nullptr; o.shard <= 2; ++o.shard)
      seeds.push_back(explore(space, question, o).state);
  }
};

const std::vector<Search>& searches() {
  static const std::vector<Search> all = [] {
    std::vector<Search> made;
    made.reserve(2);
    made.emplace_back(std::vector<ObjectiveExpression>{{Goal::minimize, "time"}});
    made.emplace_back(
        std::vector<ObjectiveExpression>{{Goal::minimize, "time"}, {Goal::minimize, "bandwidth"}});
    return made;
  }();
  return all;
}

void check_answer(const Search& s, const ExploreAnswer& a, const std::string& text) {
  for (const double n : {a.evaluated, a.feasible, a.infeasible, a.skipped, a.covered})
    if (!std::isfinite(n) || n < 0) fail("a count that is none", text);
  for (const auto* points : {&a.best, &a.front})
    for (const auto& p : *points)
      if (p.index >= s.space.size()) fail("a point outside of the space", text);
}

/// Resumes and merges. @return whether it was taken
bool goes_on(const Search& s, const std::string& text, bool forged) {
  const auto line = [](const std::string& state) {
    return state.substr(0, state.find_last_not_of('\n') + 1);
  };
  const bool own = std::any_of(s.seeds.begin(), s.seeds.end(),
                               [&](const std::string& seed) { return line(seed) == line(text); });
  auto o = alone();
  o.resume = text;
  // No text at all is a run from its start, and no state.
  const bool resumed = !text.empty() && fuzz::takes(
                                            text,
                                            [&] {
                                              const auto a = explore(s.space, s.question, o);
                                              check_answer(s, a, text);
                                              if (!forged && a.state != s.whole)
                                                fail("another answer after a state", text);
                                            },
                                            "resume");
  const bool merged =
      fuzz::takes(text, [&] { check_answer(s, merge(s.space, s.question, std::vector{text}), text); });
  if (!forged && !own && (resumed || merged)) fail("a state that nobody wrote is taken", text);
  return resumed || merged;
}

bool check(const std::string& text) {
  bool taken = false;
  for (const auto& s : searches()) {
    taken |= goes_on(s, text, false);
    const auto seal = text.rfind(",\"length\":");
    if (seal != std::string::npos) taken |= goes_on(s, files::sealed(text.substr(0, seal) + "}"), true);
  }
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  std::vector<std::string> seeds{searches()[0].whole, searches()[1].whole, searches()[0].seeds[1]};
  static const std::vector<std::string> pieces{"\"",
                                               ",",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               ":",
                                               "0",
                                               "-1",
                                               "1e308",
                                               "1e999",
                                               "null",
                                               "4294967296",
                                               "18446744073709551615",
                                               "[]",
                                               "{}",
                                               "\"top\":[[0.001,1000000]],",
                                               "\"next\":0",
                                               "\"evaluated\":-3",
                                               "\"\xC3\""};
  return mlsysim::fuzz::run(argc, argv, 2000, {seeds, pieces}, check);
}
#endif
