// Operations on all members of a struct at once.

#include <support/catch.hpp>

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/reflect/elementwise.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/units/unit.hpp>

#include <set>
#include <string>

using namespace mlsysim;

TEST_CASE("sums and choices of breakdowns have every member", "[table]") {
  PassBreakdown<> one;
  double value = 0;
  for_each_field<PassBreakdown<>>(
      [&]<class M>(const Field<PassBreakdown<>, M>& row) { one.*row.member = M::from_base(value += 1); });
  const PassBreakdown<> five = one * 2.0 + one + one * 2.0;
  const PassBreakdown<> chosen = select_members(true, five, one), other = select_members(false, five, one);
  for_each_field<PassBreakdown<>>([&](const auto& row) {
    CHECK((five.*row.member).base() == 5 * (one.*row.member).base());
    CHECK(chosen.*row.member == five.*row.member);
    CHECK(other.*row.member == one.*row.member);
  });
}

TEST_CASE("every category of a structure is part of its key", "[table]") {
  std::set<std::string> keys;
  const auto key_of = [](const Structure& s) {
    std::string key;
    append_key(key, s);
    return key;
  };
  keys.insert(key_of(Structure{}));
  CHECK(key_of(Structure{}) == *keys.begin());
  for_each_row(Structure::categories(), [&]<class M>(const Category<Structure, M>& row) {
    Structure changed;
    if constexpr (std::is_same_v<M, bool>)
      changed.*row.member = !(changed.*row.member);
    else if constexpr (std::is_same_v<M, Parts>)
      changed.*row.member = part::all;
    else
      changed.*row.member = static_cast<M>(static_cast<int>(changed.*row.member) + 1);
    CHECK(changed != Structure{});
    CHECK(keys.insert(key_of(changed)).second);
  });
}
