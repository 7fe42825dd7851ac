#pragma once
/// Small files of weights, made here.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mlsysim::samples {

template <class N> void put(std::string& out, N number) {
  std::string bytes(sizeof(N), '\0');
  std::memcpy(bytes.data(), &number, sizeof(N));
  out += bytes;
}

/// A header and its length; the data would follow.
inline std::string safetensors(std::string_view header) {
  std::string out;
  put<std::uint64_t>(out, header.size());
  return out + std::string(header);
}

inline void put_text(std::string& out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out += text;
}
inline void put_key(std::string& out, std::string_view key, std::uint32_t value) {
  put_text(out, key);
  put<std::uint32_t>(out, 4);
  put<std::uint32_t>(out, value);
}
inline void put_tensor(std::string& out, std::string_view name, std::uint64_t rows, std::uint64_t columns,
                       std::uint32_t type, std::uint64_t offset) {
  put_text(out, name);
  put<std::uint32_t>(out, 2);
  put<std::uint64_t>(out, columns);
  put<std::uint64_t>(out, rows);
  put<std::uint32_t>(out, type);
  put<std::uint64_t>(out, offset);
}

/// Header of a decoder of two layers, embedding in F16 and the head in Q8_0.
inline std::string gguf_llama() {
  std::string out = "GGUF";
  put<std::uint32_t>(out, 3);
  put<std::uint64_t>(out, 2);
  put<std::uint64_t>(out, 8);
  put_text(out, "general.architecture");
  put<std::uint32_t>(out, 8);
  put_text(out, "llama");
  put_key(out, "llama.block_count", 2);
  put_key(out, "llama.embedding_length", 64);
  put_key(out, "llama.feed_forward_length", 128);
  put_key(out, "llama.context_length", 512);
  put_key(out, "llama.attention.head_count", 4);
  put_key(out, "llama.attention.head_count_kv", 2);
  put_text(out, "tokenizer.ggml.tokens");
  put<std::uint32_t>(out, 9);
  put<std::uint32_t>(out, 0);
  put<std::uint64_t>(out, 96);
  out += std::string(96, 'x');
  put_tensor(out, "token_embd.weight", 96, 64, 1, 0);
  put_tensor(out, "output.weight", 96, 64, 8, 12288);
  return out;
}

}  // namespace mlsysim::samples
