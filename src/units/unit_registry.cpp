#include <mlsysim/units/unit_registry.hpp>

#include "detail/decimal.hpp"
#include "detail/unit_faults.hpp"
#include "detail/unit_reader.hpp"

#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlsysim {
namespace {

using detail::facts_of;
using detail::quoted;
using detail::UnitFault;

struct DecimalPrefix {
  char letter;
  int pow10;
};
constexpr DecimalPrefix kDecimal[] = {{'p', -12}, {'n', -9}, {'u', -6}, {'m', -3}, {'k', 3}, {'M', 6},
                                      {'G', 9},   {'T', 12}, {'P', 15}, {'E', 18}, {'Z', 21}};
constexpr std::string_view kBinary = "KMGTPE";

std::uint64_t hash(std::string_view text) {
  const auto h = detail::fnv1a(text);
  return h ^ (h >> 29);
}

bool whole(double x) { return x >= 1 && x <= 9007199254740992.0 && x == std::floor(x); }

bool well_formed(std::string_view spelling) {
  return !spelling.empty() && detail::starts_symbol(spelling[0]) &&
         std::all_of(spelling.begin(), spelling.end(), detail::continues_symbol);
}

[[noreturn]] void malformed(const UnitDef& unit, const std::string& expected) {
  throw UnitError(facts_of(UnitFault::malformed_unit, "unit " + quoted(unit.symbol), expected, ""));
}

}  // namespace

const UnitRegistry::Symbol* UnitRegistry::find(std::string_view spelling) const {
  if (slots_.empty()) return nullptr;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash(spelling) & mask; slots_[i] != 0; i = (i + 1) & mask) {
    const Symbol& s = symbols_[slots_[i] - 1];
    if (s.spelling == spelling) return &s;
  }
  return nullptr;
}

void UnitRegistry::insert(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  const auto place = [this](std::size_t index) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash(symbols_[index].spelling) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = static_cast<std::uint32_t>(index + 1);
  };
  if (symbols_.size() * 2 > slots_.size()) {
    slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), 0);
    for (std::size_t k = 0; k < symbols_.size(); ++k) place(k);
  } else {
    place(symbols_.size() - 1);
  }
}

void UnitRegistry::refuse_conflict(std::string_view spelling) const {
  const Symbol* old = find(spelling);
  std::string now = "a spelling of its own";
  if (old != nullptr) {
    if (old->kind == Kind::canonical) now = "a unit of dimension " + dimension_name(old->exps);
    if (old->kind == Kind::alias) now = "an alias of " + quoted(old->note);
    if (old->kind == Kind::refused) now = "refused: " + old->note;
  }
  throw UnitError(facts_of(UnitFault::taken, quoted(spelling) + ", which is already " + now,
                           "a free spelling", "choose another symbol; a unit is never redefined"));
}

void UnitRegistry::add(const UnitDef& unit) {
  if (std::find(units_.begin(), units_.end(), unit) != units_.end()) return;
  if (!well_formed(unit.symbol)) malformed(unit, "a symbol of letters, then letters and digits");
  if (!whole(unit.mul) || !whole(unit.div)) malformed(unit, "mul and div as whole numbers from 1 to 2^53");
  if (unit.meaning.empty()) malformed(unit, "a meaning of one line");
  const auto scale =
      detail::make_scale(static_cast<std::uint64_t>(unit.mul), static_cast<std::uint64_t>(unit.div), 0);

  std::vector<Symbol> fresh{{unit.symbol, Kind::canonical, unit.exps, scale, {}}};
  for (const char letter : unit.decimal) {
    const auto* p =
        std::find_if(std::begin(kDecimal), std::end(kDecimal), [&](auto x) { return x.letter == letter; });
    if (p == std::end(kDecimal)) malformed(unit, "decimal prefixes of 'pnumkMGTPEZ'");
    UnitScale s = scale;
    s.pow10 += p->pow10;
    fresh.push_back({letter + unit.symbol, Kind::canonical, unit.exps, s, {}});
  }
  for (const char letter : unit.binary) {
    const auto step = kBinary.find(letter);
    if (step == std::string_view::npos) malformed(unit, "binary prefixes of 'KMGTPE'");
    UnitScale s = scale;
    if (!detail::accumulate(s, {std::uint64_t{1} << (10 * (step + 1)), 1, 0}, 1))
      malformed(unit, "factors that fit into 60 bits");
    fresh.push_back({letter + ("i" + unit.symbol), Kind::canonical, unit.exps, s, {}});
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (find(fresh[i].spelling) != nullptr) refuse_conflict(fresh[i].spelling);
    for (std::size_t j = 0; j < i; ++j)
      if (fresh[j].spelling == fresh[i].spelling) malformed(unit, "each prefix once");
  }
  for (auto& symbol : fresh) insert(std::move(symbol));
  units_.push_back(unit);
}

void UnitRegistry::add_alias(const UnitAlias& alias) {
  const auto blank = alias.spelling.find(' ');
  const std::string_view spelling = alias.spelling;
  const bool legal = blank == std::string::npos
                         ? well_formed(spelling)
                         : well_formed(spelling.substr(0, blank)) && well_formed(spelling.substr(blank + 1));
  if (!legal)
    throw UnitError(facts_of(UnitFault::malformed_unit, "alias " + quoted(spelling),
                             "one word of letters and digits, or two with one blank between", ""));
  if (find(spelling) != nullptr) refuse_conflict(spelling);
  const UnitExpr target = parse_unit(alias.canonical);
  insert({alias.spelling, Kind::alias, target.exps, target.scale, target.spelling});
  aliases_.push_back({alias.spelling, target.spelling});
}

void UnitRegistry::add_refusal(const UnitRefusal& refusal) {
  if (!well_formed(refusal.spelling) || refusal.hint.empty())
    throw UnitError(facts_of(UnitFault::malformed_unit, "refusal of " + quoted(refusal.spelling),
                             "a symbol, and a hint that says what to write instead", ""));
  if (find(refusal.spelling) != nullptr) refuse_conflict(refusal.spelling);
  insert({refusal.spelling, Kind::refused, {}, {}, refusal.hint});
  refusals_.push_back(refusal);
}

std::vector<std::string> UnitRegistry::spellings() const {
  std::vector<std::string> out;
  for (const auto& s : symbols_)
    if (s.kind == Kind::canonical) out.push_back(s.spelling);
  return out;
}

std::string UnitRegistry::hint_for(std::string_view unknown) const {
  if (unknown == "per") return "write '/' for 'per'";
  // Wrong case is the commonest mistake, and edit distance alone drowns it in other two-letter units.
  std::vector<std::string> same;
  for (const auto& s : symbols_) {
    if (detail::lower(s.spelling) != detail::lower(unknown)) continue;
    if (s.kind == Kind::refused) return s.note;
    const auto& name = s.kind == Kind::alias ? s.note : s.spelling;
    if (std::find(same.begin(), same.end(), name) == same.end()) same.push_back(name);
  }
  if (!same.empty()) {
    std::string out = "units are case-sensitive: did you mean ";
    for (std::size_t i = 0; i < same.size(); ++i) out += (i > 0 ? " or '" : "'") + same[i] + "'";
    return out + "?";
  }
  if (unknown.size() >= 3) {
    // "TBs" and "TBps" are rates far more often than plurals.
    for (const std::string_view tail : {"ps", "s"}) {
      if (!unknown.ends_with(tail)) continue;
      const auto stem = unknown.substr(0, unknown.size() - tail.size());
      if (const Symbol* s = find(stem); s != nullptr && s->kind == Kind::canonical)
        return "did you mean '" + s->spelling + "/s' or '" + s->spelling + "'?";
    }
    const auto names = spellings();
    auto near = near_misses(unknown, names);
    std::erase_if(near, [&, best = near.empty() ? 0 : edit_distance(unknown, near[0])](
                            const std::string& name) { return edit_distance(unknown, name) > best; });
    if (!near.empty()) return did_you_mean(unknown, near);
  }
  return "'mlsysim units list', or spellings() of the units in Python and C++, lists the units and their "
         "prefixes";
}

}  // namespace mlsysim
