#include "detail/row_disagreement.hpp"

#include "detail/result_text.hpp"
#include "detail/row_key.hpp"
#include "detail/whole_system.hpp"

#include <mlsysim/validation/report.hpp>

#include <fmt/format.h>

#include <array>

namespace mlsysim::detail {
namespace {

constexpr double kMostApart = 1.5;  // two measurements of the same work, one over the other

// How often work was repeated is no part of it.
constexpr std::array<std::string_view, 2> kNoWork{"repeats", "duration"};

std::string row_text(const FitRow& r, const MeasuredTable& table) {
  const auto& measurand = *r.measurand;
  return fmt::format("{} in {} ({})", shown_value(r.row->measured, measurand), table.name,
                     table.label(r.row->row));
}

}  // namespace

void refuse_disagreement(const std::vector<FitRow>& rows, std::span<const MeasuredTable> tables) {
  struct Extremes {
    const FitRow *least, *most;
  };
  std::map<std::string, Extremes> seen;
  for (const auto& r : rows) {
    if (is_whole_system(*r.measurand)) continue;
    auto key = std::string(r.measurand->name()) + ";" + row_key(*r.measurand, r.row->inputs.get(), kNoWork);
    if (r.row->busy) key += tables[r.table].name;  // bursts and sustained work differ, and may
    const auto [at, fresh] = seen.try_emplace(std::move(key), Extremes{&r, &r});
    auto& e = at->second;
    if (r.row->measured < e.least->row->measured) e.least = &r;
    if (r.row->measured > e.most->row->measured) e.most = &r;
    const double factor = e.most->row->measured / e.least->row->measured;
    if (factor <= kMostApart) continue;
    throw InputError(
        {.id = "mlsysim.validation.102",
         .message = fmt::format("two rows measured the same work and differ by a factor of {:.2f}", factor),
         .key = std::string(r.measurand->name()),
         .found = fmt::format("{} and {}", row_text(*e.least, tables[e.least->table]),
                              row_text(*e.most, tables[e.most->table])),
         .expected = fmt::format("measurements of one machine in one state, at most a factor of {} apart",
                                 kMostApart),
         .hint =
             "another program or a capped clock may be in one of them: measure again, leave a row out, or "
             "fit both with --force"});
  }
}

}  // namespace mlsysim::detail
