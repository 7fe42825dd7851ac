#include "explore/ask/samples.hpp"

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/random.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace mlsysim::detail {
namespace {

constexpr std::array<unsigned, 2 * kMostUncertainFigures> kPrimes{
    2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,  47,  53,
    59,  61,  67,  71,  73,  79,  83,  89,  97,  101, 103, 107, 109, 113, 127, 131,
    137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223,
    227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311};

/// Halton's sequence with digits scrambled at random: digit -> a digit + b modulo the base, drawn for each
/// place.
class Halton {
 public:
  Halton(std::size_t dimension, std::uint64_t seed) : base_(kPrimes[dimension]) {
    double scale = 1;
    for (std::uint64_t place = 0; scale > 1e-17; ++place) {
      const auto draw = [&](std::uint64_t which) {
        return uniform_draw(seed, static_cast<std::uint32_t>(dimension), 2 * place + which);
      };
      a_.push_back(1 + static_cast<unsigned>(draw(0) * (base_ - 1)));
      b_.push_back(static_cast<unsigned>(draw(1) * base_));
      scale /= base_;
    }
  }
  double operator()(std::uint64_t index) const {
    double x = 0, scale = 1;
    for (std::size_t place = 0; place < a_.size(); ++place) {
      scale /= base_;
      x += scale * static_cast<double>((a_[place] * (index % base_) + b_[place]) % base_);
      index /= base_;
    }
    return std::clamp(x, 1e-16, 1 - 1e-16);
  }

 private:
  unsigned base_;
  std::vector<unsigned> a_, b_;
};

/// Samples that are evaluated together, and those whose sums are added up first: processes share whole tiles,
/// so that sums have one order however many there are.
constexpr std::size_t kChunk = 1024, kTile = 64;
static_assert(kChunk % kTile == 0);

/// The samples of each set that a process evaluates.
PointRange samples_of(const UncertaintyQuestion& q, std::uint64_t part) {
  const auto tiles = shard_range((q.samples + kTile - 1) / kTile, part, q.shared.parts);
  return {std::min<std::uint64_t>(tiles.first * kTile, q.samples),
          std::min<std::uint64_t>(tiles.last * kTile, q.samples)};
}

/// Draws a chunk of the two sets, and evaluates the subject over columns of them.
class Chunks {
 public:
  /// `dimensions[i]` of the sequence belongs to figure i; those of the second set follow behind `all`.
  /// @param results that are read @param points that are evaluated in all
  Chunks(const Subject& subject, const std::vector<UncertainInput>& figures,
         std::span<const std::size_t> dimensions, std::size_t all, std::uint64_t seed,
         std::span<const std::size_t> results, std::size_t points)
      : subject_(&subject),
        figures_(&figures),
        results_(distinct(results)),
        kernel_(subject.entry, results_),
        columns_(subject.point.begin(), subject.point.end()),
        a_(figures.size(), std::vector<double>(kChunk)),
        b_(a_),
        out_(subject.entry.results.size()) {
    for (const std::size_t r : results_) spans_.emplace_back(out_[r] = std::vector<double>(kChunk));
    kernel_.expect(points);
    for (const std::size_t d : dimensions) {
      first_.emplace_back(d, seed);
      second_.emplace_back(all + d, seed);
    }
  }
  enum class Sets { first, both };
  void draw(std::uint64_t from, std::size_t n, Sets sets) {
    n_ = n;
    for (std::size_t i = 0; i < figures_->size(); ++i) {
      const auto& figure = (*figures_)[i];
      const double value = subject_->point[figure.input];
      for (std::size_t j = 0; j < n; ++j) {
        a_[i][j] = input_quantile(subject_->entry, figure, value, first_[i](from + j + 1));
        if (sets == Sets::both)
          b_[i][j] = input_quantile(subject_->entry, figure, value, second_[i](from + j + 1));
      }
    }
  }
  /// By result those that are read, over the first set, the second one, or the first one with one figure of
  /// the second.
  const std::vector<std::vector<double>>& first() { return run(a_, figures_->size()); }
  const std::vector<std::vector<double>>& second() { return run(b_, figures_->size()); }
  const std::vector<std::vector<double>>& mixed(std::size_t figure) { return run(a_, figure); }

 private:
  static std::vector<std::size_t> distinct(std::span<const std::size_t> results) {
    std::vector<std::size_t> out(results.begin(), results.end());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  const std::vector<std::vector<double>>& run(const std::vector<std::vector<double>>& set,
                                              std::size_t other) {
    for (std::size_t i = 0; i < figures_->size(); ++i)
      columns_[(*figures_)[i].input] = Column(std::span<const double>((i == other ? b_ : set)[i]).first(n_));
    kernel_.run(columns_, spans_, n_);
    return out_;
  }

  const Subject* subject_;
  const std::vector<UncertainInput>* figures_;
  std::vector<std::size_t> results_;
  BatchKernel kernel_;
  std::vector<Column> columns_;
  std::vector<Halton> first_, second_;
  std::vector<std::vector<double>> a_, b_, out_;
  std::vector<std::span<double>> spans_;
  std::size_t n_ = 0;
};

/// Adds up chunks; what other processes added is brought in afterwards.
class Sums {
 public:
  Sums(const SampleQuestion& ask, const UncertaintyQuestion& q)
      : ask_(&ask),
        q_(&q),
        mixed_(q.attribution ? ask.figures.size() : 0),
        kept_(mixed_ + 2, Rows(ask.results.size(), std::vector<double>(kChunk))) {
    const auto own = samples_of(q, q.shared.part);
    for (const std::size_t r : ask.results) {
      const double centre = std::isfinite(ask.at_point[r]) ? ask.at_point[r] : 0;
      out_.results.push_back({{}, std::vector<FigureSums>(mixed_), centre, 0});
      out_.results.back().values.reserve(2 * (own.last - own.first));
    }
    now_ = longest(ask.parts, [&](std::size_t r) { return ask.at_point[r]; });
  }
  void add(Chunks& chunks, std::size_t n) {
    keep(0, chunks.first(), n);
    keep(1, chunks.second(), n);
    for (std::size_t i = 0; i < mixed_; ++i) keep(2 + i, chunks.mixed(i), n);
    for (std::size_t at = 0; at < n; at += kTile)
      for (std::size_t r = 0; r < out_.results.size(); ++r) add_tile(r, at, std::min(at + kTile, n));
  }
  Sampled done() {
    if (q_->shared.gather) bring_together();
    return std::move(out_);
  }

 private:
  using Rows = std::vector<std::vector<double>>;

  void keep(std::size_t set, const Rows& all, std::size_t n) {
    for (std::size_t r = 0; r < ask_->results.size(); ++r)
      std::copy_n(all[ask_->results[r]].begin(), n, kept_[set][r].begin());
    if (set > 1 || ask_->parts.empty()) return;
    for (std::size_t j = 0; j < n; ++j)
      out_.flips += longest(ask_->parts, [&](std::size_t r) { return all[r][j]; }) != now_ ? 1u : 0u;
  }
  void add_tile(std::size_t result, std::size_t from, std::size_t to) {
    SampledResult& out = out_.results[result];
    const auto& a = kept_[0][result];
    const auto& b = kept_[1][result];
    std::vector<FigureSums> tile(out.figures.size());
    for (std::size_t j = from; j < to; ++j) {
      if (!std::all_of(kept_.begin(), kept_.end(),
                       [&](const Rows& set) { return std::isfinite(set[result][j]); })) {
        ++out.left_out;
        continue;
      }
      out.values.push_back(a[j]);
      out.values.push_back(b[j]);
      for (std::size_t i = 0; i < tile.size(); ++i) {
        const double change = kept_[2 + i][result][j] - a[j];
        tile[i].product += (b[j] - out.centre) * change;
        tile[i].change += change;
        tile[i].square += change * change;
      }
    }
    for (const auto& sums : tile) {
      if (!q_->shared.gather) break;
      tiles_.insert(tiles_.end(), {sums.product, sums.change, sums.square});
    }
    if (!q_->shared.gather) add_sums(out, tile);
  }
  static void add_sums(SampledResult& out, std::span<const FigureSums> tile) {
    for (std::size_t i = 0; i < tile.size(); ++i) {
      out.figures[i].product += tile[i].product;
      out.figures[i].change += tile[i].change;
      out.figures[i].square += tile[i].square;
    }
  }
  /// Gathers the samples of all processes. Each sends its flips; per result the number left out, the number
  /// of values and the values; then the sums of its tiles.
  void bring_together() {
    std::vector<double> own{static_cast<double>(out_.flips)};
    for (auto& result : out_.results) {
      own.insert(own.end(),
                 {static_cast<double>(result.left_out), static_cast<double>(result.values.size())});
      own.insert(own.end(), result.values.begin(), result.values.end());
      result.values = {};
      result.left_out = 0;
    }
    own.insert(own.end(), tiles_.begin(), tiles_.end());
    tiles_ = {};
    out_.flips = 0;
    const auto all = q_->shared.gather(std::move(own));
    if (q_->shared.part != 1) return;
    auto at = all.begin();
    std::vector<FigureSums> tile(mixed_);
    for (std::uint64_t part = 1; part <= q_->shared.parts; ++part) {
      out_.flips += static_cast<std::size_t>(*at++);
      for (auto& result : out_.results) {
        result.left_out += static_cast<std::size_t>(*at++);
        const auto count = static_cast<std::ptrdiff_t>(*at++);
        result.values.insert(result.values.end(), at, at + count);
        at += count;
      }
      const auto range = samples_of(*q_, part);
      for (auto j = range.first; j < range.last; j += kTile)
        for (auto& result : out_.results) {
          for (auto& sums : tile) {
            sums = {at[0], at[1], at[2]};
            at += 3;
          }
          add_sums(result, tile);
        }
    }
  }

  const SampleQuestion* ask_;
  const UncertaintyQuestion* q_;
  std::size_t mixed_;       ///< sets in which one figure is exchanged
  std::vector<Rows> kept_;  ///< [set a, set b, one per figure][result asked for][sample of the chunk]
  Sampled out_;
  std::vector<double> tiles_;
  std::size_t now_ = 0;
};

/// Values of both sets; where processes share them twice, for the moment at which they are handed over; and
/// the chunk.
void check_memory(const Subject& subject, const SampleQuestion& ask, const UncertaintyQuestion& q) {
  const std::uint64_t k = q.attribution ? ask.figures.size() : 0, asked = ask.results.size();
  const std::uint64_t shared = q.shared.gather ? 2 : 1;
  const std::uint64_t bytes =
      sizeof(double) *
      (shared * std::uint64_t{q.samples} * 2 * asked + (shared - 1) * q.samples * 3 * k * asked / kTile +
       kChunk * (2 * k + (k + 2) * asked + subject.entry.results.size()));
  if (bytes <= q.memory) return;
  throw InputError({.id = "mlsysim.explore.153",
                    .message = "the samples take more memory than they may",
                    .key = "samples",
                    .found = fmt::format("{} samples of {} results and {} figures, {:.3g} GB", q.samples,
                                         asked, k, 1e-9 * static_cast<double>(bytes)),
                    .expected = fmt::format("at most {:.3g} GB", 1e-9 * static_cast<double>(q.memory)),
                    .hint = "take fewer samples, ask for fewer results, or raise the limit (--memory)"});
}

/// One result over the samples of this process.
std::vector<double> first_set(const FirstSet& ask, const UncertaintyQuestion& q) {
  const auto range = samples_of(q, q.shared.part);
  Chunks chunks(ask.subject, ask.figures, ask.dimensions, 0, q.seed, {&ask.result, 1},
                static_cast<std::size_t>(range.last - range.first));
  std::vector<double> out;
  out.reserve(range.last - range.first);
  for (auto at = range.first; at < range.last; at += kChunk) {
    if (q.pause) q.pause();
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, range.last - at));
    chunks.draw(at, n, Chunks::Sets::first);
    const auto& column = chunks.first()[ask.result];
    out.insert(out.end(), column.begin(), column.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return out;
}

}  // namespace

Sampled sample(const Subject& subject, const SampleQuestion& ask, const UncertaintyQuestion& q) {
  check_memory(subject, ask, q);
  std::vector<std::size_t> dimensions(ask.figures.size());
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  const auto range = samples_of(q, q.shared.part);
  std::vector<std::size_t> read(ask.results.begin(), ask.results.end());
  read.insert(read.end(), ask.parts.begin(), ask.parts.end());
  Chunks chunks(
      subject, ask.figures, dimensions, dimensions.size(), q.seed, read,
      static_cast<std::size_t>(range.last - range.first) * (2 + (q.attribution ? ask.figures.size() : 0)));
  Sums sums(ask, q);
  for (auto at = range.first; at < range.last; at += kChunk) {
    if (q.pause) q.pause();
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, range.last - at));
    chunks.draw(at, n, Chunks::Sets::both);
    sums.add(chunks, n);
  }
  return sums.done();
}

std::pair<std::vector<double>, std::vector<double>> first_sets(const FirstSet& a, const FirstSet& b,
                                                               const UncertaintyQuestion& q) {
  std::pair out{first_set(a, q), first_set(b, q)};
  if (!q.shared.gather) return out;
  auto own = std::move(out.first);
  own.insert(own.end(), out.second.begin(), out.second.end());
  out = {};
  const auto all = q.shared.gather(std::move(own));
  auto at = all.begin();
  for (std::uint64_t part = 1; q.shared.part == 1 && part <= q.shared.parts; ++part) {
    const auto range = samples_of(q, part);
    for (auto* set : {&out.first, &out.second}) {
      const auto n = static_cast<std::ptrdiff_t>(range.last - range.first);
      set->insert(set->end(), at, at + n);
      at += n;
    }
  }
  return out;
}

}  // namespace mlsysim::detail
