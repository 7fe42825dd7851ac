// Who gives a figure of a device.

#include <support/catch.hpp>

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/member.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace fill_test {
namespace {

const FigureRow& row(const char* path) { return *find_figure_row(path); }
Time<> us(double x) { return Time<>::from_base(x * 1e-6); }

/// Two classes, and a device that states nothing.
struct Silent {
  DeviceClass any, own;
  HardwareNode device;
  Conventions conventions = conventions_of(standard_zoo());

  Silent() {
    any.name = "any";
    any.kernels.launch = us(4);
    any.kernels.wave = us(1);
    own.name = "own";
    own.like = &any;
    own.rules = {{"kernels.attention_launch", "kernels.launch", 2.5}};
    device.name = "Mine";
    device.device_class = &own;
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
};

}  // namespace

TEST_CASE("a figure is the device's, its part's, the caller's or its class's, in this order", "[lowering]") {
  Silent s;
  const auto launch = [&] { return *filled(row("kernels.launch"), s.device, s.conventions); };
  CHECK(launch().base == Approx(4e-6));
  CHECK(launch().source() == "class any");

  DeviceClass caller;
  caller.kernels.launch = us(3);
  s.conventions.devices = &caller;
  CHECK(launch().base == Approx(3e-6));
  CHECK(launch().origin == FigureOrigin::caller);

  HardwareNode part;
  part.name = "Part";
  part.device_class = &s.own;
  part.kernels.launch = us(2);
  part.compute.units = 10;
  s.device.part = &part;
  s.device.accelerator_count = 8;
  CHECK(launch().base == Approx(2e-6));
  CHECK(launch().source() == "part Part");
  // What adds up over parts does.
  CHECK(filled(row("compute.units"), s.device, s.conventions)->base == 80);

  s.device.kernels.launch = us(1);
  CHECK(launch().base == Approx(1e-6));
  CHECK(launch().origin == FigureOrigin::stated);
}

TEST_CASE("a rule follows the figure that the device has", "[lowering]") {
  Silent s;
  const auto of_rule = [&] { return *filled(row("kernels.attention_launch"), s.device, s.conventions); };
  CHECK(of_rule().base == Approx(10e-6));
  CHECK(of_rule().source() == "class own: 2.5 x kernels.launch");
  s.device.kernels.launch = us(1);
  CHECK(of_rule().base == Approx(2.5e-6));

  // What takes cycles takes less time at a higher clock: 5000 of them at 2 GHz are 2.5 us.
  s.own.rules.push_back({"kernels.attention_block", "1 / compute.clock", 5000});
  s.device.compute.units = 4;
  CHECK_FALSE(filled(row("kernels.attention_block"), s.device, s.conventions));  // no clock is known
  s.any.compute.clock = Frequency<>::from_base(2e9);
  const auto block = [&] { return *filled(row("kernels.attention_block"), s.device, s.conventions); };
  CHECK(block().base == Approx(2.5e-6));
  CHECK(block().source() == "class own: 5000 x 1 / compute.clock");
  s.device.compute.clock = Frequency<>::from_base(4e9);
  CHECK(block().base == Approx(1.25e-6));

  s.own.rules.push_back({"kernels.split", "kernels.issue", 1});
  s.own.rules.push_back({"kernels.issue", "kernels.split", 1});
  CHECK_THROWS_WITH(filled(row("kernels.split"), s.device, s.conventions), ContainsSubstring("circle"));
}

TEST_CASE("constants of kernels are those measured on the device, else its class's, else its generation's",
          "[lowering]") {
  Silent s;
  KernelFamily family;
  Entry entry;
  entry.name = "Mine";
  s.conventions.products = &family;
  family.name = "kernels";
  family.carried = 2;
  family.generations = {{.devices = {"Mine"}}, {.generation = &s.any, .devices = {"Mine", "Other"}}};
  auto &alone = family.generations[0], &generation = family.generations[1];
  const auto split = [&] { return *filled(row("kernels.split"), s.device, s.conventions); };
  generation.rules = {{"kernels.split", "kernels.launch", 3}};
  CHECK(split().base == Approx(12e-6));
  CHECK(split().source() == "class any (kernels): 3 x kernels.launch");
  CHECK_FALSE(split().own());

  s.device.entry = &entry;
  CHECK(split().own());
  CHECK(split().base == Approx(12e-6));
  alone.kernels.split = us(7);
  CHECK(split().base == Approx(7e-6));
  CHECK(filled_by_class(row("kernels.split"), s.device, s.conventions)->base == Approx(12e-6));
  s.device.kernels.split = us(8);  // what a user states of a device of this name
  CHECK(split().base == Approx(8e-6));

  // Another device of the same die, one of the generation, and one whose class says otherwise.
  HardwareNode other = s.device, third;
  Entry name;
  name.name = "Twin";
  other.kernels.split.reset();
  other.entry = &name;
  s.device.kernels.split.reset();
  const auto of = [&](const HardwareNode& d) { return *filled(row("kernels.split"), d, s.conventions); };
  CHECK_FALSE(of(other).own());
  other.same_die = &s.device;
  CHECK(of(other).own());
  CHECK(of(other).base == Approx(7e-6));
  other.same_die = nullptr;
  s.own.kernels.split = us(9);
  CHECK(of(other).source() == "class own");
}

TEST_CASE("a constant that is carried to another device has a wider range", "[lowering]") {
  const Zoo& zoo = standard_zoo();
  const auto conventions = conventions_of(zoo);
  const auto range = [&](const char* device, const char* path) {
    return authored(*filled(row(path), zoo.at<HardwareNode>(device), conventions), row(path)).range;
  };
  const double carried = *zoo.at<KernelFamily>(kProducts).carried;
  REQUIRE(carried > 1);
  CHECK_FALSE(range("H100", "efficiency.matrix"));
  CHECK(range("H100_PCIe", "efficiency.matrix")->first == Approx(0.704 / carried));
  CHECK(range("H100_PCIe", "efficiency.matrix")->second == Approx(0.704 * carried));
  CHECK(range("H100_PCIe", "efficiency.attention")->second == 1);  // no share is above
  CHECK(range("H100", "efficiency.matrix_narrow")->first == Approx(0.54));
  CHECK(range("H200", "efficiency.matrix_narrow")->first == Approx(0.54));
  CHECK(range("V100", "efficiency.matrix")->first == Approx(0.5));
}

TEST_CASE("a rule of the zoo has the unit of its figure, and times of GPUs follow the clock", "[lowering]") {
  const Zoo& zoo = standard_zoo();
  const auto unit_of = [](const std::string& path) {
    const auto exps = [](const std::string& of) { return row(of.c_str()).type->inner().exps; };
    return path.starts_with("1 / ") ? exps(path.substr(4)) * -1 : exps(path);
  };
  const auto check = [&](const std::string& name, const std::vector<FigureRule>& rules) {
    for (const auto& rule : rules) {
      INFO(name << ": " << rule.figure);
      CHECK(unit_of(rule.of) == unit_of(rule.figure));
    }
  };
  for (const DeviceClass* c : zoo.all<DeviceClass>()) check(c->name, c->rules);
  for (const KernelFamily* f : zoo.all<KernelFamily>())
    for (const auto& constants : f->generations) check(f->name, constants.rules);
  // Measured kernels of three generations start after 5217, 5168 and 5109 cycles: a V100 at 1.53 GHz is taken
  // to need the 5170 / 1.53e9 = 3.4 us of its own clock, not the 2.6 us of a device at 1.98 GHz.
  const auto conventions = conventions_of(zoo);
  for (const auto& [name, clock] :
       {std::pair("V100", 1.53e9), {"RTX4090", 2.52e9}, {"JetsonThorT5000", 1.7e9}}) {
    const auto launch = *filled(row("kernels.launch"), zoo.at<HardwareNode>(name), conventions);
    INFO(name);
    CHECK(launch.origin == FigureOrigin::rule);
    CHECK(launch.base == Approx(5170 / clock));
  }
}

TEST_CASE("what belongs to units is nothing where they are not counted", "[lowering]") {
  Silent s;
  CHECK(filled(row("kernels.wave"), s.device, s.conventions)->base == 0);
  CHECK(filled(row("compute.units"), s.device, s.conventions)->base == 1);
  s.device.compute.units = 4;
  CHECK(filled(row("kernels.wave"), s.device, s.conventions)->base == Approx(1e-6));
}

TEST_CASE("a figure that nobody gives is an error that names device, path and class", "[lowering]") {
  const Silent s;
  Notes quiet;
  try {
    (void)needed_figure("efficiency.matrix", s.device, s.conventions, quiet);
    FAIL("it was given");
  } catch (const InputError& e) {
    CHECK_THAT(e.facts().message, ContainsSubstring("efficiency.matrix") && ContainsSubstring("Mine"));
    CHECK_THAT(e.facts().found, ContainsSubstring("own"));
  }
}

TEST_CASE("every figure of the view has the path of a figure of files", "[lowering]") {
  for (const auto& group : {"efficiency.", "kernels.", "tiles."})
    for (const auto& f : describe<Device<>>())
      if (f.name.starts_with(group)) {
        INFO(f.name);
        CHECK(find_figure_row(f.name) != nullptr);
      }
}

}  // namespace fill_test
