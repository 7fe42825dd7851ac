#pragma once
/// Every figure of a spec under its path, as the zoo's files name it: "memory.bandwidth", "compute.dense.fp16",
/// "convolution[2].kernel". Plugins get objects this way, and the digest of a zoo is made so.

#include <mlsysim/table/member.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace mlsysim {

/// Called for a leaf: any member but a table, a list, slots or numbers, whose parts are visited instead.
using LeafVisit = std::function<void(std::string_view path, const MemberType& type, void* member)>;
/// Called for a list or numbers before their items are visited, for readers that fill an object.
using ListVisit = std::function<void(const std::string& path, const MemberType& type, void* list)>;

/// Visits the leaves of an object in the order of its table.
void for_each_leaf(const TableInfo& table, void* object, const LeafVisit& leaf, const ListVisit& list = {});

/// The same of an object that stays as it is.
void for_each_leaf(const TableInfo& table, const void* object,
                   const std::function<void(std::string_view path, const MemberType& type, const void* member)>& leaf);

}  // namespace mlsysim
