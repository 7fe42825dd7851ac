#pragma once
/// Digests of specs (FNV-1a, 64 bits): equal digests mean that two runs used equal values.
///
/// The digest covers every number, text and choice. It does not cover addresses or the origin of a spec. It
/// is not cryptographic.
/// Example: a device with 3.35 TB/s and a copy of it with 3.36 TB/s have different digests.

#include <mlsysim/specs/zoo.hpp>

#include <cstdint>

namespace mlsysim {

/// Digest of a spec and of the specs that it points to. Conventions and a Zoo have one as well. 0 for no
/// object and for any other type.
[[nodiscard]] std::uint64_t content_digest(const ObjectRef& object);

/// Digest of all specs of a zoo in load order, with their aliases and the ranges of their estimates.
[[nodiscard]] std::uint64_t content_digest(const Zoo& zoo);

}  // namespace mlsysim
