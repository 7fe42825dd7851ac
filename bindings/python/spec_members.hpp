#pragma once
/// One member of a spec between Python and C++: read, written, named and annotated by its type.

#include "spec_table.hpp"

#include <string>
#include <vector>

namespace mlsysim::python {

/// The members that a field table describes.
[[nodiscard]] std::vector<Member> members_of(const TableInfo& table);
/// The class of a struct inside a struct. @throws std::logic_error where none is bound
[[nodiscard]] const SpecType& part_type(const MemberType& type);
/// The member at `p` as a Python object; parts of it keep `owner` alive.
[[nodiscard]] py::object get_member(const MemberType& type, const void* p, const Owner& owner,
                                    const Member& row);
/// Stores a Python object in the member at `p`. @throws InputError, DimensionError for a value that does not
/// fit
void set_member(const MemberType& type, void* p, py::handle value, const Member& row, Building& building);
/// The Python type of a member, as stubs write it.
[[nodiscard]] std::string annotation_of(const MemberType& type, const Member& row);
/// @throws InputError that says which kind of value was expected
[[noreturn]] void refuse_value(const Member& row, py::handle value, const Building& building,
                               std::string_view expected);

}  // namespace mlsysim::python
