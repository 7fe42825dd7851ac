#include "identity/any_law.hpp"

#include <mlsysim/physics/laws.hpp>

namespace identity {

using namespace mlsysim;

namespace {

template <class S> using MemberOf = typename std::remove_cvref_t<S>::member_type;

template <class L, class T> std::vector<T> run(const std::vector<T>& values) {
  using In = typename L::template Inputs<T>;
  using Out = typename L::template Result<T>;
  In in{};
  const T* next = values.data();
  for_each_field<In>([&](const auto& row) {
    using Member = MemberOf<decltype(row)>;
    if constexpr (is_quantity_v<Member>)
      in.*row.member = Member::from_base(*next++);
    else
      in.*row.member = *next++;
  });
  if constexpr (std::is_same_v<T, double>) check_ranges(describe<In>(), &in);
  const Out result = L::template solve<T>(in);
  std::vector<T> out(decltype(Out::fields())::size);
  T* put = out.data();
  for_each_field<Out>([&](const auto& row) {
    if constexpr (is_quantity_v<MemberOf<decltype(row)>>)
      *put++ = (result.*row.member).base();
    else
      *put++ = result.*row.member;
  });
  return out;
}

}  // namespace

const std::vector<AnyLaw>& all_laws() {
  static const std::vector<AnyLaw> laws = [] {
    std::vector<AnyLaw> list;
    for_each_law([&]<class L>() {
      list.push_back({L::info, describe<typename L::template Inputs<double>>(),
                      describe<typename L::template Result<double>>(), &run<L, double>, &run<L, Lanes>,
                      &run<L, Interval>, &run<L, Slopes>});
    });
    return list;
  }();
  return laws;
}

}  // namespace identity
