#include "detail/read_context.hpp"

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

std::vector<std::string> reference_keys(const ReadContext& ctx) {
  std::vector<std::string> keys;
  for (const auto* r : ctx.zoo.references()) keys.push_back(r->key);
  if (ctx.base != nullptr)
    for (const auto* r : ctx.base->references()) keys.push_back(r->key);
  return keys;
}

/// The near miss, and what else one may do about a reference that is not there.
std::string or_how_to_add(const std::string& near) {
  const std::string_view how =
      "add the work to references.yaml of your folder, as those of zoo/references.yaml; 'kind: illustrative' "
      "with a note "
      "needs none";
  return near.empty() ? std::string(how) : near + " or " + std::string(how);
}

void check_reference(ReadContext& ctx, NodeRef node, const std::string& path, const std::string& key) {
  if (ctx.find_reference(key) != nullptr) return;
  ctx.fault(ZooFault::unknown_reference, node,
            {.message = fmt::format("'{}' cites an unknown reference", path),
             .key = path,
             .found = quoted_text(key),
             .expected = "a key of references.yaml",
             .hint = or_how_to_add(did_you_mean(key, reference_keys(ctx)))});
}

/// Kinds that need no cited work: a judgment, explained in a note or formula.
bool may_stand_alone(SourceKind kind) {
  return kind == SourceKind::convention || kind == SourceKind::estimate || kind == SourceKind::illustrative ||
         kind == SourceKind::heuristic || kind == SourceKind::derived;
}

std::string read_date(ReadContext& ctx, NodeRef node, const std::string& path) {
  if (node.is_scalar() && valid_date(node.text())) return std::string(node.text());
  ctx.fault(ZooFault::bad_date, node,
            {.message = fmt::format("'{}' is no date", path),
             .key = path,
             .found = node.describe(),
             .expected = "a date of the calendar, YYYY-MM-DD",
             .hint = "write, e.g., 2026-03-06"});
  return {};
}

void read_decisions(ReadContext& ctx, NodeRef list) {
  if (!expect_kind(ctx, list, NodeKind::sequence, "decisions", "- {field: ..., took: ..., why: ...}")) return;
  static const std::vector<std::string> known{"field", "took", "instead_of", "alternative",
                                              "why",   "ref",  "confidence"};
  list.for_each_item([&](NodeRef map) {
    const auto path = fmt::format("decisions[{}]", ctx.entry.decisions.size());
    if (!expect_kind(ctx, map, NodeKind::map, path, "{field: ..., took: ..., why: ...}")) return;
    refuse_unknown_keys(ctx, map, path + ".", known);
    Decision d;
    const auto text = [&](const char* key, std::string& out) {
      if (const auto node = map.find(key))
        if (auto t = read_text(ctx, *node, path + "." + key)) out = std::move(*t);
    };
    text("field", d.field);
    text("instead_of", d.instead_of);
    text("alternative", d.alternative);
    text("why", d.why);
    text("ref", d.ref);
    text("confidence", d.confidence);
    if (!map.find("field")) report_missing(ctx, map, path + ".", "field", "the figure that was in doubt", "");
    if (!map.find("why")) report_missing(ctx, map, path + ".", "why", "the reason, in one sentence", "");
    if (!d.ref.empty()) check_reference(ctx, *map.find("ref"), path + ".ref", d.ref);
    if (const auto took = map.find("took")) {
      if (const auto i =
              read_choice(ctx, *took, path + ".took", Choices<Settled>::what, Choices<Settled>::names))
        d.took = static_cast<Settled>(*i);
    } else {
      report_missing(ctx, map, path + ".", "took", "how the doubt was settled", "");
    }
    ctx.entry.decisions.push_back(std::move(d));
  });
}

}  // namespace

std::optional<Source> read_source_keys(ReadContext& ctx, NodeRef map, const std::string& path, SourceOf of) {
  Source s;
  const auto before = ctx.problems.size();
  const auto text = [&](const char* key, std::string& out) {
    const auto node = map.find(key);
    if (!node) return;
    if (auto t = read_text(ctx, *node, path + "." + key)) out = std::move(*t);
  };
  if (of == SourceOf::entry) {
    static const std::vector<std::string> known{"kind", "ref",     "verified", "recorded",
                                                "note", "formula", "spread",   "same_die"};
    refuse_unknown_keys(ctx, map, path + ".", known);
  }
  if (const auto kind = map.find("kind")) {
    if (const auto i =
            read_choice(ctx, *kind, path + ".kind", Choices<SourceKind>::what, Choices<SourceKind>::names))
      s.kind = static_cast<SourceKind>(*i);
  } else {
    report_missing(ctx, map, path + ".", "kind", "the kind of source", "");
  }
  text("ref", s.ref);
  text("note", s.note);
  text("formula", s.formula);
  text("same_die", s.same_die);
  const auto verified = map.find("verified"), recorded = map.find("recorded");
  if (verified) s.verified = read_date(ctx, *verified, path + ".verified");
  if (recorded) s.recorded = read_date(ctx, *recorded, path + ".recorded");
  if (verified.has_value() == recorded.has_value())
    ctx.fault(
        ZooFault::bad_date, map,
        {.message = fmt::format("'{}' needs one date", path),
         .key = path,
         .found = verified ? "both 'verified' and 'recorded'" : "neither 'verified' nor 'recorded'",
         .expected = "verified: when the source was last read, or recorded: when the figure was entered",
         .hint = "write, e.g., verified: 2026-03-06"});
  if (const auto spread = map.find("spread")) {
    const NumberRule rule{
        .unit = "%", .meaning = "relative half width", .low = 0, .high = 1e6, .open_low = true};
    // A spread is no figure of the entry: read it apart and drop the record.
    const auto figures = ctx.entry.figures.size();
    if (const auto q = read_figure(ctx, *spread, path + ".spread", rule)) s.spread = q->base();
    ctx.entry.figures.resize(figures);
  }
  if (!s.ref.empty()) {
    check_reference(ctx, *map.find("ref"), path + ".ref", s.ref);
  } else if (!map.find("ref") && ctx.problems.size() == before) {
    const bool explained = !s.note.empty() || !s.formula.empty();
    const bool own_judgement = may_stand_alone(s.kind) || ctx.authorship == Authorship::user;
    if (!(own_judgement && explained))
      ctx.fault(ZooFault::unknown_reference, map,
                {.message = fmt::format("'{}' cites nothing", path),
                 .key = path,
                 .found = fmt::format("kind {} without 'ref'", name_of(s.kind)),
                 .expected = may_stand_alone(s.kind) ? "a ref, or a note that explains it"
                                                     : "a key of references.yaml",
                 .hint = "add 'ref: ...' and the work to references.yaml"});
  }
  if (s.kind == SourceKind::derived && s.formula.empty() && ctx.problems.size() == before)
    ctx.fault(ZooFault::no_formula, map,
              {.message = fmt::format("the derived '{}' has no formula", path),
               .key = path,
               .found = "kind: derived alone",
               .expected = "formula: how it follows from other figures",
               .hint = "add 'formula: ...'"});
  return s;
}

bool read_entry_head(ReadContext& ctx, NodeRef map) {
  Entry& e = ctx.entry;
  const auto [line, column] = map.place();
  e.where = {ctx.source->file, static_cast<int>(line), static_cast<int>(column)};
  const auto name = map.find("name");
  if (!name) {
    report_missing(ctx, map, "", "name", "the key under which it is found", "");
    return false;
  }
  auto text = read_text(ctx, *name, "name");
  if (!text) return false;
  e.name = std::move(*text);
  if (const auto title = map.find("title"))
    if (auto t = read_text(ctx, *title, "title")) e.title = std::move(*t);
  if (const auto guess = map.find("guess"))
    if (auto t = read_text(ctx, *guess, "guess")) e.guess = std::move(*t);
  if (const auto aliases = map.find("aliases"))
    if (expect_kind(ctx, *aliases, NodeKind::sequence, "aliases", "[H100_SXM]"))
      aliases->for_each_item([&](NodeRef item) {
        if (auto t = read_text(ctx, item, fmt::format("aliases[{}]", e.aliases.size())))
          e.aliases.push_back(std::move(*t));
      });
  if (!ctx.origin.empty()) {
    e.origin = ctx.origin;
  } else if (const auto origin = map.find("origin")) {
    if (auto t = read_text(ctx, *origin, "origin")) e.origin = std::move(*t);
  } else {
    e.origin = ctx.authorship == Authorship::shipped ? "added" : "user";
  }
  if (const auto source = map.find("source")) {
    if (expect_kind(ctx, *source, NodeKind::map, "source",
                    "{kind: datasheet, ref: ..., verified: 2026-03-06}"))
      if (auto s = read_source_keys(ctx, *source, "source", SourceOf::entry)) e.source = std::move(*s);
  } else if (ctx.authorship == Authorship::shipped) {
    ctx.fault(ZooFault::missing_source, map,
              {.message = fmt::format("'{}' has no source", e.name),
               .key = e.name,
               .found = "no key 'source'",
               .expected = "source: {kind: datasheet, ref: ..., verified: 2026-03-06}",
               .hint = "say who says so, and when it was read"});
  } else {
    e.source = {.kind = SourceKind::illustrative, .note = "the user's file gives no source"};
  }
  if (const auto source = map.find("shape_source"); source && e.kind == "model")
    if (expect_kind(ctx, *source, NodeKind::map, "shape_source",
                    "{kind: secondary, ref: ..., recorded: 2026-03-06}"))
      e.shape_source = read_source_keys(ctx, *source, "shape_source", SourceOf::entry);
  if (const auto decisions = map.find("decisions")) read_decisions(ctx, *decisions);
  return true;
}

void finish_entry(ReadContext& ctx, NodeRef map) {
  auto& figures = ctx.entry.figures;
  std::sort(figures.begin(), figures.end(), [](const Figure& a, const Figure& b) { return a.path < b.path; });
  if (ctx.entry.source.kind != SourceKind::estimate || ctx.entry.source.spread) return;
  if (ctx.entry.figure("low") != nullptr && ctx.entry.figure("high") != nullptr) return;
  const auto bare =
      std::find_if(figures.begin(), figures.end(), [](const Figure& f) { return !f.own && !f.low; });
  if (bare == figures.end()) return;
  ctx.fault(ZooFault::no_range, map,
            {.message = fmt::format("the estimate '{}' has no range", ctx.entry.name),
             .key = bare->path,
             .found = fmt::format("'{}: {}' alone", bare->path, bare->authored),
             .expected = "source: {kind: estimate, spread: 30 %, ...}, or a range for each figure",
             .hint = "say how far off it may be"});
}

}  // namespace mlsysim::detail
