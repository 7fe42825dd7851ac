// Names of devices and nodes as they are written elsewhere (tests/data/device_names.csv).

#include "support/catch.hpp"

#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fstream>
#include <string>

using namespace mlsysim;

TEST_CASE("A device is found under the names that others give it", "[specs]") {
  std::ifstream in(std::string(MLSYSIM_SOURCE_DIR) + "/tests/data/device_names.csv");
  const Zoo& zoo = standard_zoo();
  std::size_t rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    ++rows;
    const auto comma = line.rfind(',');
    const auto text = line.substr(0, comma), expected = line.substr(comma + 1);
    std::vector<std::string> found;
    for (const auto* device : devices_called(zoo, text)) found.push_back(device->name);
    for (const auto* node : nodes_called(zoo, text)) found.push_back(node->name);
    std::string all;
    for (const auto& name : found) all += name + " ";
    INFO(text << " is taken for " << all);
    if (expected == "-")
      CHECK(found.empty());
    else if (expected == "?")
      CHECK(found.size() > 1);
    else
      CHECK((found.size() == 1 && found.front() == expected));
  }
  CHECK(rows > 110);
}

TEST_CASE("An entry is found under its own name, aliases and title", "[specs]") {
  const Zoo& zoo = standard_zoo();
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    const auto found = devices_called(zoo, device->name);
    INFO(device->name);
    CHECK(std::find(found.begin(), found.end(), device) != found.end());
  }
}

TEST_CASE("A slice has its share of the device", "[specs]") {
  const Zoo& zoo = standard_zoo();
  const auto& whole = zoo.at<HardwareNode>("A100");
  const auto slice = slice_called(zoo, "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
  REQUIRE(slice);
  CHECK(*slice->memory.capacity / *whole.memory.capacity == Approx(0.25));
  CHECK(*slice->memory.bandwidth / *whole.memory.bandwidth == Approx(0.25));
  CHECK(slice->compute.units == 28);
  CHECK(*slice->compute.dense[Precision::fp16] / *whole.compute.dense[Precision::fp16] == Approx(28.0 / 108));
  CHECK_FALSE(slice_called(zoo, "A100").has_value());
  CHECK_THROWS_AS(slice_called(zoo, "A100 9g.90gb"), LookupError);
  CHECK_THROWS_AS(slice_called(zoo, "T4 1g.10gb"), LookupError);
}
