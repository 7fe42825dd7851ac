#pragma once
/// Scaling laws: training loss from model size and tokens, the best split of a budget, FLOP over a lifetime.
///
///   loss   = irreducible + A / params^a + B / tokens^b                                       [nats/token]
///   params = G (work / 6)^(b / (a + b)),  tokens = (work / 6)^(a / (a + b)) / G
///   G      = (a A / (b B))^(1 / (a + b))
///   work   = 6 params tokens + 2 params served_tokens                                        [FLOP]
///
/// A, a: params_coefficient, params_exponent. B, b: the same for tokens. work / 6: params times tokens.
/// Limits: dense decoders of one family, no repeated data, no attention over long contexts.
/// Example: irreducible 1.69, A 406.4, a 0.34, B 410.7, b 0.28, params 70e9, tokens 1.4e12: loss 1.937.
/// Example: with these, 588 ZFLOP are best spent on 32.5 billion params and 3.02 trillion tokens.
/// @cite hoffmann2022chinchilla, eqs. (4) and (10)
/// @cite sardana2024inference, eq. (2)

#include <mlsysim/physics/training.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Loss of a model after training, in nats per token [dimensionless].
///
/// params and tokens are counts. The coefficients are a fit to one family of runs and change with data and
/// tokenizer. Ranges: params, tokens > 0; exponents in [0.01, 2].
/// @cite hoffmann2022chinchilla, eq. (10); besiroglu2024replication for other coefficients
struct ChinchillaLoss {
  static constexpr LawInfo info{"ChinchillaLoss",
                                "loss = irreducible + params_coefficient / params^params_exponent + "
                                "tokens_coefficient / tokens^tokens_exponent",
                                "hoffmann2022chinchilla", "eq. (10)",
                                "dense decoders of one family, no repeated data"};
  template <class T> struct Inputs {
    Params<T> params;
    Tokens<T> tokens;
    T irreducible, params_coefficient, tokens_coefficient, params_exponent, tokens_exponent;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::params, key::params).positive(), field(&Inputs::tokens, key::tokens).positive(),
          field(&Inputs::irreducible, "irreducible", "", "loss that no model and no data remove")
              .non_negative(),
          field(&Inputs::params_coefficient, "params_coefficient", "", "loss of a model of one parameter")
              .positive(),
          field(&Inputs::tokens_coefficient, "tokens_coefficient", "", "loss after one token").positive(),
          field(&Inputs::params_exponent, "params_exponent", "", "how fast size helps").within(0.01, 2),
          field(&Inputs::tokens_exponent, "tokens_exponent", "", "how fast data help").within(0.01, 2));
    }
  };
  template <class T> struct Result {
    T loss, params_loss, tokens_loss;
    static constexpr auto fields() {
      return rows(field(&Result::loss, "loss", "", "loss per token, in nats"),
                  field(&Result::params_loss, "params_loss", "", "part that a larger model would remove"),
                  field(&Result::tokens_loss, "tokens_loss", "", "part that more data would remove"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T size = in.params_coefficient * pow(in.params.base(), -in.params_exponent);
    const T data = in.tokens_coefficient * pow(in.tokens.base(), -in.tokens_exponent);
    return {.loss = in.irreducible + size + data, .params_loss = size, .tokens_loss = data};
  }
};

/// Size and data that give the least loss for a training budget, from the coefficients of a fitted loss
/// [param, token].
///
/// The optimum is where the two parts of ChinchillaLoss fall equally fast. Ranges as there; work > 0.
/// @cite hoffmann2022chinchilla, eq. (4)
struct ChinchillaAllocation {
  static constexpr LawInfo info{"ChinchillaAllocation",
                                "params = G (work / 6)^(b / (a + b)); tokens = (work / 6)^(a / (a + b)) / G; "
                                "G = (a A / (b B))^(1 / (a + b))",
                                "hoffmann2022chinchilla", "eq. (4)",
                                "training costs 6 FLOP per parameter and token"};
  template <class T> struct Inputs {
    Work<T> work;
    T params_coefficient, tokens_coefficient, params_exponent, tokens_exponent;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, "work", "ZFLOP", "training budget").positive(),
          field(&Inputs::params_coefficient, "params_coefficient", "", "loss of a model of one parameter")
              .within(1, 1e6),
          field(&Inputs::tokens_coefficient, "tokens_coefficient", "", "loss after one token").within(1, 1e6),
          field(&Inputs::params_exponent, "params_exponent", "", "how fast size helps").within(0.1, 1),
          field(&Inputs::tokens_exponent, "tokens_exponent", "", "how fast data help").within(0.1, 1));
    }
  };
  template <class T> using Result = ChinchillaOptimal::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T pairs = in.work.base() / 6.0;
    const T both = in.params_exponent + in.tokens_exponent;
    const T balance = named("balance", pow(T(in.params_exponent * in.params_coefficient /
                                             (in.tokens_exponent * in.tokens_coefficient)),
                                           T(1.0 / both)));
    return {.params = Params<T>::from_base(balance * pow(pairs, T(in.tokens_exponent / both))),
            .tokens = Tokens<T>::from_base(pow(pairs, T(in.params_exponent / both)) / balance)};
  }
};

/// Arithmetic of a model over its life: training and all tokens that it will serve [FLOP].
///
/// Example: 8 billion params, 15 trillion tokens, 10 trillion served: 880 ZFLOP. Ranges: all >= 0.
/// @cite sardana2024inference, eq. (2)
struct LifetimeWork {
  static constexpr LawInfo info{"LifetimeWork", "work = 6 params tokens + 2 params served_tokens",
                                "sardana2024inference", "eq. (2)",
                                "attention over long contexts is left out"};
  template <class T> struct Inputs {
    Params<T> params;
    Tokens<T> tokens, served_tokens;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::params, key::params), field(&Inputs::tokens, key::tokens),
          field(&Inputs::served_tokens, "served_tokens", "Gtoken", "tokens read and written in service")
              .non_negative());
    }
  };
  template <class T> struct Result {
    Work<T> work;
    static constexpr auto fields() {
      return rows(field(&Result::work, "work", "ZFLOP", "training and service"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    constexpr auto per_pair = 2.0 * unit::FLOP / unit::param / unit::token;
    return {.work = in.params * (3.0 * in.tokens + in.served_tokens) * per_pair};
  }
};

}  // namespace mlsysim
