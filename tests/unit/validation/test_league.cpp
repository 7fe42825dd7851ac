// Predictions of other tools: the rows that they get, what is read back, and the page with all of them.
#include "support/catch.hpp"

#include <mlsysim/validation/league.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

using namespace mlsysim;

namespace {

/// A file of predictions that is gone at the end.
struct PredictionFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "mlsysim_league_test.csv";
  explicit PredictionFile(const std::string& text) { std::ofstream(path) << text; }
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;
  ~PredictionFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("a tool that predicts half of a table ten per cent too long", "[validation]") {
  const auto table = load_table("training/megatron_recompute_table5_a100");
  const std::vector<TableResult> results{validate(table, standard_zoo())};
  REQUIRE(results[0].rows.size() == 8);
  const auto asked = rows_to_predict(results);
  CHECK(asked.starts_with("table,row,what,unit,predicted\ntraining/megatron_recompute_table5_a100,1,"));
  CHECK_THAT(asked, Catch::Contains('"' + table.label(results[0].rows[0].row) + '"'));
  const double unit = table.measurand->unit() == "s" ? 1.0 : 1e-3;
  std::string text = "table,row,what,unit,predicted\n";
  for (std::size_t i = 0; i < 8; ++i) {
    const auto& row = results[0].rows[i];
    text += fmt::format("{},{},,,{}\n", table.name, row.row + 1,
                        i % 2 == 0 ? fmt::format("{}", 1.1 * row.measured / unit) : std::string());
  }
  const PredictionFile file(text);
  const auto other = read_predictions("Other 2.0", file.path);
  CHECK(other.values.size() == 4);
  const auto page = league_page(results, standard_zoo(), {{other}});
  CHECK_THAT(page, Catch::Contains("10 % (50 % of the rows)"));
  CHECK_THAT(page, Catch::Contains("## Other 2.0 and mlsysim on the same rows"));
  CHECK_THAT(page, Catch::Contains("| training | 4 | 10 % |"));
}

TEST_CASE("predictions that belong to no row are refused", "[validation]") {
  const auto table = load_table("training/megatron_recompute_table5_a100");
  const std::vector<TableResult> results{validate(table, standard_zoo(), Depth::ours)};
  const OutsidePredictions far{"Other", {{{table.name, 10000}, 1.0}}};
  CHECK_THROWS_AS((void)league_page(results, standard_zoo(), {{far}}), LookupError);
  const PredictionFile wrong("table,row,predicted\nt,0,1\n");
  CHECK_THROWS_AS((void)read_predictions("Other", wrong.path), InputError);
  const PredictionFile negative("table,row,predicted\nt,1,-1\n");
  CHECK_THROWS_AS((void)read_predictions("Other", negative.path), InputError);
}
