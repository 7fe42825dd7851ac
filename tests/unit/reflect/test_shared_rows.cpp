// Tables made of parts, and fields handed from one struct to another.

#include <support/catch.hpp>

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/reflect/take_fields.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace mlsysim;

namespace {

template <class S> constexpr auto size_rows() {
  return rows(field(&S::width, "width", "", "how wide").at_least(1).defaulted("one"),
              field(&S::depth, "depth", "", "how deep").within(0, 9).defaulted("none"));
}

struct Asked {
  std::string name = "asked";
  std::optional<double> width{};
  double depth = 0, extra = 7;
  static constexpr auto fields() {
    return join(rows(field(&Asked::name, "name", "", "what it is")), size_rows<Asked>(),
                rows(field(&Asked::extra, "extra", "", "something else").defaulted("seven")));
  }
};

struct Given {
  double width = 1;
  std::optional<double> depth{};
  bool other = true;
  static constexpr auto fields() {
    return join(size_rows<Given>(), rows(field(&Given::other, "other", "", "of its own").defaulted("yes")));
  }
};

static_assert(TableStruct<Asked> && TableStruct<Given>);

}  // namespace

TEST_CASE("a table of parts has their rows in order, with ranges and defaults", "[table]") {
  std::vector<std::string> names;
  for (const auto& f : describe<Asked>()) names.push_back(f.name);
  CHECK(names == std::vector<std::string>{"name", "width", "depth", "extra"});
  for (const auto all : {describe<Asked>(), describe<Given>()}) {
    CHECK(find_field(all, "width")->low == 1);
    CHECK(find_field(all, "depth")->high == 9);
    CHECK(find_field(all, "depth")->default_source == "none");
  }
}

TEST_CASE("fields of one name pass from struct to struct, and what is absent leaves the default", "[table]") {
  Asked asked;
  asked.depth = 3;
  const auto given = fields_of<Given>(asked);
  CHECK(given.width == 1);    // not asked for
  CHECK(given.depth == 3.0);  // a number becomes an optional one
  CHECK(given.other);         // unknown to the other struct
  asked.width = 4;
  CHECK(fields_of<Given>(asked).width == 4);
  const auto back = fields_of<Asked>(Given{.width = 2});
  CHECK(back.width == 2.0);
  CHECK(back.depth == 0);
  CHECK(back.name == "asked");
}
