#include <mlsysim/units/error.hpp>

#include <utility>

namespace mlsysim {

std::string Location::text() const {
  std::string out = file;
  if (line > 0) {
    out += ':' + std::to_string(line);
    if (column > 0) out += ':' + std::to_string(column);
  }
  return out;
}

std::string render(const ErrorFacts& facts) {
  std::string out;
  if (const auto place = facts.where.text(); !place.empty()) out += place + ": ";
  out += facts.message;
  if (!facts.found.empty()) out += "; found " + facts.found;
  if (!facts.expected.empty()) out += (facts.found.empty() ? "; expected " : ", expected ") + facts.expected;
  if (!facts.hint.empty()) out += "; " + facts.hint;
  if (!facts.id.empty()) out += " [" + facts.id + "]";
  if (!facts.excerpt.empty()) out += "\n" + facts.excerpt;
  return out;
}

ErrorFacts Fault::with(ErrorFacts own) const {
  own.id = id;
  if (own.message.empty()) own.message = message;
  if (own.key.empty()) own.key = key;
  if (own.expected.empty()) own.expected = expected;
  if (own.hint.empty()) own.hint = hint;
  if (!own.reason) own.reason = reason;
  return own;
}

Error::Error(ErrorFacts facts) : std::runtime_error(facts.message), facts_(std::move(facts)) { render(); }

Error::Error(std::string id, std::string message, std::string key, std::string found, std::string expected,
             std::string hint, Location where, std::optional<BreakReason> reason)
    : Error(ErrorFacts{.id = std::move(id),
                       .message = std::move(message),
                       .key = std::move(key),
                       .found = std::move(found),
                       .expected = std::move(expected),
                       .hint = std::move(hint),
                       .where = std::move(where),
                       .reason = reason}) {}

Error::Error(const Fault& fault, std::string message, std::string key, std::string found,
             std::string expected, std::string hint)
    : Error(fault.with({.message = std::move(message),
                        .key = std::move(key),
                        .found = std::move(found),
                        .expected = std::move(expected),
                        .hint = std::move(hint)})) {}

void Error::add_context(std::string frame) {
  context_.push_back(std::move(frame));
  render();
}

void Error::render() {
  text_ = mlsysim::render(facts_);
  for (const auto& frame : context_) text_ += "\n  " + frame;
}

namespace {
ErrorFacts joined(ErrorFacts title, const std::vector<ErrorFacts>& problems) {
  if (!problems.empty() && title.id == problems.front().id) title.reason = problems.front().reason;
  for (const auto& p : problems) title.message += "\n" + render(p);
  return title;
}
}  // namespace

ErrorList::ErrorList(ErrorFacts title, std::vector<ErrorFacts> problems)
    : Error(joined(std::move(title), problems)), problems_(std::move(problems)) {}

}  // namespace mlsysim
