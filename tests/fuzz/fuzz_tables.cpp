/// Fuzzes definitions of measured tables. Whatever the bytes, only mlsysim::Error is thrown, every refusal
/// has an id and words, and the rows of a table that was read are compared or left out with a reason, none
/// lost.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds: fuzz_tables [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"

#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using fuzz::fail;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A definition of the zoo, whose data every case is read against.
const std::string kTable = FUZZ_VALIDATION "/collectives/allreduce_aws_v100_a100_multinode";

CsvTable data() {
  static const auto bytes = text_of(kTable + ".csv");
  return CsvTable::parse(bytes, "data.csv");
}

bool check(const std::string& text) {
  std::optional<MeasuredTable> read;
  if (!fuzz::takes(
          text, [&] { read = parse_table(text, "fuzz", data()); }, "fuzz"))
    return false;
  return fuzz::takes(text, [&] {
    const auto& table = *read;
    const auto rows = rows_of(table, standard_zoo());
    if (table.measurand != nullptr && !table.median_of_repeats &&
        rows.rows.size() + rows.left_out.size() > table.data.rows())
      fail("more rows than the file has", text);
    for (const auto& out : rows.left_out)
      if (out.reason.empty()) fail("a row is left out without a reason", text);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  check(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
int main(int argc, char** argv) {
  static const std::vector<std::string> seeds{text_of(kTable + ".yaml")};
  static const std::vector<std::string> pieces{":",        "{",        "}",     "[",       "]",
                                               ",",        "\n",       "- ",    "inputs:", "where:",
                                               "scale: 2", "unit: ms", "1e308", "-1",      "0",
                                               "nan",      "'",        "\"",    "&a",      "*a",
                                               "!!str",    "\t",       "\xC3",  "model",   "labels: [model]"};
  return mlsysim::fuzz::run(argc, argv, 3000, {seeds, pieces}, check);
}
#endif
