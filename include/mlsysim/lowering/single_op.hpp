#pragma once
/// Single operators as kernel benchmarks measure them: a product, fused attention, a stream, a collective.
///
///     product:   work = 2 m n k copies          memory_bytes = (a m k + b k n + c m n) copies
///     attention: work = 2 batch heads pairs (qk_dim + v_dim)
///
/// a, b, c: bytes per element, 2 by default. `price` estimates these as it does operators of a model.
///
/// Example: `product_op<double>(4096, 4096, 4096)` has 137 GFLOP and 101 MB.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/physics/attention.hpp>
#include <mlsysim/physics/matmul.hpp>

namespace mlsysim {

/// Storage of the three matrices of a product, per element.
template <class T = double> struct ProductBytes {
  Data<T> a = Data<T>::from_base(T{2.0}), b = Data<T>::from_base(T{2.0}), c = Data<T>::from_base(T{2.0});
};

/// `copies` products C[m,n] = A[m,k] B[k,n] in one launch, run `times` back to back.
template <class T = double>
[[nodiscard]] Op<T> product_op(const T& m, const T& n, const T& k, const ProductBytes<T>& bytes = {},
                               const T& times = T{1.0}, const T& copies = T{1.0}) {
  const auto need = apply<MatmulWork, T>(
      {.m = m, .n = n, .k = k, .count = copies, .a_bytes = bytes.a, .b_bytes = bytes.b, .c_bytes = bytes.c});
  Op<T> op;
  op.kind = OpKind::matmul;
  op.group = OpGroup::feed_forward;
  op.name = "product";
  op.count = times;
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  op.work = need.work;
  op.memory_bytes = need.traffic;
  return op;
}

/// Shape of one attention call: heads of this device, tokens of one sequence.
template <class T = double> struct AttentionCall {
  T batch{1.0}, heads{1.0}, kv_heads{1.0}, qk_dim{128.0}, v_dim{128.0}, new_tokens{1.0}, context{1.0},
      causal{1.0};
  Data<T> io_bytes = Data<T>::from_base(T{2.0}), kv_bytes = Data<T>::from_base(T{2.0});
};

/// One fused attention call, run `times` back to back.
template <class T = double>
[[nodiscard]] Op<T> attention_op(const AttentionCall<T>& s, const T& times = T{1.0}) {
  const auto need = apply<AttentionWork, T>({.batch = s.batch,
                                             .heads = s.heads,
                                             .kv_heads = s.kv_heads,
                                             .qk_dim = s.qk_dim,
                                             .v_dim = s.v_dim,
                                             .new_tokens = s.new_tokens,
                                             .past_tokens = s.context - s.new_tokens,
                                             .causal = s.causal,
                                             .io_bytes = s.io_bytes,
                                             .kv_bytes = s.kv_bytes});
  Op<T> op;
  op.kind = OpKind::attention;
  op.group = OpGroup::attention;
  op.name = "attention";
  op.count = times;
  op.m = s.new_tokens;
  op.n = s.context;
  op.k = s.qk_dim;
  op.copies = s.batch * s.heads;
  op.attended_keys = need.pairs / s.new_tokens;
  op.group_heads = s.heads / s.kv_heads;
  op.work = need.work;
  op.working_set = need.qo_traffic;
  op.memory_bytes = op.working_set + need.kv_traffic;
  return op;
}

/// A kernel that moves bytes and computes next to nothing, e.g. a copy (read and written bytes both count).
template <class T = double> [[nodiscard]] Op<T> stream_op(const Data<T>& traffic) {
  Op<T> op;
  op.name = "stream";
  op.memory_bytes = traffic;
  return op;
}

/// One collective of neighbouring devices; `message` is the whole buffer of a rank.
template <class T = double>
[[nodiscard]] Op<T> collective_op(Collective pattern, const Data<T>& message, const T& ranks) {
  Op<T> op;
  op.kind = OpKind::collective;
  op.group = OpGroup::communication;
  op.collective = pattern;
  op.name = "collective";
  op.message = message;
  op.ranks = ranks;
  return op;
}

}  // namespace mlsysim
