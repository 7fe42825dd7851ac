// Every point of a space as a line of a file.

#include "row_text.hpp"

#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/report/table.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kCheckpoint = std::chrono::seconds(10), kReader = std::chrono::seconds(1);
constexpr std::size_t kBuffer = 1 << 16;

/// Ends the visit of points; what is done is written.
struct Stop {};

/// The rows cannot be written on, as errno says.
[[noreturn]] void row_fault(const std::string& path, std::string message, std::string hint) {
  throw InputError({.id = "mlsysim.cli.067",
                    .message = std::move(message),
                    .key = path,
                    .found = fmt::format("'{}': {}", path, std::strerror(errno)),
                    .hint = std::move(hint)});
}

/// A device or pipe, which takes rows as they come and keeps none.
bool irregular(const std::string& path) { return !files::irregular(path).empty(); }

/// A device, or a pipe once somebody reads it: for a while it is waited for, because both may be started
/// together.
/// @return -1 with errno where there is none
int open_stream(const std::string& path) {
  const auto until = Clock::now() + kReader;
  int file = -1;
  do {
    file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0 && errno == ENXIO) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (file < 0 && (errno == ENXIO || errno == EINTR) && Clock::now() < until);
  if (file < 0 && errno == ENXIO)
    throw InputError({.id = "mlsysim.cli.186",
                      .message = "nobody reads this pipe",
                      .key = path,
                      .found = fmt::format("'{}', without a reader for {} s", path, kReader.count()),
                      .expected = "a reader of the pipe, or a file",
                      .hint = "start the program that reads it first"});
  if (file >= 0) (void)::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return file;
}

/// A place up to which the rows are whole: they are checked from mark to mark.
struct Mark {
  std::uint64_t next = 0, bytes = 0;
  std::uint32_t crc32 = 0;  ///< of all bytes up to here
};
constexpr std::size_t kMostMarks = 64;

RowFormat format_of(const std::string& path) {
  const auto ending = fs::path(path).extension();
  if (ending == ".jsonl" || ending == ".ndjson") return RowFormat::lines;
  // Devices and pipes have names of their own.
  if (ending == ".csv" || (ending.empty() && irregular(path))) return RowFormat::csv;
  throw InputError({.id = "mlsysim.cli.082",
                    .message = "the format of the rows is not known",
                    .key = "--rows",
                    .found = fmt::format("'{}'", path),
                    .expected = "a name that ends in .csv, .jsonl or .ndjson",
                    .hint = ending == ".parquet" ? "in Python, Subject.sweep(...).to_parquet writes Parquet"
                                                 : "choose another name"});
}

/// Refuses options that a file of rows has no place for, since they would have no effect.
void check_asked(const Question& question, const SearchRequest& asked) {
  constexpr Fault kEveryPoint{
      .id = "mlsysim.cli.083",
      .message = "rows list every point and reduce none",
      .expected = "sweep with --axis, --show, --subject-to, --shard and --state beside --rows"};
  if (asked.command != "sweep")
    throw InputError(kEveryPoint.with({.key = "--rows",
                                       .found = fmt::format("{} with --rows", asked.command),
                                       .hint = "use sweep, or leave out --rows"}));
  if (!question.objectives.empty())
    throw InputError(
        kEveryPoint.with({.key = "--rows",
                          .found = fmt::format("the objective '{}'", question.objectives[0].text),
                          .hint = "list it with --show, and ask for the best in a run without --rows"}));
  if (question.top != 1)
    throw InputError(kEveryPoint.with({.key = "--top",
                                       .found = fmt::format("--top {}", question.top),
                                       .hint = "ask for the best in a run without --rows"}));
  if (question.histogram)
    throw InputError(kEveryPoint.with({.key = "--histogram",
                                       .found = fmt::format("--histogram '{}'", *question.histogram),
                                       .hint = "ask for it in a run without --rows"}));
  if (asked.strategy != "automatic" && asked.strategy != "exhaustive")
    throw InputError(kEveryPoint.with({.key = "--strategy",
                                       .found = fmt::format("--strategy {}", asked.strategy),
                                       .hint = "leave it out"}));
}

/// Points of a rank between two turns: several turns each, and a buffer that is not large.
std::uint64_t piece_of(const PointRange& range, const mlsysim_ranks& r) {
  constexpr std::uint64_t kTurns = 8, kMost = 1 << 15;
  return std::clamp((range.last - range.first) / (kTurns * static_cast<std::uint64_t>(r.size)),
                    std::uint64_t{1}, kMost);
}

/// The pieces of a rank behind the first, which says where to begin.
void hand_rows(const Space& space, const Question& question, RowFormat format, const mlsysim_ranks& r) {
  const RowText text(space, question, format);
  const PointRange range{std::stoull(received_from(r, 0)), space.size()};
  const auto piece = piece_of(range, r);
  std::string out;
  for (auto first = range.first + piece * static_cast<std::uint64_t>(r.rank); first < range.last;
       first += piece * static_cast<std::uint64_t>(r.size)) {
    visit_points(space, question, first, std::min(range.last, first + piece),
                 [&](const RowBlock& b) { text.append(b, out); });
    send_to(r, 0, out);
    out.clear();
  }
}

class RowWriter {
 public:
  RowWriter(const Space& space, const Question& question, const Json& request, const SearchRequest& asked)
      : space_(space),
        question_(question),
        request_(request),
        path_(asked.rows),
        state_(asked.state),
        text_(space, question, format_of(asked.rows)),
        forced_(asked.overwrite),
        threads_(asked.threads) {
    const bool resumes = goes_on_from_state(asked);
    if (!state_.empty() && irregular(path_))
      throw InputError({.id = "mlsysim.cli.086",
                        .message = "rows that can be resumed need a file",
                        .key = "--rows",
                        .found = fmt::format("'{}', a device or pipe", path_),
                        .expected = "a regular file, or a name that is free",
                        .hint = "choose another name, or leave out --state"});
    shard_ = shard_of(asked.shard);
    range_ = shard_range(space.size(), shard_.k, shard_.n);
    next_ = range_.first;
    if (!state_.empty()) lock_.emplace(state_);
    if (resumes) {
      take_up();
      return;
    }
    check_new();
    if (!state_.empty()) save_state();  // from now on a run that is killed can be gone on with
    begin();
  }
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  ~RowWriter() {
    if (file_ >= 0) ::close(file_);
  }

  /// Writes what is left, which other ranks compute as well. Gives whether it came to the end.
  bool run(const std::atomic<bool>& interrupted, const mlsysim_ranks* with) {
    saved_ = Clock::now();
    try {
      if (with != nullptr) {
        run_with(*with, interrupted);
      } else {
        write_points(
            space_, question_, {next_, range_.last}, threads_,
            [&](const RowBlock& block, std::string& text) { text_.append(block, text); },
            [&](std::uint64_t next, std::string_view text) {
              out_ += text;
              keep(next, interrupted);
            });
      }
    } catch (const Stop&) {
    }
    state_.empty() ? flush() : save();
    if (::close(std::exchange(file_, -1)) != 0) row_fault(path_, kUnfinished, kRoom);
    return next_ == range_.last;
  }

  [[nodiscard]] const PointRange& range() const { return range_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  /// The rows up to `next` are in the buffer.
  void keep(std::uint64_t next, const std::atomic<bool>& interrupted) {
    next_ = next;
    if (out_.size() > kBuffer) flush();
    if (interrupted) throw Stop{};
    if (!state_.empty() && Clock::now() - saved_ > kCheckpoint) {
      save();
      saved_ = Clock::now();
    }
  }

  /// Pieces go round the ranks; this one, rank 0, puts them one behind the other.
  void run_with(const mlsysim_ranks& r, const std::atomic<bool>& interrupted) {
    for (int other = 1; other < r.size; ++other) send_to(r, other, std::to_string(next_));
    const auto piece = piece_of({next_, range_.last}, r);
    for (int owner = 0; next_ < range_.last; owner = (owner + 1) % r.size) {
      const auto end = std::min(range_.last, next_ + piece);
      if (owner != 0)
        out_.append(received_from(r, owner));
      else
        visit_points(space_, question_, next_, end, [&](const RowBlock& b) { text_.append(b, out_); });
      keep(end, interrupted);
    }
  }

  static constexpr const char* kUnfinished = "the rows cannot be written to their end";
  static constexpr const char* kRoom = "make room on the disk; what was written is valid up to its last line";

  /// Keeps an existing file unless the caller forces it. `mine`: a file with our header may be replaced.
  [[nodiscard]] files::WriteHow how(bool mine) const {
    const bool any = forced_ || irregular(path_);
    return {.replace = any ? files::Replace::any : files::Replace::own,
            .mark = mine ? std::string_view(text_.header()) : std::string_view()};
  }
  void check_new() const {
    if (irregular(path_) && state_.empty() && !fs::is_directory(path_)) return;
    files::check_target(path_, how(false));
  }

  void begin(bool mine = false) {
    if (irregular(path_) && !fs::is_directory(path_)) {
      // Plugins may have had stdout pointed elsewhere.
      file_ = path_ == "/dev/stdout" ? ::dup(answer_stream()) : open_stream(path_);
      if (file_ < 0) row_fault(path_, "a file cannot be written", "check the folder");
    } else {
      file_ = files::begin(path_, how(mine));
    }
    if (text_.format_name() == "csv") out_.append(text_.header());
  }

  /// Cuts the file to the rows that the state covers: a run that was killed may have written more.
  void take_up() {
    const Json j = read_state_file(state_, kRowsSchema);
    std::string digest, format;
    PointRange range;
    try {
      digest = j.at("digest");
      format = j.at("format");
      range = {j.at("first"), j.at("last")};
      next_ = j.at("next");
      for (const auto& m : j.at("marks")) marks_.push_back({m.at(0), m.at(1), m.at(2)});
    } catch (const Json::exception& e) {
      refuse_state_file(state_, kRowsSchema, e.what());
    }
    constexpr const char* kGoOn{"mlsysim.cli.084"};
    const std::string own = digest_of(space_, question_);
    if (digest != own)
      throw InputError(kGoOn, "the rows to go on with answer another question", state_, "digest " + digest,
                       "digest " + own,
                       "plan, axes, constraints, --show, the zoo's figures and the version must be the same");
    if (range.first != range_.first || range.last != range_.last)
      throw InputError(
          kGoOn, "the rows to go on with are of another shard", state_,
          fmt::format("points {} to {}", range.first, range.last),
          fmt::format("points {} to {}, shard {}/{}", range_.first, range_.last, shard_.k, shard_.n),
          "name the same --shard");
    if (next_ < range.first || next_ > range.last)
      refuse_state_file(state_, kRowsSchema,
                        fmt::format("point {} of {} to {}", next_, range.first, range.last));
    if (format != text_.format_name())
      throw InputError(kGoOn, "the rows to go on with have another format", state_, format,
                       std::string(text_.format_name()), "name the same --rows file");
    if (marks_.empty()) return begin(true);  // it was ended before its first rows
    std::error_code none;
    if (!fs::exists(path_, none))
      throw InputError(
          kGoOn, "the rows to go on with are not there", state_, fmt::format("no readable file '{}'", path_),
          fmt::format("at least {} bytes", marks_.back().bytes),
          "name the --rows file of the run before, or begin again with --force and without --resume");
    drop_damaged();
    next_ = marks_.empty() ? range_.first : marks_.back().next;
    bytes_ = marks_.empty() ? 0 : marks_.back().bytes;
    crc32_ = marks_.empty() ? 0 : marks_.back().crc32;
    if (marks_.empty()) return begin(true);
    file_ = files::go_on(path_, bytes_);
  }

  /// Rows that are not what was written are refused by name, or, with --force, written again from the last
  /// mark before them.
  void drop_damaged() {
    std::size_t whole = 0;
    std::uint64_t read = 0;
    std::uint32_t crc = 0;
    bool same = true;
    const auto wrong = files::read_pieces(path_, marks_.back().bytes, [&](std::string_view piece) {
      while (same && whole < marks_.size() && marks_[whole].bytes <= read + piece.size()) {
        const auto part = piece.substr(0, marks_[whole].bytes - read);
        crc = files::checksum(part, crc);
        read += part.size();
        piece.remove_prefix(part.size());
        same = crc == marks_[whole].crc32;
        if (same) ++whole;
      }
      crc = files::checksum(piece, crc);
      read += piece.size();
    });
    if (whole == marks_.size()) return;
    const Mark intact = whole == 0 ? Mark{range_.first, 0, 0} : marks_[whole - 1];
    const auto found = fmt::format("'{}', which is damaged between bytes {} and {}{}{}", path_, intact.bytes,
                                   marks_[whole].bytes, wrong.empty() ? "" : ": ", wrong);
    if (!forced_)
      throw InputError(
          {.id = "mlsysim.cli.106",
           .message = "the rows to go on with are not those that were written",
           .key = path_,
           .found = found,
           .expected = fmt::format("{} bytes as they were written", marks_.back().bytes),
           .hint = fmt::format("--resume --force goes on after the {} rows before that, which are intact",
                               intact.next - range_.first)});
    marks_.resize(whole);
  }

  void flush() {
    if (const int why = files::put(file_, out_); why != 0) {
      errno = why;
      row_fault(path_, kUnfinished, kRoom);
    }
    crc32_ = files::checksum(out_, crc32_);
    bytes_ += out_.size();
    out_.clear();
  }

  void save() {
    flush();
    if (::fsync(file_) != 0)
      row_fault(path_, kUnfinished, kRoom);  // the state must not run ahead of the rows
    if (marks_.size() == kMostMarks)  // every second one goes, so that a long run has as many as a short one
      for (std::size_t i = 1; i < marks_.size(); ++i)
        marks_.erase(marks_.begin() + static_cast<std::ptrdiff_t>(i));
    marks_.push_back({next_, bytes_, crc32_});
    save_state();
  }
  void save_state() const {
    Json marks = Json::array();
    for (const auto& m : marks_) marks.push_back({m.next, m.bytes, m.crc32});
    replace_state_file(state_, {{"schema", kRowsSchema},
                                {"request", request_},
                                {"digest", digest_of(space_, question_)},
                                {"format", text_.format_name()},
                                {"first", range_.first},
                                {"last", range_.last},
                                {"next", next_},
                                {"marks", std::move(marks)}});
  }

  const Space& space_;
  const Question& question_;
  const Json& request_;
  std::string path_, state_;
  RowText text_;
  Shard shard_;
  PointRange range_;
  std::uint64_t next_ = 0, bytes_ = 0;
  Clock::time_point saved_{};
  std::uint32_t crc32_ = 0;  ///< of all bytes
  std::vector<Mark> marks_;
  bool forced_;
  std::optional<files::Lock> lock_;
  std::string out_;
  unsigned threads_;
  int file_ = -1;
};

}  // namespace

Answer write_rows(const Space& space, const Question& question, const Json& request,
                  const SearchRequest& asked, const mlsysim_ranks* with, const std::atomic<bool>& interrupted,
                  const RenderOptions& options) {
  check_asked(question, asked);
  if (with != nullptr && with->rank != 0) {
    hand_rows(space, question, format_of(asked.rows), *with);
    return {};
  }
  RowWriter writer(space, question, request, asked);
  const bool whole = writer.run(interrupted, with);
  if (!whole && with != nullptr)
    refuse_interrupted_rank(fmt::format("{} of {} rows", writer.next(), space.size()));
  const auto rows = writer.next() - writer.range().first, all = writer.range().last - writer.range().first;
  Answer out;
  if (options.format == OutputFormat::text) {
    out.payload = fmt::format("{}{} rows in {}\n", rows, whole ? "" : fmt::format(" of {}", all), asked.rows);
  } else {
    Table t{.schema = "mlsysim/rows-written@1",
            .title = space.title(),
            .columns = {{"file"}, {"first"}, {"rows"}, {"of"}}};
    t.rows.push_back({asked.rows, static_cast<double>(writer.range().first), static_cast<double>(rows),
                      static_cast<double>(all)});
    out.payload = render(t, options);
  }
  if (whole) return out;
  out.exit = Exit::interrupted;
  out.diagnostics =
      asked.state.empty()
          ? "mlsysim: interrupted: the rows cover part of the space\n"
          : fmt::format(
                "mlsysim: interrupted: the rows cover part of the space; go on with --state {} --resume\n",
                asked.state);
  return out;
}

}  // namespace mlsysim::cli
