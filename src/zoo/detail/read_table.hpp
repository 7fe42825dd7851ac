#pragma once
/// Reads a map into a struct along the struct's field table.

#include "read_context.hpp"

#include <mlsysim/reflect/member.hpp>

namespace mlsysim::detail {

/// Reads every field of the table from the map; `also` names keys of the map that others read.
void read_table(ReadContext& ctx, NodeRef map, const TableInfo& table, void* object,
                const std::string& prefix, std::span<const std::string_view> also = {});

}  // namespace mlsysim::detail
