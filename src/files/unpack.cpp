#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>

#include <fmt/format.h>
#include <zlib.h>

namespace mlsysim::files {
namespace {

/// A stream of gzip, of one member or of several in a row.
class Unpacker {
 public:
  Unpacker() { inflateInit2(&stream_, 16 + MAX_WBITS); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { inflateEnd(&stream_); }

  void take(std::string_view piece, const std::function<void(std::string_view)>& give) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (wrong_.empty() && stream_.avail_in > 0) {
      if (ended_) inflateReset(&stream_);
      ended_ = false;
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      const int state = inflate(&stream_, Z_NO_FLUSH);
      if (const auto n = out_.size() - stream_.avail_out; n > 0) give({out_.data(), n});
      ended_ = state == Z_STREAM_END;
      if (state != Z_OK && !ended_ && state != Z_BUF_ERROR)
        wrong_ = fmt::format("damaged gzip: {}", stream_.msg == nullptr ? "an error" : stream_.msg);
    }
  }
  [[nodiscard]] std::string fault() const {
    return !wrong_.empty() ? wrong_ : ended_ ? std::string() : "gzip that ends in the middle";
  }

 private:
  z_stream stream_{};
  std::string out_ = std::string(1 << 18, '\0');
  std::string wrong_;
  bool ended_ = false;
};

}  // namespace

std::string read_unpacked(const std::filesystem::path& file,
                          const std::function<void(std::string_view)>& take) {
  const auto size = size_of(file);
  Unpacker unpacker;
  bool first = true, packed = false;
  auto wrong = read_pieces(file, size, [&](std::string_view piece) {
    if (first) packed = piece.starts_with("\x1f\x8b");
    first = false;
    if (packed)
      unpacker.take(piece, take);
    else
      take(piece);
  });
  return wrong.empty() && packed ? unpacker.fault() : wrong;
}

}  // namespace mlsysim::files
