// A grid gives the bytes that the tape gives point by point, however its nodes hang on the axes.
#include "sample_entries.hpp"

#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/grid.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

using namespace mlsysim;
using sample::bits;

namespace {

/// Each point of the grid by the tape itself; the last axis is the fastest.
std::vector<std::vector<double>> one_by_one(const Tape& tape, const std::vector<std::size_t>& sizes,
                                            const std::vector<GridInput>& inputs) {
  std::size_t points = 1;
  for (const auto n : sizes) points *= n;
  std::vector<std::vector<double>> out(tape.results());
  for (std::size_t p = 0; p < points; ++p) {
    std::vector<double> in;
    for (const auto& i : inputs) {
      std::size_t stride = 1;
      for (std::size_t a = i.axis + 1; a < sizes.size(); ++a) stride *= sizes[a];
      in.push_back(i.values[p / stride % sizes[i.axis]]);
    }
    const auto found = tape(in);
    for (std::size_t r = 0; r < found.size(); ++r) out[r].push_back(found[r]);
  }
  return out;
}

void same(const std::vector<std::vector<double>>& found, std::size_t from,
          const std::vector<std::vector<double>>& expected, std::size_t points) {
  for (std::size_t r = 0; r < expected.size(); ++r)
    for (std::size_t p = 0; p < points; ++p)
      if (bits(found[r][p]) != bits(expected[r][from + p])) {
        CAPTURE(r, p, from, found[r][p], expected[r][from + p]);
        FAIL_CHECK("a point of the grid differs");
        return;
      }
}

/// From every start in a few strides, so that blocks begin and end everywhere.
void agrees(const Tape& tape, const std::vector<std::size_t>& sizes, const std::vector<GridInput>& inputs) {
  const GridProgram program(tape, sizes, inputs);
  const auto expected = one_by_one(tape, sizes, inputs);
  GridProgram::Workspace workspace(program);
  const auto points = static_cast<std::size_t>(program.points());
  for (const std::size_t length : {points, std::size_t{256}, std::size_t{100}, std::size_t{7}}) {
    if (length > points || (length == 7 && points > 5000)) continue;
    std::vector<std::vector<double>> found(tape.results(), std::vector<double>(length));
    for (std::size_t at = 0; at < points; at += length) {
      std::vector<double*> out;
      for (auto& column : found) out.push_back(column.data());
      const std::size_t here = std::min(length, points - at);
      program.run(at, here, out.data(), workspace);
      same(found, at, expected, here);
    }
  }
}

std::vector<double> ramp(std::size_t n, double from) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(from + 0.37 * static_cast<double>(i * i % 11) + static_cast<double>(i) / 3);
  return out;
}

/// Much on some axes, little on others, a loop whose count varies, and a result that hangs on nothing.
Tape layered() {
  return record_tape(5, [](std::span<const Recorded> in) {
    const auto heavy = [](const Recorded& x, double k) {
      return sqrt(x * k + 1.0) / (x + k) + exp(-x) * log(x + 2.0);
    };
    const Recorded a = heavy(in[0], 1.0) + heavy(in[0], 2.0) * heavy(in[0], 3.0);
    const Recorded ab = heavy(a * in[1], 1.5) + a / in[1];
    const Recorded c = heavy(in[2], 4.0) - heavy(in[2], 0.5) * in[2];
    const Recorded bc = max(heavy(in[1] + in[2], 2.5), c) * c;
    const Recorded turned =
        repeat(ceil(in[2]), in[0], [&](const Recorded& s, const Recorded& k) { return s * 0.5 + in[1] + k; });
    const Recorded all = ab * bc + in[3] * turned + select(in[4] < ab, a, c);
    return std::vector<Recorded>{all, a, Recorded(3.0), bc + in[3], turned};
  });
}

}  // namespace

TEST_CASE("a grid gives the bytes of the tape at each point", "[tape]") {
  const Tape tape = layered();
  using Sizes = std::vector<std::size_t>;
  for (const Sizes& s : {Sizes{3, 4, 5, 6}, Sizes{7, 1, 9, 2}, Sizes{1, 1, 1, 1}, Sizes{2, 70, 3, 12},
                         Sizes{300, 6, 4, 1}, Sizes{1, 5, 64, 3}, Sizes{5, 65, 2, 2}}) {
    CAPTURE(s[0], s[1], s[2], s[3]);
    // The fifth input shares the second axis.
    agrees(tape, s,
           {{0, ramp(s[0], 1)},
            {1, ramp(s[1], 2)},
            {2, ramp(s[2], 1.5)},
            {3, ramp(s[3], 0.2)},
            {1, ramp(s[1], 3)}});
    // Inputs in another order of axes.
    agrees(tape, s,
           {{3, ramp(s[3], 1)},
            {2, ramp(s[2], 2)},
            {0, ramp(s[0], 1.5)},
            {1, ramp(s[1], 0.2)},
            {0, ramp(s[0], 3)}});
  }
}

TEST_CASE("parts of more rows than a table holds are computed as the points come by", "[tape]") {
  agrees(layered(), {90, 60, 2, 4},
         {{0, ramp(90, 1)}, {1, ramp(60, 2)}, {2, ramp(2, 1.5)}, {3, ramp(4, 0.2)}, {1, ramp(60, 3)}});
  // Ranges are not listed, whether they run fast or slow.
  const Axis slow = Axis::between(1, 9, 5000, Spacing::logarithmic), fast = Axis::steps(2, 0.01, 5000);
  agrees(layered(), {5000, 3, 2, 2},
         {{0, slow}, {1, ramp(3, 2)}, {2, ramp(2, 1.5)}, {3, ramp(2, 0.2)}, {1, ramp(3, 3)}});
  agrees(layered(), {2, 3, 2, 5000},
         {{0, ramp(2, 1)}, {1, ramp(3, 2)}, {2, ramp(2, 1.5)}, {3, fast}, {1, ramp(3, 3)}});
}

TEST_CASE("every sample law gives the same on a grid", "[tape]") {
  for (const auto& c : sample::cases()) {
    CAPTURE(c.law->info.id);
    const Tape tape = c.law->tape();
    if (tape.inputs() < 2) continue;
    std::vector<std::size_t> sizes;
    std::vector<GridInput> inputs;
    // The first three inputs vary along axes of their own; the others stay.
    for (std::size_t i = 0; i < tape.inputs(); ++i) {
      const std::size_t n = i < 3 ? 5 : 1;
      GridInput in{i, {}};
      for (unsigned k = 0; k < n; ++k) in.values.add(sample::point(c, k)[i]);
      sizes.push_back(n);
      inputs.push_back(std::move(in));
    }
    agrees(tape, sizes, inputs);
  }
}

TEST_CASE("what hangs on the slow axes costs next to nothing", "[tape]") {
  const Tape tape = record_tape(2, [](std::span<const Recorded> in) {
    Recorded slow = in[0];
    for (int i = 0; i < 200; ++i) slow = slow * in[0] + static_cast<double>(i);
    return std::vector<Recorded>{slow * in[1]};
  });
  const GridProgram program(tape, {50, 100}, {{0, ramp(50, 1)}, {1, ramp(100, 1)}});
  CHECK(program.work_per_point() < 10);
  // The other way round nothing can be saved but by a table.
  const GridProgram turned(tape, {100, 50}, {{1, ramp(50, 1)}, {0, ramp(100, 1)}});
  CHECK(turned.work_per_point() < 10);
}
