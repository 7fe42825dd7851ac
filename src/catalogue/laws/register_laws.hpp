#pragma once
// Registration of the laws, in parts: each part instantiates its laws for every scalar and has a file of its
// own.

#include <mlsysim/physics/laws.hpp>
#include <mlsysim/resolve/registry.hpp>

#include <utility>

namespace mlsysim::detail {

template <std::size_t I, class List> struct law_at;
template <std::size_t I, Law First, Law... Rest>
struct law_at<I, LawList<First, Rest...>> : law_at<I - 1, LawList<Rest...>> {};
template <Law First, Law... Rest> struct law_at<0, LawList<First, Rest...>> { using type = First; };

inline constexpr std::size_t kLawParts = 6;

/// Adds the laws of one part, in the order of AllLaws.
template <std::size_t Part> void add_laws(ResolverRegistry& registry) {
  constexpr std::size_t begin = AllLaws::size * Part / kLawParts,
                        end = AllLaws::size * (Part + 1) / kLawParts;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (registry.add<typename law_at<begin + I, AllLaws>::type>(), ...);
  }
  (std::make_index_sequence<end - begin>{});
}

void add_laws_1(ResolverRegistry& registry);
void add_laws_2(ResolverRegistry& registry);
void add_laws_3(ResolverRegistry& registry);
void add_laws_4(ResolverRegistry& registry);
void add_laws_5(ResolverRegistry& registry);
void add_laws_6(ResolverRegistry& registry);

}  // namespace mlsysim::detail
