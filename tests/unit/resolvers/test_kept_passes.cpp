// What a steady state keeps of passes that it priced, what a longer prompt of its own takes, and what leaves
// a device whose host has the embedding.

#include <mlsysim/estimate/first_token_spread.hpp>
#include <mlsysim/estimate/host_embedding.hpp>
#include <mlsysim/estimate/recent.hpp>

#include <support/catch.hpp>

#include <cmath>
#include <memory>

using namespace mlsysim;

TEST_CASE("the oldest of the passes that are kept goes first", "[resolvers]") {
  detail::Recent<double, double, 1, 3> kept;
  int made = 0;
  const auto ask = [&](double x) {
    return kept.at({x}, [&] {
      ++made;
      return 10 * x;
    });
  };
  for (const double x : {1.0, 2.0, 3.0, 4.0, 5.0}) CHECK(ask(x) == 10 * x);
  CHECK(made == 5);
  for (const double x : {3.0, 4.0, 5.0}) CHECK(ask(x) == 10 * x);  // at hand
  CHECK(made == 5);
  CHECK(ask(1.0) == 10);  // made again, in place of the third
  CHECK(ask(3.0) == 30);
  CHECK(made == 7);
}

TEST_CASE("rows of an embedding in host memory leave the stages that had them", "[resolvers]") {
  StackView<> stack;
  stack.vocab = 100, stack.position_rows = 10, stack.hidden = 8;
  ModelView<> model;
  model.stack = std::make_shared<const StackView<>>(stack);
  StageDemands<> all;
  all.first.dense_params = all.last.dense_params = 10000 * unit::param;
  Plan<> plan;
  plan.tp = 2;
  const auto left = [&](bool computes, double stages, double own_head) {
    StackView<> own = stack;
    own.own_head = own_head;
    model.stack = std::make_shared<const StackView<>>(own);
    model.structure.host_computes = computes;
    plan.pp = stages;
    const auto d = without_embedding(all, model, plan);
    return std::pair(d.first.dense_params / unit::param, d.last.dense_params / unit::param);
  };
  // (100 / 2 + 10) x 8 = 480 weights of a rank.
  CHECK(left(true, 1, 1) == std::pair(9520.0, 9520.0));
  CHECK(left(true, 2, 1) == std::pair(9520.0, 10000.0));   // the last of several stages has no embedding
  CHECK(left(true, 1, 0) == std::pair(10000.0, 10000.0));  // it is the output matrix, which stays
  CHECK(left(false, 1, 1) == std::pair(10000.0, 10000.0));
}

TEST_CASE("what a prompt takes at a share lies between the shares that are known", "[resolvers]") {
  const std::array<Time<>, 4> known{1.0 * unit::s, 2.0 * unit::s, 3.0 * unit::s, 4.0 * unit::s};
  const auto at = [&](double share) { return detail::beyond_at<double>(known, share).in(unit::s); };
  CHECK(at(0.2) == 1);
  CHECK(at(0.5) == 1);
  CHECK(at(0.9) == Approx(2));
  CHECK(at(0.95) == Approx(3));
  CHECK(at(0.99) == Approx(4));
  // A half at 50 %, a tenth at 90 %: at 80 % ln(2.5) / ln(5) of the way; beyond 99 % it goes on.
  CHECK(at(0.8) == Approx(1 + std::log(2.5) / std::log(5.0)));
  CHECK(at(0.97) == Approx(3 + std::log(5.0 / 3) / std::log(5.0)));
  CHECK(at(0.998) == Approx(3 + std::log(25.0) / std::log(5.0)));
}
