#pragma once
/// Formats field values as text in their display unit.
///
/// Example: 0.01 s in a field shown in ms reads "10 ms". A plan struct reads "tp_size=4, pp_size=3".

#include <mlsysim/reflect/describe.hpp>

#include <span>
#include <string>

namespace mlsysim {

/// A field's value in its display unit: "10 ms", "true", "fp16", "(absent)". Lossy, for readers.
[[nodiscard]] std::string field_text(const FieldInfo& field, const Value& value, int digits = 6);
/// All fields of a struct: "tp=8, pp=2".
[[nodiscard]] std::string struct_text(std::span<const FieldInfo> fields, const void* object, int digits = 6);

}  // namespace mlsysim
