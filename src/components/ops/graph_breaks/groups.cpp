#include <mlsysim/ops/graph_breaks/ingest.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace mlsysim {

std::vector<BreakGroup> groups_of(const CompileRecords& records, BreaksBy by) {
  struct Open {
    BreakGroup group;
    std::set<std::string> models;
    std::map<std::tuple<std::string, int, std::string>, double> places;
  };
  std::map<std::string, Open> groups;
  for (const auto& record : records.records)
    for (const auto& b : record.breaks) {
      const auto place = b.place();
      auto key = b.type;
      if (by == BreaksBy::place) key += "\n" + place.file + "\n" + std::to_string(place.line);
      auto& open = groups[key];
      if (open.group.count == 0) {
        open.group.type = b.type;
        open.group.gb_id = b.gb_id;
        open.group.category = b.category;
        if (!b.hints.empty()) open.group.hint = b.hints.front();
      }
      open.group.count += b.count;
      open.models.insert(record.model);
      open.places[{place.file, place.line, place.function}] += b.count;
    }
  std::vector<BreakGroup> out;
  for (auto& [key, open] : groups) {
    const auto most = std::max_element(open.places.begin(), open.places.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto& [file, line, function] = most->first;
    open.group.place = {file, line, function};
    open.group.models = static_cast<double>(open.models.size());
    out.push_back(std::move(open.group));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const BreakGroup& a, const BreakGroup& b) { return a.count > b.count; });
  return out;
}

}  // namespace mlsysim
