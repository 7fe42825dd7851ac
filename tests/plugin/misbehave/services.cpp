// The services of the host, used as they must not be: each gives an error or does nothing, and the call goes
// on.
#include "row.hpp"

#include <array>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

namespace misbehave {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max() / 2;
std::array<std::uint64_t, 16> foreign{};  // an address that the host did not give

void look(void* user, MlsString, const MlsValue*) { ++*static_cast<int*>(user); }
void look_and_throw(void*, MlsString, const MlsValue*) { throw std::runtime_error("from a visitor"); }

MlsString odd(std::string_view how, std::string_view good) {
  static const std::string large((1 << 20) + 1, 'a');
  if (how == "null_text") return {nullptr, 7};
  if (how == "no_utf8") return text("\xff");
  if (how == "large") return text(large);
  if (how == "escape") return text("\x1b]0;title\x07");
  return text(good);
}

MlsError* zoo(const MlsHostApi* host, const Row& r) {
  std::uint64_t count = 0;
  const MlsObject* object = nullptr;
  const auto type = r.how == "unknown" ? text("zebra") : odd(r.how, "hardware");
  if (r.what == "zoo_count") return host->zoo_count(host, type, r.how == "null" ? nullptr : &count);
  if (r.what == "zoo_at")
    return host->zoo_at(host, type, r.how == "behind" ? kHuge : 0, r.how == "null" ? nullptr : &object);
  if (r.what == "zoo_find")
    return host->zoo_find(host, type, r.how == "nobody" ? text("Nobody") : text("H100"),
                          r.how == "null" ? nullptr : &object);
  return nullptr;
}

MlsError* objects(const MlsHostApi* host, const Row& r) {
  const MlsObject* object = nullptr;
  if (auto* e = host->zoo_find(host, text("hardware"), text("H100"), &object)) return e;
  if (r.how == "null_object") object = nullptr;
  if (r.how == "foreign") object = reinterpret_cast<const MlsObject*>(foreign.data());
  MlsValue value{};
  int seen = 0;
  if (r.what == "object_field")
    return host->object_field(host, object,
                              r.how == "unknown" ? text("memory.bandwith") : odd(r.how, "memory.bandwidth"),
                              r.how == "null" ? nullptr : &value);
  if (r.what == "object_read")
    return host->object_read(host, object, &seen,
                             r.how == "null"     ? nullptr
                             : r.how == "throws" ? &look_and_throw
                                                 : &look);
  return nullptr;
}

MlsError* units(const MlsHostApi* host, const Row& r) {
  double out = 0;
  const double given = r.how == "nan" ? std::numeric_limits<double>::quiet_NaN() : 1;
  return host->convert(host, given, r.how == "unknown" ? text("furlong") : odd(r.how, "GB"),
                       r.how == "dimension" ? text("s") : text("B"), r.how == "null" ? nullptr : &out);
}

MlsError* asks(const MlsHostApi* host, MlsCall* call, const Row& r, const MlsValue* inputs) {
  int seen = 0;
  std::array<MlsNamed, 1> given{{{text("x"), inputs == nullptr ? MlsValue{} : *inputs}}};
  const auto ask = [&](MlsString name, const MlsNamed* values, std::uint64_t count, MlsVisit visit) {
    return host->evaluate(host, call, name, values, count, &seen, visit);
  };
  const auto self = text("misbehave/Model");
  if (r.how == "itself") return ask(self, given.data(), 1, &look);  // without end
  if (r.how == "nobody") return ask(text("misbehave/Nobody"), given.data(), 1, &look);
  if (r.how == "solver") return ask(text("SynthesisSolver"), nullptr, 0, &look);
  if (r.how == "null_call") return host->evaluate(host, nullptr, self, given.data(), 1, &seen, &look);
  if (r.how == "null_inputs") return ask(self, nullptr, 1, &look);
  if (r.how == "null_visit") return ask(self, given.data(), 1, nullptr);
  given[0].name = r.how == "unknown_input" ? text("zebra") : odd(r.how, "x");
  if (r.how == "wrong_kind") given[0].value = {MLS_STRING, 0, 0, text("soon"), nullptr};
  if (r.how == "out_of_range") given[0].value.number = -1;
  if (r.how == "nan") given[0].value.number = std::numeric_limits<double>::quiet_NaN();
  if (r.how == "foreign")
    given[0].value = {MLS_OBJECT, 0, 0, {}, reinterpret_cast<const MlsObject*>(foreign.data())};
  return ask(text("misbehave/Predict"), given.data(), 1, &look);
}

MlsError* errors(const MlsHostApi* host, const Row& r) {
  auto* strange = reinterpret_cast<MlsError*>(foreign.data());
  if (r.what == "error_destroy") {
    auto* e = host->error_create(host, MLS_INTERNAL, text("twice"));
    host->error_destroy(host, r.how == "foreign" ? strange : r.how == "null" ? nullptr : e);
    host->error_destroy(host, e);
    if (r.how == "twice") host->error_destroy(host, e);
    return nullptr;
  }
  const auto* asked = r.how == "foreign" ? strange : nullptr;
  if (r.what == "error_code" && host->error_code(host, asked) == (asked == nullptr ? MLS_OK : MLS_UNKNOWN))
    return nullptr;
  if (r.what == "error_message" && host->error_message(host, asked).size == 0) return nullptr;
  if (r.what == "error_add") {
    host->error_add(host, r.how == "foreign" ? strange : nullptr, text("key"), text("value"));
    auto* e = host->error_create(host, MLS_INTERNAL, text("with facts"));
    host->error_add(host, e, odd(r.how, "key"), odd(r.how, "value"));
    return e;
  }
  return host->error_create(host, MLS_INTERNAL, text("another answer than promised"));
}

MlsError* notes(const MlsHostApi* host, MlsCall* call, const Row& r) {
  auto* whose = r.how == "null_call" ? nullptr : call;
  if (r.what == "log") host->log(host, r.how == "level" ? 99 : MLS_LOG_INFO, odd(r.how, "a line"));
  if (r.what == "assume")
    host->assume(host, whose, odd(r.how, "figure"), odd(r.how, "1"), odd(r.how, "nobody"));
  if (r.what == "warn") host->warn(host, whose, odd(r.how, "careful"));
  if (r.what == "infeasible")
    host->infeasible(host, whose, odd(r.how, "too large"), odd(r.how, "a smaller one"));
  if (r.what == "cancel_requested" && host->cancel_requested(host, whose) != 0)
    return host->error_create(host, MLS_CANCELLED, text("nobody asked for it"));
  if (r.what == "keep") {
    const auto kept =
        host->keep(host, whose, r.how == "endless" ? MlsString{"x", kHuge} : odd(r.how, "kept"));
    if (r.how == "endless" && kept.data != nullptr)
      return host->error_create(host, MLS_INTERNAL, text("kept"));
  }
  if (r.what == "allocate") {
    void* memory = host->allocate(host, r.how == "endless" ? kHuge : 0);
    const bool given = memory != nullptr;
    host->release(host, memory);
    if (r.how == "endless" && given) return host->error_create(host, MLS_INTERNAL, text("so much"));
  }
  if (r.what == "reason") {
    MlsReason reason{};
    reason.struct_size = sizeof reason;
    return host->reason(host, whose, r.how == "null" ? nullptr : &reason);
  }
  return nullptr;
}

}  // namespace

MlsError* misuse(const MlsHostApi* host, MlsCall* call, const MlsValue* inputs) {
  const auto& r = row();
  if (r.place != "service") return nullptr;
  if (r.what.starts_with("zoo_")) return zoo(host, r);
  if (r.what.starts_with("object_")) return objects(host, r);
  if (r.what.starts_with("error_")) return errors(host, r);
  if (r.what == "convert") return units(host, r);
  if (r.what == "evaluate") return asks(host, call, r, inputs);
  return notes(host, call, r);
}

MlsError* misuse(const MlsHostApi* host, MlsRegistration* registration) {
  const auto& r = row();
  static MlsRegistration* kept = nullptr;
  const bool late = registration == nullptr;
  if (late) registration = kept;  // after its end
  kept = registration;
  if (r.place != "register" && !late) return nullptr;
  if (late) return host->add_resolver(host, registration, nullptr);
  auto* whose = r.how == "null_registration" ? nullptr : registration;
  if (r.what == "resolver") return host->add_resolver(host, whose, nullptr);
  if (r.what == "unit") return host->add_unit(host, whose, nullptr);
  if (r.what == "callback") return host->add_callback(host, whose, nullptr);
  if (r.what == "backend") return host->add_backend(host, whose, nullptr);
  if (r.what == "converter") return host->add_converter(host, whose, nullptr);
  if (r.what == "zoo") return host->add_zoo(host, whose, {nullptr, 3}, {nullptr, 3});
  return nullptr;
}

}  // namespace misbehave
