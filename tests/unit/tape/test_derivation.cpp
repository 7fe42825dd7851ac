#include "sample_entries.hpp"
#include "sample_laws.hpp"

#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/register.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using sample::law;

namespace {

const std::vector<double> kStep{256, 256, 4, 1e-5, 1e15, 1e12};

/// Two calls of which the second takes a result of the first.
struct Chain {
  static constexpr LawInfo info{
      .id = "Chain", .equation = "time = Collective(alpha = Roofline)", .source = ""};
  template <class T> struct Inputs {
    Work<T> work;
    static constexpr auto fields() { return rows(field(&Inputs::work, key::work).non_negative()); }
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const auto first = apply<sample::Roofline, T>({.work = in.work,
                                                   .traffic = Data<T>::from_base(1e9),
                                                   .peak = ComputeRate<T>::from_base(1e15),
                                                   .bandwidth = Bandwidth<T>::from_base(1e12)});
    const auto second = apply<sample::Collective, T>({.message = Data<T>::from_base(1e6),
                                                      .ranks = 8.0,
                                                      .alpha = first.time,
                                                      .bandwidth = Bandwidth<T>::from_base(1e11)});
    return {second.time};
  }
};

}  // namespace

TEST_CASE("by default a law call is one record, with the calls inside it", "[tape]") {
  const auto d = derive(law(4), kStep);
  REQUIRE(d.records.size() == 2);
  CHECK(d.records[0].law->id == "TiledStep");
  CHECK(d.records[1].law->id == "Roofline");
  CHECK(d.records[1].parent == 0);
  CHECK(d.records[1].depth == 1);
  CHECK(d.nodes.empty());
  CHECK(d.records[0].inputs[0].name == "shape.rows");
  CHECK(d.records[0].inputs[0].value == 256.0);
  // The bandwidth is handed on unchanged, so the inner record knows where it came from.
  CHECK(d.records[1].inputs[3].record == 0);
  CHECK(d.records[1].inputs[3].from_input);
  CHECK(d.records[1].inputs[3].field == 5);
  CHECK(d.records[1].inputs[0].record == kNone);
}

TEST_CASE("an opened law shows every operation and names intermediates", "[tape]") {
  const std::string open[] = {"TiledStep"};
  const auto d = derive(law(4), kStep, open);
  REQUIRE(d.records[0].roots.size() == 3);
  CHECK(d.records[1].roots.empty());
  const auto& waves = d.nodes[d.records[0].roots[1]];
  CHECK(waves.name == "waves");
  CHECK(waves.op == "ceil");
  bool inner = false;
  for (const auto& n : d.nodes) inner = inner || (n.op == "law_result" && n.record == 1 && n.name == "time");
  CHECK(inner);
}

TEST_CASE("opening an inner law leaves the outer one closed", "[tape]") {
  const std::string open[] = {"Roofline"};
  const auto d = derive(law(4), kStep, open);
  CHECK(d.records[0].roots.empty());
  REQUIRE(d.records[1].roots.size() == 1);
  CHECK(d.nodes[d.records[1].roots[0]].op == "max");
  CHECK(d.records[1].inputs[3].record == 0);
}

TEST_CASE("a result that feeds another call is followed to its record", "[tape]") {
  const auto chain = make_entry<Chain>();
  const std::vector<double> at{1e12};
  const auto d = derive(chain, at);
  REQUIRE(d.records.size() == 3);
  CHECK(d.records[0].law->id == "Chain");
  CHECK(d.records[1].law->id == "Roofline");
  CHECK(d.records[2].law->id == "Collective");
  CHECK(d.records[1].inputs[0].record == 0);
  CHECK(d.records[1].inputs[0].from_input);
  CHECK(d.records[2].inputs[2].record == 1);
  CHECK_FALSE(d.records[2].inputs[2].from_input);
  CHECK(d.records[2].inputs[2].value == d.records[1].results[0].value);
  CHECK(d.records[0].results[0].value == chain(at)[0]);
}

TEST_CASE("reading the calls of a tape checks nothing and gives the same records", "[tape]") {
  const auto chain = make_entry<Chain>();
  CHECK_THROWS_AS(derive(chain, std::vector<double>{-1e12}), DomainError);
  const auto d = read_calls(chain, std::vector<double>{-1e12});
  REQUIRE(d.records.size() == 3);
  CHECK(d.records[1].results[0].value == 1e-3);  // the traffic alone
}

TEST_CASE("the text names law, source, units, intermediates and numbers", "[tape]") {
  const std::string open[] = {"Roofline"};
  const std::vector<double> at{1e15, 1e12, 1e15, 2e12};
  const auto text = to_text(derive(law(0), at, open));
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("[1] Roofline: time = max(work / peak, traffic / bandwidth)"));
  CHECK_THAT(text, ContainsSubstring("source: williams2009roofline, eq. (1)"));
  CHECK_THAT(text, ContainsSubstring("bandwidth = 2000 GB/s"));
  CHECK_THAT(text, ContainsSubstring("compute = work / peak"));
  CHECK_THAT(text, ContainsSubstring("time = max(compute, memory)"));
  CHECK_THAT(text, ContainsSubstring("-> time = 1000 ms"));
}

namespace {

/// A choice, a term of zero, a factor of one, a product that is used twice, and a result that nothing else
/// needs.
struct Choosy {
  static constexpr LawInfo info{.id = "Choosy", .equation = "a, b", .source = ""};
  template <class T> struct Inputs {
    T x{3.0}, y{2.0}, unused{7.0}, nothing{0.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::x, "x", "", ""), field(&Inputs::y, "y", "", ""),
                  field(&Inputs::unused, "unused", "", ""), field(&Inputs::nothing, "nothing", "", ""));
    }
  };
  template <class T> struct Result {
    T a{0.0}, b{0.0};
    static constexpr auto fields() {
      return rows(field(&Result::a, "a", "", ""), field(&Result::b, "b", "", ""));
    }
  };
  template <class T> [[nodiscard]] static Result<T> solve(const Inputs<T>& in) {
    const T shared = in.x * in.y + in.x * in.x + in.y * in.y;
    const T taken = select(in.x > in.y, shared / 2.0, in.unused);
    return {.a = taken * 1.0 + in.nothing + shared * shared, .b = in.unused + in.x};
  }
};

}  // namespace

TEST_CASE("a slice holds what one result hangs on", "[tape]") {
  const auto entry = make_entry<Choosy>();
  const std::string open[] = {"Choosy"};
  const std::vector<double> at{3, 2, 7, 0};
  const auto whole = derive(entry, at, open);
  const auto d = slice(whole, 0);
  REQUIRE(d.records.size() == 1);
  const auto& record = d.records[0];
  // 19 = 3*2 + 9 + 4; a = 19/2 + 361.
  REQUIRE(record.results.size() == 1);
  CHECK(record.results[0].value == 370.5);
  REQUIRE(record.inputs.size() == 2);
  CHECK(record.inputs[0].name == "x");
  CHECK(record.inputs[1].name == "y");
  REQUIRE(record.roots.size() == 1);
  CHECK(d.nodes[record.roots[0]].name == "a");
  for (const auto& n : d.nodes) {
    CHECK(n.op != "select");
    for (const std::size_t o : n.operands) CHECK(o < d.nodes.size());
    if (n.op == "input") CHECK(record.inputs[n.field].name == n.name);
  }
  const auto text = to_text(d);
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("part_1 = (x * y) + (x * x) + (y * y)"));
  CHECK_THAT(text, ContainsSubstring("a = (part_1 / 2) + (part_1 * part_1)"));
  CHECK_THAT(text, ContainsSubstring("= (19 / 2) + (19 * 19) = 370.5"));
  // The other result is made of other inputs.
  const auto other = slice(whole, 1);
  REQUIRE(other.records[0].inputs.size() == 2);
  CHECK(other.records[0].inputs[1].name == "unused");
  CHECK_THAT(to_text(other), ContainsSubstring("b = unused + x"));
}

TEST_CASE("one result derived alone is the slice of the whole", "[tape]") {
  const auto entry = make_entry<Choosy>();
  const std::string open[] = {"Choosy"};
  for (const auto& at : {std::vector<double>{3, 2, 7, 0}, std::vector<double>{2, 3, 7, 1}}) {
    const auto whole = derive(entry, at, open);
    for (std::size_t result = 0; result < 2; ++result)
      CHECK(to_text(derive_result(entry, at, result)) == to_text(slice(whole, result)));
  }
}
