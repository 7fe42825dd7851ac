// Every point of a space as a line of a file.

#include "file_fault.hpp"
#include "search_files.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/resolve/expression.hpp>
#include <mlsysim/units/format.hpp>

#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kCheckpoint = std::chrono::seconds(10);
constexpr std::size_t kBuffer = 1 << 16;

enum class RowFormat : std::uint8_t { csv, lines };

/// Ends the visit of points; what is done is written.
struct Stop {};

bool irregular(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none) && !fs::is_regular_file(path, none);
}

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

/// What rows have no place for: it would be dropped without a word.
void check_asked(const Question& question, const SearchRequest& asked) {
  const auto refuse = [](std::string key, std::string found, std::string hint) {
    throw InputError(
        {.id = "mlsysim.cli.083",
         .message = "rows list every point and reduce none",
         .key = std::move(key),
         .found = std::move(found),
         .expected = "sweep with --axis, --show, --subject-to, --shard and --state beside --rows",
         .hint = std::move(hint)});
  };
  if (asked.command != "sweep")
    refuse("--rows", fmt::format("{} with --rows", asked.command), "use sweep, or leave out --rows");
  if (!question.objectives.empty())
    refuse("--rows", fmt::format("the objective '{}'", question.objectives[0].text),
           "list it with --show, and ask for the best in a run without --rows");
  if (question.top != 1)
    refuse("--top", fmt::format("--top {}", question.top), "ask for the best in a run without --rows");
  if (question.histogram)
    refuse("--histogram", fmt::format("--histogram '{}'", *question.histogram),
           "ask for it in a run without --rows");
  if (asked.strategy != "automatic" && asked.strategy != "exhaustive")
    refuse("--strategy", fmt::format("--strategy {}", asked.strategy), "leave it out");
}

class RowWriter {
 public:
  RowWriter(const Space& space, const Question& question, const Json& request, const SearchRequest& asked)
      : space_(space),
        question_(question),
        request_(request),
        path_(asked.rows),
        state_(asked.state),
        format_(format_of(asked.rows)) {
    const bool resumes = goes_on_from_state(asked);
    if (!state_.empty() && irregular(path_))
      throw InputError({.id = "mlsysim.cli.086",
                        .message = "rows that can be gone on with need a file",
                        .key = "--rows",
                        .found = fmt::format("'{}', a device or pipe", path_),
                        .expected = "a regular file, or a name that is free",
                        .hint = "choose another name, or leave out --state"});
    shard_ = shard_of(asked.shard);
    range_ = shard_range(space.size(), shard_.k, shard_.n);
    next_ = range_.first;
    name_columns();
    resumes ? take_up() : begin(asked.overwrite);
  }
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  ~RowWriter() {
    if (file_ != nullptr) std::fclose(file_);
  }

  /// Writes what is left. Gives whether it came to the end.
  bool run(const std::atomic<bool>& interrupted) {
    auto saved = Clock::now();
    try {
      visit_points(space_, question_, next_, range_.last, [&](const RowBlock& block) {
        write(block);
        next_ = block.first + block.points;
        if (out_.size() > kBuffer) flush();
        if (interrupted) throw Stop{};
        if (!state_.empty() && Clock::now() - saved > kCheckpoint) {
          save();
          saved = Clock::now();
        }
      });
    } catch (const Stop&) {
    }
    state_.empty() ? flush() : save();
    std::FILE* f = file_;
    file_ = nullptr;
    if (std::fclose(f) != 0) file_fault(path_, kUnfinished, kRoom);
    return next_ == range_.last;
  }

  [[nodiscard]] const PointRange& range() const { return range_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  static constexpr const char* kUnfinished = "the rows cannot be written to their end";
  static constexpr const char* kRoom = "make room on the disk; what was written is valid up to its last line";

  void name_columns() {
    names_ = {text_cell("index")};
    for (const auto& a : space_.axes()) names_.push_back(text_cell(a.title()));
    names_.push_back(text_cell("feasible"));
    const ExpressionScope scope{space_.sample().entry.inputs, space_.sample().entry.results};
    for (const auto& text : question_.show) {
      const auto e = Expression::parse(text, scope);
      const std::string unit = e.unit().empty() ? canonical_unit(e.exponents()) : std::string(e.unit());
      names_.push_back(text_cell(unit.empty() ? text : fmt::format("{} [{}]", text, unit)));
      scales_.push_back(unit.empty() ? 1.0 : AnyQuantity::parse("1 " + unit).base());
    }
  }

  void begin(bool overwrite) {
    std::error_code none;
    if (!overwrite && fs::exists(path_, none))
      throw InputError({.id = "mlsysim.cli.075",
                        .message = "the file exists",
                        .key = "--rows",
                        .found = fmt::format("'{}'", path_),
                        .expected = "a new file",
                        .hint = "choose another name, or add --overwrite"});
    open("wb");
    if (format_ == RowFormat::lines) return;
    for (std::size_t k = 0; k < names_.size(); ++k)
      fmt::format_to(std::back_inserter(out_), "{}{}", k == 0 ? "" : ",", names_[k]);
    out_.push_back('\n');
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
      bytes_ = j.at("bytes");
    } catch (const Json::exception& e) {
      refuse_state_file(state_, kRowsSchema, e.what());
    }
    const auto refuse = [&](std::string message, std::string found, std::string expected, std::string hint) {
      throw InputError({.id = "mlsysim.cli.084",
                        .message = std::move(message),
                        .key = state_,
                        .found = std::move(found),
                        .expected = std::move(expected),
                        .hint = std::move(hint)});
    };
    const std::string own = digest_of(space_, question_);
    if (digest != own)
      refuse("the rows to go on with answer another question", "digest " + digest, "digest " + own,
             "plan, axes, constraints, --show, the zoo's figures and the version must be the same");
    if (range.first != range_.first || range.last != range_.last)
      refuse("the rows to go on with are of another shard",
             fmt::format("points {} to {}", range.first, range.last),
             fmt::format("points {} to {}, shard {}/{}", range_.first, range_.last, shard_.k, shard_.n),
             "name the same --shard");
    if (next_ < range.first || next_ > range.last)
      refuse_state_file(state_, kRowsSchema,
                        fmt::format("point {} of {} to {}", next_, range.first, range.last));
    if (format != format_name())
      refuse("the rows to go on with have another format", format, std::string(format_name()),
             "name the same --rows file");
    std::error_code failed;
    const auto size = fs::file_size(path_, failed);
    if (failed || size < bytes_)
      refuse(
          "the rows to go on with are not there",
          failed ? fmt::format("no readable file '{}'", path_) : fmt::format("'{}' of {} bytes", path_, size),
          fmt::format("at least {} bytes", bytes_),
          "name the --rows file of the run before, or begin again with --overwrite and without --resume");
    fs::resize_file(path_, bytes_, failed);
    if (failed) {
      errno = failed.value();
      file_fault(path_, "a file cannot be cut to what is valid", "check its permissions");
    }
    open("ab");
  }

  void open(const char* how) {
    file_ = std::fopen(path_.c_str(), how);
    if (file_ == nullptr) file_fault(path_, "a file cannot be written", "check the folder");
  }

  [[nodiscard]] std::string_view format_name() const { return format_ == RowFormat::csv ? "csv" : "jsonl"; }

  [[nodiscard]] std::string text_cell(const std::string& text) const {
    if (format_ == RowFormat::lines) return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  }

  void write(const RowBlock& b) {
    const bool lines = format_ == RowFormat::lines;
    const auto to = std::back_inserter(out_);
    for (std::size_t p = 0; p < b.points; ++p) {
      const auto at = space_.rows_at(b.first + p);
      std::size_t column = 0;
      const auto cell = [&](std::string_view text) {
        if (lines)
          fmt::format_to(to, "{}{}:{}", column == 0 ? "{" : ",", names_[column], text);
        else
          fmt::format_to(to, "{}{}", column == 0 ? "" : ",", text);
        ++column;
      };
      cell(fmt::format("{}", b.first + p));
      for (std::size_t a = 0; a < at.size(); ++a) cell(text_cell(space_.axes()[a].label(at[a])));
      cell(lines ? (b.feasible[p] != 0 ? "true" : "false") : (b.feasible[p] != 0 ? "1" : "0"));
      for (std::size_t k = 0; k < question_.show.size(); ++k) {
        const bool number = b.skipped.empty() && std::isfinite(b.shown[k][p]);
        cell(number ? fmt::format("{}", b.shown[k][p] / scales_[k]) : lines ? "null" : "");
      }
      fmt::format_to(to, "{}\n", lines ? "}" : "");
    }
  }

  void flush() {
    if (std::fwrite(out_.data(), 1, out_.size(), file_) != out_.size() || std::fflush(file_) != 0)
      file_fault(path_, kUnfinished, kRoom);
    bytes_ += out_.size();
    out_.clear();
  }

  void save() {
    flush();
    if (::fsync(::fileno(file_)) != 0)
      file_fault(path_, kUnfinished, kRoom);  // the state must not run ahead of the rows
    replace_state_file(state_, Json{{"schema", kRowsSchema},
                                    {"request", request_},
                                    {"digest", digest_of(space_, question_)},
                                    {"format", format_name()},
                                    {"first", range_.first},
                                    {"last", range_.last},
                                    {"next", next_},
                                    {"bytes", bytes_}}
                                       .dump() +
                                   "\n");
  }

  const Space& space_;
  const Question& question_;
  const Json& request_;
  std::string path_, state_;
  RowFormat format_;
  Shard shard_;
  PointRange range_;
  std::uint64_t next_ = 0, bytes_ = 0;
  std::vector<std::string> names_;  ///< of the columns, as cells
  std::vector<double> scales_;
  fmt::memory_buffer out_;
  std::FILE* file_ = nullptr;
};

}  // namespace

Answer write_rows(const Space& space, const Question& question, const Json& request,
                  const SearchRequest& asked, const std::atomic<bool>& interrupted,
                  const RenderOptions& options) {
  check_asked(question, asked);
  RowWriter writer(space, question, request, asked);
  const bool whole = writer.run(interrupted);
  const auto rows = writer.next() - writer.range().first, all = writer.range().last - writer.range().first;
  Answer out;
  if (options.format == OutputFormat::text) {
    out.payload = fmt::format("{}{} rows in {}\n", rows, whole ? "" : fmt::format(" of {}", all), asked.rows);
  } else {
    Table t{.schema = "mlsysim/rows-written@1",
            .title = space.problem().title(),
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
