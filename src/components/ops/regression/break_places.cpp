#include <mlsysim/ops/regression/breaks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace mlsysim {
namespace {

constexpr std::string_view kPrefix = "break ";
constexpr std::string_view kUnlisted = "(no reason given)";

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// A place, and how many of its breaks are at which line.
struct Counted {
  BreakPlace place;
  std::map<int, double> lines;
};

/// Places by their key: model, type, file and function.
std::map<std::string, Counted> by_key(const CompileRecords& records) {
  std::map<std::string, Counted> out;
  const auto add = [&](const CompileRecord& r, BreakPlace place, double count) {
    place.model = r.model;
    const auto key = r.model + "\n" + place.type + "\n" + place.place.file + "\n" + place.place.function;
    const int line = place.place.line;
    auto& at = out.try_emplace(key, Counted{std::move(place), {}}).first->second;
    at.place.after += count;
    at.lines[line] += count;
  };
  for (const auto& r : records.records) {
    for (const auto& b : r.breaks)
      add(r,
          {.type = b.type,
           .category = b.category,
           .place = b.place(),
           .hint = b.hints.empty() ? "" : b.hints.front()},
          b.count);
    if (r.unlisted() > 0) add(r, {.type = std::string(kUnlisted)}, r.unlisted());
  }
  return out;
}

/// The line that gained or lost most: where a function has several, it is the one to look at.
int line_to_show(const std::map<int, double>& before, const std::map<int, double>& after) {
  auto change = after;
  for (const auto& [line, count] : before) change[line] -= count;
  const auto most = std::max_element(change.begin(), change.end(), [](const auto& a, const auto& b) {
    return std::pair(std::fabs(a.second), a.second) < std::pair(std::fabs(b.second), b.second);
  });
  // A line that moved is shown where it is now; where nothing changed, where it is.
  return most->second != 0 || after.empty() ? most->first : after.begin()->first;
}

double change(const BreakPlace& p) { return std::fabs(p.after - p.before); }

void totals(const CompileRecords& records, Time<>& time, double& graphs, std::set<std::string>& models) {
  for (const auto& r : records.records) {
    time = time + r.compile_time;
    graphs += r.graph_count;
    models.insert(r.model);
  }
}

}  // namespace

std::string BreakPlace::name() const {
  return fmt::format("{}{} at {} {}", kPrefix, type, place.file.empty() ? "no place" : file_name(place.file),
                     place.function);
}
std::string BreakPlace::shown() const {
  if (place.file.empty()) return type;
  return fmt::format("{}:{} ({})", file_name(place.file), place.line, name_of(category));
}

bool is_break_place(std::string_view input) { return input.starts_with(kPrefix); }

std::vector<BreakPlace> break_places(const CompileRecords& records) {
  std::vector<BreakPlace> out;
  for (auto& [key, at] : by_key(records)) out.push_back(std::move(at.place));
  std::stable_sort(out.begin(), out.end(),
                   [](const BreakPlace& a, const BreakPlace& b) { return a.after > b.after; });
  return out;
}

CompileDiff diff_of(const CompileRecords& before, const CompileRecords& after) {
  CompileDiff out;
  auto old = by_key(before);
  for (auto& [key, at] : by_key(after)) {
    auto place = std::move(at.place);
    if (const auto was = old.find(key); was != old.end()) {
      place.before = was->second.place.after;
      place.place.line = line_to_show(was->second.lines, at.lines);
      old.erase(was);
    } else {
      place.place.line = line_to_show({}, at.lines);
    }
    out.places.push_back(std::move(place));
  }
  for (auto& [key, at] : old) {
    at.place.place.line = line_to_show({}, at.lines);
    std::swap(at.place.before, at.place.after);
    out.places.push_back(std::move(at.place));
  }
  std::stable_sort(out.places.begin(), out.places.end(),
                   [](const BreakPlace& a, const BreakPlace& b) { return change(a) > change(b); });
  std::set<std::string> had, has;
  totals(before, out.compile_before, out.graphs_before, had);
  totals(after, out.compile_after, out.graphs_after, has);
  std::set_difference(had.begin(), had.end(), has.begin(), has.end(), std::back_inserter(out.only_before));
  std::set_difference(has.begin(), has.end(), had.begin(), had.end(), std::back_inserter(out.only_after));
  return out;
}

}  // namespace mlsysim
