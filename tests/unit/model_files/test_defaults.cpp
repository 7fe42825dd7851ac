// The table of defaults against the classes of the library that most files are written for.

#include "model_files/detail/keys.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace mlsysim;

namespace {

struct DefaultRow {
  std::string type, field, file;  ///< file empty: of the class itself
  double value;
};

std::vector<DefaultRow> rows() {
  std::ifstream in(std::filesystem::path(MLSYSIM_SOURCE_DIR) /
                   "tests/data/model_files/transformers_defaults.csv");
  std::vector<DefaultRow> out;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with('#') || line.starts_with("type,")) continue;
    std::stringstream cells(line);
    std::string type, field, key, value, file;
    std::getline(cells, type, ',');
    std::getline(cells, field, ',');
    std::getline(cells, key, ',');
    std::getline(cells, value, ',');
    std::getline(cells, file, ',');
    out.push_back({type, field, file, std::stod(value)});
  }
  return out;
}

/// What a silent file leaves to its class and the reader need not take from the table, and why.
struct Otherwise {
  const char *type, *field, *why;
};
constexpr std::array kOtherwise{
    Otherwise{"llama", "head_dim", "hidden by heads"},
    Otherwise{"deepseek_v3", "head_dim", "latent heads state their own widths"},
    Otherwise{"deepseek_v32", "head_dim", "latent heads state their own widths"},
    Otherwise{"kimi_linear", "head_dim", "latent heads state their own widths"},
    Otherwise{"kimi_linear", "linear_conv", "the file states it in a section of its own"},
    Otherwise{"glm5_next_text", "linear_conv", "the file states it in a section of its own"},
    Otherwise{"deepseek_v4", "width", "every layer has experts"},
    Otherwise{"nemotron_h", "drafts", "none"},
    Otherwise{"nemotron_h", "experts", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "expert_groups", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "limited_groups", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "moe_width", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "shared", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "shared_width", "its pattern has no layer with experts"},
    Otherwise{"nemotron_h", "top_k", "its pattern has no layer with experts"},
    Otherwise{"qwen3_vl_moe_text", "tied", "the class around it says no"},
};
bool is_otherwise(const DefaultRow& r) {
  return std::any_of(kOtherwise.begin(), kOtherwise.end(),
                     [&](const Otherwise& o) { return r.type == o.type && r.field == o.field; });
}

}  // namespace

TEST_CASE("defaults are those of the classes of the library", "[model_files]") {
  const auto all = rows();
  REQUIRE(all.size() > 60);
  for (const auto& r : all) {
    INFO(r.type << " " << r.field << " " << r.file);
    if (is_otherwise(r)) continue;
    if (r.field == "tied") {
      const auto* family = detail::family_of(r.type);
      REQUIRE(family != nullptr);
      CHECK(family->has(detail::tied) == (r.value == 1));
    } else if (r.value != 0 || !r.file.empty()) {
      const auto known = detail::default_of(r.type, r.field);
      if (known || r.value != 0) {
        REQUIRE(known);  // a class has a default that neither the table nor the list above knows
        CHECK(*known == r.value);
      }
    }
  }
}

TEST_CASE("every row that is explained occurs", "[model_files]") {
  const auto all = rows();
  for (const auto& o : kOtherwise)
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const DefaultRow& r) { return r.type == o.type && r.field == o.field; }));
}
