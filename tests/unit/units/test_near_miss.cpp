#include <mlsysim/units/near_miss.hpp>

#include "support/catch.hpp"

using namespace mlsysim;

TEST_CASE("edit distance ignores case and separators", "[units][near_miss]") {
  CHECK(edit_distance("Llama-3.1_8B", "llama31 8b") == 0);
  CHECK(edit_distance("bandwith", "bandwidth") == 1);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("near misses come nearest first", "[units][near_miss]") {
  const std::vector<std::string> names{"memory_bandwidth", "bandwidth", "capacity"};
  const auto near = near_misses("bandwith", names);
  REQUIRE(near.size() == 1);
  CHECK(near[0] == "bandwidth");
  CHECK(did_you_mean("bandwith", names) == "did you mean 'bandwidth'?");
  CHECK(did_you_mean("zzzzzz", names).empty());
  const std::vector<std::string> pair{"abcd", "abce"};
  CHECK(did_you_mean("abcf", pair) == "did you mean 'abcd' or 'abce'?");
  const std::vector<std::string> devices{"A10", "H100"};  // as near as each other
  CHECK(did_you_mean("H10", devices) == "did you mean 'H100' or 'A10'?");
}
