// Numbers of commits in a file of SQLite.

#include "support/catch.hpp"

#include <mlsysim/ops/regression/history.hpp>
#include <mlsysim/units/error.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace mlsysim;

namespace {

/// A path that is free, and free again afterwards.
struct Free {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mlsysim-history-" + std::to_string(::getpid()) + ".sqlite");
  Free() { std::filesystem::remove(path); }
  Free(const Free&) = delete;
  Free& operator=(const Free&) = delete;
  ~Free() { std::filesystem::remove(path); }
};

std::vector<CellResult> cells(double itl, const std::string& model = "m") {
  CellResult c{.cell = {model, "H100", "bf16", "serve"}};
  c.numbers = {{"itl", itl, dim::time::exps, "ms"}, {"rate", 1 / itl, {.time = -1}, "1/s"}};
  return {c};
}

}  // namespace

TEST_CASE("a history keeps what commits predicted, in their order", "[ci]") {
  const Free file;
  {
    CiHistory h(file.path, CiHistory::Open::write);
    h.put("a", 10, cells(1));
    h.put("b", 20, cells(2));
    auto two = cells(1.5);
    two.push_back(cells(7, "other")[0]);
    h.put("b", 30, two);  // again: replaces
    h.put("c", 40, cells(4));
    h.put("c", 40, cells(3, "other"));
  }
  const CiHistory h(file.path, CiHistory::Open::read);
  CHECK(h.commits() == std::vector<std::string>{"a", "b", "c"});
  const auto t = h.trend("itl");
  CHECK(t.unit == "ms");
  REQUIRE(t.rows.size() == 2);
  CHECK(t.rows[0].cell == "m/H100/bf16/serve");
  CHECK(t.rows[0].commits == 2);  // the second run of c does not have it
  CHECK(t.rows[0].last == 1.5);
  CHECK(t.rows[1].high == 7);
  const auto points = h.points("itl", "other/H100/bf16/serve");
  REQUIRE(points.size() == 2);
  CHECK(points[0].commit == "b");
  CHECK(points[0].time == 30);
  CHECK(points[1].value == 3);
  CHECK_THROWS_AS(h.trend("itk"), LookupError);
  CHECK_THROWS_AS(h.points("itl", "other/H100/bf16/serv"), LookupError);
}

TEST_CASE("a file that is no history is refused and left as it is", "[ci]") {
  const Free file;
  CHECK_THROWS_AS(CiHistory(file.path, CiHistory::Open::read), InputError);
  CHECK_FALSE(std::filesystem::exists(file.path));
  std::ofstream(file.path) << "not a database, but long enough to be looked at by those who look for one";
  CHECK_THROWS_AS(CiHistory(file.path, CiHistory::Open::write), InputError);
  std::string text;
  std::getline(std::ifstream(file.path), text);
  CHECK(text.starts_with("not a database"));
}

TEST_CASE("the first bad commit is the one behind the last good one", "[ci]") {
  std::vector<HistoryPoint> p;
  for (const double x : {1.0, 1.2, 1.0, 1.005, 1.3, 1.4, 1.3}) p.push_back({std::to_string(p.size()), 0, x});
  const auto found = first_bad(p, Better::lower, 0.01);
  REQUIRE(found);
  CHECK(found->good.commit == "3");
  CHECK(found->bad.commit == "4");
  CHECK(first_bad(p, Better::lower, 0.001)->bad.commit == "3");
  CHECK(first_bad(p, Better::lower, 0.01, "0", "1")->bad.commit == "1");
  CHECK_FALSE(first_bad(p, Better::lower, 0.5));
  CHECK_FALSE(first_bad(p, Better::higher, 0.01));
  CHECK(first_bad(p, Better::neither, 0.01)->bad.commit == "4");
  CHECK_FALSE(first_bad({}, Better::lower, 0));
  CHECK_THROWS_AS(first_bad(p, Better::lower, 0, "9"), LookupError);
}
