#pragma once
/// Digests of specs: two runs with equal digests used the same values.

#include <mlsysim/specs/zoo.hpp>

#include <cstdint>

namespace mlsysim {

/// Digest of every figure, text and choice of a spec and of the specs it points to. It does not depend on
/// addresses or on where the spec came from, and any edit of a value changes it. Conventions and a Zoo have
/// one as well. 0 for no object and for any other type.
[[nodiscard]] std::uint64_t content_digest(const ObjectRef& object);

/// Digest of all specs of a zoo in load order, with their aliases and the ranges of their estimates.
[[nodiscard]] std::uint64_t content_digest(const Zoo& zoo);

}  // namespace mlsysim
