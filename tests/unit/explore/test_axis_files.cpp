// Axes out of YAML files.

#include "sample_problems.hpp"

#include <support/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// A file of this text, gone with the object.
class File {
 public:
  explicit File(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("mlsysim_axis_" + std::to_string(std::hash<std::string>{}(text)) + ".yaml"))
                  .string()) {
    std::ofstream(path_) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double number(const SpaceAxis& a, std::size_t row, std::size_t column = 0) { return a.number(row, column); }

DynamicValue quantity(std::string_view, std::string_view text) { return AnyQuantity::parse(text); }
/// Names as texts, all else as quantities.
DynamicValue mixed(std::string_view name, std::string_view text) {
  return name == "precision" ? DynamicValue(std::string(text)) : DynamicValue(AnyQuantity::parse(text));
}

}  // namespace

TEST_CASE("a list in a file is an axis", "[explore][space]") {
  const File list("- 1 GB/s\n- 20 GB/s\n");
  const auto a = parse_axis("bandwidth=@" + list.path(), quantity);
  REQUIRE(a.size() == 2);
  CHECK(number(a, 1) == 20e9);
  CHECK(a.title() == "bandwidth");
  const File rows("[[1, 8], [2, 4]]\n");
  const auto pairs = parse_axis("tp_size,pp_size=@" + rows.path(), quantity);
  CHECK(number(pairs, 1, 0) == 2);
  CHECK(number(pairs, 0, 1) == 8);
}

TEST_CASE("configurations in a file are an axis over all their fields", "[explore][space]") {
  const File file(
      "- {name: small, tp_size: 2, precision: fp8, batch_size: 4}\n"
      "- {name: large, tp_size: 8, precision: fp16, batch_size: 64}\n");
  const auto a = parse_axis("setup=@" + file.path(), mixed);
  CHECK(a.title() == "setup");
  CHECK(a.names == std::vector<std::string>{"tp_size", "precision", "batch_size"});
  CHECK(a.label(1) == "large");
  const Space space(problem_of(scenario("Llama3_70B", "H100", 8, Mode::serve, 1)),
                    {a, axis("seq_len=512,1024")});
  CHECK(space.size() == 4);
  Question q;
  q.show = {"itl"};
  q.objectives = {{Goal::minimize, "itl"}};
  const auto answer = explore(space, q);
  REQUIRE(answer.best.size() == 1);
  CHECK(answer.axes[0] == "setup");
  auto s = scenario("Llama3_70B", "H100", 8, Mode::serve, 4);
  s.tp_size = 2;
  s.precision = Precision::fp8;
  s.seq_len = 512;
  const auto small = subject_of(s);
  const auto all = explore(space, [&] {
    auto every = q;
    every.top = 4;
    return every;
  }());
  bool found = false;
  for (const auto& p : all.best)
    if (p.labels[0] == "small" && p.labels[1] == "512") {
      found = true;
      CHECK(p.objectives[0] == Approx(small.entry(small.point)[small.result("itl")]).epsilon(1e-12));
    }
  CHECK(found);
}

TEST_CASE("a file of axes is a space", "[explore][space]") {
  const File file(
      "ranks: 2..16*2\n"
      "bandwidth: [100 GB/s, 400 GB/s]\n"
      "alpha: 1 us..5 us:3\n");
  const auto axes = read_axes(file.path(), quantity);
  REQUIRE(axes.size() == 3);
  CHECK(axes[0].size() == 4);
  CHECK(axes[1].names[0] == "bandwidth");
  CHECK(number(axes[2], 1) == Approx(3e-6));
  CHECK(Space(ring(), axes).size() == 24);
}

TEST_CASE("files of axes that do not read say where", "[explore][space]") {
  const auto refused = [](const std::string& text, const std::string& what) {
    const File file(text);
    INFO(text);
    CHECK_THROWS_WITH(parse_axis("ranks=@" + file.path(), quantity), ContainsSubstring(what));
  };
  refused("[]\n", "empty");
  refused("ranks: 3\n", "a list");
  refused("- 1\n- [2, 3]\n", "does not fit");
  refused("- 1\n- {a: 2}\n", "no single value");
  refused("- {a: 1, b: 2}\n- {a: 1}\n", "does not say 'b'");
  refused("- {a: 1}\n- {a: 1, b: 2}\n", "more than the first");
  refused("- {a: 1}\n- 7\n", "all of them");
  refused("- {name: x}\n", "sets nothing");
  refused("- 1\n- 2 GX/s\n", ":2:");
  CHECK_THROWS_AS(parse_axis("ranks=@/nowhere/there.yaml", quantity), Error);
  const File list("- 1\n");
  CHECK_THROWS_WITH(read_axes(list.path(), quantity), ContainsSubstring("NAME=@FILE"));
  const File backwards("ranks: 4..1\n");
  CHECK_THROWS_WITH(read_axes(backwards.path(), quantity),
                    ContainsSubstring("backwards") && ContainsSubstring(":1:"));
}
