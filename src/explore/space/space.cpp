#include <mlsysim/explore/space/space.hpp>

#include "explore/names.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/resolver_api/detail/exchangeable.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/specs/content.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/version.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

namespace mlsysim {
namespace {

constexpr double kMostPoints = 4.611686018427387904e18;  // 2^62
constexpr std::size_t kTable = 4096;                     // ranges up to this length are computed once
constexpr std::uint64_t kMostTried = 4096;               // choices that are tried to find a subject

/// A spec by its content: it may come from a file outside the zoo, or be made by hand.
std::string object_text(const ObjectRef& o) {
  return fmt::format("{} {} {:016x}", o.type, spec_name(o), content_digest(o));
}

/// Digest of the zoo in use. Zoos that were in use are never freed, so the address tells whether it is still
/// the same.
std::uint64_t zoo_digest() {
  static std::mutex guard;
  static const Zoo* known = nullptr;
  static std::uint64_t digest = 0;
  const Zoo& zoo = standard_zoo();
  const std::lock_guard lock(guard);
  if (known != &zoo) {
    digest = content_digest(zoo);
    known = &zoo;
  }
  return digest;
}

/// Every field that was given, as text.
std::string text_of(std::span<const FieldInfo> fields, const void* object) {
  std::string out;
  for (const auto& f : fields) {
    const auto v = read_dynamic(f, object);
    if (std::holds_alternative<std::monostate>(v.value)) continue;
    if (const auto* o = std::get_if<ObjectRef>(&v.value)) {
      out += fmt::format("{}={}\n", f.name, object_text(*o));
      continue;
    }
    if (const auto* x = std::get_if<double>(&v.value))
      out += fmt::format("{}={}\n", f.name, format_exact(*x));
    else
      out += fmt::format("{}={}\n", f.name, v.text());
  }
  return out;
}

class ScenarioProblem final : public Problem {
 public:
  ScenarioProblem(const Scenario& scenario, std::shared_ptr<const void> keep)
      : scenario_(scenario), keep_(std::move(keep)) {}

  Subject bind(const Choice& structural, std::span<const std::string> varied) const override {
    Scenario s = scenario_;
    for (const auto& [name, value] : structural) put(s, name, value);
    // Degrees that vary start from one, so that the point that names them is admissible.
    const auto free = [&](std::string_view name) {
      return among(varied, name) && std::none_of(structural.begin(), structural.end(),
                                                 [&](const auto& c) { return c.first == name; });
    };
    if (free("tp_size")) s.tp_size = 1;
    if (free("pp_size")) s.pp_size = 1;
    if (free("ep_size")) s.ep_size = 1;
    if (free("cp_size")) s.cp_size = 1;
    return subject_of(s, varied);
  }
  bool structural(std::string_view name, std::span<const std::string> varied) const override {
    const bool own_nodes = scenario_.fleet == nullptr && !scenario_.accelerators_per_node;
    if (name == "accelerators") return own_nodes;
    // The degree of tensor parallelism follows from these unless it is given.
    const bool tp_follows = !scenario_.tp_size && !among(varied, "tp_size") && scenario_.mode != Mode::train;
    return tp_follows && (name == "pp_size" || name == "ep_size");
  }
  std::vector<std::string> warnings(const Choice& point) const override {
    Scenario s = scenario_;
    for (const auto& [name, value] : point)  // a figure of a spec changes no warning
      if (find_field(describe<Scenario>(), name) != nullptr) put(s, name, value);
    return SystemEvaluator::evaluate(s).warnings;
  }
  std::string fingerprint() const override { return text_of(describe<Scenario>(), &scenario_); }
  std::string title() const override {
    return fmt::format("{}{}", scenario_.workload == nullptr ? "?" : scenario_.workload->name,
                       scenario_.mode ? fmt::format(", {}", name_of(*scenario_.mode)) : "");
  }

 private:
  static void put(Scenario& s, const std::string& name, const DynamicValue& value) {
    const FieldInfo* field = find_field(describe<Scenario>(), name);
    if (const auto* o = std::get_if<ObjectRef>(&value.value);
        o != nullptr && name == "hardware" && o->type == ObjectType<Fleet>::name) {
      s.fleet = static_cast<const Fleet*>(o->object);
      s.hardware = nullptr;
      return;
    }
    if (field == nullptr) {
      std::vector<std::string> names;
      for (const auto& f : describe<Scenario>()) names.push_back(f.name);
      auto near = did_you_mean(name, names);
      throw LookupError(
          {.id = "mlsysim.explore.040",
           .message = fmt::format("nothing named '{}' can vary here", name),
           .key = name,
           .found = fmt::format("'{}'", name),
           .expected = "a number of the scenario or of the views behind it, or a field of Scenario",
           .hint = near.empty() ? "mlsysim sensitivity lists the numbers, mlsysim eval --help the fields"
                                : std::move(near)});
    }
    write_checked(*field, &s, value);
    if (name == "hardware") s.fleet = nullptr;
  }

  Scenario scenario_;
  std::shared_ptr<const void> keep_;
};

class ResolverProblem final : public Problem {
 public:
  ResolverProblem(std::shared_ptr<const Resolver> resolver, const void* inputs)
      : resolver_(std::move(resolver)), memory_(resolver_->input_size() / sizeof(std::max_align_t) + 1) {
    detail::construct_inputs_like(*resolver_, inputs, memory_.data());
    copy(inputs, memory_.data());
  }
  ResolverProblem(const ResolverProblem&) = delete;
  ResolverProblem& operator=(const ResolverProblem&) = delete;
  ~ResolverProblem() override { resolver_->destroy_inputs(memory_.data()); }

  Subject bind(const Choice& structural, std::span<const std::string> varied) const override {
    std::vector<std::max_align_t> own(memory_.size());
    struct Release {
      const Resolver& r;
      void* memory;
      ~Release() { r.destroy_inputs(memory); }
    };
    detail::construct_inputs_like(*resolver_, memory_.data(), own.data());
    const Release release{*resolver_, own.data()};
    copy(memory_.data(), own.data());
    for (const auto& [name, value] : structural) {
      const FieldInfo* field = find_field(resolver_->inputs(), name);
      if (field == nullptr)
        throw LookupError({.id = "mlsysim.explore.063",
                           .message = fmt::format("{} has no input '{}'", resolver_->info().name, name),
                           .key = name,
                           .expected = "an input of the resolver"});
      write_checked(*field, own.data(), value);
    }
    // An optional number that varies is given.
    for (const auto& name : varied)
      if (const FieldInfo* f = find_field(resolver_->inputs(), name);
          f != nullptr && f->nullable && std::holds_alternative<std::monostate>(f->read(own.data())))
        f->write(own.data(), Value(std::max(f->low > -kUnbounded ? f->low : 1.0, 1.0)));
    return subject_of(resolver_, own.data());
  }
  bool structural(std::string_view, std::span<const std::string>) const override { return false; }
  std::vector<std::string> warnings(const Choice& point) const override {
    Record in(*resolver_, Side::inputs), out(*resolver_, Side::outputs);
    copy(memory_.data(), in.data());
    for (const auto& [name, value] : point)
      if (const FieldInfo* field = find_field(resolver_->inputs(), name); field != nullptr)
        write_checked(*field, in.data(), value);
    NoteBook book;
    SolveContext context{.notes = Notes(book), .search = nullptr, .why = {}};
    (void)resolver_->solve(in.data(), out.data(), context);
    return book.warnings;
  }
  std::string fingerprint() const override {
    return resolver_->info().name + "\n" + text_of(resolver_->inputs(), memory_.data());
  }
  std::string title() const override { return resolver_->info().name; }

 private:
  void copy(const void* from, void* to) const {
    for (const auto& f : resolver_->inputs()) {
      const auto v = read_dynamic(f, from);
      if (!std::holds_alternative<std::monostate>(v.value)) write_checked(f, to, v);
    }
  }
  std::shared_ptr<const Resolver> resolver_;
  std::vector<std::max_align_t> memory_;
};

/// Checks every number against the range of its field: an ascending range by its ends, counts one by one.
void check_members(const FieldInfo& field, const Axis& numbers) {
  const auto [low, high] = numbers.extent();
  const bool fine = BaseRange::of(field).holds(low) && BaseRange::of(field).holds(high);
  if (fine && (!field.integral || numbers.whole())) return;
  for (std::size_t i = 0; i < numbers.size(); ++i) check_range(field, numbers[i]);
}

/// Whether every value of the axis is a number.
bool over_numbers(const SpaceAxis& a) {
  return std::all_of(a.rows.begin(), a.rows.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(),
                       [](const DynamicValue& v) { return std::holds_alternative<double>(v.value); });
  });
}

bool all_finite(const SpaceAxis& a) {
  const auto finite = [](const DynamicValue& v) {
    const auto* x = std::get_if<double>(&v.value);
    return x == nullptr || std::isfinite(*x);
  };
  return std::all_of(a.rows.begin(), a.rows.end(),
                     [&](const auto& row) { return std::all_of(row.begin(), row.end(), finite); }) &&
         (!a.rows.empty() || a.numbers.finite());
}

/// Stores numbers of one unit as numbers instead of rows of values.
void store_as_numbers(SpaceAxis& a) {
  const auto same = [&](const auto& row) {
    return std::holds_alternative<double>(row[0].value) && row[0].exps == a.rows[0][0].exps;
  };
  if (a.names.size() != 1 || a.rows.empty() || !std::all_of(a.rows.begin(), a.rows.end(), same)) return;
  auto rows = std::exchange(a.rows, {});
  for (auto& row : rows) a.add(std::move(row[0]));
}

/// Checks the axes and returns all their names.
std::vector<std::string> checked_names(std::vector<SpaceAxis>& axes) {
  if (axes.empty())
    throw InputError({.id = "mlsysim.explore.041",
                      .message = "a space needs an axis",
                      .found = "none",
                      .expected = "at least one",
                      .hint = "e.g. batch_size=1,8,64"});
  std::vector<std::string> names;
  double points = 1;
  for (auto& a : axes) {
    if (a.size() == 0 || a.names.empty() || (a.rows.empty() && a.names.size() != 1))
      throw InputError({.id = "mlsysim.explore.042",
                        .message = fmt::format("the axis '{}' is empty", a.title()),
                        .key = a.title(),
                        .found = "no value",
                        .expected = "at least one value"});
    for (const auto& n : a.names) {
      if (among(names, n))
        throw InputError({.id = "mlsysim.explore.043",
                          .message = fmt::format("'{}' is on two axes", n),
                          .key = n,
                          .expected = "one axis per name",
                          .hint = "couple names in one axis: a,b=1x2,3x4"});
      names.push_back(n);
    }
    store_as_numbers(a);
    if (!all_finite(a))
      throw InputError({.id = "mlsysim.explore.044",
                        .message = fmt::format("the axis '{}' holds a value that is not finite", a.title()),
                        .key = a.title(),
                        .expected = "finite numbers",
                        .reason = BreakReason::numeric});
    points *= static_cast<double>(a.size());
  }
  if (points > kMostPoints)
    throw InputError({.id = "mlsysim.explore.045",
                      .message = "the space has too many points to number them",
                      .found = fmt::format("{:.3g} points", points),
                      .expected = "at most 2^62, about 4.6e18",
                      .hint = "use fewer values per axis; bounds make coarse grids exact enough to refine"});
  return names;
}

/// The values of the axes at a row of their grid; the last axis varies fastest.
Problem::Choice choice_at(std::span<const SpaceAxis> axes, std::uint64_t index) {
  Problem::Choice c;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto row = index % axes[i].size();
    index /= axes[i].size();
    for (std::size_t k = 0; k < axes[i].names.size(); ++k)
      c.emplace_back(axes[i].names[k], axes[i].value(row, k));
  }
  return c;
}

std::uint64_t combinations(std::span<const SpaceAxis> axes) {
  std::uint64_t all = 1;
  for (const auto& a : axes) all *= a.size();
  return all;
}

/// The subject of the first choice of these axes that has one.
/// @throws what `bind` throws for the first choice, if none of those tried has a subject
Subject first_subject(const Problem& problem, std::span<const SpaceAxis> axes,
                      std::span<const std::string> varied) {
  std::exception_ptr first_failure;
  for (std::uint64_t i = 0; i < std::min(combinations(axes), kMostTried); ++i) {
    try {
      return problem.bind(choice_at(axes, i), varied);
    } catch (const Error&) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  std::rethrow_exception(first_failure);
}

/// The values of name `k` of an axis over numbers, checked against the field.
Axis numbers_for(const FieldInfo& f, const SpaceAxis& a, std::size_t k) {
  const auto check_unit = [&](const Exponents& exps) {
    if (!(exps == f.exps))
      throw DimensionError({.id = "mlsysim.explore.046",
                            .message = fmt::format("the axis '{}' has the wrong unit", f.name),
                            .key = f.name,
                            .found = dimension_name(exps),
                            .expected = dimension_name(f.exps)});
  };
  if (a.rows.empty()) {
    check_unit(a.numbers.exponents());
    Axis numbers = a.numbers.listed_up_to(kTable);
    check_members(f, numbers);
    return numbers;
  }
  std::vector<double> column;
  for (const auto& row : a.rows) {
    check_unit(row[k].exps);
    column.push_back(std::get<double>(row[k].value));
  }
  Axis numbers(std::move(column), f.exps);
  check_members(f, numbers);
  return numbers;
}

}  // namespace

std::shared_ptr<const Problem> problem_of(const Scenario& scenario, std::shared_ptr<const void> keep) {
  return std::make_shared<ScenarioProblem>(scenario, std::move(keep));
}
std::shared_ptr<const Problem> problem_of(std::shared_ptr<const Resolver> resolver, const void* inputs) {
  return std::make_shared<ResolverProblem>(std::move(resolver), inputs);
}

Space::Space(std::shared_ptr<const Problem> problem, std::vector<SpaceAxis> axes)
    : problem_(std::move(problem)), varied_(checked_names(axes)) {
  // An axis is structural unless all its names are numbers of the subject; the first choice that has a
  // subject decides.
  std::vector<SpaceAxis> slow, fast, open;
  for (auto& a : axes) {
    const bool must = std::any_of(a.names.begin(), a.names.end(),
                                  [&](const std::string& n) { return problem_->structural(n, varied_); });
    (over_numbers(a) && !must ? open : slow).push_back(std::move(a));
  }
  sample_ = first_subject(*problem_, slow, varied_);
  for (auto& a : open) {
    const bool known = std::all_of(a.names.begin(), a.names.end(), [&](const std::string& n) {
      return find_field(sample_.entry.inputs, n) != nullptr;
    });
    (known ? fast : slow).push_back(std::move(a));
  }
  structural_ = slow.size();
  outer_ = combinations(slow);
  inner_ = combinations(fast);
  axes_ = std::move(slow);
  for (auto& a : fast) {
    std::vector<Axis> numbers;
    for (std::size_t k = 0; k < a.names.size(); ++k)
      numbers.push_back(numbers_for(*find_field(sample_.entry.inputs, a.names[k]), a, k));
    numbers_.push_back(std::move(numbers));
    axes_.push_back(std::move(a));
  }
  if (structural_ > 0) find_richest_sample();
}

void Space::find_richest_sample() {
  // The names of results are those of the subject with the most results: of two devices one may lack a
  // figure.
  constexpr std::uint64_t kEnough = 64;
  std::uint64_t bound = 0;
  for (std::uint64_t i = 0; i < std::min(outer_, kMostTried) && bound < kEnough; ++i) {
    try {
      auto subject = bind(i);
      if (++bound == 1 || subject.entry.results.size() > sample_.entry.results.size())
        sample_ = std::move(subject);
    } catch (const Error&) {
      if (bound == 0 && i + 1 == std::min(outer_, kMostTried)) throw;
    }
  }
}

std::vector<std::size_t> Space::rows_at(std::uint64_t index) const {
  std::vector<std::size_t> rows(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    rows[i] = static_cast<std::size_t>(index % axes_[i].size());
    index /= axes_[i].size();
  }
  return rows;
}

Subject Space::bind(std::uint64_t outer) const {
  return problem_->bind(choice_at(std::span(axes_).first(structural_), outer), varied_);
}

std::vector<std::string> Space::warnings_at(std::uint64_t index) const {
  try {
    return problem_->warnings(choice_at(axes_, index));
  } catch (const Error&) {
    return {};
  }
}

std::vector<Space::Column> Space::columns(const Subject& subject) const {
  std::vector<Column> out;
  std::uint64_t stride = inner_;
  for (std::size_t i = structural_; i < axes_.size(); ++i) {
    stride /= axes_[i].size();
    for (std::size_t k = 0; k < axes_[i].names.size(); ++k) {
      out.push_back({.input = subject.input(axes_[i].names[k]),
                     .values = numbers_[i - structural_][k],
                     .stride = stride});
    }
  }
  return out;
}

std::string Space::title() const {
  for (const auto& axis : axes_)
    for (const auto& name : axis.names)
      for (const std::string_view part : {"engine", "runtime", "load", "fidelity"})
        if (name == part) return problem_->title();  // points differ in it
  return problem_->title() + sample_.setting;
}

std::string Space::fingerprint() const {
  std::string out =
      fmt::format("mlsysim {}\nzoo {:016x}\n{}", version_text, zoo_digest(), problem_->fingerprint());
  for (const auto& a : axes_) {
    out += fmt::format("axis {}:", a.title());
    if (a.rows.empty()) out += fmt::format(" {}", a.numbers.text());
    for (const auto& row : a.rows) {
      for (const auto& v : row) {
        if (const auto* x = std::get_if<double>(&v.value))
          out += fmt::format(" {}", format_exact(*x));
        else if (const auto* o = std::get_if<ObjectRef>(&v.value))
          out += " " + object_text(*o);
        else
          out += " " + v.text();  // not its label: a named configuration may be edited under its name
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace mlsysim
