#include <mlsysim/specs/releases.hpp>

#include <mlsysim/specs/zoo.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace mlsysim {
namespace {

/// Parts of a version between points, without a leading v.
std::vector<std::string_view> parts_of_version(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  std::vector<std::string_view> out;
  while (!version.empty()) {
    const auto point = std::min(version.find('.'), version.size());
    out.push_back(version.substr(0, point));
    version.remove_prefix(std::min(point + 1, version.size()));
  }
  return out;
}

/// Whether one of the two stands for the other: it is the same as far as it goes.
bool alike(std::string_view a, std::string_view b) {
  const auto x = parts_of_version(a), y = parts_of_version(b);
  const auto n = std::min(x.size(), y.size());
  return n > 0 && std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n), y.begin());
}

/// The number with which a part begins; 0 without one.
long leading(std::string_view part) {
  long number = 0;
  std::from_chars(part.data(), part.data() + part.size(), number);
  return number;
}

/// Whether version `a` comes before `b`. What is no number counts as the oldest.
bool older(std::string_view a, std::string_view b) {
  const auto x = parts_of_version(a), y = parts_of_version(b);
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                      [](auto p, auto q) { return leading(p) < leading(q); });
}

struct Known {
  std::string_view version;
  const ServingEngine* engine;
};

/// Releases of a family, the oldest first. A family may be named by an alias of its entry.
std::vector<Known> known_releases(const Zoo& zoo, std::string_view family) {
  if (const auto* named = zoo.find<ServingEngine>(family)) family = release_name(named->name).family;
  std::vector<Known> out;
  for (const auto* e : zoo.all<ServingEngine>()) {
    const auto own = release_name(e->name);
    if (own.family == family && !(own.version.empty() && e->version.empty()))
      out.push_back({own.version.empty() ? std::string_view(e->version) : own.version, e});
    if (e->entry == nullptr) continue;
    for (const auto& alias : e->entry->aliases)
      if (const auto other = release_name(alias); other.family == family && !other.version.empty())
        out.push_back({other.version, e});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Known& a, const Known& b) { return older(a.version, b.version); });
  return out;
}

const Known* match(const std::vector<Known>& known, std::string_view version) {
  const Known* found = nullptr;
  for (const auto& k : known)
    if (alike(k.version, version) && (found == nullptr || k.version.size() >= found->version.size()))
      found = &k;
  return found;
}

}  // namespace

ReleaseName release_name(std::string_view name) {
  const auto at = name.find('@');
  if (at == std::string_view::npos) return {name, {}};
  return {name.substr(0, at), name.substr(at + 1)};
}

std::vector<std::string> releases_of(const Zoo& zoo, std::string_view family) {
  std::vector<std::string> out;
  for (const auto& k : known_releases(zoo, family)) out.push_back(fmt::format("{}@{}", family, k.version));
  return out;
}

const ServingEngine* find_release(const Zoo& zoo, std::string_view name) {
  const auto asked = release_name(name);
  if (asked.version.empty()) return nullptr;
  const auto known = known_releases(zoo, asked.family);
  const auto* found = match(known, asked.version);
  return found == nullptr ? nullptr : found->engine;
}

Release release_or_nearest(const Zoo& zoo, std::string_view name) {
  if (const auto* exact = zoo.find<ServingEngine>(name)) return {exact, {}};
  const auto asked = release_name(name);
  const auto known = known_releases(zoo, asked.family);
  if (asked.version.empty() || known.empty())
    return {&zoo.at<ServingEngine>(name), {}};  // says what is known
  const Known* nearest = &known.front();
  for (const auto& k : known)
    if (!older(asked.version, k.version)) nearest = &k;
  return {nearest->engine,
          fmt::format("{} {} is not known: {}@{} stands in for it (known: {})", asked.family, asked.version,
                      asked.family, nearest->version, fmt::join(releases_of(zoo, asked.family), ", "))};
}

}  // namespace mlsysim
