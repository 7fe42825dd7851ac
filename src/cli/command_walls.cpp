#include "command_resolver.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/walls.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace mlsysim::cli {

Answer walls_command(const std::string& number, const RenderOptions& options) {
  if (number.empty()) {
    Table t{.schema = "mlsysim/table@1",
            .title = "walls",
            .columns = {{"wall"}, {"name"}, {"domain"}, {"constraint"}, {"equation"}, {"resolvers"}}};
    for (const auto& w : walls())
      t.rows.push_back({fmt::format("{}", w.number), std::string(w.name), std::string(w.domain),
                        std::string(w.constraint), std::string(w.equation),
                        fmt::format("{}", fmt::join(resolvers_of_wall(w.number), ", "))});
    return {render(t, options)};
  }
  int n = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
  if (error != std::errc() || end != number.data() + number.size())
    throw InputError({.id = "mlsysim.cli.022",
                      .message = "a wall has a number",
                      .key = "N",
                      .found = fmt::format("'{}'", number),
                      .expected = "a number from 1 to 22",
                      .hint = "mlsysim walls lists them"});
  const Wall& w = wall(n);
  Table t{.schema = "mlsysim/table@1",
          .title = fmt::format("wall {}: {}", w.number, w.name),
          .columns = {{"what"}, {"text"}}};
  t.rows.push_back({"domain", std::string(w.domain)});
  t.rows.push_back({"constraint", std::string(w.constraint)});
  t.rows.push_back({"equation", std::string(w.equation)});
  for (const auto& name : resolvers_of_wall(n)) {
    const auto& info = ResolverRegistry::standard().at(name).info();
    t.rows.push_back({"resolver", fmt::format("{}: {}", name, info.about)});
    for (const auto& f : info.fallacies)
      t.rows.push_back({"fallacy", fmt::format("{} Instead: {}", f.misconception, f.correction)});
  }
  return {render(t, options)};
}

}  // namespace mlsysim::cli
