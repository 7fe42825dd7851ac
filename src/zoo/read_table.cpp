#include "detail/read_table.hpp"

#include <mlsysim/reflect/describe.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

NumberRule rule_of(const FieldRow& row, const Exponents& exps) {
  return {.exps = exps,
          .unit = row.unit,
          .meaning = row.meaning,
          .low = row.low,
          .high = row.high,
          .open_low = row.open_low};
}

bool read_value(ReadContext& ctx, NodeRef node, const std::string& path, const FieldRow& row,
                const MemberType& type, void* out);

bool read_rates(ReadContext& ctx, NodeRef node, const std::string& path, const FieldRow& row,
                const MemberType& type, void* out) {
  if (!expect_kind(ctx, node, NodeKind::map, path, "{fp16: 989 TFLOP/s}")) return false;
  const std::vector<std::string> known(type.choices.begin(), type.choices.end());
  refuse_unknown_keys(ctx, node, path + ".", known);
  FieldRow rate = row;
  rate.low = 0;
  rate.open_low = true;
  node.for_each_pair([&](NodeRef key, NodeRef value) {
    const auto slot =
        static_cast<std::size_t>(std::find(known.begin(), known.end(), key.text()) - known.begin());
    if (slot < known.size())
      read_value(ctx, value, path + "." + known[slot], rate, *type.item, type.at(out, slot));
  });
  return true;
}

/// Reads one value; false when it was not set.
bool read_value(ReadContext& ctx, NodeRef node, const std::string& path, const FieldRow& row,
                const MemberType& type, void* out) {
  switch (type.form) {
    case MemberForm::maybe:
      if (read_value(ctx, node, path, row, *type.item, type.append(out))) return true;
      type.clear(out);
      return false;
    case MemberForm::number:
    case MemberForm::quantity: {
      const auto q = read_figure(ctx, node, path, rule_of(row, type.exps));
      if (q) *static_cast<double*>(out) = q->base();
      return q.has_value();
    }
    case MemberForm::any_quantity: {
      auto rule = rule_of(row, Exponents{});
      rule.dimension = NumberRule::Dimension::any;
      auto q = read_figure(ctx, node, path, rule);
      if (q) *static_cast<AnyQuantity*>(out) = std::move(*q);
      return q.has_value();
    }
    case MemberForm::flag: {
      const auto flag = read_flag(ctx, node, path);
      if (flag) *static_cast<bool*>(out) = *flag;
      return flag.has_value();
    }
    case MemberForm::text: {
      auto text = read_text(ctx, node, path);
      if (text) *static_cast<std::string*>(out) = std::move(*text);
      return text.has_value();
    }
    case MemberForm::choice: {
      const auto i = read_choice(ctx, node, path, type.what, type.choices);
      if (i) type.set(out, std::string(type.choices[*i]), {});
      return i.has_value();
    }
    case MemberForm::object: {
      auto name = read_text(ctx, node, path);
      if (name)
        ctx.links.push_back({.slot = out,
                             .name = std::move(*name),
                             .type = &type,
                             .path = path,
                             .source = ctx.source,
                             .at = node.place()});
      return name.has_value();
    }
    case MemberForm::slots:
      return read_rates(ctx, node, path, row, type, out);
    case MemberForm::list:
      if (!expect_kind(ctx, node, NodeKind::sequence, path,
                       type.item->form == MemberForm::table ? "- {...}" : "[80, 443]"))
        return false;
      // All items are there before the first is read: links to other entries point into them.
      node.for_each_item([&](NodeRef) { type.append(out); });
      {
        std::size_t i = 0;
        node.for_each_item([&](NodeRef item) {
          const auto item_path = path + "[" + std::to_string(i) + "]";
          read_value(ctx, item, item_path, row, *type.item, type.at(out, i++));
        });
      }
      return true;
    case MemberForm::table:
      if (!expect_kind(ctx, node, NodeKind::map, path, "{...}")) return false;
      read_table(ctx, node, type.table(), out, path + ".");
      return true;
  }
  return false;
}

}  // namespace

void read_table(ReadContext& ctx, NodeRef map, const TableInfo& table, void* object,
                const std::string& prefix, std::span<const std::string_view> also) {
  const auto is_also = [&](std::string_view key) {
    return std::find(also.begin(), also.end(), key) != also.end();
  };
  std::size_t matched = 0, pairs = 0;
  map.for_each_pair([&](NodeRef key, NodeRef) {
    ++pairs;
    matched += is_also(key.text()) && table.row(key.text()) == nullptr;
  });
  for (const auto& row : table.rows) {
    if (const auto node = map.find(row.name)) {
      ++matched;
      read_value(ctx, *node, prefix + std::string(row.name), row, *row.type, row.in(object));
    } else if (row.must_be_given()) {
      report_missing(ctx, map, prefix, row.name, row.meaning, row.unit);
    }
  }
  if (matched == pairs) return;
  std::vector<std::string> known;
  for (const auto& row : table.rows) known.emplace_back(row.name);
  for (const auto key : also)
    if (table.row(key) == nullptr) known.emplace_back(key);
  refuse_unknown_keys(ctx, map, prefix, known, &table);
}

}  // namespace mlsysim::detail
