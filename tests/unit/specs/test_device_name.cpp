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
  CHECK(rows >= 200);
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
  CHECK(*slice->device.memory.capacity / *whole.memory.capacity == Approx(0.25));
  CHECK(*slice->device.memory.bandwidth / *whole.memory.bandwidth == Approx(0.25));
  CHECK(slice->device.compute.units == 28);
  CHECK(*slice->device.compute.dense[Precision::fp16] / *whole.compute.dense[Precision::fp16] ==
        Approx(28.0 / 108));
  CHECK_FALSE(slice_called(zoo, "A100").has_value());
  for (const char* none : {"A100 9g.90gb", "T4 1g.10gb", "2g.20gb"})  // several devices have the last
    CHECK_THROWS_WITH(slice_called(zoo, none), Catch::Matchers::Contains("mlsysim.spec.092"));
  // The profile tells the card of the chip; the media engines are no part of its rates.
  CHECK(slice_called(zoo, "A100 1g.5gb")->device.name == "A100_40GB 1g.5gb");
  CHECK(slice_called(zoo, "H100 1g.10gb+me")->device.name == "H100 1g.10gb");
  CHECK(slice_called(zoo, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")->device.name == "A100_40GB 1g.5gb");
  // What no source states of a slice is told with it.
  CHECK(slice->units_share == Approx(28.0 / 108));
  CHECK_THAT(slice->rule, Catch::Matchers::Contains("power, price and carbon"));
}

TEST_CASE("A slice of TPUs has its chips", "[specs]") {
  CHECK(chips_of_slice("v5litepod-8") == 8);
  CHECK(chips_of_slice("tpu-v6e-16") == 16);
  for (const char* of_cores : {"v2-8", "v3-8", "v4-8"}) CHECK(chips_of_slice(of_cores) == 4);
  CHECK(chips_of_slice("v5p-128") == 64);
  for (const char* other : {"H100", "TPU v4", "A100-80"}) CHECK(chips_of_slice(other) == 1);
}

TEST_CASE("Slices are parts of their devices", "[specs]") {
  const Zoo& zoo = standard_zoo();
  for (const char* name : {"A100", "A100_40GB", "A30", "H100", "H100_PCIe", "H200", "B200", "GH200"}) {
    const auto& whole = zoo.at<HardwareNode>(name);
    INFO(name);
    CHECK(whole.partition_profiles.size() >= 3);
    double largest = 0;
    for (const auto& p : whole.partition_profiles) {
      CHECK(*p.units <= *whole.compute.units);
      // As many slices as fill the units do not hold more memory than there is.
      CHECK(*p.memory <= *whole.memory.capacity);
      largest = std::max(largest, *p.memory / *whole.memory.capacity);
      CHECK(slice_called(zoo, std::string(name) + " " + p.name)->device.compute.units == p.units);
    }
    CHECK(largest == Approx(1));
  }
}

TEST_CASE("A count before or behind a machine is taken apart", "[specs]") {
  struct Case {
    const char* text;
    double count;
    const char* name;
  };
  for (const Case& c : {Case{"8xH100", 8, "H100"},
                        {"8 x H100", 8, "H100"},
                        {"H100x8", 8, "H100"},
                        {"8*H100", 8, "H100"},
                        {"16,384xH100", 16384, "H100"},
                        {"2x8xH100", 16, "H100"},
                        {"4xMI300X", 4, "MI300X"},
                        {"A100-80GB:8", 8, "A100-80GB"},
                        {"gpu_8x_h100_sxm5", 8, "h100_sxm5"},
                        {"MI300Xx4", 4, "MI300X"},
                        {"dual RTX 3090", 2, "RTX 3090"},
                        {"Quad A6000", 4, "A6000"},
                        {"a pair of H100", 2, "H100"},
                        {"8 H100", 8, "H100"},
                        {"RTX 3090 (x2)", 2, "RTX 3090"},
                        {"RTX 3090 (2x)", 2, "RTX 3090"},
                        {"MI300X (x4)", 4, "MI300X"}}) {
    INFO(c.text);
    const auto found = counted_machine(c.text);
    REQUIRE(found);
    CHECK(found->count == c.count);
    CHECK(found->name == c.name);
  }
  for (const char* none : {"H100", "MI300X", "8x", "x8", "x", "", "0xH100", "99999999xH100"})
    CHECK_FALSE(counted_machine(none));
  // A number may belong to the name.
  for (const char* none : {"7900 XTX", "4090", "3090 Ti", "6000 Ada", "M3 Max (40-core GPU)"}) {
    INFO(none);
    CHECK_FALSE(counted_machine(standard_zoo(), none));
  }
  CHECK(counted_machine(standard_zoo(), "8x NVIDIA H100s")->count == 8);
}
