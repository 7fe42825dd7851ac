// The walls and who covers them.

#include <support/catch.hpp>

#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/walls.hpp>

#include <set>

using namespace mlsysim;

TEST_CASE("twenty-two walls in six domains, in order", "[catalogue][walls]") {
  REQUIRE(walls().size() == 22);
  std::set<std::string_view> domains, names;
  for (int n = 1; n <= kWalls; ++n) {
    CHECK(wall(n).number == n);
    domains.insert(wall(n).domain);
    names.insert(wall(n).name);
  }
  CHECK(domains.size() == 6);
  CHECK(names.size() == 22);
  CHECK_THROWS_WITH(wall(0), ContainsSubstring("no wall 0"));
  CHECK_THROWS_WITH(wall(23), ContainsSubstring("1 to 22"));
}

TEST_CASE("every wall has a resolver, and every resolver a wall", "[catalogue][walls]") {
  for (const auto& w : walls()) {
    INFO(w.number << " " << w.name);
    CHECK_FALSE(resolvers_of_wall(w.number).empty());
  }
  CHECK(resolvers_of_wall(7).front() == "TailLatencyModel");
  CHECK(resolvers_of_wall(22).front() == "SynthesisSolver");
  const auto& registry = ResolverRegistry::standard();
  for (const auto& r : registry.all()) {
    if (r->law() != nullptr) continue;
    INFO(r->info().name);
    CHECK_FALSE(r->info().walls.empty());
    CHECK_FALSE(r->info().source.empty());
    for (const int n : r->info().walls) CHECK_NOTHROW(wall(n));
    for (const auto law : laws_of(r->info().name)) CHECK(registry.find(law) != nullptr);
  }
}
