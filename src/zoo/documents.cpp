#include "detail/documents.hpp"
#include "detail/inherited.hpp"
#include "detail/kinds.hpp"
#include "detail/model_rules.hpp"
#include "detail/read_table.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/member.hpp>
#include <mlsysim/specs/detail/default_precision.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <mutex>

namespace mlsysim::detail {
namespace {

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

/// Copies what the runtime under `extends` holds where the entry states nothing; its lists and tables are
/// looked up part by part (specs/software.hpp).
void inherit(ServingEngine& spec, const Document& doc, NodeRef map, const Zoo& zoo, const Zoo* base,
             Problems& problems) {
  const auto extends = map.find("extends");
  if (!extends) return;
  const auto* from = zoo.find<ServingEngine>(extends->text());
  if (from == nullptr && base != nullptr) from = base->find<ServingEngine>(extends->text());
  if (from == nullptr) {
    doc.root().find("entries")->for_each_item([&](NodeRef other) {
      if (const auto name = other.find("name"); name && name->text() == extends->text())
        problems.add(ZooFault::unknown_entry, *doc.source, extends->place(),
                     {.message = "a runtime extends one that stands below it",
                      .key = "extends",
                      .found = quoted_text(extends->text()),
                      .expected = "a runtime that was read before",
                      .hint = "move that entry above this one"});
    });
    return;
  }
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    if constexpr (InheritedNumber<M> || InheritedRule<M>)
      if (!map.find(row.name)) spec.*row.member = from->*row.member;
  });
}

template <class T>
void read_entry(const Document& doc, NodeRef map, Zoo& zoo, const Zoo* base, Problems& problems,
                std::vector<PendingLink>& links) {
  T spec{};
  Entry entry;
  entry.kind = doc.kind;
  const auto first_link = links.size();
  ReadContext ctx{doc.source, problems, zoo, base, doc.authorship, entry, links, doc.origin};
  if (!read_entry_head(ctx, map)) return;
  static constexpr auto also = [] {
    std::array<std::string_view, std::size(kEntryKeys) + 1> keys{};
    std::copy(std::begin(kEntryKeys), std::end(kEntryKeys), keys.begin());
    keys.back() = "shape_source";
    return keys;
  }();
  read_table(ctx, map, field_table<T>(), &spec, "",
             std::span(also).first(also.size() - (doc.kind == "model" ? 0 : 1)));
  if constexpr (std::is_same_v<T, Workload>) check_model(spec, entry, *doc.source, problems);
  if constexpr (std::is_same_v<T, HardwareNode>)
    if (const auto compute = map.find("compute");
        !compute || !compute->is_map() || !compute->find("default_precision"))
      settle_default_precision(spec.compute);
  if constexpr (std::is_same_v<T, ServingEngine>) inherit(spec, doc, map, zoo, base, problems);
  finish_entry(ctx, map);
  const auto* before = reinterpret_cast<const std::byte*>(&spec);
  try {
    const Place at = map.find("name")->place();
    entry.where = {doc.source->file, static_cast<int>(at.line), static_cast<int>(at.column)};
    T& added = zoo.add<T>(std::move(spec), std::move(entry));
    // Links point into the local spec so far; the spec has moved to where it stays. The items of its lists
    // stay where they are.
    for (auto i = first_link; i < links.size(); ++i) {
      const auto* slot = static_cast<const std::byte*>(links[i].slot);
      const std::less<> below;
      if (!below(slot, before) && below(slot, before + sizeof(T)))
        links[i].slot = reinterpret_cast<std::byte*>(&added) + (slot - before);
    }
  } catch (const Error& error) {
    links.resize(first_link);
    problems.add(ZooFault::name_taken, *doc.source, map.find("name")->place(), error.facts());
  }
}

/// The version of the file that a schema line such as `mlsysim/hardware@1` names, with the kind before it.
struct SchemaName {
  std::string kind;
  int version = 0;
};

/// @return nothing where the line is malformed
std::optional<SchemaName> read_schema_name(NodeRef line) {
  const auto text = line.text();
  const auto slash = text.find('/'), at = text.rfind('@');
  if (!line.is_scalar() || slash == std::string_view::npos || at == std::string_view::npos || at <= slash ||
      text.substr(0, slash) != "mlsysim" || at + 1 >= text.size())
    return std::nullopt;
  SchemaName name{std::string(text.substr(slash + 1, at - slash - 1))};
  const auto* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data() + at + 1, end, name.version);
  if (failed != std::errc{} || stop != end || name.version < 0) return std::nullopt;
  return name;
}

/// Adds a problem of the document. @return false, for the caller to return
bool fault(const Document& doc, Problems& problems, ZooFault id, Place at, ErrorFacts facts) {
  problems.add(id, *doc.source, at, std::move(facts));
  return false;
}

/// Checks the schema line and sets the kind of the document. @return false after a problem
bool settle_kind(Document& doc, Problems& problems) {
  const NodeRef root = doc.root();
  constexpr std::string_view example = "schema: mlsysim/hardware@1";
  const auto refuse = [&](ZooFault id, Place at, ErrorFacts facts) {
    return fault(doc, problems, id, at, std::move(facts));
  };
  if (!root.is_map())
    return refuse(ZooFault::no_schema, root.place(),
                  {.message = "the file is not a map",
                   .found = root.describe(),
                   .expected = fmt::format("'{}' and 'entries:'", example),
                   .hint = "begin with the schema line"});
  const auto line = root.find("schema");
  if (!line)
    return refuse(ZooFault::no_schema, root.place(),
                  {.message = "the schema line is missing",
                   .key = "schema",
                   .found = "no key 'schema'",
                   .expected = fmt::format("a line such as '{}'", example),
                   .hint = "add it as the first line"});
  const auto name = read_schema_name(*line);
  if (!name)
    return refuse(ZooFault::no_schema, line->place(),
                  {.message = "the schema line is malformed",
                   .key = "schema",
                   .found = line->describe(),
                   .expected = "mlsysim/<kind>@<version>",
                   .hint = fmt::format("write, e.g., '{}'", example)});
  doc.kind = name->kind;
  const auto* kind = find_kind(doc.kind);
  if (kind == nullptr)
    return refuse(ZooFault::unknown_kind, line->place(),
                  {.message = fmt::format("there is no kind of file '{}'", doc.kind),
                   .key = "schema",
                   .found = line->describe(),
                   .expected = fmt::format("one of {}", fmt::join(kind_names(), ", ")),
                   .hint = did_you_mean(doc.kind, kind_names())});
  if (name->version > kind->version)
    return refuse(
        ZooFault::newer_version, line->place(),
        {.message = fmt::format("the file is written for version {} of '{}'", name->version, doc.kind),
         .key = "schema",
         .found = line->describe(),
         .expected = fmt::format("version {}", kind->version),
         .hint = "use a newer mlsysim, or write the file for this version"});
  if (name->version < kind->version)
    return refuse(ZooFault::older_version, line->place(),
                  {.message = fmt::format("version {} of '{}' cannot be read", name->version, doc.kind),
                   .key = "schema",
                   .found = line->describe(),
                   .expected = fmt::format("version {}", kind->version),
                   .hint = fmt::format("rewrite the file for mlsysim/{}@{}", doc.kind, kind->version)});
  return true;
}

/// Checks that there are no keys but the schema and a list of entries.
bool check_outline(const Document& doc, Problems& problems) {
  static const std::vector<std::string> known{"schema", "entries"};
  bool clean = true;
  doc.root().for_each_pair([&](NodeRef key, NodeRef) {
    if (key.text() == "schema" || key.text() == "entries") return;
    clean = fault(doc, problems, ZooFault::unknown_key, key.place(),
                  {.message = fmt::format("unknown key {}", quoted_text(key.text())),
                   .key = std::string(key.text()),
                   .found = quoted_text(key.text()),
                   .expected = "schema and entries only",
                   .hint = did_you_mean(key.text(), known)});
  });
  const auto entries = doc.root().find("entries");
  if (!entries || !entries->is_sequence())
    return fault(doc, problems, ZooFault::wrong_shape, entries ? entries->place() : doc.root().place(),
                 {.message = "the file has no list of entries",
                  .key = "entries",
                  .found = entries ? entries->describe() : "no key 'entries'",
                  .expected = "entries: and a list",
                  .hint = "write '- name: ...' below 'entries:'"});
  return clean;
}

}  // namespace

bool settle_schema(Document& doc, Problems& problems) {
  return settle_kind(doc, problems) && check_outline(doc, problems);
}

namespace {

void read_reference(const Document& doc, NodeRef map, Zoo& zoo, const Zoo* base, Problems& problems) {
  static const std::vector<std::string> known{"key", "text", "url", "measured_on"};
  Entry nobody;  // the readers of scalars report through a context; references are no entries
  std::vector<PendingLink> none;
  ReadContext ctx{doc.source, problems, zoo, base, doc.authorship, nobody, none};
  if (!expect_kind(ctx, map, NodeKind::map, "entries", "{key: nvidia-h100-datasheet, text: ...}")) return;
  refuse_unknown_keys(ctx, map, "", known);
  Reference r;
  const auto text = [&](const char* key, std::string& out) {
    if (const auto node = map.find(key))
      if (auto t = read_text(ctx, *node, key)) out = std::move(*t);
  };
  text("key", r.key);
  text("text", r.text);
  text("url", r.url);
  if (const auto devices = map.find("measured_on");
      devices && expect_kind(ctx, *devices, NodeKind::sequence, "measured_on", "[H100]"))
    devices->for_each_item([&](NodeRef item) {
      if (auto name = read_text(ctx, item, "measured_on")) r.measured_on.push_back(std::move(*name));
    });
  if (!map.find("key")) report_missing(ctx, map, "", "key", "the name by which it is cited", "");
  if (!map.find("text")) report_missing(ctx, map, "", "text", "the full citation", "");
  if (r.key.empty() || r.text.empty()) return;
  if (base != nullptr && base->find_reference(r.key) != nullptr) {
    ctx.fault(ZooFault::name_taken, *map.find("key"),
              {.message = fmt::format("the reference '{}' is there already", r.key),
               .key = r.key,
               .found = quoted_text(r.key),
               .expected = "a key that no other reference has",
               .hint = "choose another key, or cite the one that is there"});
    return;
  }
  try {
    (void)zoo.add_reference(std::move(r));
  } catch (const Error& error) {
    problems.add(ZooFault::name_taken, *doc.source, map.find("key")->place(), error.facts());
  }
}

}  // namespace

void read_references(const Document& doc, Zoo& zoo, const Zoo* base, Problems& problems) {
  doc.root().find("entries")->for_each_item(
      [&](NodeRef map) { read_reference(doc, map, zoo, base, problems); });
}

void read_entries(const Document& doc, Zoo& zoo, const Zoo* base, Problems& problems,
                  std::vector<PendingLink>& links) {
  doc.root().find("entries")->for_each_item([&](NodeRef map) {
    if (!map.is_map()) {
      problems.add(ZooFault::wrong_shape, *doc.source, map.place(),
                   {.message = "an entry has the wrong form",
                    .key = "entries",
                    .found = map.describe(),
                    .expected = "a map such as {name: H100, ...}",
                    .hint = "write '- name: ...'"});
      return;
    }
    with_spec_of(doc.kind, [&]<class T>() { read_entry<T>(doc, map, zoo, base, problems, links); });
  });
}

void settle_links(std::vector<PendingLink>& links, const Zoo& zoo, const Zoo* base, Problems& problems) {
  const auto settled = [](const PendingLink& link, const Zoo& among) {
    const void* found = find_spec(among, link.type->what, link.name);
    if (found != nullptr) link.type->set(link.slot, ObjectRef{found, link.type->what}, {});
    return found != nullptr;
  };
  for (const auto& link : links) {
    if (settled(link, zoo) || (base != nullptr && settled(link, *base))) continue;
    auto names = spec_names(zoo, link.type->what);
    if (base != nullptr)
      for (auto& name : spec_names(*base, link.type->what)) names.push_back(std::move(name));
    problems.add(ZooFault::unknown_entry, *link.source, link.at,
                 {.message = fmt::format("'{}' names a {} that there is not", link.path, link.type->what),
                  .key = link.path,
                  .found = quoted_text(link.name),
                  .expected = fmt::format("the name or alias of a {}", link.type->what),
                  .hint = did_you_mean(link.name, names)});
  }
  const auto refuse = [&](const PendingLink& link, const char* expected) {
    problems.add(ZooFault::unknown_entry, *link.source, link.at,
                 {.message = fmt::format("'{}' leads too far", link.path),
                  .key = link.path,
                  .found = quoted_text(link.name),
                  .expected = expected});
  };
  for (const auto& link : links) {
    if (link.path == "part" && link.type->what == ObjectType<HardwareNode>::name) {
      const auto* part = zoo.find<HardwareNode>(link.name);
      if (part != nullptr && part->part != nullptr) refuse(link, "a device that has no parts itself");
    }
    if (link.path == "like" && link.type->what == ObjectType<DeviceClass>::name) {
      constexpr int most = 4;
      int others = 0;
      for (const auto* l = zoo.find<DeviceClass>(link.name); l != nullptr && others <= most; l = l->like)
        ++others;
      if (others > most) refuse(link, "a class that is like few others, not itself");
    }
  }
}

namespace {

/// Reads one map of a file that was found to be sound. @throws ErrorList when it is not
template <class Read> void read_sound(const Document& doc, Read&& read) {
  Problems problems;
  read(problems);
  problems.raise(fmt::format("{} cannot be read", doc.source->file));
}

/// One reader at a time: it may need other entries, which are read by the same thread.
std::recursive_mutex& reading() {
  static std::recursive_mutex mutex;
  return mutex;
}

template <class T> void defer_entry(const std::shared_ptr<const Document>& doc, NodeRef map, Zoo& zoo) {
  const NodeRef name = *map.find("name");
  Entry names;
  names.kind = doc->kind;
  names.name = name.text();
  if (const auto aliases = map.find("aliases"))
    aliases->for_each_item([&](NodeRef alias) { names.aliases.emplace_back(alias.text()); });
  const Place at = name.place();
  names.where = {doc->source->file, static_cast<int>(at.line), static_cast<int>(at.column)};
  zoo.defer<T>(std::move(names), [doc, name = std::string(name.text()), index = map.index()](Zoo& into) {
    const std::lock_guard lock(reading());
    if (into.is_read<T>(name)) return;
    read_sound(*doc, [&](Problems& problems) {
      std::vector<PendingLink> links;
      read_entry<T>(*doc, {doc->tree, index}, into, nullptr, problems, links);
      settle_links(links, into, nullptr, problems);
    });
  });
}

void defer_reference(const std::shared_ptr<const Document>& doc, NodeRef map, Zoo& zoo) {
  const std::string key(map.find("key")->text());
  zoo.defer_reference(key, [doc, key, index = map.index()](Zoo& into) {
    const std::lock_guard lock(reading());
    if (into.is_reference_read(key)) return;
    read_sound(*doc, [&](Problems& problems) {
      read_reference(*doc, {doc->tree, index}, into, nullptr, problems);
    });
  });
}

}  // namespace

void defer_all(const std::shared_ptr<const Document>& doc, Zoo& zoo) {
  doc->root().find("entries")->for_each_item([&](NodeRef map) {
    if (doc->kind == "references")
      defer_reference(doc, map, zoo);
    else
      with_spec_of(doc->kind, [&]<class T>() { defer_entry<T>(doc, map, zoo); });
  });
}

}  // namespace mlsysim::detail
