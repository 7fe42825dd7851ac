// The tables of the plugin: everything that a plugin may register, once each, and right but for the row. y =
// 2 x.
#include "row.hpp"

#include <array>
#include <cstdlib>
#include <deque>
#include <string>

namespace misbehave {
namespace {

std::uint64_t count_of(std::string_view name, std::uint64_t good) {
  return static_cast<std::uint64_t>(whole(name, static_cast<std::int64_t>(good)));
}
std::int32_t small(std::string_view name, std::int32_t good) {
  return static_cast<std::int32_t>(whole(name, good));
}

const MlsHostApi* host_table = nullptr;  // for calls after the end

MlsField field(std::int32_t kind, std::string_view name, std::string_view unit = {}) {
  MlsField f{};
  f.struct_size = sizeof f;
  f.kind = kind;
  f.name = text(name);
  f.meaning = text("of a test");
  f.unit = text(unit);
  return f;
}

/// The input, every member of which a row can spoil.
MlsField spoilt_input() {
  auto f = field(small("field.kind", MLS_FIELD_QUANTITY), "");
  f.flags = static_cast<std::uint32_t>(whole("field.flags", MLS_FIELD_BOUNDED));
  f.name = member("field.name", "x");
  f.meaning = member("field.meaning", "what is doubled");
  f.unit = member("field.unit", "s");
  f.display = member("field.display", "ms");
  f.object_type = member("field.object_type", "");
  f.default_source = member("field.default_source", "a test");
  f.low = number("field.low", 1);
  f.high = number("field.high", 1e6);
  return f;
}

MlsField option() {
  static std::array<MlsString, 2> choices;
  choices = {text("fast"), member("field.choice", "slow")};
  auto f = field(MLS_FIELD_CHOICE, member("option.name", "speed").data == nullptr ? "" : "speed");
  f.name = member("option.name", "speed");
  f.flags = static_cast<std::uint32_t>(whole("option.flags", MLS_FIELD_OPTIONAL));
  f.default_value = {small("option.default_kind", MLS_STRING), 0, number("option.default", 0),
                     member("option.default", "fast"), nullptr};
  f.choices = row().is("whole", "choices_null") ? nullptr : choices.data();
  f.choice_count = count_of("choice_count", choices.size());
  return f;
}

MlsError* create(MlsCreateArgs* args) {
  if (auto* e = answer("create", args->host)) return e;
  args->instance = std::malloc(64);
  return nullptr;
}
MlsError* can_create(MlsCreateArgs* args) { return answer("can_create", args->host); }
void destroy(const MlsHostApi*, void* instance) {
  std::free(instance);
  act("destroy");
}

void write(MlsSolveArgs* args) {
  auto* out = args->outputs;
  out[0] = {small("result.kind", MLS_NUMBER), small("result.flag", 0),
            number("result", 2 * args->inputs[0].number), member("result.unit", ""), nullptr};
  if (row().is("result", "object")) {
    static std::array<std::uint64_t, 8> own{};
    out[0] = {MLS_OBJECT, 0, 0, {}, reinterpret_cast<const MlsObject*>(own.data())};
  }
  out[1] = {small("result.text_kind", MLS_STRING), 0, 0, member("result.text", "fine"), nullptr};
  out[2] = {small("result.flag_kind", MLS_FLAG), small("result.flag_value", 1), 0, {}, nullptr};
  out[3] = {MLS_STRING, 0, 0, member("result.choice", "good"), nullptr};
  if (row().is("result", "behind")) out[4].kind = MLS_NUMBER;
  if (row().is("result", "none"))
    for (int i = 0; i < 4; ++i) out[i] = {};
  args->outcome = small("outcome", MLS_OUTCOME_RESULT);
  args->output_count = count_of("output_count_out", args->output_count);
}

MlsError* solve(MlsSolveArgs* args) {
  if (auto* e = answer("solve", args->host)) return e;
  if (auto* e = misuse(args->host, args->call, args->inputs)) return e;
  write(args);
  return row().is("late", "register") ? misuse(args->host, static_cast<MlsRegistration*>(nullptr)) : nullptr;
}
MlsError* predict(MlsSolveArgs* args) {
  if (auto* e = answer("predict", args->host)) return e;
  args->outputs[0] = {MLS_NUMBER, 0, 3 * args->inputs[0].number, {}, nullptr};
  return nullptr;
}

MlsResolver resolver() {
  static std::array<MlsField, 1> inputs, options;
  static std::array<MlsField, 4> outputs;
  static std::array<MlsString, 2> choices{{text("good"), text("bad")}};
  inputs = {spoilt_input()};
  (void)checked(inputs[0], "MlsField");
  outputs = {field(MLS_FIELD_QUANTITY, "y", "s"), field(MLS_FIELD_TEXT, "word"),
             field(MLS_FIELD_FLAG, "flag"), field(MLS_FIELD_CHOICE, "pick")};
  for (auto& o : outputs) o.flags = MLS_FIELD_PRIVATE;
  outputs[0].flags |= MLS_FIELD_BOUNDED;
  outputs[0].high = 1e9;
  outputs[3].choices = choices.data();
  outputs[3].choice_count = choices.size();
  options = {option()};
  MlsResolver r{};
  r.struct_size = sizeof r;
  r.tier = small("resolver.tier", MLS_TIER_MODEL);
  r.flags = static_cast<std::uint32_t>(whole("resolver.flags", MLS_RESOLVER_DETERMINISTIC));
  r.name = member("resolver.name", "misbehave/Model");
  r.summary = member("resolver.summary", "Twice as much");
  r.version = member("resolver.version", "1.0.0");
  r.law = member("resolver.law", "y = 2 x");
  r.source = member("resolver.source", "a test");
  r.inputs = row().is("whole", "inputs_null") ? nullptr : inputs.data();
  r.input_count = count_of("input_count", inputs.size());
  r.outputs = row().is("whole", "outputs_null") ? nullptr : outputs.data();
  r.output_count = count_of("output_count", outputs.size());
  r.options = row().is("whole", "options_null") ? nullptr : options.data();
  r.option_count = count_of("option_count", options.size());
  r.create = &create;
  r.destroy = &destroy;
  r.can_create = &can_create;
  r.solve = row().is("slot", "solve") ? nullptr : &solve;
  r.ownership = small("resolver.ownership", MLS_OWN_SHARED);
  r.resource = member("resolver.resource", "");
  return r;
}

MlsResolver predictor() {
  static std::array<MlsField, 1> inputs{field(MLS_FIELD_QUANTITY, "x", "s")},
      outputs{field(MLS_FIELD_QUANTITY, "z", "s")};
  outputs[0].flags = MLS_FIELD_PRIVATE;
  MlsResolver r{};
  r.struct_size = sizeof r;
  r.tier = small("predict.tier", MLS_TIER_MODEL);
  r.name = member("predict.name", "misbehave/Predict");
  r.summary = text("Three times as much");
  r.version = text("1.0.0");
  r.inputs = inputs.data();
  r.input_count = 1;
  r.outputs = outputs.data();
  r.output_count = 1;
  r.solve = &predict;
  return r;
}

MlsError* on_event(const MlsEvent* event) { return answer("on_event", event->host); }

MlsError* query_support(MlsSupportArgs* args) {
  if (auto* e = answer("query_support", args->host)) return e;
  MlsReason reason{};
  reason.struct_size = sizeof reason;
  reason.code = small("reason.code", MLS_REASON_OTHER);
  reason.op = member("reason.op", "matmul");
  reason.location = member("reason.location", "line 1");
  reason.hint = member("reason.hint", "none");
  reason.count = number("reason.count", 1);
  args->verdict = small("verdict", MLS_VERDICT_NO);
  args->effort_used = small("effort_used", 0);
  return args->host->reason(args->host, args->call, checked(reason, "MlsReason"));
}

MlsError* import_it(MlsConvertArgs* args) {
  if (auto* e = answer("import", args->host)) return e;
  args->output = member("import.output", "schema: mlsysim/hardware@1\nentries: []\n");
  return nullptr;
}
MlsError* export_it(MlsConvertArgs* args) {
  if (auto* e = answer("export", args->host)) return e;
  args->output = member("export.output", "a,b\n1,2\n");
  return nullptr;
}

MlsUnit unit() {
  MlsUnit u{};
  u.struct_size = sizeof u;
  u.symbol = member("unit.symbol", "smoot");
  u.base = member("unit.base", "s");
  u.decimal_prefixes = member("unit.prefixes", "k");
  u.meaning = member("unit.meaning", "a moment");
  u.multiplier = number("unit.multiplier", 17);
  u.divisor = number("unit.divisor", 10);
  return u;
}
MlsCallback callback() {
  MlsCallback c{};
  c.struct_size = sizeof c;
  c.name = member("callback.name", "misbehave/Watch");
  c.summary = member("callback.summary", "Watches");
  c.on_event = row().is("slot", "on_event") ? nullptr : &on_event;
  return c;
}
MlsBackend backend(const MlsResolver* predicts) {
  static std::array<MlsString, 1> devices;
  devices = {member("backend.device", "H100")};
  MlsBackend b{};
  b.struct_size = sizeof b;
  b.name = member("backend.name", "misbehave/Chip");
  b.summary = member("backend.summary", "Runs nothing");
  b.devices = row().is("whole", "devices_null") ? nullptr : devices.data();
  b.device_count = count_of("device_count", 1);
  b.query_support =
      row().is("slot", "query_support") || row().is("slot", "backend") ? nullptr : &query_support;
  b.predict = row().is("slot", "backend") ? nullptr : predicts;
  b.max_effort = small("max_effort", MLS_EFFORT_NAMES);
  return b;
}
MlsConverter converter(std::int32_t direction) {
  const bool reads = direction == MLS_IMPORTER;
  MlsConverter c{};
  c.struct_size = sizeof c;
  c.name = member(reads ? "importer.name" : "exporter.name", reads ? "misbehave/Read" : "misbehave/Write");
  c.summary = member("converter.summary", "Converts");
  c.format = member("converter.format", "nothing");
  c.convert = row().is("slot", "convert") ? nullptr : reads ? &import_it : &export_it;
  c.direction = small("direction", direction);
  return c;
}

/// Many of a kind, or one twice: "many <kind> <number>", "twice <kind>".
struct Registrar {
  const MlsHostApi* host;
  MlsRegistration* to;
  MlsError* failed = nullptr;

  template <class T, class Add>
  void add(T one, std::string_view kind, std::string_view type, std::string_view prefix, Add into) {
    const auto& r = row();
    if (failed == nullptr) failed = into(host, to, checked(one, type));
    if (failed == nullptr && r.is("twice", kind)) failed = into(host, to, &one);
    if (!r.is("many", kind)) return;
    static std::deque<std::string> names;
    for (long i = 0, n = std::strtol(std::string(r.how).c_str(), nullptr, 10); i < n && failed == nullptr;
         ++i) {
      std::string letters;
      for (long k = i; k > 0 || letters.empty(); k /= 26) letters += static_cast<char>('a' + k % 26);
      if constexpr (requires { one.symbol; })
        one.symbol = text(names.emplace_back(std::string(prefix) + letters));
      else
        one.name = text(names.emplace_back(std::string(prefix) + letters));
      failed = into(host, to, &one);
    }
  }
};

MlsError* register_all(const MlsHostApi* host, MlsRegistration* to) {
  if (auto* e = answer("register_all", host)) return e;
  if (auto* e = misuse(host, to)) return row().how == "ignored" ? nullptr : e;
  Registrar r{host, to};
  auto predicts = predictor();
  r.add(unit(), "unit", "MlsUnit", "smoot", host->add_unit);
  r.add(resolver(), "resolver", "MlsResolver", "misbehave/N_", host->add_resolver);
  r.add(callback(), "callback", "MlsCallback", "misbehave/C_", host->add_callback);
  // Many of them share no prediction.
  r.add(backend(row().what == "backend" ? nullptr : checked(predicts, "predict")), "backend", "MlsBackend",
        "misbehave/B_", [](auto* h, auto* t, auto* b) { return h->add_backend(h, t, b); });
  r.add(converter(MLS_IMPORTER), "converter", "MlsConverter", "misbehave/R_", host->add_converter);
  r.add(converter(MLS_EXPORTER), "exporter", "MlsConverter", "misbehave/W_", host->add_converter);
  const auto& row_now = row();
  if (r.failed == nullptr && (row_now.what.starts_with("zoo.") || row_now.what == "zoo"))
    r.failed = host->add_zoo(host, to, member("zoo.name", "devices.yaml"),
                             member("zoo.text", "schema: mlsysim/hardware@1\nentries: []\n"));
  return r.failed;
}

MlsError* initialize(const MlsHostApi* host) {
  host_table = host;
  return answer("initialize", host);
}
std::int32_t has_feature(MlsString) {
  act("has_feature");
  return small("feature", 1);
}
void shutdown() {
  act("shutdown");
  if (row().is("late", "log")) host_table->log(host_table, MLS_LOG_INFO, text("from the grave"));
}

}  // namespace
}  // namespace misbehave

extern "C" MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api() {
  using namespace misbehave;
  act("entry");
  if (row().is("slot", "entry")) return nullptr;
  static std::array<MlsNamed, 1> attributes;
  attributes = {{{member("attribute.name", "speed"),
                  {MLS_NUMBER, 0, number("attribute", 1), member("attribute.unit", "s"), nullptr}}}};
  static MlsPluginApi api{};
  api.struct_size = sizeof api;
  api.abi_major = static_cast<std::uint32_t>(whole("abi_major", MLS_ABI_MAJOR));
  api.abi_minor = static_cast<std::uint32_t>(whole("abi_minor", MLS_ABI_MINOR));
  api.needs_host_minor = static_cast<std::uint32_t>(whole("needs_host_minor", 1));
  api.flags = static_cast<std::uint32_t>(whole("plugin.flags", 0));
  api.threads = small("threads", MLS_THREAD_SERIAL);
  api.name = member("plugin.name", "misbehave");
  api.version = member("plugin.version", "1.0.0");
  api.summary = member("plugin.summary", "Does what it must not");
  api.license = member("plugin.license", "Apache-2.0");
  api.attributes = row().is("whole", "attributes_null") ? nullptr : attributes.data();
  api.attribute_count = count_of("attribute_count", 1);
  api.initialize = row().is("slot", "initialize") ? nullptr : &initialize;
  api.register_all = row().is("slot", "register_all") ? nullptr : &register_all;
  api.has_feature = row().is("slot", "has_feature") ? nullptr : &has_feature;
  api.shutdown = row().is("slot", "shutdown") ? nullptr : &shutdown;
  return checked(api, "MlsPluginApi");
}
