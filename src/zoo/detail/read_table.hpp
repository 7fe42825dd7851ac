#pragma once
/// Reads a map into a struct along the struct's field table. One text for every kind of spec.

#include "read_context.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

namespace mlsysim::detail {

template <class M>
inline constexpr bool is_vector_v = false;
template <class M>
inline constexpr bool is_vector_v<std::vector<M>> = true;

/// Whether a field must stand in a file: every one without a default, unless absence is a value of its type.
template <class S, class M>
[[nodiscard]] constexpr bool must_be_given(const Field<S, M>& row) {
  return !row.has_default && !is_optional_v<M> && !is_vector_v<M>;
}

template <class S, class M>
[[nodiscard]] NumberRule rule_of(const Field<S, M>& row, const Exponents& exps) {
  return {.exps = exps, .unit = row.unit, .meaning = row.meaning, .low = row.low, .high = row.high,
          .open_low = row.open_low};
}

template <HasFields S>
void read_table(ReadContext& ctx, NodeRef map, S& out, const std::string& prefix,
                std::span<const std::string_view> also = {});

template <class O>
bool read_link(ReadContext& ctx, NodeRef node, const std::string& path, const O*& out) {
  const auto name = read_text(ctx, node, path);
  if (!name) return false;
  ctx.links.push_back({.slot = &out,
                       .name = *name,
                       .type = ObjectType<O>::name,
                       .set =
                           [](void* slot, const Zoo& zoo, std::string_view wanted) {
                             const O* found = zoo.find<O>(wanted);
                             if (found != nullptr) *static_cast<const O**>(slot) = found;
                             return found != nullptr;
                           },
                       .names = [](const Zoo& zoo) { return zoo.names<O>(); },
                       .path = path,
                       .source = ctx.source,
                       .at = node.place()});
  return true;
}

inline bool read_rates(ReadContext& ctx, NodeRef node, const std::string& path, const NumberRule& rule,
                       RatePerPrecision& out) {
  if (!expect_kind(ctx, node, NodeKind::map, path, "{fp16: 989 TFLOP/s}")) return false;
  static const std::vector<std::string> known(Choices<Precision>::names.begin(), Choices<Precision>::names.end());
  refuse_unknown_keys(ctx, node, path + ".", known);
  node.for_each_pair([&](NodeRef key, NodeRef value) {
    const auto precision = choice_of<Precision>(key.text());
    if (!precision) return;
    if (const auto q = read_figure(ctx, value, path + "." + std::string(key.text()), rule))
      out[*precision] = ComputeRate<>::from_base(q->base());
  });
  return true;
}

/// Free numbers by name. A list gives one number per item, "name[0]" and so on; a flag counts as 0 or 1.
void read_numbers(ReadContext& ctx, NodeRef map, const std::string& path, const NumberRule& rule,
                  std::map<std::string, double>& out);

/// Reads one value of type `X`; false when it was not set.
template <class X, class Row>
bool read_value(ReadContext& ctx, NodeRef node, const std::string& path, const Row& row, X& out) {
  if constexpr (is_optional_v<X>) {
    typename X::value_type value{};
    if (!read_value(ctx, node, path, row, value)) return false;
    out = std::move(value);
    return true;
  } else if constexpr (is_quantity_v<X>) {
    const auto q = read_figure(ctx, node, path, rule_of(row, X::dimension::exps));
    if (q) out = X::from_base(q->base());
    return q.has_value();
  } else if constexpr (std::is_same_v<X, double>) {
    const auto q = read_figure(ctx, node, path, rule_of(row, Exponents{}));
    if (q) out = q->base();
    return q.has_value();
  } else if constexpr (std::is_same_v<X, AnyQuantity>) {
    auto rule = rule_of(row, Exponents{});
    rule.dimension = NumberRule::Dimension::any;
    auto q = read_figure(ctx, node, path, rule);
    if (q) out = std::move(*q);
    return q.has_value();
  } else if constexpr (std::is_same_v<X, bool>) {
    const auto flag = read_flag(ctx, node, path);
    if (flag) out = *flag;
    return flag.has_value();
  } else if constexpr (std::is_same_v<X, std::string>) {
    auto text = read_text(ctx, node, path);
    if (text) out = std::move(*text);
    return text.has_value();
  } else if constexpr (Choice<X>) {
    const auto i = read_choice(ctx, node, path, Choices<X>::what, Choices<X>::names);
    if (i) out = static_cast<X>(*i);
    return i.has_value();
  } else if constexpr (std::is_pointer_v<X>) {
    return read_link(ctx, node, path, out);
  } else if constexpr (std::is_same_v<X, RatePerPrecision>) {
    auto rule = rule_of(row, dim::compute_rate::exps);
    rule.low = 0;
    rule.open_low = true;
    return read_rates(ctx, node, path, rule, out);
  } else if constexpr (std::is_same_v<X, std::map<std::string, double>>) {
    if (!expect_kind(ctx, node, NodeKind::map, path, "{image_size: 224}")) return false;
    read_numbers(ctx, node, path, rule_of(row, Exponents{}), out);
    return true;
  } else if constexpr (is_vector_v<X>) {
    using Item = typename X::value_type;
    constexpr std::string_view example = HasFields<Item> ? "- {...}" : "[80, 443]";
    if (!expect_kind(ctx, node, NodeKind::sequence, path, example)) return false;
    node.for_each_item([&](NodeRef item) {
      const auto item_path = path + "[" + std::to_string(out.size()) + "]";
      read_value(ctx, item, item_path, row, out.emplace_back());
    });
    return true;
  } else {
    static_assert(HasFields<X>, "no reader for a member of this type");
    if (!expect_kind(ctx, node, NodeKind::map, path, "{...}")) return false;
    read_table(ctx, node, out, path + ".");
    return true;
  }
}

/// Reads every field of the table from the map; `also` names keys of the map that others read.
template <HasFields S>
void read_table(ReadContext& ctx, NodeRef map, S& out, const std::string& prefix,
                std::span<const std::string_view> also) {
  static const std::vector<std::string> fields = [] {
    std::vector<std::string> names;
    for_each_field<S>([&](const auto& row) { names.emplace_back(row.name); });
    return names;
  }();
  std::size_t matched = 0, pairs = 0;
  map.for_each_pair([&](NodeRef key, NodeRef) {
    ++pairs;
    matched += std::find(also.begin(), also.end(), key.text()) != also.end() &&
               std::find(fields.begin(), fields.end(), key.text()) == fields.end();
  });
  for_each_field<S>([&]<class M>(const Field<S, M>& row) {
    const auto node = map.find(row.name);
    if (node) {
      ++matched;
      read_value(ctx, *node, prefix + std::string(row.name), row, out.*row.member);
    } else if (must_be_given(row)) {
      report_missing(ctx, map, prefix, row.name, row.meaning, row.unit);
    }
  });
  if (matched == pairs) return;
  auto known = fields;
  for (const auto key : also)
    if (std::find(known.begin(), known.end(), key) == known.end()) known.emplace_back(key);
  refuse_unknown_keys(ctx, map, prefix, known);
}

}  // namespace mlsysim::detail
