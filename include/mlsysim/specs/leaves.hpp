#pragma once
/// Visits every value of a spec under its path, as the zoo's files name it.
///
/// Plugins read and fill objects this way, and digests of specs are computed so.
/// Example: a HardwareNode has the paths "memory.bandwidth" and "compute.dense.fp16". The third record of a
/// convolutional network has "convolution[2].kernel".

#include <mlsysim/reflect/member.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Called for a leaf. Tables (also optional ones), lists and slots are no leaves: their parts are visited.
using LeafVisit = std::function<void(std::string_view path, const MemberType& type, void* member)>;
/// Called for a list or an optional table before its parts are visited, for readers that fill an object.
using ListVisit = std::function<void(const std::string& path, const MemberType& type, void* list)>;

/// Visits the leaves of an object in the order of its table.
void for_each_leaf(const TableInfo& table, void* object, const LeafVisit& leaf, const ListVisit& list = {});

/// Visits the leaves of an object that stays unchanged.
void for_each_leaf(
    const TableInfo& table, const void* object,
    const std::function<void(std::string_view path, const MemberType& type, const void* member)>& leaf);

/// The way to a member of an object: items of lists and optional tables, then an offset.
struct MemberRoute {
  struct Step {
    std::size_t offset;      ///< of the list or optional table, from the previous step [byte]
    const MemberType* type;  ///< of the list or optional table
    std::size_t index;       ///< of the item
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;
  std::size_t offset = 0;  ///< of the member, from the last step [byte]

  /// The member in an object of the same lengths.
  [[nodiscard]] void* in(void* object) const;
};

/// A member of an object; `path` as in the zoo's files.
struct MemberPlace {
  const std::string& path;
  const FieldRow& row;
  const MemberType& type;
  void* member;
  const MemberRoute& route;
};
using MemberVisit = std::function<void(const MemberPlace& place)>;

/// Visits the members of an object, also those of the tables in its lists and of optional tables that are
/// there; the places of a table of rates are members. Lists of numbers are not visited.
void for_each_member(const TableInfo& table, void* object, const MemberVisit& visit);

/// The number of a member, in its base unit; null where it holds none, or an optional one is absent.
[[nodiscard]] double* number_in(const MemberType& type, void* member);

}  // namespace mlsysim
