#pragma once
// The checksum of logs of TORCH_TRACE, piece by piece.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <md5.h>

namespace mlsysim::detail {

class Md5 {
 public:
  Md5() { begin(); }
  void begin() { MD5Init(&state_); }
  void add(std::string_view bytes) {
    MD5Update(&state_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  /// The digest in hexadecimal. Nothing may be added before the next `begin`.
  [[nodiscard]] std::string text() {
    std::array<char, MD5_DIGEST_STRING_LENGTH> out{};
    return MD5End(&state_, out.data());
  }

 private:
  MD5_CTX state_{};
};

}  // namespace mlsysim::detail
