#include <mlsysim/course/assignment.hpp>

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace mlsysim::course {
namespace {

namespace fs = std::filesystem;

/// Reads the files of a course; the first fault is thrown with its place.
class CourseReader {
 public:
  CourseReader(const fs::path& file, std::string_view schema, const std::vector<std::string>& keys)
      : doc_(YamlDocument::read(file)) {
    known(doc_.root(), keys);
    if (word(doc_.root(), "schema") != schema)
      fault(*doc_.root().find("schema"), "the file has another schema", word(doc_.root(), "schema"),
            std::string(schema));
  }

  [[nodiscard]] const YamlValue& root() const { return doc_.root(); }

  [[noreturn]] void fault(const YamlValue& at, std::string message, std::string found, std::string expected,
                          std::string hint = {}) const {
    throw InputError(doc_.placed({.id = "mlsysim.course.001",
                                  .message = std::move(message),
                                  .found = std::move(found),
                                  .expected = std::move(expected),
                                  .hint = std::move(hint)},
                                 at));
  }

  void known(const YamlValue& map, const std::vector<std::string>& keys) const {
    if (map.kind != YamlValue::Kind::map) fault(map, "this is no map", map.describe(), "keys and values");
    for (const auto& pair : map.pairs)
      if (std::find(keys.begin(), keys.end(), pair.key.text) == keys.end())
        fault(pair.key, "there is no such key", fmt::format("'{}'", pair.key.text),
              fmt::format("one of {}", fmt::join(keys, ", ")), did_you_mean(pair.key.text, keys));
  }

  [[nodiscard]] std::string text(const YamlValue& value) const {
    if (value.kind != YamlValue::Kind::scalar) fault(value, "this is no text", value.describe(), "a text");
    return value.text;
  }
  [[nodiscard]] std::string word(const YamlValue& map, std::string_view key) const {
    const auto* value = map.find(key);
    if (value == nullptr) fault(map, fmt::format("'{}' is missing", key), "nothing", "a text");
    return text(*value);
  }
  [[nodiscard]] std::string word_or(const YamlValue& map, std::string_view key, std::string other) const {
    const auto* value = map.find(key);
    return value == nullptr ? std::move(other) : text(*value);
  }
  [[nodiscard]] double number_or(const YamlValue& map, std::string_view key, double other) const {
    const auto* value = map.find(key);
    if (value == nullptr) return other;
    const auto written = text(*value);
    double number = 0;
    const auto end = written.data() + written.size();
    if (std::from_chars(written.data(), end, number).ptr != end || !(number > 0))
      fault(*value, fmt::format("'{}' is no number", key), fmt::format("'{}'", written), "a number above 0");
    return number;
  }
  /// A text, or a list of them.
  [[nodiscard]] std::vector<std::string> words(const YamlValue& map, std::string_view key) const {
    const auto* value = map.find(key);
    if (value == nullptr) return {};
    if (value->kind == YamlValue::Kind::scalar) return {value->text};
    if (value->kind != YamlValue::Kind::sequence || value->items.empty())
      fault(*value, fmt::format("'{}' is no list", key), value->describe(), "a text or a list of texts");
    std::vector<std::string> out;
    for (const auto& item : value->items) out.push_back(text(item));
    return out;
  }
  [[nodiscard]] NamedTexts named(const YamlValue& map, std::string_view key) const {
    const auto* value = map.find(key);
    if (value == nullptr) return {};
    if (value->kind != YamlValue::Kind::map)
      fault(*value, fmt::format("'{}' is no map", key), value->describe(), "names and values");
    NamedTexts out;
    for (const auto& pair : value->pairs) out.emplace_back(pair.key.text, text(pair.value));
    return out;
  }

 private:
  YamlDocument doc_;
};

CheckSpec check_of(const CourseReader& in, const YamlValue& item) {
  in.known(item, {"name", "run", "inputs", "expect", "times", "gives", "tier", "refuses", "infeasible", "kit",
                  "tolerance", "points", "hint"});
  CheckSpec check{.name = in.word(item, "name"),
                  .stages = in.words(item, "run"),
                  .inputs = in.named(item, "inputs"),
                  .expect = in.named(item, "expect"),
                  .times = in.named(item, "times"),
                  .gives = in.named(item, "gives"),
                  .tier = in.word_or(item, "tier", ""),
                  .refuses = in.words(item, "refuses"),
                  .infeasible = in.words(item, "infeasible"),
                  .kit = in.word_or(item, "kit", "false") == "true",
                  .tolerance = in.number_or(item, "tolerance", 1e-6),
                  .points = in.number_or(item, "points", 1),
                  .hint = in.word_or(item, "hint", "")};
  const bool asks = !check.expect.empty() || !check.gives.empty() || !check.refuses.empty() ||
                    !check.infeasible.empty() || !check.tier.empty();
  if (check.kit == asks || check.kit != check.stages.empty())
    in.fault(item,
             fmt::format("the check '{}' asks for nothing, or for a call and the kit at once", check.name),
             "", "'kit: true' alone, or 'run' with one of expect, gives, tier, refuses, infeasible");
  if (check.gives.empty() != check.times.empty())
    in.fault(item, fmt::format("the check '{}' has one of 'times' and 'gives'", check.name), "one",
             "both: factors on inputs, and on results");
  return check;
}

}  // namespace

Assignment read_assignment(const fs::path& folder) {
  const CourseReader in(folder / "checks.yaml", "mlsysim/assignment@1",
                        {"schema", "title", "space", "checks"});
  Assignment out{.folder = folder,
                 .name = folder.lexically_normal().filename().string(),
                 .title = in.word(in.root(), "title"),
                 .space = in.word_or(in.root(), "space", "course"),
                 .checks = {}};
  const auto* checks = in.root().find("checks");
  if (checks == nullptr || checks->kind != YamlValue::Kind::sequence || checks->items.empty())
    in.fault(checks == nullptr ? in.root() : *checks, "an assignment has checks", "none", "a list of checks");
  for (const auto& item : checks->items) out.checks.push_back(check_of(in, item));
  return out;
}

Submission read_submission(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(folder / "submission.yaml", failed))
    for (const auto& inner : fs::directory_iterator(folder, failed))
      if (fs::exists(inner.path() / "submission.yaml", failed))
        throw InputError({.id = "mlsysim.course.010",
                          .message = "this folder holds submissions and is none",
                          .found = fmt::format("{} without submission.yaml", folder.string()),
                          .expected = "a folder with submission.yaml, or several",
                          .hint = fmt::format("mlsysim course check {}", (folder / "*").string())});
  const CourseReader in(folder / "submission.yaml", "mlsysim/submission@1",
                        {"schema", "assignment", "language", "file"});
  Submission out{.folder = folder,
                 .assignment = in.word(in.root(), "assignment"),
                 .language = in.word(in.root(), "language"),
                 .file = in.word(in.root(), "file")};
  if (out.language != "cpp" && out.language != "python")
    in.fault(*in.root().find("language"), "a submission has no such language",
             fmt::format("'{}'", out.language), "cpp or python");
  return out;
}

std::vector<fs::path> assignments_of(const fs::path& course) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(course, failed))
    if (fs::exists(entry.path() / "checks.yaml", failed)) out.push_back(entry.path());
  if (out.empty())
    throw InputError({.id = "mlsysim.course.002",
                      .message = "there is no course",
                      .key = "--course",
                      .found = fmt::format("'{}'", course.generic_string()),
                      .expected = "a folder whose folders have a checks.yaml",
                      .hint = "examples/course of the sources is one"});
  std::sort(out.begin(), out.end());
  return out;
}

fs::path course_of(const Submission& submission, const fs::path& given, const fs::path& installed) {
  std::error_code failed;
  const auto has = [&](const fs::path& course) {
    return fs::exists(course / submission.assignment / "checks.yaml", failed);
  };
  std::vector<fs::path> places;
  if (!given.empty()) {
    places.push_back(given);
  } else {
    for (auto at = fs::absolute(submission.folder).lexically_normal(); at != at.root_path();
         at = at.parent_path())
      places.push_back(at);
    if (!installed.empty()) places.push_back(installed);
  }
  for (const auto& place : places)
    if (has(place)) return place;
  std::vector<std::string> names;
  const auto last = places.empty() ? fs::path() : places.back();
  for (const auto& entry : fs::directory_iterator(last, failed))
    if (fs::exists(entry.path() / "checks.yaml", failed)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  throw LookupError({.id = "mlsysim.course.003",
                     .message = fmt::format("there is no assignment '{}'", submission.assignment),
                     .key = "assignment",
                     .found = given.empty() ? "none above the submission, and none that is installed"
                                            : fmt::format("none in '{}'", given.generic_string()),
                     .expected = names.empty() ? "a folder of that name with a checks.yaml"
                                               : fmt::format("one of {}", fmt::join(names, ", ")),
                     .hint = "--course names the folder of the course"});
}

}  // namespace mlsysim::course
