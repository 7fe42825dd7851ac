#include "detail/code.hpp"

#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace mlsysim::plugin::detail {

/// The C table first, so that its address is that of the whole.
struct Services::Table {
  MlsHostApi api;
  Services* services;
};

namespace {

constexpr MlsString kHostVersion{MLSYSIM_VERSION_TEXT, sizeof(MLSYSIM_VERSION_TEXT) - 1};

MlsStatus status_of(const std::exception& error) {
  if (const auto* fault = dynamic_cast<const PluginFault*>(&error)) return fault->code();
  if (dynamic_cast<const LookupError*>(&error) != nullptr) return MLS_NOT_FOUND;
  if (dynamic_cast<const DomainError*>(&error) != nullptr) return MLS_OUT_OF_RANGE;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return MLS_RESOURCE_EXHAUSTED;
  return dynamic_cast<const Error*>(&error) != nullptr ? MLS_INVALID_ARGUMENT : MLS_INTERNAL;
}

/// Runs a service for a plugin: what it throws becomes an error object.
template <class F> MlsError* guarded(const MlsHostApi* api, F&& f) noexcept {
  auto& services = Services::of(api);
  try {
    f(services);
    return nullptr;
  } catch (const Error& error) {
    auto facts = error.facts();
    facts.id.clear();
    return services.make_error(status_of(error), render(facts));
  } catch (const std::exception& error) {
    return services.make_error(status_of(error), error.what());
  } catch (...) {
    return services.make_error(MLS_INTERNAL, "a service of the host failed");
  }
}

void need(const void* out, const char* name) {
  if (out == nullptr)
    fail(MLS_INVALID_ARGUMENT, {.id = "mlsysim.plugin.012",
                                .message = fmt::format("the argument '{}' is null", name),
                                .key = name,
                                .found = "a null pointer",
                                .expected = "an address"});
}

/// A text that a plugin gives beside its answer. The reason replaces a text that cannot be read, so that
/// nothing is lost silently.
std::string readable(MlsString text, std::string_view what) {
  try {
    return read_text(text, what);
  } catch (const Error& error) {
    return error.what();
  }
}

/// A service without an answer: what it throws is a line of the log.
template <class F> void told(const MlsHostApi* api, F&& f) noexcept {
  auto& services = Services::of(api);
  auto* error = guarded(api, std::forward<F>(f));
  if (error == nullptr) return;
  try {
    services.log(MLS_LOG_ERROR, error->message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody to tell
  }
  services.destroy_error(error);
}

/// Registers one thing; a refusal is remembered, so that the whole plugin is refused.
template <class F>
MlsError* registering(const MlsHostApi* api, MlsRegistration* registration, F&& f) noexcept {
  return guarded(api, [&](Services&) {
    need(registration, "registration");
    try {
      if (registration->into == nullptr)
        fail(MLS_FAILED_PRECONDITION, {.id = "mlsysim.plugin.013",
                                       .message = "the registration is over",
                                       .found = "a late call",
                                       .expected = "calls inside register_all"});
      f(*registration);
    } catch (const PluginFault& fault) {
      if (!registration->refusal) registration->refusal = fault;
      throw;
    }
  });
}

void log(const MlsHostApi* api, std::int32_t level, MlsString text) {
  told(api, [&](Services& s) { s.log(level, readable(text, "a log line")); });
}
void* allocate(const MlsHostApi*, std::uint64_t size) {
  return size < (std::uint64_t{1} << 40) ? std::malloc(size)
                                         : nullptr;  // more is a mistake, and no machine has it
}
void release(const MlsHostApi*, void* memory) { std::free(memory); }

MlsError* error_create(const MlsHostApi* api, MlsStatus code, MlsString message) {
  auto& services = Services::of(api);
  try {
    return services.make_error(code >= MLS_CANCELLED && code <= MLS_UNAUTHENTICATED ? code : MLS_UNKNOWN,
                               read_text(message, "an error message"));
  } catch (const std::exception& error) {
    return services.make_error(MLS_INTERNAL, error.what());
  }
}
void error_add(const MlsHostApi* api, MlsError* error, MlsString key, MlsString value) {
  if (error != nullptr && Services::of(api).knows(error))
    told(api,
         [&](Services&) { error->payload.emplace_back(readable(key, "a key"), readable(value, "a value")); });
}
MlsStatus error_code(const MlsHostApi* api, const MlsError* error) {
  return error == nullptr ? MLS_OK : Services::of(api).knows(error) ? error->code : MLS_UNKNOWN;
}
MlsString error_message(const MlsHostApi* api, const MlsError* error) {
  return Services::of(api).knows(error) ? to_c(error->message) : MlsString{};
}
void error_destroy(const MlsHostApi* api, MlsError* error) { Services::of(api).destroy_error(error); }

template <class T> void check_new(const std::vector<T>& known, const std::string& name) {
  if (std::any_of(known.begin(), known.end(), [&](const T& one) { return one.name == name; }))
    fail(MLS_ALREADY_EXISTS, {.id = "mlsysim.plugin.014",
                              .message = fmt::format("'{}' is registered twice", name),
                              .key = name,
                              .found = "the name again",
                              .expected = "names that differ"});
}

MlsError* add_resolver(const MlsHostApi* api, MlsRegistration* registration, const MlsResolver* resolver) {
  return registering(api, registration, [&](MlsRegistration& r) {
    const auto full = adopt(resolver);
    auto described = describe_resolver(full);
    check_new(r.into->resolvers, described.name);
    r.into->resolvers.push_back(std::move(described));
    r.resolvers.push_back(full);
  });
}
MlsError* add_unit(const MlsHostApi* api, MlsRegistration* registration, const MlsUnit* unit) {
  return registering(api, registration, [&](MlsRegistration& r) {
    const auto u = adopt(unit);
    r.into->units.push_back({read_text(u.symbol, "symbol of a unit"), read_text(u.base, "base of a unit"),
                             read_text(u.decimal_prefixes, "prefixes of a unit"),
                             read_text(u.meaning, "meaning of a unit"), u.multiplier, u.divisor});
  });
}
MlsError* add_zoo(const MlsHostApi* api, MlsRegistration* registration, MlsString name, MlsString yaml) {
  return registering(api, registration, [&](MlsRegistration& r) {
    r.into->zoo.push_back({read_text(name, "name of a zoo text"), read_text(yaml, "a zoo text")});
  });
}
MlsError* add_callback(const MlsHostApi* api, MlsRegistration* registration, const MlsCallback* callback) {
  return registering(api, registration, [&](MlsRegistration& r) {
    const auto full = adopt(callback);
    auto name = read_text(full.name, "name of a callback");
    check_new(r.into->callbacks, name);
    r.into->callbacks.push_back({std::move(name), read_text(full.summary, "summary of a callback"),
                                 full.on_event != nullptr, full.on_break != nullptr,
                                 full.on_sweep != nullptr});
    r.callbacks.push_back(full);
  });
}

MlsError* add_backend(const MlsHostApi* api, MlsRegistration* registration, const MlsBackend* backend) {
  return registering(api, registration, [&](MlsRegistration& r) {
    const auto full = adopt(backend);
    auto described = describe_backend(full);
    if (full.predict != nullptr) {
      if (auto* error = add_resolver(api, registration, full.predict))
        raise(Services::of(api), error, described.name, "add_backend");
      described.predict = r.into->resolvers.back().name;
      if (r.into->resolvers.back().tier != Tier::model)
        fail(MLS_INVALID_ARGUMENT, {.id = "mlsysim.plugin.017",
                                    .message = fmt::format("'predict' of '{}' is no model", described.name),
                                    .key = "predict",
                                    .found = std::string(name_of(r.into->resolvers.back().tier)),
                                    .expected = "a model"});
    }
    check_new(r.into->backends, described.name);
    r.into->backends.push_back(std::move(described));
    r.backends.push_back(full);
  });
}
MlsError* add_converter(const MlsHostApi* api, MlsRegistration* registration, const MlsConverter* converter) {
  return registering(api, registration, [&](MlsRegistration& r) {
    const auto full = adopt(converter);
    auto name = read_text(full.name, "name of a converter");
    check_new(r.into->converters, name);
    r.into->converters.push_back({std::move(name), read_text(full.summary, "summary of a converter"),
                                  read_text(full.format, "format of a converter"), full.direction});
    r.converters.push_back(full);
  });
}
MlsError* reason(const MlsHostApi* api, MlsCall* call, const MlsReason* given) {
  return guarded(api, [&](Services&) {
    need(call, "call");
    need(given, "reason");
    if (call->reasons == nullptr)
      fail(MLS_FAILED_PRECONDITION, {.id = "mlsysim.plugin.018",
                                     .message = "a reason is given outside of a support query",
                                     .found = "another call",
                                     .expected = "a call of query_support"});
    call->reasons->push_back(read_reason(given));
  });
}

MlsError* zoo_count(const MlsHostApi* api, MlsString type, std::uint64_t* count) {
  return guarded(api, [&](Services& s) {
    need(count, "count");
    *count = s.zoo_count(read_text(type, "a type"));
  });
}
MlsError* zoo_at(const MlsHostApi* api, MlsString type, std::uint64_t index, const MlsObject** object) {
  return guarded(api, [&](Services& s) {
    need(object, "object");
    *object = s.zoo_at(read_text(type, "a type"), index);
  });
}
MlsError* zoo_find(const MlsHostApi* api, MlsString type, MlsString name, const MlsObject** object) {
  return guarded(api, [&](Services& s) {
    need(object, "object");
    *object = s.zoo_find(read_text(type, "a type"), read_text(name, "a name"));
  });
}
MlsError* object_field(const MlsHostApi* api, const MlsObject* object, MlsString path, MlsValue* value) {
  return guarded(api, [&](Services& s) {
    need(object, "object");
    need(value, "value");
    // Texts of zoo entries live with the entry; units are static. In another process they are kept by its
    // services.
    s.object_field(object, read_text(path, "a path"),
                   [&](std::string_view, const MlsValue& v) { *value = v; });
  });
}
MlsError* object_read(const MlsHostApi* api, const MlsObject* object, void* user, MlsVisit visit) {
  return guarded(api, [&](Services& s) {
    need(object, "object");
    need(reinterpret_cast<const void*>(visit), "visit");
    s.object_read(object, [&](std::string_view name, const MlsValue& v) { visit(user, to_c(name), &v); });
  });
}
MlsError* convert(const MlsHostApi* api, double number, MlsString from, MlsString to, double* result) {
  return guarded(api, [&](Services& s) {
    need(result, "result");
    *result = s.convert(number, read_text(from, "a unit"), read_text(to, "a unit"));
  });
}

MlsString keep(const MlsHostApi*, MlsCall* call, MlsString text) {
  // A text that an export keeps has the length limit of its output.
  if (call == nullptr || text.data == nullptr || text.size > kLongestOutput) return {};
  try {
    call->kept.push_back(std::make_unique<std::string>(from_c(text)));
    return to_c(*call->kept.back());
  } catch (const std::bad_alloc&) {
    return {};
  }
}
void assume(const MlsHostApi* api, MlsCall* call, MlsString name, MlsString value, MlsString source) {
  told(api, [&](Services&) {
    if (call != nullptr && call->context != nullptr)
      call->context->notes.assume(readable(name, "a name"), std::string_view(readable(value, "a value")),
                                  readable(source, "a source"));
  });
}
void warn(const MlsHostApi* api, MlsCall* call, MlsString text) {
  told(api, [&](Services&) {
    if (call != nullptr && call->context != nullptr)
      call->context->notes.warn(std::string_view(readable(text, "a warning")));
  });
}
void infeasible(const MlsHostApi* api, MlsCall* call, MlsString reason, MlsString change) {
  told(api, [&](Services&) {
    if (call != nullptr)
      call->why = Infeasible{readable(reason, "a reason"), readable(change, "a change"), {}};
  });
}
MlsError* evaluate(const MlsHostApi* api, MlsCall* call, MlsString resolver, const MlsNamed* inputs,
                   std::uint64_t count, void* user, MlsVisit visit) {
  return guarded(api, [&](Services& s) {
    need(call, "call");
    if (count > 0) need(inputs, "inputs");
    need(reinterpret_cast<const void*>(visit), "visit");
    s.evaluate(call, read_text(resolver, "a resolver"), {inputs, count},
               [&](std::string_view name, const MlsValue& v) { visit(user, to_c(name), &v); });
  });
}
std::int32_t cancel_requested(const MlsHostApi* api, MlsCall* call) {
  bool wanted = false;
  told(api, [&](Services& s) { wanted = call != nullptr && s.cancel_requested(call); });
  return wanted ? 1 : 0;
}

}  // namespace

Services::Services()
    : table_(new Table{{sizeof(MlsHostApi),
                        0,
                        nullptr,
                        MLS_ABI_MAJOR,
                        MLS_ABI_MINOR,
                        kHostVersion,
                        &detail::log,
                        &allocate,
                        &release,
                        &error_create,
                        &error_add,
                        &error_code,
                        &error_message,
                        &error_destroy,
                        &add_resolver,
                        &add_unit,
                        &add_zoo,
                        &add_callback,
                        &detail::zoo_count,
                        &detail::zoo_at,
                        &detail::zoo_find,
                        &detail::object_field,
                        &detail::object_read,
                        &detail::convert,
                        &keep,
                        &assume,
                        &warn,
                        &infeasible,
                        &detail::evaluate,
                        &detail::cancel_requested,
                        &add_backend,
                        &add_converter,
                        &detail::reason},
                       this}) {}

Services::~Services() {
  for (const auto* error : errors_) delete error;
}

const MlsHostApi* Services::api() const { return &table_->api; }

void Services::pretend_minor(std::uint32_t minor, std::uint32_t size) {
  table_->api.abi_minor = minor;
  table_->api.struct_size = size;
}

Services& Services::of(const MlsHostApi* api) {
  static_assert(offsetof(Table, api) == 0);
  return *reinterpret_cast<const Table*>(api)->services;
}

std::size_t Services::live_errors() const {
  const std::lock_guard lock(mutex_);
  return errors_.size();
}

MlsError* Services::make_error(MlsStatus code, std::string message) {
  auto* error = new MlsError{code, std::move(message), {}};
  const std::lock_guard lock(mutex_);
  errors_.insert(error);
  return error;
}

void Services::destroy_error(MlsError* error) {
  if (error == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (errors_.erase(error) > 0) delete error;
}

bool Services::knows(const MlsError* error) const {
  const std::lock_guard lock(mutex_);
  return errors_.contains(error);
}

void raise(Services& services, MlsError* error, std::string_view plugin, std::string_view call) {
  if (error == nullptr) return;
  if (!services.knows(error))
    fail(MLS_INTERNAL,
         {.id = "mlsysim.plugin.015",
          .message = fmt::format("{} gave something that is no error", plugin),
          .key = std::string(plugin),
          .found = fmt::format("an address that the host did not make, from {}", call),
          .expected = "null, or what error_create gave",
          .hint = "this plugin is broken; leave it out"},
         plugin, call);
  MlsError taken = *error;
  services.destroy_error(error);
  throw PluginFault(
      {.id = "mlsysim.plugin.016",
       .message = taken.message.empty() ? fmt::format("{} of {} failed without a message", call, plugin)
                                        : taken.message,
       .key = std::string(plugin),
       .found = fmt::format("{} from {}", status_name(taken.code), call)},
      taken.code, std::string(plugin), std::string(call), std::move(taken.payload));
}

}  // namespace mlsysim::plugin::detail
