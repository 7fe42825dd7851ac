// Grading: what passes, what is said of what does not, and files of a course that cannot be read.
#include <mlsysim/course/grade.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <support/catch.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace mlsysim;
namespace fs = std::filesystem;

namespace {

struct Reading : Model<Reading> {
  struct Inputs {
    Data<> size;
    Bandwidth<> rate;
    static constexpr auto fields() {
      return rows(field(&Inputs::size, "size", "GB", "bytes to be read"),
                  field(&Inputs::rate, "rate", "GB/s", "of the reader"));
    }
  };
  struct Result {
    Time<> time;
    Data<> other;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "s", "of reading"),
                  field(&Result::other, "other", "GB", "what was read"));
    }
  };
  Outcome<Result> solve(const Inputs& in) const {
    if (in.size > 1 * unit::TB) throw InputError({.message = "too much to read", .key = "size"});
    if (in.rate < 1 * unit::GB / unit::s) return Infeasible{"the rate is too low", "1 GB/s", {}};
    return Result{in.size / in.rate, in.size};
  }
};

const ResolverRegistry& registry() {
  static const auto made = [] {
    ResolverRegistry r;
    r.add<Reading>();
    return r;
  }();
  return made;
}

/// The folder of an assignment with these checks; it goes with the object.
class Course {
 public:
  explicit Course(const std::string& checks) {
    fs::create_directories(folder_ / "a");
    std::ofstream(folder_ / "a" / "checks.yaml") << "schema: mlsysim/assignment@1\ntitle: T\nchecks:\n"
                                                 << checks;
  }
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  ~Course() { fs::remove_all(folder_); }
  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] std::vector<course::Grade> graded() const {
    return course::grade(course::read_assignment(folder_ / "a"), registry(), standard_zoo());
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("mlsysim_course_" + std::to_string(::getpid()));
};

std::string complaint(const std::string& check) {
  const auto grades = Course(check).graded();
  REQUIRE(grades.size() == 1);
  return grades[0].passed() ? "" : grades[0].complaints[0];
}

const std::string kCall = "- {name: it, run: Reading, inputs: {size: 2 GB, rate: 1 GB/s}, ";

}  // namespace

TEST_CASE("what is right passes") {
  CHECK(complaint(kCall + "expect: {time: 2 GB / 1 GB/s}}").empty());
  CHECK(complaint(kCall + "times: {rate: 4}, gives: {time: 1 / 4, other: 1}}").empty());
  CHECK(complaint(kCall + "tier: model}").empty());
  CHECK(complaint("- {name: it, run: Reading, inputs: {size: 2 TB, rate: 1 GB/s}, refuses: [too much]}")
            .empty());
  CHECK(complaint(
            "- {name: it, run: Reading, inputs: {size: 2 GB, rate: 1 MB/s}, infeasible: [too low, 1 GB/s]}")
            .empty());
}

TEST_CASE("what is wrong is said with found and expected") {
  CHECK(complaint(kCall + "expect: {time: 4 s}}") ==
        "time: found 2 s, expected 4 s (half: a factor of 2 left out?)");
  CHECK(complaint(kCall + "expect: {time: 2 GB}}") == "time: found 2 s, time [s], expected 2 GB, data [B]");
  CHECK(complaint(kCall + "expect: {tmie: 2 s}}").find("did you mean 'time'") != std::string::npos);
  CHECK(complaint(kCall + "times: {rate: 2}, gives: {time: 2}}").find("time with 2 rate times") == 0);
  CHECK(complaint(kCall + "tier: solver}") == "Reading: found a model, expected a solver");
  CHECK(complaint(kCall + "refuses: [negative]}") == "expected an error, found a result");
  CHECK(complaint(kCall + "infeasible: [low]}") == "expected no result, and the reason, found a result");
  CHECK(complaint("- {name: it, run: Reading, inputs: {size: 2 TB, rate: 1 GB/s}, expect: {time: 1 s}}")
            .find("expected a result, found an error: ") == 0);
  CHECK(complaint("- {name: it, run: Reader, expect: {time: 1 s}}") ==
        "there is no resolver 'Reader'; found none of this name");
  CHECK(complaint("- {name: it, run: Reading, inputs: {size: 2 GB}, expect: {time: 1 s}}").find("rate") !=
        std::string::npos);
}

TEST_CASE("points are counted") {
  const Course two(kCall + "expect: {time: 2 s}, points: 3}\n" + kCall + "expect: {time: 3 s}}\n");
  const auto score = course::score_of(two.graded());
  CHECK(score.points == 3);
  CHECK(score.of == 4);
  CHECK((score.passed == 1 && score.checks == 2));
}

TEST_CASE("usual mistakes are named") {
  CHECK(course::factor_words(2).find("counted twice") != std::string::npos);
  CHECK(course::factor_words(8).find("bits") != std::string::npos);
  CHECK(course::factor_words(1.024 * 1.024 * 1.024).find("GiB") != std::string::npos);
  CHECK(course::factor_words(1 / 3600.0).find("hours") != std::string::npos);
  CHECK(course::factor_words(1.37) == "1.37 times");
  CHECK(course::factor_words(0).empty());
}

TEST_CASE("files of a course that cannot be read say where") {
  for (const auto& [checks, word] : std::vector<std::pair<std::string, std::string>>{
           {"- {name: it, run: Reading, expcet: {time: 1 s}}", "did you mean 'expect'"},
           {"- {name: it, run: Reading}", "asks for nothing"},
           {"- {name: it, kit: true, run: Reading, tier: model}", "at once"},
           {"- {name: it, run: Reading, times: {size: 2}, expect: {time: 1 s}}", "'times' and 'gives'"},
           {"- {name: it, run: Reading, expect: {time: 1 s}, points: none}", "a number above 0"},
           {"- {run: Reading, expect: {time: 1 s}}", "'name' is missing"}}) {
    const Course bad(checks);
    CHECK_THROWS_WITH(course::read_assignment(bad.folder() / "a"),
                      ContainsSubstring(word) && ContainsSubstring("checks.yaml:4"));
  }
  CHECK_THROWS_AS(Course(kCall + "expect: {time: 2 furlongs}}").graded(), Error);
}

TEST_CASE("a submission finds its assignment") {
  const Course c(kCall + "tier: model}");
  const course::Submission mine{
      .folder = c.folder() / "a" / "starter" / "cpp", .assignment = "a", .language = "cpp", .file = ""};
  CHECK(course::course_of(mine, {}, {}) == c.folder());
  CHECK(course::course_of(mine, c.folder(), {}) == c.folder());
  course::Submission strange = mine;
  strange.assignment = "b";
  CHECK_THROWS_WITH(course::course_of(strange, c.folder(), {}), ContainsSubstring("one of a"));
  CHECK(course::assignments_of(c.folder()) == std::vector<fs::path>{c.folder() / "a"});
  CHECK_THROWS_AS(course::assignments_of(c.folder() / "a"), InputError);
}
