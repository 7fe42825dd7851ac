#include "detail/wire.hpp"

#include <mlsysim/resolver_api/break_reason.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>

namespace mlsysim::plugin::detail {
namespace {

void write_field(Writer& out, const FieldDescription& f) {
  for (const auto* s : {&f.name, &f.meaning, &f.unit, &f.display, &f.object_type, &f.default_source})
    out.text(*s);
  out.put(static_cast<std::uint64_t>(f.choices.size()));
  for (const auto& c : f.choices) out.text(c);
  out.value(f.default_value.view());
  out.put(f.low).put(f.high).put(f.kind).put(f.flags);
}

FieldDescription read_field(MessageReader& in) {
  FieldDescription f;
  for (auto* s : {&f.name, &f.meaning, &f.unit, &f.display, &f.object_type, &f.default_source})
    *s = in.text();
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) f.choices.push_back(in.text());
  f.default_value = in.value();
  f.low = in.get<double>();
  f.high = in.get<double>();
  f.kind = in.get<std::int32_t>();
  f.flags = in.get<std::uint32_t>();
  return f;
}

template <class T, class F> void write_list(Writer& out, const std::vector<T>& list, F&& write) {
  out.put(static_cast<std::uint64_t>(list.size()));
  for (const auto& item : list) write(item);
}
template <class F> void read_list(MessageReader& in, F&& read) {
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) read();
}

}  // namespace

Writer& Writer::value(const MlsValue& v) {
  return put(v.kind)
      .put(v.flag)
      .put(v.number)
      .text(plugin::from_c(v.text))
      .put(reinterpret_cast<std::uintptr_t>(v.object));
}

void MessageReader::need(std::uint64_t size) const {
  if (size > bytes_.size() - at_)
    fail(MLS_DATA_LOSS, {.id = "mlsysim.plugin.111",
                         .message = "a message of an isolated plugin ends too early",
                         .found = "fewer bytes",
                         .expected = "the whole message"});
}
void MessageReader::refuse() {
  fail(MLS_DATA_LOSS, {.id = "mlsysim.plugin.119",
                       .message = "a message of an isolated plugin is garbled",
                       .found = "a value that its type does not have",
                       .expected = "what the worker writes"});
}
std::string MessageReader::text() {
  const auto size = get<std::uint64_t>();
  need(size);
  std::string out = bytes_.substr(at_, size);
  at_ += size;
  return out;
}
OwnedValue MessageReader::value() {
  OwnedValue v;
  v.kind = get<std::int32_t>();
  v.flag = get<std::int32_t>() != 0;
  v.number = get<double>();
  v.text = text();
  v.object = reinterpret_cast<const MlsObject*>(get<std::uintptr_t>());
  return v;
}

Channel::~Channel() { ::close(descriptor_); }

bool Channel::send(Message type, std::uint32_t serial, const std::string& bytes) const {
  if (bytes.size() > kLargest)
    fail(MLS_RESOURCE_EXHAUSTED, {.id = "mlsysim.plugin.112",
                                  .message = "a message to an isolated plugin is too large",
                                  .found = std::to_string(bytes.size()) + " bytes",
                                  .expected = "at most " + std::to_string(kLargest)});
  const std::uint32_t head[4] = {kMagic, static_cast<std::uint32_t>(type),
                                 static_cast<std::uint32_t>(bytes.size()), serial};
  std::string all(reinterpret_cast<const char*>(head), sizeof head);
  all += bytes;
  std::size_t done = 0;
  while (done < all.size()) {
    const auto n = ::send(descriptor_, all.data() + done, all.size() - done, MSG_NOSIGNAL);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd wait{descriptor_, POLLOUT, 0};
      if (::poll(&wait, 1, 10000) <= 0) return false;
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      return false;
    }
  }
  return true;
}

std::ptrdiff_t Channel::read_some(char* to, std::size_t size) const {
  while (true) {
    const auto n = ::recv(descriptor_, to, size, MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : 0;
  }
}

void write_description(Writer& out, const PluginDescription& d) {
  out.text(d.name).text(d.version).text(d.summary).text(d.license);
  out.put(d.abi_major).put(d.abi_minor).put(d.needs_host_minor).put(d.flags).put(d.threads);
  write_list(out, d.attributes, [&](const auto& a) { out.text(a.first).value(a.second.view()); });
  write_list(out, d.resolvers, [&](const ResolverDescription& r) {
    out.put(r.tier)
        .put(r.flags)
        .put(r.has_instances)
        .put(r.ownership)
        .text(r.resource)
        .text(r.name)
        .text(r.summary)
        .text(r.version)
        .text(r.law)
        .text(r.source);
    for (const auto* side : {&r.inputs, &r.outputs, &r.options})
      write_list(out, *side, [&](const FieldDescription& f) { write_field(out, f); });
  });
  write_list(out, d.units, [&](const UnitDescription& u) {
    out.text(u.symbol).text(u.base).text(u.decimal_prefixes).text(u.meaning).put(u.multiplier).put(u.divisor);
  });
  write_list(out, d.zoo, [&](const ZooText& z) { out.text(z.name).text(z.text); });
  write_list(out, d.callbacks, [&](const CallbackDescription& c) {
    out.text(c.name).text(c.summary);
    for (const bool slot : {c.on_event, c.on_break, c.on_sweep}) out.put(static_cast<std::uint8_t>(slot));
  });
  write_list(out, d.backends, [&](const BackendDescription& b) {
    out.text(b.name).text(b.summary).text(b.predict).put(b.max_effort);
    write_list(out, b.devices, [&](const std::string& name) { out.text(name); });
  });
  write_list(out, d.converters, [&](const ConverterDescription& c) {
    out.text(c.name).text(c.summary).text(c.format).put(c.direction);
  });
}

PluginDescription read_description(MessageReader& in) {
  PluginDescription d;
  for (auto* s : {&d.name, &d.version, &d.summary, &d.license}) *s = in.text();
  for (auto* n : {&d.abi_major, &d.abi_minor, &d.needs_host_minor, &d.flags}) *n = in.get<std::uint32_t>();
  d.threads = in.get<std::int32_t>();
  read_list(in, [&] {
    auto name = in.text();
    d.attributes.emplace_back(std::move(name), in.value());
  });
  read_list(in, [&] {
    ResolverDescription r;
    r.tier = in.get<Tier>();
    r.flags = in.get<std::uint32_t>();
    r.has_instances = in.get<bool>();
    r.ownership = in.get<Ownership>();
    r.resource = in.text();
    for (auto* s : {&r.name, &r.summary, &r.version, &r.law, &r.source}) *s = in.text();
    for (auto* side : {&r.inputs, &r.outputs, &r.options})
      read_list(in, [&] { side->push_back(read_field(in)); });
    d.resolvers.push_back(std::move(r));
  });
  read_list(in, [&] {
    UnitDescription u;
    for (auto* s : {&u.symbol, &u.base, &u.decimal_prefixes, &u.meaning}) *s = in.text();
    u.multiplier = in.get<double>();
    u.divisor = in.get<double>();
    d.units.push_back(std::move(u));
  });
  read_list(in, [&] {
    auto name = in.text();
    d.zoo.push_back({std::move(name), in.text()});
  });
  read_list(in, [&] {
    CallbackDescription c;
    for (auto* s : {&c.name, &c.summary}) *s = in.text();
    for (auto* slot : {&c.on_event, &c.on_break, &c.on_sweep}) *slot = in.get<std::uint8_t>() != 0;
    d.callbacks.push_back(std::move(c));
  });
  read_list(in, [&] {
    BackendDescription b;
    for (auto* s : {&b.name, &b.summary, &b.predict}) *s = in.text();
    b.max_effort = in.get<std::int32_t>();
    read_list(in, [&] { b.devices.push_back(in.text()); });
    d.backends.push_back(std::move(b));
  });
  read_list(in, [&] {
    ConverterDescription c;
    for (auto* s : {&c.name, &c.summary, &c.format}) *s = in.text();
    c.direction = in.get<std::int32_t>();
    d.converters.push_back(std::move(c));
  });
  return d;
}

void write_fault(Writer& out, const std::exception& error) {
  const auto* fault = dynamic_cast<const PluginFault*>(&error);
  const auto* known = dynamic_cast<const Error*>(&error);
  ErrorFacts facts =
      known != nullptr ? known->facts() : ErrorFacts{.id = "mlsysim.plugin.113", .message = error.what()};
  out.put(fault != nullptr                                      ? fault->code()
          : dynamic_cast<const LookupError*>(&error) != nullptr ? MLS_NOT_FOUND
          : known != nullptr                                    ? MLS_INVALID_ARGUMENT
                                                                : MLS_INTERNAL);
  for (const auto* s :
       {&facts.id, &facts.message, &facts.key, &facts.found, &facts.expected, &facts.hint, &facts.where.file})
    out.text(*s);
  out.put(facts.reason.has_value());
  if (facts.reason) out.put(*facts.reason);
  out.text(fault != nullptr ? fault->plugin() : "").text(fault != nullptr ? fault->call() : "");
  out.put(static_cast<std::uint64_t>(fault != nullptr ? fault->payload().size() : 0));
  if (fault != nullptr)
    for (const auto& [key, value] : fault->payload()) out.text(key).text(value);
}

void throw_fault(MessageReader& in) {
  const auto code = in.get<MlsStatus>();
  ErrorFacts facts;
  for (auto* s :
       {&facts.id, &facts.message, &facts.key, &facts.found, &facts.expected, &facts.hint, &facts.where.file})
    *s = in.text();
  if (in.get<bool>()) facts.reason = in.get<BreakReason>();
  auto plugin = in.text();
  auto call = in.text();
  std::vector<std::pair<std::string, std::string>> payload;
  read_list(in, [&] {
    auto key = in.text();
    payload.emplace_back(std::move(key), in.text());
  });
  throw PluginFault(std::move(facts), code, std::move(plugin), std::move(call), std::move(payload));
}

}  // namespace mlsysim::plugin::detail
