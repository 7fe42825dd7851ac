#include <mlsysim/units/error.hpp>

#include "../../../src/units/detail/unit_faults.hpp"
#include "support/catch.hpp"

#include <set>

using namespace mlsysim;

TEST_CASE("an error says where, what, found, expected, what to do, and its id", "[units][error]") {
  ErrorFacts facts;
  facts.id = "mlsysim.test.001";
  facts.message = "wrong thing";
  facts.found = "'a'";
  facts.expected = "'b'";
  facts.hint = "write 'b'";
  facts.where = {"file.yaml", 3, 7};
  UnitError error(facts);
  CHECK(std::string(error.what()) ==
        "file.yaml:3:7: wrong thing; found 'a', expected 'b'; write 'b' [mlsysim.test.001]");
  error.add_context("while loading file.yaml");
  CHECK_THAT(error.what(), ContainsSubstring("\n  while loading file.yaml"));
  CHECK(error.context().size() == 1);
  CHECK(error.facts().expected == "'b'");
}

TEST_CASE("a list of errors shows every problem", "[units][error]") {
  ErrorFacts one, two, title;
  one.message = "first";
  two.message = "second";
  title.message = "file.yaml: 2 problems";
  const ErrorList list(title, {one, two});
  CHECK(list.problems().size() == 2);
  CHECK(std::string(list.what()) == "file.yaml: 2 problems\nfirst\nsecond");
}

TEST_CASE("ids of unit errors are unique, complete and in order", "[units][error]") {
  std::set<std::string_view> ids;
  int i = 0;
  for (const auto& row : detail::unit_faults()) {
    CHECK(static_cast<int>(row.fault) == i);
    ++i;
    const std::string number = std::to_string(i);
    CHECK(row.id == "mlsysim.unit." + std::string(3 - number.size(), '0') + number);
    CHECK_FALSE(row.message.empty());
    ids.insert(row.id);
  }
  CHECK(ids.size() == detail::unit_faults().size());
  CHECK(i == 21);
}

TEST_CASE("quoted texts are short, printable and valid UTF-8", "[units][error]") {
  CHECK(detail::quoted("a b") == "'a b'");
  CHECK(detail::quoted(std::string("a\n\0b", 4)) == "'a\?\?b'");
  CHECK(detail::quoted("5 \xC2\xB5s") == "'5 \xC2\xB5s'");
  CHECK(detail::quoted("\xC2") == "'?'");
  CHECK(detail::quoted("\xC0\x80\xED\xA0\x80\xFF") == "'\?\?\?\?\?\?'");
  std::string cut(59, 'a');
  cut = detail::quoted(cut += "\xE2\x82\xAC\x62\x62\x62");
  CHECK(cut == "'" + std::string(59, 'a') + "\xE2\x82\xAC...'");
}
