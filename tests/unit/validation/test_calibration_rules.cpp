#include "support/catch.hpp"

#include <mlsysim/validation/calibrate.hpp>
#include <mlsysim/validation/measure_points.hpp>

#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace mlsysim;

namespace {

constexpr const char* kDevice = "A100";

const HardwareNode& device() { return standard_zoo().at<HardwareNode>(kDevice); }

/// The value of a constant before any fit.
double present(std::string_view field) {
  const std::vector<std::string> one{std::string(field)};
  return free_constants(device(), standard_zoo(), one).at(0).start;
}

/// A row of products or streams, measured where the truth is known.
struct Row {
  double rows = 0, columns = 0, depth = 0;  ///< of a product; of a stream its values alone
  double measured = 0;                      ///< [us]; of a stream [GB/s]
  double busy = 0;                          ///< [s]; 0: not stated
};

/// What the library predicts with other constants, with 3 % of noise.
double measured_at(const char* name, const Row& row, const std::vector<ConstantValue>& truth, double noise) {
  const auto& zoo = standard_zoo();
  const auto& m = measurand(name);
  const Constants constants(conventions_of(zoo), truth);
  auto inputs = m.blank();
  const auto set = [&](std::string_view input, Value v) {
    find_field(m.inputs(), input)->write(inputs.get(), v);
  };
  set("hardware", ObjectRef{&device(), "hardware"});
  if (m.name() == "memory_stream") {
    set("values", row.rows);
    set("reads", 2.0);
    set("writes", 1.0);
  } else {
    set("rows", row.rows);
    set("columns", row.columns);
    set("depth", row.depth);
  }
  return m.predict(inputs.get(), {&zoo, &constants}).base * std::exp(noise);
}

std::vector<MeasuredTable> table_of(const char* name, const std::vector<Row>& rows) {
  const bool stream = std::string_view(name) == "memory_stream";
  const bool busy = std::ranges::any_of(rows, [](const Row& r) { return r.busy > 0; });
  std::string csv = "m,n,k,measured,busy,batch\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    csv += fmt::format("{},{},{},{},{},g{}\n", rows[i].rows, rows[i].columns, rows[i].depth, rows[i].measured,
                       rows[i].busy, i % 4);
  const std::string definition = fmt::format(
      "schema: mlsysim/validation@1\ntitle: synthetic\ndata: s.csv\n"
      "source: {{kind: illustrative, ref: azure-ai-benchmarking, recorded: 2026-11-21}}\n"
      "measurand: {}\nmeasured: {{value: measured, unit: {}}}\n{}inputs: {{hardware: {}, {}}}\ngroups: "
      "[batch]\n",
      name, stream ? "GB/s" : "us", busy ? "busy: busy\n" : "", kDevice,
      stream ? "values: m, reads: 2, writes: 1" : "rows: m, columns: \"n\", depth: k");
  std::vector<MeasuredTable> out;
  out.push_back(parse_table(definition, "synthetic", CsvTable::parse(csv, "s.csv")));
  return out;
}

/// Streams over the device with this share of its bandwidth.
std::vector<Row> streams(double share) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.03);
  std::vector<Row> out;
  for (int i = 0; i < 24; ++i) {
    Row r{.rows = std::pow(2.0, 22 + i % 8) + i};
    r.measured =
        measured_at("memory_stream", r, {{kDevice, "efficiency.memory", share}}, noise(random)) / 1e9;
    out.push_back(r);
  }
  return out;
}

std::vector<Row> products(double share, double busy) {
  std::mt19937 random(6);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<Row> out;
  for (int i = 0; i < 24; ++i) {
    const double n = std::pow(2.0, 11 + i % 3);
    Row r{.rows = n + i, .columns = n, .depth = n, .busy = busy};
    r.measured =
        measured_at("matrix_product", r, {{kDevice, "efficiency.matrix", share}}, noise(random)) * 1e6;
    out.push_back(r);
  }
  return out;
}

const FittedConstant& constant_of(const Calibration& fit, std::string_view field) {
  const auto at =
      std::ranges::find_if(fit.constants, [&](const auto& c) { return c.constant.field == field; });
  REQUIRE(at != fit.constants.end());
  return *at;
}

}  // namespace

TEST_CASE("calibration: an error that all rows share is signal where a constant explains it",
          "[validation][calibrate]") {
  const double truth = present("efficiency.memory") / 2;
  const auto tables = table_of("memory_stream", streams(truth));
  const auto fit = calibrate(device(), tables, standard_zoo(), {.fields = {"efficiency.memory"}});
  const auto& c = constant_of(fit, "efficiency.memory");
  CHECK(c.identified);
  CHECK(c.value == Approx(truth).epsilon(0.05));
  CHECK(c.of_prior() < 0.5);
  CHECK(fit.before.median > 0.5);
  CHECK(fit.after.median < 0.05);
  CHECK(std::abs(fit.scatter.at("synthetic").center) < 0.03);
  CHECK(fit.scatter.at("synthetic").sigma < 0.06);
}

TEST_CASE(
    "calibration: an error that no constant explains is a bias, apart from the noise, and shifts intervals",
    "[validation][calibrate]") {
  const auto tables = table_of("memory_stream", streams(present("efficiency.memory") / 2));
  const auto fit = calibrate(device(), tables, standard_zoo(), {.fields = {"kernels.wave"}});
  const auto& noise = fit.scatter.at("synthetic");
  CHECK(noise.biased());
  CHECK(noise.sigma < 0.1);
  CHECK(std::exp(noise.center) == Approx(2).epsilon(0.1));
  // The constant that was asked for is there, with a reason.
  const auto& c = constant_of(fit, "kernels.wave");
  CHECK_FALSE(c.identified);
  CHECK_FALSE(c.why.empty());
  CHECK(c.value == c.constant.start);
  CHECK(c.of_prior() == Approx(1));
  CHECK(fit.changes().empty());
  CHECK(fit.covariance.size() == fit.constants.size() * fit.constants.size());

  const auto rows = rows_of(tables.front(), standard_zoo()).rows;
  const auto& m = *tables.front().measurand;
  int inside = 0;
  for (const auto& row : rows) {
    const auto interval = predict_interval(fit, m, row.inputs.get(), standard_zoo());
    CHECK(interval.p50 == Approx(row.measured).epsilon(0.2));
    inside += interval.p10 <= row.measured && row.measured <= interval.p90;
  }
  CHECK(inside >= 12);
}

TEST_CASE("calibration: bursts alone do not move what describes work under the power limit",
          "[validation][calibrate]") {
  const double truth = present("efficiency.matrix") * 0.8;
  const auto fitted = [&](double busy) {
    const auto tables = table_of("matrix_product", products(truth, busy));
    return calibrate(device(), tables, standard_zoo(), {.fields = {"efficiency.matrix"}});
  };
  const auto bursts = fitted(1e-3), sustained = fitted(10), unstated = fitted(0);
  const auto& kept = constant_of(bursts, "efficiency.matrix");
  CHECK_FALSE(kept.identified);
  CHECK_FALSE(kept.why.empty());
  CHECK(kept.value == kept.constant.start);
  CHECK(constant_of(sustained, "efficiency.matrix").value == Approx(truth).epsilon(0.05));
  CHECK(constant_of(unstated, "efficiency.matrix").value ==
        Approx(constant_of(sustained, "efficiency.matrix").value));
}

TEST_CASE("calibration: rows of the same work that differ by a factor are refused, both named",
          "[validation][calibrate]") {
  auto rows = products(0.7, 0);
  rows.push_back(rows[3]);
  rows.back().measured *= 1.2;
  CHECK_NOTHROW(calibrate(device(), table_of("matrix_product", rows), standard_zoo()));
  rows.back().measured *= 2;
  const auto tables = table_of("matrix_product", rows);
  CHECK_THROWS_WITH(calibrate(device(), tables, standard_zoo()),
                    Catch::Contains("line 5") && Catch::Contains("line 26") && Catch::Contains("--force"));
  CHECK_NOTHROW(calibrate(device(), tables, standard_zoo(), {.any_rows = true}));
}

TEST_CASE("calibration: a fit that makes whole systems worse is known, with the constants that do no harm",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const std::vector<std::string> fields{"efficiency.memory", "kernels.launch"};
  const auto free = free_constants(zoo.at<HardwareNode>("H100"), zoo, fields);
  REQUIRE(free.size() == 2);
  const auto with = [&](double memory) {
    Calibration fit{.what = "device", .name = "H100", .owner = "H100"};
    for (const auto& c : free)
      fit.constants.push_back({.constant = c,
                               .value = c.field == "efficiency.memory" ? memory * c.start : c.start,
                               .spread = 0.01,
                               .identified = true});
    check_systems(fit, {}, zoo);
    return fit;
  };
  const auto same = with(1);
  CHECK_FALSE(same.systems.empty());
  CHECK_FALSE(same.makes_systems_worse());
  CHECK(same.harmless.empty());
  for (const auto& s : same.systems) {
    CHECK(s.before == s.after);
    CHECK(s.allowed >= 0.005);
    CHECK(s.rows > 0);
  }
  const auto half = with(0.4);
  CHECK(half.makes_systems_worse());
  CHECK(half.harmless == std::vector<std::string>{"kernels.launch"});
  Calibration nothing{.what = "device", .name = "H100", .owner = "H100"};
  check_systems(nothing, {}, zoo);
  CHECK(nothing.systems.empty());
}

TEST_CASE("calibration: figures of tiles are fitted: work always, sizes where they are named",
          "[validation][calibrate]") {
  const auto& zoo = standard_zoo();
  const auto& h100 = zoo.at<HardwareNode>("H100");
  const auto has = [](const std::vector<FreeConstant>& all, std::string_view field) {
    return std::ranges::any_of(all, [&](const auto& c) { return c.field == field; });
  };
  const auto every = free_constants(h100, zoo);
  CHECK(has(every, "tiles.softmax_work"));
  CHECK_FALSE(has(every, "tiles.split_depth"));
  const std::vector<std::string> named{"tiles.split_depth"};
  CHECK(has(free_constants(h100, zoo, named), "tiles.split_depth"));
  const std::vector<std::string> counted{"tiles.tile_m"};
  CHECK_THROWS_AS(free_constants(h100, zoo, counted), LookupError);
}

TEST_CASE("measure: a deadline drops points from the end of the plan", "[validation][measure]") {
  const auto& plan = measure_plan();
  for (const bool cpu : {false, true}) {
    const auto points = plan.of(cpu);
    REQUIRE_FALSE(points.empty());
    std::size_t before = 0;
    for (const double seconds : {0.0, 5.0, 20.0, 45.0, 1000.0}) {
      const auto kept = plan.fitting(points, seconds, cpu);
      CHECK(kept >= before);
      double total = 0;
      for (std::size_t i = 0; i < kept; ++i) total += points[i]->expected(cpu);
      CHECK(total <= std::max(0.0, seconds - plan.reserve) + 1e-6);
      before = kept;
    }
    CHECK(before == points.size());
  }
  CHECK(plan.of(true).size() < plan.of(false).size());
  const auto some = plan.points_for("efficiency.matrix");
  REQUIRE_FALSE(some.empty());
  for (const auto* p : some) CHECK_FALSE(p->again);
  CHECK(plan.points_for("no.such").empty());
}
