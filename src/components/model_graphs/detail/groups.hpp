#pragma once
/// Groups of a convolution, as files state them.

#include <cstddef>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// @param where line or node @throws InputError where there is none
[[nodiscard]] double checked_groups(double groups, std::string_view op, const std::string& file,
                                    std::size_t where);

}  // namespace mlsysim::detail
