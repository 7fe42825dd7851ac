#pragma once
/// Wraps a resolver type in the type-erased interface `Resolver`.
///
/// For a law every scalar is instantiated, so that a mistake shows when the law is registered.
/// Example: `make_resolver(FitModel{})` solves weights 8 GB against capacity 80 GB as memory_utilization 0.1.

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/tape/register.hpp>

#include <memory>
#include <new>
#include <utility>

namespace mlsysim {

namespace detail {

/// A template resolver in the shape of a law, also when it has no `info` of its own.
template <class R> struct AsLaw {
  template <class T> using Inputs = typename R::template Inputs<T>;
  template <class T> using Result = typename R::template Result<T>;
  static constexpr LawInfo info{.id = id_of<R>(),
                                .equation =
                                    [] {
                                      if constexpr (requires { std::string_view(R::law); })
                                        return std::string_view(R::law);
                                      else
                                        return std::string_view();
                                    }(),
                                .source =
                                    [] {
                                      if constexpr (requires { std::string_view(R::source); })
                                        return std::string_view(R::source);
                                      else
                                        return std::string_view();
                                    }()};
  template <class T> static Result<T> solve(const Inputs<T>& in) { return R::template solve<T>(in); }
};
template <class R> struct law_of { using type = AsLaw<R>; };
template <class R>
  requires requires {
    { R::info } -> std::convertible_to<const LawInfo&>;
  }
struct law_of<R> {
  using type = R;
};

}  // namespace detail

/// The erased form of `R`.
template <class R> class TypedResolver final : public Resolver {
  static_assert(detail::shape_is_right<R>());
  using In = inputs_of<R>;
  using Out = result_of<R>;

 public:
  explicit TypedResolver(R resolver = R{}) : Resolver(info_of<R>()), resolver_(std::move(resolver)) {}

  [[nodiscard]] std::span<const FieldInfo> inputs() const override { return describe<In>(); }
  [[nodiscard]] std::span<const FieldInfo> outputs() const override { return describe<Out>(); }
  [[nodiscard]] std::size_t input_size() const override { return sizeof(In); }
  [[nodiscard]] std::size_t output_size() const override { return sizeof(Out); }
  [[nodiscard]] std::size_t alignment() const override {
    return alignof(In) > alignof(Out) ? alignof(In) : alignof(Out);
  }
  void construct_inputs(void* memory) const override { ::new (memory) In(detail::Blank<In>::make()); }
  void destroy_inputs(void* memory) const override { static_cast<In*>(memory)->~In(); }
  void construct_outputs(void* memory) const override { ::new (memory) Out(detail::Blank<Out>::make()); }
  void destroy_outputs(void* memory) const override { static_cast<Out*>(memory)->~Out(); }

  Status solve(const void* in, void* out, SolveContext& context) const override {
    const In& inputs = *static_cast<const In*>(in);
    Out& result = *static_cast<Out*>(out);
    auto search = detail::search_for<R>(context.search != nullptr ? *context.search : SearchOptions{});
    return detail::solve_into(resolver_, inputs, result, search ? &*search : nullptr, context.notes,
                              context.why)
               ? Status::ok
               : Status::infeasible;
  }
  [[nodiscard]] Verification verify(const void* in, const void* out) const override {
    return detail::verification_of(resolver_, *static_cast<const In*>(in), *static_cast<const Out*>(out));
  }
  [[nodiscard]] const LawEntry* law() const override {
    if constexpr (TemplateResolver<R>)
      return &entry_of<typename detail::law_of<R>::type>();
    else
      return nullptr;
  }
  [[nodiscard]] const void* type_tag() const override { return &detail::type_tag_v<R>; }

 private:
  R resolver_;
};

/// The erased form of a resolver.
template <class R> [[nodiscard]] std::unique_ptr<Resolver> make_resolver(R resolver = R{}) {
  return std::make_unique<TypedResolver<R>>(std::move(resolver));
}

}  // namespace mlsysim
