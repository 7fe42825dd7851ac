#pragma once
/// What the two translation units must agree on.

#include <array>
#include <string>

struct Facts {
  std::array<std::string, 3> names;
  const void* second;
};

Facts facts_in_order();
Facts facts_in_reverse();

// Written as text so that each unit compiles it after its own includes.
#define FACTS_BODY                                                                                           \
  {                                                                                                          \
    using namespace mlsysim;                                                                                 \
    const auto time = Data<>() / Bandwidth<>();                                                              \
    const auto odd = Data<>() * Time<>() / Tokens<>();                                                       \
    return {{typeid(time).name(), typeid(odd).name(), typeid(Efficiency<>() * Power<>()).name()}, &unit::s}; \
  }
