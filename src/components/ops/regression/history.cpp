#include <mlsysim/ops/regression/history.hpp>

#include <mlsysim/files/detail/files.hpp>

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS commits(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, time INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS cells(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS metrics(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS numbers(metric INTEGER NOT NULL, cell INTEGER NOT NULL, commit_id INTEGER NOT NULL,
  value REAL NOT NULL, PRIMARY KEY(metric, cell, commit_id)) WITHOUT ROWID;
)";
constexpr int kApplication = 0x6d6c7379;  // "mlsy", in the head of the file
constexpr int kWaitForLock = 60000;       // [ms]

constexpr const char* kWritten = "a file that mlsysim ci run --history wrote";

/// Finds files that SQLite would wait for: pipes and devices, and kernel files that state a size of 0 but
/// are not empty. A link is not written through.
/// @return the kind of such a file in words; empty for a file that SQLite may open
std::string no_history(const std::filesystem::path& file, CiHistory::Open how) {
  if (how != CiHistory::Open::read && files::irregular(file, false) == "a link") return "a link";
  std::error_code failed;
  if (const auto size = std::filesystem::file_size(file, failed); !failed && size > 0) return {};
  const auto empty = files::try_read(file, 0);
  return empty.fault == files::ReadFault::missing ? std::string() : empty.found;
}

}  // namespace

struct CiHistory::State {
  sqlite3* db = nullptr;
  std::filesystem::path file;

  ~State() { sqlite3_close(db); }
  [[noreturn]] void fail() const {
    const bool busy = (sqlite3_extended_errcode(db) & 0xff) == SQLITE_BUSY;
    throw InputError(
        "mlsysim.ci.015", fmt::format("{}: the history cannot be read or written", file.string()), "",
        busy ? fmt::format("others that held it for {} s", kWaitForLock / 1000) : sqlite3_errmsg(db),
        kWritten,
        busy ? "run it again; nothing of this call was stored"
             : "look at the file and the disk; nothing of this call was stored");
  }
  [[noreturn]] void bad_number(const char* found) const {
    throw InputError("mlsysim.ci.027", fmt::format("{}: a number of the history is none", file.string()),
                     "numbers.value", found, "a finite number",
                     "remove the row: it was not written by mlsysim ci run");
  }
  void run(const char* sql) const {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

  /// A statement, bound and stepped through.
  class Query {
   public:
    Query(const State& state, const char* sql) : state_(state) {
      if (sqlite3_prepare_v2(state.db, sql, -1, &statement_, nullptr) != SQLITE_OK) state.fail();
    }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;
    ~Query() { sqlite3_finalize(statement_); }
    Query& bind(int at, const std::string& text) {
      sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
      return *this;
    }
    Query& bind(int at, std::int64_t number) {
      sqlite3_bind_int64(statement_, at, number);
      return *this;
    }
    Query& bind(int at, double number) {
      sqlite3_bind_double(statement_, at, number);
      return *this;
    }
    /// Whether there is a row.
    bool next() {
      const int code = sqlite3_step(statement_);
      if (code != SQLITE_ROW && code != SQLITE_DONE) state_.fail();
      return code == SQLITE_ROW;
    }
    void once() {
      (void)next();
      sqlite3_reset(statement_);
    }
    [[nodiscard]] std::string text(int column) const {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
      return bytes == nullptr
                 ? std::string()
                 : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
    }
    [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
    [[nodiscard]] double real(int column) const {
      const int type = sqlite3_column_type(statement_, column);
      if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
        state_.bad_number(type == SQLITE_NULL ? "nothing" : "a text");
      const double x = sqlite3_column_double(statement_, column);
      if (!std::isfinite(x)) state_.bad_number("a number beyond all bounds");
      return x;
    }

   private:
    const State& state_;
    sqlite3_stmt* statement_ = nullptr;
  };

  [[nodiscard]] std::vector<std::string> names(const char* sql) const {
    std::vector<std::string> out;
    for (Query q(*this, sql); q.next();) out.push_back(q.text(0));
    return out;
  }
  /// The number of a name, made where there is none.
  std::int64_t id(const char* insert, const char* select, const std::string& name) const {
    Query(*this, insert).bind(1, name).once();
    Query q(*this, select);
    q.bind(1, name);
    return q.next() ? q.whole(0) : 0;
  }
};

CiHistory::CiHistory(const std::filesystem::path& file, Open how) : state_(std::make_unique<State>()) {
  state_->file = file;
  if (auto found = no_history(file, how); !found.empty())
    throw InputError("mlsysim.ci.016", fmt::format("{}: the history cannot be opened", file.string()), "",
                     std::move(found), kWritten, "name a file, or one that is not there yet");
  const int flags = how == Open::read     ? SQLITE_OPEN_READONLY
                    : how == Open::change ? SQLITE_OPEN_READWRITE
                                          : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(file.c_str(), &state_->db, flags, nullptr) != SQLITE_OK)
    throw InputError("mlsysim.ci.016", fmt::format("{}: the history cannot be opened", file.string()), "",
                     state_->db != nullptr ? sqlite3_errmsg(state_->db) : "no memory", kWritten,
                     "run mlsysim ci run --history first, in a folder that is there");
  sqlite3_busy_timeout(state_->db, kWaitForLock);
  // SQLite does not run unsafe functions that another program wrote into the schema.
  state_->run("PRAGMA trusted_schema = OFF");
  // One transaction from the first look to the last table: a statement that stays open beside it holds a lock
  // that another writer waits for, and both would.
  state_->run(how == Open::write ? "BEGIN IMMEDIATE" : "BEGIN");
  const auto first = [&](const char* sql) {
    State::Query q(*state_, sql);
    return q.next() ? q.whole(0) : 0;
  };
  const bool own = first("PRAGMA application_id") == kApplication;
  const bool empty = first("SELECT count(*) FROM sqlite_master") == 0;
  if (!own && !(empty && how == Open::write))
    throw InputError("mlsysim.ci.017", fmt::format("{}: this is no history", file.string()), "",
                     empty ? "an empty file" : "tables of another program", kWritten, "name another file");
  const auto made = state_->names("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')");
  if (!made.empty())
    throw InputError("mlsysim.ci.017", fmt::format("{}: this is no history", file.string()), "",
                     fmt::format("'{}', which would run statements of its own", made.front()), kWritten,
                     "name another file");
  if (empty) {
    state_->run(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
    state_->run(kTables);
  }
  state_->run("COMMIT");
}
CiHistory::CiHistory(CiHistory&&) noexcept = default;
CiHistory& CiHistory::operator=(CiHistory&&) noexcept = default;
CiHistory::~CiHistory() = default;

void CiHistory::put(const std::string& commit, std::int64_t time, const std::vector<CellResult>& cells) {
  const State& s = *state_;
  s.run("BEGIN IMMEDIATE");
  try {
    State::Query(s,
                 "INSERT INTO commits(name, time) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET time = ?2")
        .bind(1, commit)
        .bind(2, time)
        .once();
    State::Query which(s, "SELECT id FROM commits WHERE name = ?1");
    which.bind(1, commit);
    const auto commit_id = which.next() ? which.whole(0) : 0;
    // Looked up by the key: the table may hold millions of other commits.
    State::Query(s,
                 "DELETE FROM numbers WHERE (metric, cell, commit_id) IN "
                 "(SELECT metrics.id, cells.id, ?1 FROM metrics, cells)")
        .bind(1, commit_id)
        .once();
    State::Query insert(s, "INSERT OR REPLACE INTO numbers VALUES(?1, ?2, ?3, ?4)");
    std::map<std::string, std::int64_t> metrics;
    for (const auto& cell : cells) {
      if (cell.numbers.empty()) continue;
      const auto cell_id = s.id("INSERT OR IGNORE INTO cells(name) VALUES(?1)",
                                "SELECT id FROM cells WHERE name = ?1", cell.cell.name());
      for (const auto& n : cell.numbers) {
        auto& metric = metrics[n.name];
        if (metric == 0) {
          metric = s.id("INSERT OR IGNORE INTO metrics(name, unit) VALUES(?1, '')",
                        "SELECT id FROM metrics WHERE name = ?1", n.name);
          State::Query(s, "UPDATE metrics SET unit = ?1 WHERE id = ?2")
              .bind(1, n.unit)
              .bind(2, metric)
              .once();
        }
        insert.bind(1, metric).bind(2, cell_id).bind(3, commit_id).bind(4, n.value).once();
      }
    }
    s.run("COMMIT");
  } catch (...) {
    sqlite3_exec(s.db, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

namespace {

/// Commits, the oldest first, and whether each goes.
constexpr const char* kGoingCommits =
    "CREATE TEMP TABLE going AS SELECT id, name FROM commits WHERE (?1 < 0 OR id NOT IN (SELECT id FROM "
    "commits "
    "ORDER BY time DESC, id DESC LIMIT max(?1, 0))) AND (?2 < 0 OR time < ?2) AND (?1 >= 0 OR ?2 >= 0)";

}  // namespace

Pruned CiHistory::prune(const PruneLimits& limits, bool dry) {
  const State& s = *state_;
  s.run("BEGIN IMMEDIATE");
  Pruned out;
  try {
    State::Query(s, kGoingCommits)
        .bind(1, limits.keep ? static_cast<std::int64_t>(*limits.keep) : std::int64_t{-1})
        .bind(2, limits.before.value_or(-1))
        .once();
    s.run("CREATE TEMP TABLE gone_cells(id INTEGER PRIMARY KEY, name TEXT)");
    if (limits.cells) {
      s.run("INSERT INTO gone_cells SELECT id, name FROM cells");
      State::Query stays(s, "DELETE FROM gone_cells WHERE name = ?1");
      for (const auto& name : *limits.cells) stays.bind(1, name).once();
    }
    out.commits = s.names("SELECT name FROM going ORDER BY id");
    out.cells = s.names("SELECT name FROM gone_cells ORDER BY name");
    State::Query stay(s, "SELECT count(*) FROM commits WHERE id NOT IN (SELECT id FROM going)");
    if (!out.commits.empty() && stay.next() && stay.whole(0) == 0)
      throw InputError("mlsysim.ci.024", fmt::format("{}: no commit would stay", s.file.string()), "",
                       fmt::format("{} commits, all beyond the limits", out.commits.size()), kWritten,
                       "keep some: --keep N; or remove the file");
    constexpr const char* going =
        "commit_id IN (SELECT id FROM going) OR cell IN (SELECT id FROM gone_cells)";
    State::Query numbers(s, fmt::format("SELECT count(*) FROM numbers WHERE {}", going).c_str());
    out.numbers = numbers.next() ? static_cast<std::size_t>(numbers.whole(0)) : 0;
    if (!dry) {
      s.run(fmt::format("DELETE FROM numbers WHERE {}", going).c_str());
      s.run("DELETE FROM commits WHERE id IN (SELECT id FROM going)");
      s.run("DELETE FROM cells WHERE id IN (SELECT id FROM gone_cells)");
      s.run("DELETE FROM metrics WHERE id NOT IN (SELECT metric FROM numbers)");
    }
  } catch (...) {
    sqlite3_exec(s.db, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  // The queries above have ended: SQLite closes no transaction while one is open.
  s.run("DROP TABLE going");
  s.run("DROP TABLE gone_cells");
  s.run(dry ? "ROLLBACK" : "COMMIT");
  if (!dry) s.run("VACUUM");  // gives the room back to the disk
  return out;
}

std::vector<std::string> CiHistory::commits() const {
  return state_->names("SELECT name FROM commits ORDER BY id");
}
std::vector<std::string> CiHistory::metrics() const {
  return state_->names("SELECT name FROM metrics ORDER BY name");
}
std::vector<std::string> CiHistory::cells() const {
  return state_->names("SELECT name FROM cells ORDER BY name");
}

namespace {

[[noreturn]] void unknown(std::string_view what, const std::string& name,
                          const std::vector<std::string>& known) {
  throw LookupError(unknown_name(
      "mlsysim.ci.018", fmt::format("the history has no {} '{}'", what, name), name, known,
      known.empty() ? "a commit that was stored" : fmt::format("one of {} names", known.size())));
}

}  // namespace

std::pair<std::string, Exponents> CiHistory::unit_of(const std::string& metric) const {
  State::Query q(*state_, "SELECT unit FROM metrics WHERE name = ?1");
  q.bind(1, metric);
  if (!q.next()) unknown("metric", metric, metrics());
  const auto unit = q.text(0);
  return {unit, unit.empty() ? Exponents{} : AnyQuantity::parse("1 " + unit).exponents()};
}

MetricTrend CiHistory::trend(const std::string& metric) const {
  MetricTrend out{.metric = metric};
  std::tie(out.unit, out.exps) = unit_of(metric);
  State::Query q(*state_,
                 "SELECT cell, value FROM numbers WHERE metric = (SELECT id FROM metrics WHERE name = ?1) "
                 "ORDER BY metric, cell, commit_id");
  q.bind(1, metric);
  std::int64_t cell = -1;
  std::vector<std::int64_t> ids;
  while (q.next()) {
    const double x = q.real(1);
    if (q.whole(0) != cell) {
      cell = q.whole(0);
      ids.push_back(cell);
      out.rows.push_back({"", 0, x, x, x, x});
    }
    auto& row = out.rows.back();
    ++row.commits;
    row.last = x;
    row.low = std::min(row.low, x);
    row.high = std::max(row.high, x);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    State::Query name(*state_, "SELECT name FROM cells WHERE id = ?1");
    name.bind(1, ids[i]);
    if (name.next()) out.rows[i].cell = name.text(0);
  }
  std::sort(out.rows.begin(), out.rows.end(),
            [](const TrendRow& a, const TrendRow& b) { return a.cell < b.cell; });
  return out;
}

std::vector<HistoryPoint> CiHistory::points(const std::string& metric, const std::string& cell) const {
  (void)unit_of(metric);
  State::Query q(
      *state_,
      "SELECT commits.name, commits.time, value FROM numbers JOIN commits ON commits.id = commit_id "
      "WHERE metric = (SELECT id FROM metrics WHERE name = ?1) AND "
      "cell = (SELECT id FROM cells WHERE name = ?2) ORDER BY commit_id");
  q.bind(1, metric).bind(2, cell);
  std::vector<HistoryPoint> out;
  while (q.next()) out.push_back({q.text(0), q.whole(1), q.real(2)});
  const auto known = cells();
  if (out.empty() && std::find(known.begin(), known.end(), cell) == known.end()) unknown("cell", cell, known);
  return out;
}

std::optional<FirstBad> first_bad(const std::vector<HistoryPoint>& points, Better better, double relative,
                                  const std::string& good, const std::string& bad) {
  std::vector<std::string> names;
  for (const auto& p : points) names.push_back(p.commit);
  const auto at = [&](const std::string& commit, std::size_t otherwise) {
    if (commit.empty()) return otherwise;
    const auto found = std::find(names.begin(), names.end(), commit);
    if (found == names.end()) unknown("commit", commit, names);
    return static_cast<std::size_t>(found - names.begin());
  };
  if (points.empty()) return std::nullopt;
  const auto from = at(good, 0), to = at(bad, points.size() - 1);
  const auto worse = [&](double x) {
    const double was = points[from].value, slack = relative * std::fabs(was);
    if (better == Better::lower) return x > was + slack;
    if (better == Better::higher) return x < was - slack;
    return std::fabs(x - was) > slack;
  };
  if (to <= from || !worse(points[to].value)) return std::nullopt;
  auto first = to;
  while (first > from + 1 && worse(points[first - 1].value)) --first;
  return FirstBad{points[first - 1], points[first], to - from + 1};
}

}  // namespace mlsysim
