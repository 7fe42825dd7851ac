#include "support/catch.hpp"

#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/validation/record.hpp>

#include <mlsysim/zoo/loader.hpp>

#include <filesystem>
#include <fstream>
#include <random>

using namespace mlsysim;

namespace {

constexpr const char* kDefinition = R"(schema: mlsysim/validation@1
title: "two products"
data: t.csv
source: {kind: measured, ref: azure-ai-benchmarking, recorded: 2026-11-21}
measurand: matrix_product
measured: {value: latency, unit: us}
inputs:
  hardware: {column: gpu, words: {h: H100}, otherwise: another device}
  precision: bf16
  rows: 2 * half
  columns: "n"
  depth: "n"
left_out:
- {column: gpu, is: [x], reason: broken}
- {when: n > 5000, reason: too large}
groups: [gpu]
labels: [gpu, "n"]
)";

MeasuredTable sample(const std::string& csv, std::string definition = kDefinition) {
  return parse_table(std::move(definition), "t.yaml", CsvTable::parse(csv, "t.csv"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("tables: an aim is a share", "[validation]") {
  const std::string csv = "gpu,half,n,latency\nh,512,1024,20\n", head = "measurand: matrix_product\n";
  CHECK(sample(csv).aim == 0);
  CHECK(sample(csv, replaced(kDefinition, head, head + "aim: 0.09\n")).aim == 0.09);
  CHECK_THROWS_AS((void)sample(csv, replaced(kDefinition, head, head + "aim: 9 %\n")), Error);
}

TEST_CASE("tables: rows become inputs, the rest is left out with its reason", "[validation]") {
  const auto t = sample("gpu,half,n,latency\nh,512,1024,20\nx,1,1,1\nh,1,9999,1\ny,1,1,1\nh,1,1,\n");
  const auto rows = rows_of(t, standard_zoo());
  REQUIRE(rows.rows.size() == 1);
  const auto& row = rows.rows.front();
  CHECK(row.measured == Approx(20e-6));
  CHECK(row.group == "h");
  CHECK(t.label(row.row) == "gpu h, n 1024");
  const auto value = [&](const char* name) {
    return std::get<double>(find_field(t.measurand->inputs(), name)->read(row.inputs.get()));
  };
  CHECK(value("rows") == 1024);
  CHECK(value("columns") == 1024);
  CHECK(value("groups") == 1);
  REQUIRE(rows.left_out.size() == 4);
  CHECK(rows.left_out[0].reason == "broken");
  CHECK(rows.left_out[1].reason == "too large");
  CHECK(rows.left_out[2].reason == "another device");
  CHECK(rows.left_out[3].reason == "the source states no value");
}

TEST_CASE("tables: a derived column says another one in other words", "[validation]") {
  const std::string csv = "gpu,half,n,latency\nh,1,8,1\n\"\",1,9,2\n";
  auto t = sample(csv, std::string(kDefinition) +
                           "derived:\n  kind: {column: gpu, words: {h: 1}, otherwise: 0}\n"
                           "  named: {column: gpu, words: {\"\": nobody}}\n"
                           "  both: {column: [gpu, half], words: {\"h 1\": first}, otherwise: second}\n");
  const auto moved = std::move(t);
  const auto kind = moved.data.column("kind"), named = moved.data.column("named");
  CHECK(moved.data.number(0, kind) == 1);
  CHECK(moved.data.number(1, kind) == 0);
  CHECK(moved.data.text(0, named) == "h");
  CHECK(moved.data.text(1, named) == "nobody");
  CHECK(moved.data.text(0, moved.data.column("both")) == "first");
  CHECK(moved.data.text(1, moved.data.column("both")) == "second");
  CHECK(moved.data.where(1, named).line == 3);
  CHECK(moved.data.text(1, moved.data.column("n")) == "9");
  const auto refused = [&](const char* rule, const char* part) {
    CHECK_THROWS_WITH(sample(csv, std::string(kDefinition) + rule), Catch::Contains(part));
  };
  refused("derived:\n  gpu: {column: half}\n", "the source has the column 'gpu' itself");
  refused("derived:\n  new: {column: gpus}\n", "no column 'gpus'");
  refused("derived:\n  new: {column: gpu, word: {h: 1}}\n", "'word' is not known");
  refused("derived:\n  new: {column: [gpu, half], words: {h: 1}}\n", "is made of several columns");
  refused("derived: [gpu]\n", "'derived' is not a map");
}

TEST_CASE("tables: repeats become one row with their median", "[validation]") {
  auto definition = std::string(kDefinition) + "repeats: median\n";
  const auto t = sample("gpu,half,n,latency\nh,8,8,30\nh,8,8,10\nh,8,8,11\nh,16,8,5\n", definition);
  const auto rows = rows_of(t, standard_zoo());
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.rows[0].measured == Approx(11e-6));
  CHECK(rows.rows[0].repeats == 3);
  CHECK(rows.rows[1].repeats == 1);
}

TEST_CASE("tables: faults of a definition are all reported, with their place", "[validation]") {
  const std::string csv = "gpu,half,n,latency\nh,1,1,1\n";
  const auto refused = [&](const std::string& from, const std::string& to, const char* part) {
    CHECK_THROWS_WITH(sample(csv, replaced(kDefinition, from, to)), Catch::Contains(part));
  };
  refused("measurand: matrix_product", "measurand: matrix_produce", "matrix_product");
  refused("  depth: \"n\"\n", "", "the input 'depth'");
  refused("  depth:", "  q: \"n\"\n  depth:", "'q' is no input of 'matrix_product'");
  refused("depth: \"n\"\n", "depth: nn\n", "no column 'nn'");
  refused("unit: us", "unit: GB", "the measured unit does not suit");
  refused("labels:", "lables:", "the key 'lables' is not known");
  refused("schema: mlsysim/validation@1", "schema: mlsysim/hardware@1", "another schema");
  refused("source: {kind: measured, ref: azure-ai-benchmarking, recorded: 2026-11-21}", "note: x",
          "the table has no source");
  refused("reason: broken", "raison: broken", "'reason' is missing");
  refused("kind: measured", "kind: mesured", "did you mean 'measured'?");
  refused("recorded: 2026-11-21", "recorded: not-a-date", "a date of the calendar");
  refused("recorded: 2026-11-21", "recorded: 2026-02-30", "a date of the calendar");
  refused("recorded: 2026-11-21", "note: x", "needs one date");
  refused("recorded: 2026-11-21", "recorded: 2026-11-21, verified: 2026-11-22",
          "both 'recorded' and 'verified'");
  refused("{column: gpu, is: [x], reason: broken}", "{when: n > 1, column: gpu, reason: broken}",
          "'column' without 'is'");
  refused("{column: gpu, is: [x], reason: broken}", "{when: n > 1, is: [x], reason: broken}",
          "'is' without 'column'");
  refused("{column: gpu, is: [x], reason: broken}", "{when: n > 1, column: gpu, is: [x], reason: broken}",
          "two conditions");
  refused("{column: gpu, is: [x], reason: broken}", "{column: gpu, is: [], reason: broken}", "names no word");
  refused("{column: gpu, is: [x], reason: broken}", "{reason: broken}", "leaves out nothing");
  const std::string list =
      "left_out:\n- {column: gpu, is: [x], reason: broken}\n- {when: n > 5000, reason: too large}\n";
  refused(list, "left_out: {when: n > 5000, reason: too large}\n", "'left_out' is not a list");
  refused(list, "left_out: all\n", "'left_out' is not a list");
}

TEST_CASE("tables: a word or a device that nobody knows is an error with its place", "[validation]") {
  auto definition = replaced(kDefinition, ", otherwise: another device", "");
  CHECK_THROWS_WITH(rows_of(sample("gpu,half,n,latency\nz,1,1,1\n", definition), standard_zoo()),
                    Catch::Contains("t.csv:2:1") && Catch::Contains("does not know this word"));
  definition = replaced(kDefinition, "h: H100", "h: H101");
  CHECK_THROWS_WITH(rows_of(sample("gpu,half,n,latency\nh,1,1,1\n", definition), standard_zoo()),
                    Catch::Contains("no hardware 'H101'"));
  CHECK_THROWS_WITH(rows_of(sample("gpu,half,n,latency\nh,-1,1,1\n"), standard_zoo()),
                    Catch::Contains("'rows'") && Catch::Contains("out of its range"));
}

TEST_CASE("tables: every shipped table is read, cites a known work and fills its rows", "[validation]") {
  for (const auto& name : table_names()) {
    INFO(name);
    const auto t = load_table(name);
    CHECK(standard_zoo().find_reference(t.reference) != nullptr);
    const auto rows = rows_of(t, standard_zoo());
    std::size_t records = 0;
    for (const auto& l : rows.left_out) records += l.rows;
    for (const auto& r : rows.rows) records += r.repeats;
    CHECK(records == t.data.rows());
    CHECK((t.measurand == nullptr) == !t.unpredicted.empty());
    if (t.measurand != nullptr) CHECK_FALSE(rows.rows.empty());
  }
}

TEST_CASE("tables: a definition that is damaged is read or refused", "[validation][fuzz]") {
  std::mt19937 random(3);
  const std::string whole = kDefinition;
  for (int i = 0; i < 3000; ++i) {
    auto text = whole;
    for (int n = 0; n < 3; ++n) {
      const auto at = random() % text.size();
      if (random() % 2 != 0)
        text.erase(at, random() % 6);
      else
        text.insert(at, 1, "{}[]:,\n x*"[random() % 10]);
    }
    try {
      (void)rows_of(sample("gpu,half,n,latency\nh,1,1,1\n", text), standard_zoo());
    } catch (const Error&) {
    }
  }
}

TEST_CASE("tables: a folder of whole tables replaces the sample that ships", "[validation]") {
  const std::string name = "kernels/aiconfigurator_gemm_bf16_b200";
  const auto sample = load_table(name, {}, {});
  CHECK(sample.sample_of == 11975);
  CHECK_FALSE(sample.whole);
  CHECK(sample.data.rows() <= 300);
  // What is missing is said, so that all records are accounted for.
  const auto result = validate(sample, standard_zoo(), Depth::ours);
  CHECK(result.records == 11975);
  REQUIRE(result.left_out.size() == 1);
  CHECK(result.left_out.front().rows == 11975 - sample.data.rows());

  const auto folder = std::filesystem::temp_directory_path() / "mlsysim_whole_tables";
  std::filesystem::create_directories(folder / "kernels");
  std::ofstream(folder / "kernels" / "aiconfigurator_gemm_bf16_b200.csv")
      << "n,m,k,latency_us,note\n64,128,4096,7.5,columns in another order\n";
  const auto whole = load_table(name, {}, folder);
  CHECK(whole.whole);
  CHECK(whole.data.rows() == 1);
  CHECK(validate(whole, standard_zoo(), Depth::ours).left_out.empty());
  // A folder without this table leaves the sample.
  CHECK_FALSE(load_table("kernels/aiconfigurator_gemm_fp8_b200", {}, folder).whole);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the record keeps a sample and its whole table apart", "[validation]") {
  const auto table = load_table("kernels/aiconfigurator_gemm_bf16_b200", {}, {});
  const auto sample = validate(table, standard_zoo(), Depth::ours);
  auto all = load_table(table.name, {}, {});
  all.whole = true;
  const auto whole = validate(all, standard_zoo(), Depth::ours);
  auto record = record_of(std::vector{sample, whole});
  REQUIRE(record.size() == 2);
  CHECK(record.begin()->first == "kernels/aiconfigurator_gemm_bf16_b200");
  const auto entry = record.find("kernels/aiconfigurator_gemm_bf16_b200@whole");
  REQUIRE(entry != record.end());
  CHECK(table_of_entry(entry->first) == table.name);
  // A whole table that got worse is no fault of a run that read the sample.
  entry->second.median = 0;
  CHECK(regressions(record, std::vector{sample}, RecordScope::all_tables).empty());
  CHECK(regressions(record, std::vector{whole}, RecordScope::all_tables).size() == 1);
}
