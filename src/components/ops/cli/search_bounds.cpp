#include "search_bounds.hpp"

#include "ranks.hpp"
#include "search_files.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(20);  // between looks at the states of others
constexpr std::string_view kShardWord = "{shard}";

/// Joins two parts: the lower value (on a tie the lower index), with the sums of both counts.
BoundedPart together(BoundedPart x, BoundedPart y) {
  if (y.value < x.value || (y.value == x.value && y.index < x.index)) std::swap(x, y);
  x.boxes += y.boxes;
  x.evaluated += y.evaluated;
  x.proven = x.proven && y.proven;
  return x;
}

/// Every digit of the value, and infinity as a word.
Json part_json(const BoundedPart& p) {
  return {{"value", fmt::format("{:a}", p.value)},
          {"index", p.index},
          {"boxes", p.boxes},
          {"evaluated", p.evaluated},
          {"proven", p.proven}};
}
/// @throws Json::exception for what part_json did not write
BoundedPart part_of(const Json& j) {
  const auto value = j.at("value").get<std::string>();
  char* end = nullptr;
  BoundedPart out{.value = std::strtod(value.c_str(), &end),
                  .index = j.at("index"),
                  .boxes = j.at("boxes"),
                  .evaluated = j.at("evaluated"),
                  .proven = j.at("proven")};
  if (value.empty() || *end != '\0' || std::isnan(out.value)) (void)Json(value).get<double>();  // throws
  return out;
}

std::string named(std::string pattern, std::uint64_t part) {
  pattern.replace(pattern.find(kShardWord), kShardWord.size(), fmt::format("{}", part));
  return pattern;
}

/// State of one part of a search. read_part() refuses the state of another space or question.
struct PartState {
  BoundedPart found;
  std::uint64_t part = 1, parts = 1;
};
PartState read_part(const std::string& path, const std::string& digest) {
  const Json j = read_state_file(path, kBoundedSchema);
  PartState out;
  std::string of;
  try {
    of = j.at("digest");
    out = {part_of(j.at("found")), j.at("part"), j.at("parts")};
  } catch (const Json::exception& e) {
    refuse_state_file(path, kBoundedSchema, e.what());
  }
  if (of != digest)
    throw InputError({.id = "mlsysim.cli.166",
                      .message = "a state of a shared search answers another question",
                      .key = path,
                      .found = fmt::format("'{}' with digest {}", path, of),
                      .expected = "digest " + digest,
                      .hint =
                          "plan, axes, objective, constraints, the zoo's figures and the version must be the "
                          "same: use a folder of its own for each search"});
  return out;
}

/// One task: its own state, and those of the others.
class StateShare {
 public:
  StateShare(const AskedSpace& s, std::string pattern, Shard shard, const Json& request)
      : pattern_(std::move(pattern)),
        shard_(shard),
        request_(request),
        digest_(digest_of(*s.space, s.question)) {}

  [[nodiscard]] std::string own() const { return named(pattern_, shard_.k); }

  void save(const BoundedPart& p) const {
    replace_state_file(own(), {{"schema", kBoundedSchema},
                               {"request", request_},
                               {"digest", digest_},
                               {"part", shard_.k},
                               {"parts", shard_.n},
                               {"found", part_json(p)}});
  }

  /// Says what this part has found, and hears what any other has; a value that was heard stays true.
  double operator()(double mine) {
    if (mine < said_) {
      said_ = mine;
      save({.value = mine});
    } else if (looked_ && Clock::now() - *looked_ < kLook) {
      return best_;
    }
    looked_ = Clock::now();
    for (std::uint64_t part = 1; part <= shard_.n; ++part) {
      std::error_code none;
      const auto path = named(pattern_, part);
      if (part == shard_.k || !std::filesystem::exists(path, none)) continue;
      best_ = std::min(best_, read_part(path, digest_).found.value);
    }
    best_ = std::min(best_, mine);
    return best_;
  }

  /// Reads the result of an earlier run of this part, from which the search resumes.
  [[nodiscard]] BoundedPart before() {
    const auto earlier = read_part(own(), digest_);
    if (earlier.part != shard_.k || earlier.parts != shard_.n)
      refuse_state_file(own(), kBoundedSchema,
                        fmt::format("part {} of {}, where part {} of {} is asked for", earlier.part,
                                    earlier.parts, shard_.k, shard_.n));
    best_ = earlier.found.value;
    return earlier.found;
  }

 private:
  std::string pattern_;
  Shard shard_;
  const Json& request_;
  std::string digest_;
  double said_ = HUGE_VAL, best_ = HUGE_VAL;
  std::optional<Clock::time_point> looked_;
};

}  // namespace

std::optional<BoundedPart> bounded_on_ranks(const AskedSpace& s, const ExploreOptions& how) {
  const auto& r = ranks();
  const auto own =
      bounded_part(*s.space, s.question, how, static_cast<std::uint64_t>(r.rank) + 1,
                   static_cast<std::uint64_t>(r.size), [&](double mine) { return r.least(mine); });
  const auto whole =
      joined_over_ranks(r, detail::json_text(part_json(own)), [](const std::string& a, const std::string& b) {
        return detail::json_text(part_json(together(part_of(Json::parse(a)), part_of(Json::parse(b)))));
      });
  if (r.rank != 0) return std::nullopt;
  return part_of(Json::parse(whole));
}

Answer bounded_with_states(const AskedSpace& s, const ExploreOptions& how, const SearchRequest& asked,
                           const std::string& pattern, const Json& request, const RenderOptions& options) {
  if (pattern.find(kShardWord) == std::string::npos)
    throw InputError(
        {.id = "mlsysim.cli.167",
         .message = "workers that share the best value need states that all of them can find",
         .key = "--state",
         .found = pattern.empty() ? "no --state" : fmt::format("'{}'", pattern),
         .expected = "a name with {shard}, in a folder that all workers see",
         .hint = "e.g. --state 'run/part-{shard}.json', and mlsysim merge run/part-*.json at the end; "
                 "or leave --strategy out: every point is looked at"});
  const auto shard = shard_of(asked.shard);
  StateShare share(s, pattern, shard, request);
  const bool resumes = goes_on_from_state(asked);
  const files::Lock lock(share.own());
  auto found = resumes ? share.before() : BoundedPart{.value = HUGE_VAL};
  if (!found.proven) {
    share.save({.value = found.value});
    found = bounded_part(*s.space, s.question, how, shard.k, shard.n, std::ref(share));
    share.save(found);
  }
  Answer out;
  if (options.format == OutputFormat::text) {
    out.payload = fmt::format(
        "part {} of {}{}: {} boxes bounded, {} points evaluated; mlsysim merge joins the parts\n", shard.k,
        shard.n, found.proven ? "" : ", which is not finished", found.boxes, found.evaluated);
  } else {
    Table t{.schema = "mlsysim/bounded-part@1",
            .title = s.space->title(),
            .columns = {{"state"}, {"part"}, {"parts"}, {"finished"}, {"boxes"}, {"evaluated"}}};
    t.rows.push_back({share.own(), static_cast<double>(shard.k), static_cast<double>(shard.n),
                      Value(found.proven), found.boxes, found.evaluated});
    out.payload = render(t, options);
  }
  if (found.proven) return out;
  out.exit = Exit::interrupted;
  out.diagnostics =
      "mlsysim: interrupted: the part is not finished; --resume begins it again with what is known\n";
  return out;
}

bool is_bounded_state(const std::string& path) {
  const Json j = Json::parse(files::read(path, "a state of a search"), nullptr, false);
  return j.is_object() && j.value("schema", Json()) == kBoundedSchema;
}

BoundedPart merged_bounds(const AskedSpace& s, const std::vector<std::string>& paths) {
  constexpr Fault kParts{.id = "mlsysim.cli.168",
                         .hint = "run what is missing with its --shard and --state --resume"};
  const auto digest = digest_of(*s.space, s.question);
  std::optional<BoundedPart> whole;
  std::uint64_t parts = 0;
  std::set<std::uint64_t> seen;
  for (const auto& path : paths) {
    const auto p = read_part(path, digest);
    if (parts != 0 && parts != p.parts)
      throw InputError(kParts, "the parts are of different numbers of workers", "merge",
                       fmt::format("{} and {}", parts, p.parts), "states of one run");
    parts = p.parts;
    if (!p.found.proven)
      throw InputError(kParts, "a part of a shared search is not finished", "merge", path, "a finished run");
    if (!seen.insert(p.part).second)
      throw InputError(kParts, "a part of a shared search is there twice", "merge",
                       fmt::format("part {}", p.part), "each part once");
    whole = whole ? together(*whole, p.found) : p.found;
  }
  if (!whole || seen.size() != parts)
    throw InputError(kParts, "a part of a shared search is missing", "merge",
                     fmt::format("{} parts", seen.size()), fmt::format("{}", parts));
  return *whole;
}

}  // namespace mlsysim::cli
