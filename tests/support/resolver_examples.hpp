#pragma once
// The resolvers of the catalogue and the examples of their pages.

#include <support/catch.hpp>

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/walls.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::test {

/// The resolvers that have walls: all but the laws.
inline std::vector<std::shared_ptr<const Resolver>> resolvers() {
  std::vector<std::shared_ptr<const Resolver>> out;
  const auto& all = ResolverRegistry::standard();
  for (const auto& name : all.names())
    if (auto r = all.share(name); !r->info().walls.empty()) out.push_back(std::move(r));
  return out;
}

/// `--key 'a value' --other 3` as pairs.
inline std::vector<std::pair<std::string, std::string>> arguments(std::string_view words) {
  std::vector<std::string> all;
  std::string word;
  bool quoted = false, open = false;
  for (const char c : words) {
    if (c == '\'') {
      quoted = !quoted;
      open = true;
    } else if (c == ' ' && !quoted) {
      if (open) all.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) all.push_back(word);
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    auto key = all[i].substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    out.emplace_back(std::move(key), all[i + 1]);
  }
  return out;
}

/// The example of a resolver's page, with some arguments left out or replaced.
inline Record example(const Resolver& r, const std::map<std::string, DynamicValue>& instead = {},
                      std::string_view without = {}) {
  FieldReader reader(standard_zoo());
  Record in(r, Side::inputs);
  for (const auto& [key, text] : arguments(example_of(r.info().name))) {
    const auto* f = find_field(r.inputs(), key);
    REQUIRE(f != nullptr);
    if (key != without && !instead.contains(key)) in.set(key, reader.read(*f, text));
  }
  for (const auto& [key, value] : instead) in.set(key, value);
  return in;
}

}  // namespace mlsysim::test
