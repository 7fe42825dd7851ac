#include "detail/settings.hpp"

#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim::detail {

namespace {

/// Findings up to which an unknown flag is compared with those of the table: a file of many takes no more
/// time for each.
constexpr std::size_t kSuggested = 64;
constexpr int kSlip = 2;  // letters by which a flag may differ from one of the table for that one to be meant

std::optional<bool> truth(std::string_view text) {
  const auto word = lower(text);
  if (word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off") return false;
  return std::nullopt;
}

/// Words by which a launch leaves a choice to its engine.
bool left_open(std::string_view value) { return value == "auto" || value == "null" || value == "None"; }

}  // namespace

std::optional<double> number_of(std::string_view text) {
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (plain.empty() || plain.size() > 40) return std::nullopt;
  double factor = 1;
  static constexpr std::string_view small = "kmgt", large = "KMGT";
  if (const auto at = small.find(plain.back()); at != std::string_view::npos)
    factor = std::pow(1000.0, static_cast<double>(at + 1));
  else if (const auto big = large.find(plain.back()); big != std::string_view::npos)
    factor = std::pow(1024.0, static_cast<double>(big + 1));
  if (factor != 1) plain.pop_back();
  if (plain.empty() || plain.find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  double value = 0;
  const auto* end = plain.data() + plain.size();
  const auto* begin = plain.data() + (plain[0] == '+' ? 1 : 0);
  const auto [stop, fault] = std::from_chars(begin, end, value);
  if (fault != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value * factor;
}

std::string count_text(double x) { return fmt::format("{}", x); }

void Settings::check(const FlagRow& row, const Given& given, std::string& value) const {
  const char* expected = nullptr;
  switch (row.takes) {
    case Takes::count:
    case Takes::number:
    case Takes::share:
    case Takes::bytes: {
      const auto x = number_of(value);
      if (row.takes == Takes::count && !(x && *x >= 1 && *x <= 1e15 && std::floor(*x) == *x))
        expected = "a whole number, at least 1";
      else if (!x)
        expected = "a number";
      else if (row.takes == Takes::share && !(*x > 0 && *x <= 1))
        expected = "a share: more than 0, 1 at most";
      else if (row.takes == Takes::bytes && !(*x > 0))
        expected = "bytes, more than 0";
      else
        value = count_text(*x);
      break;
    }
    case Takes::toggle:
    case Takes::switched: {
      const auto t = truth(value);
      if (t)
        value = *t ? "true" : "false";
      else
        expected = "true or false";
      break;
    }
    default:
      break;
  }
  if (expected == nullptr) return;
  throw InputError({.id = "mlsysim.launch.006",
                    .message = fmt::format("'{}' has a value of another kind", row.flag),
                    .key = row.flag,
                    .found = fmt::format("'{}'", given.value.substr(0, 80)),
                    .expected = expected,
                    .hint = given.value.find("$(") != std::string::npos
                                ? "write its number in place of $(...)"
                            : given.value.find('$') != std::string::npos
                                ? "write the value of the variable in front: NAME=value"
                                : "mend the value",
                    .where = given.where});
}

void Settings::put(const FlagRow& row, const Given& given) {
  FlagFinding finding{
      .flag = row.flag, .value = given.value, .use = row.use, .what = row.why, .where = given.where};
  if (!given.has_value && finding.value.empty()) finding.value = "true";
  auto value = finding.value;
  const auto meant = row.means.find(value);
  const bool open = meant == row.means.end() ? left_open(value) : meant->second == "auto";
  if (open && row.use != FlagUse::ignored && row.flag != "cuda_graph_config") {
    finding.use = FlagUse::ignored;
    finding.what = "left to the engine";
    findings_->push_back(std::move(finding));
    return;
  }
  // torchrun starts with the fewest machines of a range: "1:4".
  const bool range = row.sets == "nodes" && value.find(':') != std::string::npos;
  if (range) value.resize(value.find(':'));
  if (!open && meant == row.means.end()) check(row, {row.flag, value, given.where}, value);
  if (row.use == FlagUse::contradicts &&
      std::find(row.unless.begin(), row.unless.end(), value) != row.unless.end()) {
    finding.use = FlagUse::ignored;
    finding.what = "as the plan assumes: " + row.why;
  }
  if (row.sets.empty()) {
    if (finding.what.empty()) return;  // a container whose parts are read
    findings_->push_back(std::move(finding));
    return;
  }
  if (const auto ours = row.means.find(value); ours != row.means.end()) value = ours->second;
  if (const auto before = values_.find(row.sets); before != values_.end()) {
    auto& earlier = (*findings_)[before->second.finding];
    earlier.use = FlagUse::ignored;
    earlier.what = "given again, and the last one counts";
  }
  finding.what = meaning_of(row.sets);
  if (range) finding.what += ", the fewest of a range";
  values_[row.sets] = {std::move(value), findings_->size()};
  findings_->push_back(std::move(finding));
}

void Settings::put_unknown(const Given& given, std::string_view remark) {
  auto why = fmt::format("not in the table of {} {}", table_->engine, table_->version);
  if (findings_->size() < kSuggested) {
    std::vector<std::string> flags;
    for (const auto& row : table_->rows()) flags.push_back(row.flag);
    if (const auto near = near_misses(given.key, flags, 1);
        !near.empty() && edit_distance(given.key, near[0]) <= kSlip)
      why += fmt::format("; did you mean '{}'?", near[0]);
  }
  if (!remark.empty()) why += fmt::format("; {}", remark);
  findings_->push_back({given.key, given.value, FlagUse::ignored, std::move(why), given.where});
}

void Settings::put_ignored(const FlagRow& row, const Given& given, std::string_view why) {
  findings_->push_back({row.flag, given.value, FlagUse::ignored, std::string(why), given.where});
}

const Settings::Held* Settings::held(std::string_view quantity) const {
  read_.emplace(quantity);
  const auto at = values_.find(quantity);
  return at == values_.end() ? nullptr : &at->second;
}

std::optional<double> Settings::number(std::string_view quantity) const {
  const Held* h = held(quantity);
  return h == nullptr ? std::nullopt : number_of(h->text);
}

const FlagDefault* Settings::usual(std::string_view quantity, const HardwareNode* device) const {
  for (const auto& d : table_->defaults()) {
    if (d.sets != quantity || (!d.when.empty() && !on(d.when)) || !concerns(d, device)) continue;
    return &d;
  }
  return nullptr;
}

double Settings::number_or_usual(std::string_view quantity) const {
  if (const auto given = number(quantity)) return *given;
  const FlagDefault* d = usual(quantity);
  if (d == nullptr)
    throw InputError({.id = "mlsysim.launch.014",
                      .message = "the table of flags is not well formed",
                      .key = std::string(quantity),
                      .found = fmt::format("no default of '{}'", quantity),
                      .expected = "one below 'defaults'",
                      .hint = fmt::format("add it to the table of {}", table_->engine)});
  if (d->of.empty()) return d->value;
  return std::floor(d->value * number_or(d->of, 0) / d->multiple) * d->multiple;
}

std::optional<bool> Settings::flag(std::string_view quantity) const {
  const Held* h = held(quantity);
  return h == nullptr ? std::nullopt : truth(h->text);
}

std::string Settings::text(std::string_view quantity) const {
  const Held* h = held(quantity);
  return h == nullptr ? std::string() : h->text;
}

void Settings::finish() {
  for (const auto& [quantity, h] : values_) {
    if (read_.contains(quantity)) continue;
    auto& finding = (*findings_)[h.finding];
    finding.use = FlagUse::ignored;
    finding.what += ": no part of such a plan";
  }
}

std::string Settings::given(std::string_view quantity) const {
  const auto* h = held(quantity);
  return h == nullptr ? "" : (*findings_)[h->finding].value;
}

Location Settings::where(std::string_view quantity) const {
  const auto at = values_.find(quantity);
  return at == values_.end() ? Location() : (*findings_)[at->second.finding].where;
}

std::string Settings::flag_name(std::string_view quantity) const {
  const auto at = values_.find(quantity);
  return at == values_.end() ? std::string(quantity) : (*findings_)[at->second.finding].flag;
}

void Settings::forget(std::string_view quantity) {
  if (const auto at = values_.find(quantity); at != values_.end()) values_.erase(at);
}

void Settings::end(std::string_view quantity, FlagUse use, std::string why) {
  const auto at = values_.find(quantity);
  if (at == values_.end()) return;
  auto& finding = (*findings_)[at->second.finding];
  finding.use = use;
  finding.what = std::move(why);
}

void Settings::clash(std::string_view quantity, std::string message, std::string found,
                     std::string expected) const {
  throw InputError({.id = "mlsysim.launch.015",
                    .message = std::move(message),
                    .key = flag_name(quantity),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = "change one of the flags, as the engine would refuse them too",
                    .where = where(quantity)});
}

}  // namespace mlsysim::detail
