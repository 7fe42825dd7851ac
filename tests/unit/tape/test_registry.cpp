#include "sample_entries.hpp"
#include "sample_laws.hpp"

#include <mlsysim/tape/registry.hpp>

#include "support/catch.hpp"

using namespace mlsysim;

TEST_CASE("laws are found by id, and an unknown one is answered with near misses", "[tape]") {
  LawRegistry laws;
  for (const auto& c : sample::cases()) laws.add(*c.law);
  CHECK(laws.size() == 5);
  CHECK(&laws.at("Roofline") == laws.find("Roofline"));
  CHECK(laws.find("nothing") == nullptr);
  CHECK_THROWS_WITH(laws.at("Rooflin"), ContainsSubstring("did you mean 'Roofline'"));
  CHECK_THROWS_WITH(laws.add(*sample::cases()[0].law), ContainsSubstring("'Roofline', which is taken"));
  CHECK_THROWS_AS(laws.add(LawEntry{}), InputError);
}

TEST_CASE("an entry knows its fields, nested ones with dots", "[tape]") {
  const LawEntry& law = *sample::cases()[4].law;
  CHECK(law.input("shape.columns") == 1);
  CHECK(law.result("waves") == 1);
  CHECK_THROWS_WITH(law.input("shape.column"), ContainsSubstring("did you mean 'shape.columns'"));
  CHECK(law.inputs[0].integral);
  CHECK_FALSE(law.inputs[5].integral);
}

TEST_CASE("ranges of fields are known in base units", "[tape]") {
  const LawEntry& law = *sample::cases()[2].law;
  const auto efficiency = base_range(law.inputs[law.input("efficiency")]);
  CHECK(efficiency.low == 0.01);
  CHECK(efficiency.high == 1.0);
  const auto message = base_range(law.inputs[law.input("message")]);
  CHECK(message.low == 0.0);
  CHECK(message.open_low);
  CHECK(std::isinf(message.high));
}
