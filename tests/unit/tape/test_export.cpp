// Programs that leave the library: C that is compiled here and gives the same bits, and JSON.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/export.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>

using namespace mlsysim;

namespace {

using Function = void (*)(const double*, double*);

/// A function of C, compiled and loaded.
class Compiled {
 public:
  explicit Compiled(const std::string& source, const std::string& name,
                    const std::string& flags = "-O3 -march=native") {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("mlsysim-export-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    std::filesystem::create_directories(folder);
    const auto file = folder / "law.c", library = folder / "law.so";
    std::ofstream(file) << source;
    const std::string command = std::string(MLSYSIM_COMPILER) +
                                " -x c -std=c99 -Wall -Wextra -Werror -shared -fPIC " + flags + " -o " +
                                library.string() + " " + file.string() + " -lm";
    REQUIRE(std::system(command.c_str()) == 0);
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
    call = reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
    REQUIRE(call != nullptr);
    std::filesystem::remove_all(folder);
  }
  ~Compiled() { dlclose(handle_); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  Function call = nullptr;

 private:
  void* handle_ = nullptr;
};

/// A law made of a tape.
LawEntry entry_of(const Tape& tape) {
  static std::vector<std::string> names;
  LawEntry e;
  e.info = {.id = "Sample", .equation = "out = f(in) */", .source = ""};
  for (std::size_t i = 0; i < tape.inputs(); ++i) e.inputs.push_back({.name = "x" + std::to_string(i)});
  for (std::size_t i = 0; i < tape.results(); ++i) e.results.push_back({.name = "y" + std::to_string(i)});
  e.self = std::shared_ptr<const void>(&tape, [](const void*) {});
  e.recorded = [](const void* self) -> const Tape& { return *static_cast<const Tape*>(self); };
  return e;
}

/// Every operation, and loops inside of loops that use what is outside of both.
std::vector<Recorded> every_operation(std::span<const Recorded> in) {
  const Recorded &x = in[0], &y = in[1];
  const Recorded a = x * y + x / y - y;
  const Recorded b = max(a, x) + min(a, y) + abs(x - y) + clamp(x, Recorded(0.5), Recorded(2.0)) - (-x);
  const Recorded c = ceil(x) + floor(y) + ceil_div(x, y) + sqrt(x + y);
  const Recorded q = quadrature(x, y);
  const Recorded d = q + pow(x, y * 0.1) + pow(x, 2.0) + log(y) + log2(x + 1.0) + exp(-y);
  const Recorded e =
      select(x > y, a, b) + select(x <= y && !(y < 1.0), Recorded(1.0), c) + select(x == y || x != 3.0, c, d);
  const Recorded nested = repeat(ceil(x), Recorded(1.0), [&](const Recorded& s, const Recorded& k) {
    return repeat(floor(k) + 1.0, s,
                  [&](const Recorded& t, const Recorded& j) { return t * 0.5 + y * j + x; });
  });
  const auto pair =
      repeat(ceil(y), std::array<Recorded, 2>{x, y}, [&](const std::array<Recorded, 2>& s, const Recorded&) {
        return std::array<Recorded, 2>{s[1], (s[0] + s[1]) * 0.25};
      });
  return {a, b, c, d, e, nested, pair[0], pair[1], Recorded(0.1)};
}

}  // namespace

TEST_CASE("exported C gives the bits of the tape, loops included", "[tape][export]") {
  const Tape tape = record_tape(2, every_operation);
  const ExportedProgram program(entry_of(tape));
  // Fused multiply-adds are there to be used by whoever may use them.
  const Compiled c(program.c_source("sample"), "sample");
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> any(0.01, 9.0);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<double> in{any(random), i % 5 == 0 ? 3.0 : any(random)};
    const auto expected = tape(in);
    std::vector<double> out(expected.size());
    c.call(in.data(), out.data());
    for (std::size_t k = 0; k < out.size(); ++k) {
      INFO("result " << k << " at " << in[0] << ", " << in[1]);
      CHECK(std::bit_cast<std::uint64_t>(out[k]) == std::bit_cast<std::uint64_t>(expected[k]));
    }
  }
}

TEST_CASE("exported C gives the bits of the sample laws", "[tape][export]") {
  int n = 0;
  for (const auto& sample : sample::cases()) {
    const std::string name = "law" + std::to_string(n++);
    const Compiled c(ExportedProgram(*sample.law).c_source(name), name, "-O2");
    for (unsigned i = 0; i < 500; ++i) {
      const auto in = sample::point(sample, i);
      const auto expected = (*sample.law)(in);
      std::vector<double> out(expected.size());
      c.call(in.data(), out.data());
      for (std::size_t k = 0; k < out.size(); ++k)
        CHECK(std::bit_cast<std::uint64_t>(out[k]) == std::bit_cast<std::uint64_t>(expected[k]));
    }
  }
}

TEST_CASE("of a loop with too many rounds an exported program knows no result", "[tape][export]") {
  const Tape tape = record_tape(1, [](std::span<const Recorded> in) {
    return std::vector<Recorded>{
        repeat<8>(in[0], Recorded(1.0), [](const Recorded& s, const Recorded&) { return s * 2.0; })};
  });
  const Compiled c(ExportedProgram(entry_of(tape)).c_source(), "law");
  double out = 0;
  for (const double count : {9.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    c.call(&count, &out);
    CHECK(std::isnan(out));
  }
  const double most = 8;
  c.call(&most, &out);
  CHECK(out == 256);  // 2^8
}

TEST_CASE("a program holds the results that are asked for, in that order, and nothing that only others need",
          "[tape][export]") {
  const Tape tape = record_tape(2, every_operation);
  const std::size_t wanted[] = {1, 0};
  const double point[] = {2.0, 3.0};
  const ExportedProgram program(entry_of(tape), wanted, point);
  CHECK(program.tape().size() < tape.size());
  CHECK(program.tape()(std::vector{2.0, 3.0}) ==
        std::vector{tape(std::vector{2.0, 3.0})[1], tape(std::vector{2.0, 3.0})[0]});
  CHECK(program.results()[0].name == "y1");
  const auto json = program.json();
  CHECK_THAT(json, Catch::Contains("\"schema\": \"mlsysim/program@1\"") &&
                       Catch::Contains("\"name\": \"x1\"") && Catch::Contains("\"value\": 3}") &&
                       Catch::Contains("[\"divide\", 0, 1]") && !Catch::Contains("loop\","));
  // A comment of C ends where it should.
  CHECK_THAT(program.c_source(), Catch::Contains("* /") && Catch::Contains("out[1]: y0"));
}

TEST_CASE("what cannot be exported is refused with the reason", "[tape][export]") {
  CHECK_THROWS_WITH(ExportedProgram(sample::plain_server()), Catch::Contains("was not recorded"));
  const Tape tape = record_tape(2, every_operation);
  const double one = 1;
  CHECK_THROWS_WITH(ExportedProgram(entry_of(tape), {}, {&one, 1}),
                    Catch::Contains("a value for each input"));
  for (const char* name : {"", "3d", "a-b", "x;"})
    CHECK_THROWS_AS(ExportedProgram(entry_of(tape)).c_source(name), InputError);
}
