// Every class that keys.cpp knows by name against what the library makes of the same configuration
// (tests/data/model_files/class_counts.py, which builds the models without weights).

#include "model_files/detail/keys.hpp"
#include "support/catch.hpp"

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace mlsysim;

namespace {

nlohmann::json class_rows() {
  std::ifstream in(std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/model_files/class_counts.json");
  return nlohmann::json::parse(in)["rows"];
}

double weights_of(const Workload& w) { return parameter_count(w).base(); }

}  // namespace

TEST_CASE("A configuration has as many weights as the library makes of it", "[model_files]") {
  for (const auto& row : class_rows()) {
    const auto& config = row["config"];
    const auto type = config["model_type"].get<std::string>();
    CAPTURE(type, config["architectures"][0].get<std::string>());
    const auto m = read_config({.config = config.dump()}, "config.json");
    const auto* family = detail::family_of(type);
    REQUIRE(family != nullptr);
    const bool decoder = !family->has(detail::encoder) && !family->has(detail::crossed);
    // Encoders end in heads of a few rows and norms that are not told apart.
    const double expected = row["parameters"].get<double>();
    CHECK(weights_of(m.workload) == Approx(expected).epsilon(decoder ? 1e-9 : 1e-3));
    const auto read_as = m.workload.architecture;
    CHECK((read_as == Architecture::decoder || read_as == Architecture::ssm) == decoder);
    CHECK(m.entry.guess.empty());
  }
}

TEST_CASE("A class that is not known is a guess, and nothing is said of it", "[model_files]") {
  const auto m =
      read_config({.config = R"({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128})"},
                  "config.json");
  for (const auto& note : m.notes) CHECK(note.find("as brand_new has it") == std::string::npos);
  // What is a guess is a member of the entry, and stays one when it is written and read again.
  CHECK_FALSE(m.entry.guess.empty());
  const Zoo zoo = load_text(model_file_yaml(m), "written", standard_zoo());
  CHECK(zoo.only<Workload>().entry->guess == m.entry.guess);
  CHECK(m.workload.main()->output.tied);  // as the library takes it
}

TEST_CASE("A class whose structure cannot be stated is refused", "[model_files]") {
  for (const char* type : {"albert", "rwkv"})
    CHECK_THROWS_WITH(
        read_config(
            {.config = std::string(R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "vocab_size": 100, "intermediate_size": 128, "model_type": ")") +
                       type + "\"}"},
            "config.json"),
        Catch::Matchers::Contains("mlsysim.model_files.024"));
}
