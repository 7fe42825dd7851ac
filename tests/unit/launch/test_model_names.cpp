// Names of checkpoints as hubs write them (tests/data/model_names.csv).
#include <support/catch.hpp>

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <string>

using namespace mlsysim;

TEST_CASE("the repository that is exported for an entry is read as that entry", "[launch]") {
  const Zoo& zoo = standard_zoo();
  const auto file = YAML::LoadFile(std::string(MLSYSIM_SOURCE_DIR) + "/zoo/launch/checkpoints.yaml");
  CHECK(file["repositories"].size() > 90);
  for (const auto& row : file["repositories"]) {
    const auto entry = row.first.as<std::string>(), repository = row.second.as<std::string>();
    INFO(repository);
    const auto* model = zoo.find<Workload>(detail::model_of(repository, zoo).entry);
    REQUIRE(model != nullptr);
    CHECK(model->name == entry);
  }
}

TEST_CASE("a checkpoint is the entry of its shape, or none", "[launch]") {
  std::ifstream in(std::string(MLSYSIM_SOURCE_DIR) + "/tests/data/model_names.csv");
  const Zoo& zoo = standard_zoo();
  std::size_t rows = 0, refused = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    ++rows;
    const auto comma = line.find(','), second = line.find(',', comma + 1);
    const auto name = line.substr(0, comma);
    const auto expected = line.substr(comma + 1, second == std::string::npos ? second : second - comma - 1);
    const auto format = second == std::string::npos ? "" : line.substr(second + 1);
    const auto found = detail::model_of(name, zoo);
    INFO(name);
    if (expected == "-") {
      ++refused;
      CHECK(found.entry.empty());
      continue;
    }
    const auto* model = zoo.find<Workload>(found.entry);
    REQUIRE(model != nullptr);
    CHECK(model->name == expected);
    CHECK(found.weight_format == format);
  }
  CHECK(rows > 2000);
  CHECK(rows - refused > 900);
}
