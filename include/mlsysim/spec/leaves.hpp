#pragma once
/// Every figure of a spec under its path, as the zoo's files name it: "memory.bandwidth",
/// "compute.dense.fp16", "convolution[2].kernel". Plugins get objects this way, and the digest of a zoo is
/// made so.

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
void for_each_leaf(
    const TableInfo& table, const void* object,
    const std::function<void(std::string_view path, const MemberType& type, const void* member)>& leaf);

/// Called for a member that a struct or its parts hold by themselves; `path` as in the zoo's files.
using MemberVisit =
    std::function<void(const std::string& path, const FieldRow& row, const MemberType& type, void* member)>;

/// Visits the members of an object that stand in no list and no map; the places of a table of rates are
/// members.
void for_each_own_member(const TableInfo& table, void* object, const MemberVisit& visit);

/// The number of a member, in its base unit; null where it holds none, or an optional one is absent.
[[nodiscard]] double* number_in(const MemberType& type, void* member);

}  // namespace mlsysim
