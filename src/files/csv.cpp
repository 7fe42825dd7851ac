#include <mlsysim/files/csv.hpp>

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim {

/// One pass over the bytes. Values are views into them; a quoted value is moved left over its quotes.
class CsvReader {
 public:
  explicit CsvReader(CsvTable& table)
      : t_(table), at_(table.bytes_->data()), end_(at_ + table.bytes_->size()) {}

  void run() {
    if (at_ == end_)
      fail("the file is empty", "nothing", "a header line with the names of the columns", "write one");
    std::vector<CsvTable::Cell> record;
    read_record(record);
    for (const auto& cell : record) {
      const std::string name(cell.text);
      here_ = cell;
      if (name.empty())
        fail("a column has no name", "an empty name", "a name in every field of the first line", "name it");
      if (std::find(t_.columns_.begin(), t_.columns_.end(), name) != t_.columns_.end())
        fail(fmt::format("the column '{}' occurs twice", name), "'" + name + "'", "names that occur once",
             "rename one of them");
      t_.columns_.push_back(name);
    }
    while (at_ != end_) {
      record.clear();
      read_record(record);
      here_ = record.size() > t_.columns_.size() ? record[t_.columns_.size()] : record.front();
      if (record.size() != t_.columns_.size())
        fail("the record has another number of values than the header has names",
             fmt::format("{} values", record.size()), fmt::format("{} values", t_.columns_.size()),
             "add or remove commas, or put the value in quotes");
      t_.cells_.insert(t_.cells_.end(), record.begin(), record.end());
    }
  }

 private:
  [[noreturn]] void fail(std::string message, std::string found, std::string expected, std::string hint) {
    throw InputError("mlsysim.files.020", std::move(message), "", std::move(found), std::move(expected),
                     std::move(hint), {t_.file_, here_.line, here_.column});
  }
  void mark() { here_ = {{}, line_, static_cast<int>(at_ - line_start_) + 1}; }

  void read_record(std::vector<CsvTable::Cell>& record) {
    mark();
    if (*at_ == '\n' || *at_ == '\r')
      fail("the line is empty", "an empty line", "a record", "remove the line");
    for (;;) {
      mark();
      CsvTable::Cell cell = here_;
      cell.text = at_ != end_ && *at_ == '"' ? quoted() : bare();
      record.push_back(cell);
      if (at_ == end_) return;
      if (*at_ == ',') {
        ++at_;
        continue;
      }
      if (*at_ == '\r') ++at_;
      if (at_ != end_ && *at_ == '\n') {
        ++at_;
        ++line_;
        line_start_ = at_;
        return;
      }
      mark();
      fail("a carriage return stands alone", "CR without LF", "lines that end in LF or CRLF",
           "convert the line ends");
    }
  }
  std::string_view bare() {
    char* const begin = at_;
    for (; at_ != end_ && *at_ != ',' && *at_ != '\n' && *at_ != '\r'; ++at_)
      if (*at_ == '"' || *at_ == '\0') {
        mark();
        fail(*at_ == '"' ? "a quote stands inside a value without quotes" : "the file holds a NUL",
             *at_ == '"' ? "'\"'" : "a zero byte", "text",
             "put the whole value in quotes and double the quotes inside");
      }
    return {begin, at_};
  }
  std::string_view quoted() {
    char* const begin = ++at_;
    char* to = begin;
    for (; at_ != end_; ++at_) {
      if (*at_ == '"') {
        if (at_ + 1 == end_ || at_[1] != '"') break;
        ++at_;
      } else if (*at_ == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
      *to++ = *at_;
    }
    if (at_ == end_) fail("a quoted value does not end", "the end of the file", "a closing quote", "add it");
    ++at_;
    if (at_ != end_ && *at_ != ',' && *at_ != '\n' && *at_ != '\r') {
      mark();
      fail("text follows a closing quote", fmt::format("'{}'", *at_), "a comma or the end of the line",
           "double the quotes inside the value");
    }
    return {begin, to};
  }

  CsvTable& t_;
  char *at_, *end_;
  char* line_start_ = at_;
  int line_ = 1;
  CsvTable::Cell here_{{}, 1, 1};
};

CsvTable CsvTable::parse(std::string text, std::string name) {
  CsvTable t;
  t.file_ = std::move(name);
  t.bytes_ = std::make_unique<std::string>(std::move(text));
  if (t.bytes_->starts_with("\xEF\xBB\xBF")) t.bytes_->erase(0, 3);
  CsvReader(t).run();
  return t;
}

CsvTable CsvTable::read(const std::filesystem::path& file) {
  auto read = files::try_read(file);
  if (read.fault != files::ReadFault::none)
    throw InputError({.id = "mlsysim.files.021",
                      .message = "the file cannot be read",
                      .key = file.generic_string(),
                      .found = read.found,
                      .expected = "a CSV file",
                      .hint = "check the path and the permissions",
                      .where = {.file = file.generic_string()}});
  return parse(std::move(read.bytes), file.generic_string());
}

void CsvTable::derive(std::string name, std::span<const std::size_t> from,
                      std::map<std::string, std::string> words, std::optional<std::string> otherwise) {
  const auto& said =
      *derived_.emplace_back(std::make_unique<const Words>(Words{std::move(words), std::move(otherwise)}));
  std::vector<Cell> cells;
  cells.reserve(cells_.size() + rows());
  const std::size_t width = columns_.size();
  for (std::size_t r = 0, count = rows(); r < count; ++r) {
    const auto* const record = cells_.data() + r * width;
    cells.insert(cells.end(), record, record + width);
    Cell cell = record[from.front()];
    std::string key(cell.text);
    for (const std::size_t column : from.subspan(1)) key += ' ' + std::string(record[column].text);
    if (const auto at = said.words.find(key); at != said.words.end())
      cell.text = at->second;
    else if (said.otherwise)
      cell.text = *said.otherwise;
    cells.push_back(cell);
  }
  cells_ = std::move(cells);
  columns_.push_back(std::move(name));
}

void CsvTable::join(CsvTable other, std::span<const std::size_t> here, std::span<const std::size_t> there,
                    std::span<const std::size_t> taken) {
  const auto& o = *joined_.emplace_back(std::make_unique<const CsvTable>(std::move(other)));
  for (const std::size_t c : taken)
    if (std::find(columns_.begin(), columns_.end(), o.columns_[c]) != columns_.end())
      throw InputError({.id = "mlsysim.files.024",
                        .message = "a joined column has a name that is taken",
                        .key = o.columns_[c],
                        .found = fmt::format("'{}' in {} and in {}", o.columns_[c], file_, o.file_),
                        .expected = "columns that the table itself does not have",
                        .hint = "leave it out of 'columns'"});
  const auto key = [](const CsvTable& t, std::size_t row, std::span<const std::size_t> columns) {
    std::vector<std::string_view> out;
    for (const std::size_t c : columns) out.push_back(t.text(row, c));
    return out;
  };
  std::map<std::vector<std::string_view>, std::size_t> record_of;
  for (std::size_t r = 0; r < o.rows(); ++r)
    if (!record_of.emplace(key(o, r, there), r).second)
      throw InputError({.id = "mlsysim.files.025",
                        .message = "two records of a joined table suit one record",
                        .key = o.columns_[there.front()],
                        .found = fmt::format("'{}' once more", fmt::join(key(o, r, there), "', '")),
                        .expected = "one record for each value of 'by'",
                        .hint = "join by more columns",
                        .where = o.where(r, there.front())});
  std::vector<Cell> cells;
  cells.reserve(cells_.size() + rows() * taken.size());
  const std::size_t width = columns_.size();
  for (std::size_t r = 0, count = rows(); r < count; ++r) {
    const auto* const record = cells_.data() + r * width;
    cells.insert(cells.end(), record, record + width);
    const auto found = record_of.find(key(*this, r, here));
    for (const std::size_t c : taken) {
      Cell cell = record[here.front()];
      cell.text = found == record_of.end() ? std::string_view() : o.text(found->second, c);
      cells.push_back(cell);
    }
  }
  cells_ = std::move(cells);
  for (const std::size_t c : taken) columns_.push_back(o.columns_[c]);
}

std::size_t CsvTable::column(std::string_view name, const Location& asked_at) const {
  const auto it = std::find(columns_.begin(), columns_.end(), name);
  if (it != columns_.end()) return static_cast<std::size_t>(it - columns_.begin());
  throw LookupError(unknown_name("mlsysim.files.022", fmt::format("{} has no column '{}'", file_, name), name,
                                 columns_, {}, asked_at));
}

double CsvTable::number(std::size_t row, std::size_t col) const {
  const auto t = text(row, col);
  double x = 0;
  const auto [stop, failed] = std::from_chars(t.data(), t.data() + t.size(), x);
  if (failed == std::errc{} && stop == t.data() + t.size() && std::isfinite(x)) return x;
  const bool beyond = failed == std::errc::result_out_of_range && stop == t.data() + t.size();
  throw InputError({.id = "mlsysim.files.023",
                    .message = fmt::format("the value of '{}' {}", columns_[col],
                                           beyond ? "does not fit into a double" : "is not a number"),
                    .key = columns_[col],
                    .found = fmt::format("'{}'", t),
                    .expected = "a decimal number such as 12.5 or 1e-3",
                    .hint = "correct the value, or use the column as words",
                    .where = where(row, col)});
}

Location CsvTable::where(std::size_t row, std::size_t col) const {
  const auto& cell = cells_[row * columns_.size() + col];
  return {file_, cell.line, cell.column};
}

}  // namespace mlsysim
