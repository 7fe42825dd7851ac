// What is made once.

#include <mlsysim/resolvers/detail/once.hpp>

#include "support/catch.hpp"

#include <new>
#include <thread>
#include <vector>

using mlsysim::detail::Once;

TEST_CASE("something is made once, whoever asks", "[catalogue]") {
  Once once;
  int made = 0;  // a sanitizer sees two threads that make it
  std::vector<int> seen(4);
  std::vector<std::thread> threads;
  for (auto& s : seen)
    threads.emplace_back([&] {
      once.call([&] { ++made; });
      s = made;
    });
  for (auto& t : threads) t.join();
  CHECK(made == 1);
  CHECK(seen == std::vector<int>(4, 1));
}

TEST_CASE("what throws is not made, and is tried again", "[catalogue]") {
  Once once;
  int tries = 0;
  CHECK_THROWS_AS(once.call([&] {
    ++tries;
    throw std::bad_alloc();
  }),
                  std::bad_alloc);
  once.call([&] { ++tries; });
  once.call([&] { ++tries; });
  CHECK(tries == 2);
}
