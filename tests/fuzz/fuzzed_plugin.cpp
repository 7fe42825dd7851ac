// A plugin that is made of bytes: what it registers, answers and asks comes from those whose place and size
// FUZZED_BYTES names. Only what no host can notice is kept: a pointer leads to as many elements as the plugin
// says, and a text to as many bytes.

#include <mlsysim/plugin/mlsysim_plugin.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// What is left of the bytes. Past their end everything is 0, and 0 is what a plugin does right.
class Bytes {
 public:
  void begin() {
    *this = {};
    const char* place = std::getenv("FUZZED_BYTES");
    void* data = nullptr;
    unsigned long size = 0;
    if (place == nullptr || std::sscanf(place, "%p %lu", &data, &size) != 2) return;
    at_ = static_cast<const unsigned char*>(data);
    end_ = at_ + size;
  }
  unsigned next() { return at_ == end_ ? 0U : *at_++; }
  unsigned below(unsigned n) { return next() % n; }
  std::string raw(std::size_t size) {
    std::string out(reinterpret_cast<const char*>(at_), std::min(size, static_cast<std::size_t>(end_ - at_)));
    at_ += out.size();
    return out;
  }

 private:
  const unsigned char *at_ = nullptr, *end_ = nullptr;
};

Bytes bytes;
// Texts and arrays live until the next plugin is made.
std::deque<std::string> texts;
std::deque<std::vector<std::uint64_t>> arrays;
std::deque<std::vector<MlsString>> choices;
const MlsHostApi* host = nullptr;

MlsString text(std::string_view good) {
  static constexpr std::array<std::string_view, 20> known{
      "x",        "fuzzed/Model", "fuzzed/Other", "hello/DecodeFloor",
      "s",        "GB/s",         "jiffy",        "nmkMG",
      "hardware", "H100",         "workload",     "memory.bandwidth",
      "Model",    "../x",         "a/b/c",        "devices.yaml",
      "\x1b[31m", "\xff",         "fast",         "TailLatencyModel"};
  const auto what = bytes.next();
  if (what == 0) return {good.data(), good.size()};
  if (what == 1) return {nullptr, 0};
  if (what == 2) return {nullptr, 7};
  if (what < 3 + known.size()) return {known[what - 3].data(), known[what - 3].size()};
  texts.push_back(bytes.raw(what % 48));
  return {texts.back().data(), texts.back().size()};
}

double number(double good) {
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 11> known{0,     1,      -1,   2,        4294967296., 5e-324,
                                         1e308, -1e308, 1e-9, infinite, -infinite};
  const auto what = bytes.next();
  if (what == 0) return good;
  if (what == 1) return std::numeric_limits<double>::quiet_NaN();
  if (what < 2 + known.size()) return known[what - 2];
  double raw = 0;
  const auto given = bytes.raw(sizeof raw);
  std::memcpy(&raw, given.data(), given.size());
  return raw;
}

/// Mostly as it should be, else small or any.
template <class Number> Number whole(Number good) {
  const auto what = bytes.next();
  if (what < 128) return good;
  return what < 250 ? static_cast<Number>(what - 128) : std::numeric_limits<Number>::max();
}

/// `count` structs one after the other, each as large as it says: of this version, of an earlier or a later
/// one.
template <class T> const T* array_of(std::uint64_t count, T (*make)()) {
  const auto what = bytes.next();
  auto size = sizeof(T);
  if (what >= 200) size = what < 230 ? sizeof(T) + 8 * (what - 199) : 8 * (what - 230);
  auto& memory = arrays.emplace_back((std::max(size, sizeof(T)) / 8 + 1) * (count + 2), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    T one = make();
    one.struct_size = static_cast<std::uint32_t>(size);
    std::memcpy(reinterpret_cast<char*>(memory.data()) + i * size, &one, sizeof one);
  }
  return reinterpret_cast<const T*>(memory.data());
}
template <class T> const T* one_of(T (*make)()) { return array_of(1, make); }

const MlsObject* object() {
  const MlsObject* found = nullptr;
  if (auto* error = host->zoo_find(host, text("hardware"), text("H100"), &found))
    host->error_destroy(host, error);
  return found;
}

MlsValue value(std::int32_t kind) {
  MlsValue v{};
  v.kind = whole(kind);
  v.flag = whole(1);
  v.number = number(2);
  v.text = v.kind == MLS_STRING ? text("fast") : text("");
  if (v.kind == MLS_OBJECT) v.object = object();
  return v;
}

const std::vector<MlsString>& new_choices() {
  auto& out = choices.emplace_back();
  for (unsigned i = 1 + bytes.below(3); i > 0; --i) out.push_back(text(i == 1 ? "fast" : "slow"));
  return out;
}

MlsField field(std::string_view name) {
  MlsField f{};
  f.kind = whole(static_cast<std::int32_t>(MLS_FIELD_NUMBER));
  f.flags = bytes.next();
  f.name = text(name);
  f.meaning = text("of a test");
  f.unit = text(f.kind == MLS_FIELD_QUANTITY ? "s" : "");
  f.display = text("");
  f.object_type = text(f.kind == MLS_FIELD_OBJECT ? "hardware" : "");
  f.default_source = text("");
  if ((f.flags & MLS_FIELD_OPTIONAL) != 0) f.default_value = value(MLS_NUMBER);
  f.low = number(0);
  f.high = number(1e6);
  if (f.kind == MLS_FIELD_CHOICE || bytes.below(16) == 15) {
    const auto& kept = new_choices();
    f.choices = kept.data();
    f.choice_count = kept.size();
  }
  return f;
}
MlsField input() { return field("x"); }
MlsField output() {
  auto f = field("y");
  f.flags |= MLS_FIELD_PRIVATE;
  return f;
}
MlsField option() {
  auto f = field("speed");
  f.flags |= MLS_FIELD_OPTIONAL;
  return f;
}

/// An error of the plugin's own, or none.
MlsError* answer() {
  if (bytes.next() < 224) return nullptr;
  auto* error = host->error_create(host, whole(static_cast<MlsStatus>(MLS_INTERNAL)), text("no; x; y; z"));
  if (bytes.below(2) == 1) host->error_add(host, error, text("key"), text("value"));
  return error;
}

void look(void* seen, MlsString, const MlsValue* v) {
  *static_cast<int*>(seen) += v == nullptr ? 1 : v->kind;
}

/// Services of the host, each error of which is looked at and destroyed, or handed on.
MlsError* ask(MlsCall* call, const MlsValue* inputs, std::uint64_t count) {
  for (unsigned i = bytes.below(4); i > 0; --i) {
    MlsError* error = nullptr;
    double converted = 0;
    std::uint64_t there = 0;
    const MlsObject* found = nullptr;
    MlsValue figure{};
    int seen = 0;
    switch (bytes.below(12)) {
      case 0:
        error = host->convert(host, number(1), text("GB/s"), text("B/s"), &converted);
        break;
      case 1:
        error = host->zoo_count(host, text("hardware"), &there);
        break;
      case 2:
        error = host->object_field(host, object(), text("memory.bandwidth"), &figure);
        break;
      case 4:
        error = host->object_read(host, object(), &seen, &look);
        break;
      case 5:
        (void)host->keep(host, call, text("kept"));
        break;
      case 6:
        host->assume(host, call, text("name"), text("value"), text("source"));
        break;
      case 7:
        host->warn(host, call, text("a warning"));
        break;
      case 8:
        host->infeasible(host, call, text("too small"), text("x = 2"));
        break;
      case 9: {
        const MlsNamed given{text("x"), inputs != nullptr && count > 0 ? inputs[0] : value(MLS_NUMBER)};
        error = host->evaluate(host, call, text("TailLatencyModel"), &given, bytes.below(2), &seen, &look);
        break;
      }
      case 10:
        host->log(host, whole(static_cast<std::int32_t>(MLS_LOG_INFO)), text("a line"));
        break;
      default:
        host->release(host, host->allocate(host, whole(std::uint64_t{64}) & 0xFFFFF));
    }
    if (error == nullptr) continue;
    (void)host->error_code(host, error);
    (void)host->error_message(host, error);
    if (bytes.below(8) == 7) return error;
    host->error_destroy(host, error);
  }
  return nullptr;
}

MlsError* solve(MlsSolveArgs* args) {
  if (auto* error = ask(args->call, args->inputs, args->input_count)) return error;
  for (std::uint64_t i = 0; i < args->output_count; ++i) args->outputs[i] = value(MLS_NUMBER);
  args->output_count = whole(args->output_count);
  args->outcome = whole(static_cast<std::int32_t>(MLS_OUTCOME_RESULT));
  return answer();
}
MlsError* create(MlsCreateArgs* args) {
  args->instance = nullptr;
  return answer();
}
MlsError* on_event(const MlsEvent*) { return answer(); }
MlsReason reason() {
  MlsReason r{};
  r.code = whole(static_cast<std::int32_t>(MLS_REASON_TYPE));
  r.op = text("m");
  r.location = text("");
  r.hint = text("");
  r.count = number(1);
  return r;
}
MlsError* query_support(MlsSupportArgs* args) {
  for (unsigned i = bytes.below(3); i > 0; --i)
    if (auto* error = host->reason(host, args->call, one_of(&reason))) return error;
  args->verdict = whole(static_cast<std::int32_t>(MLS_VERDICT_YES));
  args->effort_used = whole(args->effort);
  return answer();
}
MlsError* convert(MlsConvertArgs* args) {
  args->output = host->keep(host, args->call, text("schema: mlsysim/hardware@1\nentries: []\n"));
  return answer();
}

MlsResolver resolver() {
  MlsResolver r{};
  r.tier = whole(static_cast<std::int32_t>(MLS_TIER_MODEL));
  r.flags = bytes.next();
  r.name = text("fuzzed/Model");
  r.summary = text("Twice as much");
  r.version = text("1.0.0");
  r.law = text("y = 2 x");
  r.source = text("");
  r.input_count = bytes.below(3);
  r.inputs = array_of(r.input_count, &input);
  r.output_count = 1 + bytes.below(2);
  r.outputs = array_of(r.output_count, &output);
  r.option_count = bytes.below(2);
  r.options = array_of(r.option_count, &option);
  r.solve = bytes.below(32) == 31 ? nullptr : &solve;
  if (bytes.below(2) == 1) r.create = &create;
  r.ownership = whole(static_cast<std::int32_t>(MLS_OWN_SHARED));
  r.resource = text("");
  return r;
}
MlsUnit unit() {
  MlsUnit u{};
  u.symbol = text("jiffy");
  u.base = text("s");
  u.decimal_prefixes = text("k");
  u.meaning = text("a tick of a clock");
  u.multiplier = number(1);
  u.divisor = number(100);
  return u;
}
MlsCallback callback() {
  MlsCallback c{};
  c.name = text("fuzzed/Watch");
  c.summary = text("watches");
  c.on_event = bytes.below(8) == 7 ? nullptr : &on_event;
  return c;
}
MlsBackend backend() {
  static MlsString device;
  device = text("H100");
  MlsBackend b{};
  b.name = text("fuzzed/Chip");
  b.summary = text("runs");
  b.devices = &device;
  b.device_count = 1;
  b.query_support = &query_support;
  b.max_effort = whole(static_cast<std::int32_t>(MLS_EFFORT_TYPES));
  if (bytes.below(4) == 3) b.predict = one_of(&resolver);
  return b;
}
MlsConverter converter() {
  MlsConverter c{};
  c.name = text("fuzzed/Read");
  c.summary = text("reads");
  c.format = text(".fuzzed");
  c.convert = &convert;
  c.direction = whole(static_cast<std::int32_t>(MLS_IMPORTER));
  return c;
}

/// All but files of a zoo, which are fuzzed as such: one that was published is kept for ever.
MlsError* add(MlsRegistration* registration, unsigned what) {
  switch (what) {
    case 0:
      return host->add_resolver(host, registration, one_of(&resolver));
    case 1:
      return host->add_unit(host, registration, one_of(&unit));
    case 2:
      return host->add_callback(host, registration, one_of(&callback));
    case 3:
      return host->add_backend(host, registration, one_of(&backend));
    default:
      return host->add_converter(host, registration, one_of(&converter));
  }
}

MlsError* initialize(const MlsHostApi* given) {
  host = given;
  texts.clear();
  arrays.clear();
  choices.clear();
  bytes.begin();
  return answer();
}
MlsError* register_all(const MlsHostApi*, MlsRegistration* registration) {
  for (unsigned i = 1 + bytes.below(4); i > 0; --i)
    if (auto* error = add(registration, bytes.below(5))) {
      if (bytes.below(8) != 7) return error;
      host->error_destroy(host, error);
    }
  return answer();
}
std::int32_t has_feature(MlsString) { return whole(1); }

const MlsPluginApi* table() {
  static const MlsPluginApi api = [] {
    MlsPluginApi a{};
    a.struct_size = sizeof a;
    a.abi_major = MLS_ABI_MAJOR;
    a.abi_minor = MLS_ABI_MINOR;
    a.needs_host_minor = 1;
    a.threads = MLS_THREAD_SAFE;
    a.name = MLS_TEXT("fuzzed");
    a.version = MLS_TEXT("1.0.0");
    a.summary = MLS_TEXT("made of bytes");
    a.license = MLS_TEXT("none");
    a.initialize = &initialize;
    a.register_all = &register_all;
    a.has_feature = &has_feature;
    return a;
  }();
  return &api;
}

}  // namespace

const MlsPluginApi* mlsysim_get_plugin_api() { return table(); }
