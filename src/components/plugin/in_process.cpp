#include "detail/code.hpp"
#include "detail/elf.hpp"
#include "detail/notebook.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstring>

namespace mlsysim::plugin::detail {
namespace {

/// Raised in children of fork: cheaper than asking for the process id on every call.
std::atomic<unsigned> forks{0};
void watch_forks() {
  static const int done =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)done;
}

bool on_main_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)) == ::getpid(); }

class InProcess final : public PluginCode {
 public:
  InProcess(const std::string& library, std::string path, std::shared_ptr<Services> services)
      : services_(std::move(services)),
        path_(std::move(path)),
        page_(NotebookPage(path_).file()),
        forks_(forks.load()) {
    watch_forks();
    const Running now(path_.c_str(), page_.c_str(), "opening");
    const char* stage = MLS_ENTRY_SYMBOL;
    try {
      open(library);
      versions();
      facts();
      stage = "initialize";
      initialize();
      stage = "register_all";
      register_all();
    } catch (const PluginFault& fault) {
      shut_down();
      throw with_names(fault, description_.name.empty() ? path_ : description_.name, stage);
    } catch (...) {
      shut_down();
      throw;
    }
  }
  ~InProcess() override { shut_down(); }

  [[nodiscard]] Services& services() const override { return *services_; }

  /// A thread that may not call at all has no turn to wait for: it is refused.
  std::unique_lock<std::recursive_mutex> turn() override {
    if (table_.threads == MLS_THREAD_SAFE || (table_.threads == MLS_THREAD_MAIN_ONLY && !on_main_thread()))
      return {};
    return std::unique_lock(serial_);
  }

  void* create(std::size_t i, std::span<const MlsValue> options) override {
    const auto& r = resolvers_[i];
    if (r.create == nullptr) return nullptr;
    MlsCreateArgs args{sizeof args,    0,      nullptr, services_->api(), r.user, options.data(),
                       options.size(), nullptr};
    raise(*services_, enter("create", i, [&] { return r.create(&args); }), description_.name,
          what("create", i));
    return args.instance;
  }

  void can_create(std::size_t i, std::span<const MlsValue> options) override {
    const auto& r = resolvers_[i];
    if (r.can_create == nullptr) return;
    MlsCreateArgs args{sizeof args,    0,      nullptr, services_->api(), r.user, options.data(),
                       options.size(), nullptr};
    raise(*services_, enter("can_create", i, [&] { return r.can_create(&args); }), description_.name,
          what("can_create", i));
  }

  void destroy(std::size_t i, void* instance) noexcept override {
    const auto& r = resolvers_[i];
    if (r.destroy == nullptr || instance == nullptr) return;
    try {
      enter("destroy", i, [&]() -> MlsError* {
        r.destroy(services_->api(), instance);
        return nullptr;
      });
    } catch (const std::exception& error) {
      services_->log(MLS_LOG_ERROR, error.what());
    }
  }

  std::int32_t solve(std::size_t i, void* instance, std::span<const MlsValue> in, std::span<MlsValue> out,
                     MlsCall& call) override {
    const auto& r = resolvers_[i];
    if (r.solve == nullptr) refuse_absent(description_.resolvers[i].name, "solve", i);
    MlsSolveArgs args{
        sizeof args, 0,          nullptr,    services_->api(),   r.user, instance, &call, in.data(),
        in.size(),   out.data(), out.size(), MLS_OUTCOME_RESULT, 0};
    auto* error = enter("solve", i, [&] { return r.solve(&args); });
    if (error != nullptr) [[unlikely]]
      raise(*services_, error, description_.name, what("solve", i));
    if (args.output_count != out.size()) [[unlikely]]
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.031",
            .message = fmt::format("{} wrote another number of results than it declares",
                                   description_.resolvers[i].name),
            .key = "output_count",
            .found = fmt::format("{}", args.output_count),
            .expected = fmt::format("{}", out.size())},
           description_.name, what("solve", i));
    if (args.outcome != MLS_OUTCOME_RESULT && args.outcome != MLS_OUTCOME_INFEASIBLE) [[unlikely]]
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.043",
            .message =
                fmt::format("{} does not say whether there is a result", description_.resolvers[i].name),
            .key = "outcome",
            .found = fmt::format("{}", args.outcome),
            .expected = "MLS_OUTCOME_RESULT or MLS_OUTCOME_INFEASIBLE"},
           description_.name, what("solve", i));
    return args.outcome;
  }

  void event(std::size_t i, MlsEvent event) override { tell("on_event", i, event, callbacks_[i].on_event); }
  void broke(std::size_t i, MlsBreak event) override { tell("on_break", i, event, callbacks_[i].on_break); }
  void swept(std::size_t i, MlsSweep event) override { tell("on_sweep", i, event, callbacks_[i].on_sweep); }

  std::pair<std::int32_t, std::int32_t> query_support(std::size_t i, const Program& program,
                                                      std::string_view device, std::int32_t effort,
                                                      std::int32_t mode, MlsCall& call) override {
    const auto& b = backends_[i];
    const auto slot = what("query_support", i);
    if (b.query_support == nullptr) refuse_absent(description_.backends[i].name, "query_support", i);
    std::vector<MlsOp> ops;
    for (const auto& op : program.ops)
      ops.push_back({sizeof(MlsOp), 0, nullptr, plugin::to_c(op.name), plugin::to_c(op.kind),
                     plugin::to_c(op.precision), plugin::to_c(op.location), op.count, op.work, op.traffic});
    const MlsProgram c{sizeof c,
                       0,
                       nullptr,
                       plugin::to_c(program.name),
                       plugin::to_c(program.format),
                       plugin::to_c(program.precision),
                       ops.data(),
                       ops.size(),
                       program.memory};
    MlsSupportArgs args{sizeof args,
                        0,
                        nullptr,
                        services_->api(),
                        b.user,
                        &call,
                        &c,
                        plugin::to_c(device),
                        effort,
                        mode,
                        MLS_VERDICT_MAYBE,
                        std::min(effort, b.max_effort)};
    raise(*services_, enter("query_support", i, [&] { return b.query_support(&args); }), description_.name,
          slot);
    if (args.verdict < MLS_VERDICT_NO || args.verdict > MLS_VERDICT_MAYBE)
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.041",
            .message = fmt::format("{} gives no verdict", description_.backends[i].name),
            .key = "verdict",
            .found = fmt::format("{}", args.verdict),
            .expected = "no, yes or maybe"},
           description_.name, slot);
    if (args.effort_used < MLS_EFFORT_NAMES || args.effort_used > MLS_EFFORT_REWRITE)
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.044",
            .message = fmt::format("{} does not say what it looked at", description_.backends[i].name),
            .key = "effort_used",
            .found = fmt::format("{}", args.effort_used),
            .expected = "0 to 4"},
           description_.name, slot);
    return {args.verdict, args.effort_used};
  }

  std::string convert(std::size_t i, std::string_view file, std::string_view input, const MlsObject* object,
                      MlsCall& call) override {
    const auto& c = converters_[i];
    const auto slot = what("convert", i);
    MlsConvertArgs args{
        sizeof args,         0,      nullptr, services_->api(), c.user, &call, plugin::to_c(file),
        plugin::to_c(input), object, {}};
    raise(*services_, enter("convert", i, [&] { return c.convert(&args); }), description_.name, slot);
    const bool there = args.output.data != nullptr, fits = args.output.size <= kLongestOutput;
    const auto output = there && fits ? plugin::from_c(args.output) : std::string_view();
    if (!there || !fits || !is_utf8(output) || output.find('\0') != std::string_view::npos)
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.042",
            .message = fmt::format("{} gives no text", description_.converters[i].name),
            .key = "output",
            .found = !there  ? "a null pointer"
                     : !fits ? fmt::format("{} bytes", args.output.size)
                             : "bytes that are no UTF-8, or a zero byte",
            .expected = "a text of at most 64 MiB"},
           description_.name, slot);
    return std::string(output);
  }

  [[nodiscard]] bool has_feature(std::string_view name) override {
    if (table_.has_feature == nullptr) return false;
    bool has = false;
    enter("has_feature", 0, [&]() -> MlsError* {
      has = table_.has_feature(plugin::to_c(name)) != 0;
      return nullptr;
    });
    return has;
  }

  [[nodiscard]] std::string why_it_stays() const override {
    if ((table_.flags & MLS_PLUGIN_UNLOADABLE) == 0) return "the plugin does not say that it can be unloaded";
    if (!unique_.empty())
      return fmt::format("it has GNU_UNIQUE symbols such as '{}'; build it with -fno-gnu-unique", unique_);
    return {};
  }

 private:
  /// Calls a slot of a callback.
  template <class E> void tell(const char* slot, std::size_t i, E& event, MlsError* (*call)(const E*)) {
    event.host = services_->api();
    event.user = callbacks_[i].user;
    raise(*services_, enter(slot, i, [&] { return call(&event); }), description_.name, what(slot, i));
  }

  [[nodiscard]] std::string what(std::string_view slot, std::size_t i) const {
    return slot_of(description_, slot, i);
  }

  [[noreturn]] void refuse_absent(const std::string& owner, const std::string& slot, std::size_t i) const {
    fail(MLS_UNIMPLEMENTED,
         {.id = "mlsysim.plugin.030",
          .message = fmt::format("{} has no '{}'", owner, slot),
          .key = slot,
          .found = "a null slot",
          .expected = "a function"},
         description_.name, what(slot, i));
  }

  void open(const std::string& library) {
    const auto elf = read_elf(std::filesystem::path(library));
    if (!elf.unique.empty()) unique_ = elf.unique.front();
    handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* why = ::dlerror();
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.032",
            .message = fmt::format("'{}' cannot be opened", path_),
            .key = path_,
            .found = why == nullptr ? "no reason given" : why,
            .expected = "a library that loads with all its symbols",
            .hint = "ldd and nm -D --undefined-only show what is missing",
            .where = {path_}},
           path_, "dlopen");
    }
    using Entry = const MlsPluginApi* (*)();
    const auto entry = reinterpret_cast<Entry>(::dlsym(handle_, MLS_ENTRY_SYMBOL));
    const MlsPluginApi* table = nullptr;
    try {
      if (entry != nullptr) table = entry();
    } catch (...) {
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.033",
            .message = fmt::format("'{}' threw across the C interface", path_),
            .key = MLS_ENTRY_SYMBOL,
            .found = "an exception",
            .expected = "a table",
            .where = {path_}},
           path_, MLS_ENTRY_SYMBOL);
    }
    if (table == nullptr)
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.034",
            .message = fmt::format("'{}' gives no table", path_),
            .key = MLS_ENTRY_SYMBOL,
            .found = entry == nullptr ? "no such symbol" : "a null pointer",
            .expected = "an exported function " MLS_ENTRY_SYMBOL " that gives one",
            .hint = "nm -gD shows what it exports",
            .where = {path_}},
           path_, MLS_ENTRY_SYMBOL);
    check_size("MlsPluginApi", table->struct_size, MLS_SIZE_THROUGH(MlsPluginApi, needs_host_minor));
    std::memcpy(&table_, table, std::min<std::size_t>(table->struct_size, sizeof table_));
    original_ = table;
  }

  void versions() const {
    const auto* host = services_->api();
    const auto have =
        fmt::format("plugin: ABI {}.{}, needs host >= {}.{}; host: ABI {}.{}, accepts plugins >= {}.0",
                    table_.abi_major, table_.abi_minor, table_.abi_major, table_.needs_host_minor,
                    host->abi_major, host->abi_minor, host->abi_major);
    if (table_.abi_major == host->abi_major && table_.needs_host_minor <= host->abi_minor) {
      if (original_->struct_size < MLS_PLUGIN_API_SIZE_1_0)
        check_size("MlsPluginApi", original_->struct_size, MLS_PLUGIN_API_SIZE_1_0);
      return;
    }
    const bool plugin_is_old = table_.abi_major < host->abi_major;
    fail(MLS_FAILED_PRECONDITION,
         {.id = "mlsysim.plugin.035",
          .message = fmt::format("'{}' and this host do not understand each other", path_),
          .key = "abi",
          .found = have,
          .expected = "the same major version, and a host at least as new as the plugin needs",
          .hint = plugin_is_old
                      ? fmt::format("upgrade the plugin to one that was built for ABI {}", host->abi_major)
                      : fmt::format("upgrade mlsysim to one with ABI >= {}.{}", table_.abi_major,
                                    table_.needs_host_minor),
          .where = {path_},
          .reason = BreakReason::version_mismatch},
         path_, MLS_ENTRY_SYMBOL);
  }

  void facts() {
    auto& d = description_;
    d.name = read_text(table_.name, "name of the plugin");
    if (!is_name(d.name) || d.name == "mlsysim")
      fail(MLS_INVALID_ARGUMENT,
           {.id = "mlsysim.plugin.036",
            .message = fmt::format("'{}' has no usable name", path_),
            .key = "name",
            .found = fmt::format("'{}'", d.name),
            .expected = "letters, digits, '-' and '_'",
            .where = {path_}},
           path_);
    d.version = read_text(table_.version, "version of the plugin");
    d.summary = read_text(table_.summary, "summary of the plugin");
    d.license = read_text(table_.license, "license of the plugin");
    d.abi_major = table_.abi_major;
    d.abi_minor = table_.abi_minor;
    d.needs_host_minor = table_.needs_host_minor;
    d.flags = table_.flags;
    d.threads = table_.threads;
    if (table_.attribute_count > 1000 || (table_.attribute_count > 0 && table_.attributes == nullptr))
      fail(MLS_INVALID_ARGUMENT,
           {.id = "mlsysim.plugin.037",
            .message = fmt::format("the attributes of '{}' cannot be read", d.name),
            .key = "attributes",
            .found = fmt::format("{} of them at a {}", table_.attribute_count,
                                 table_.attributes == nullptr ? "null pointer" : "place"),
            .expected = "at most 1000 in an array, or none"},
           d.name);
    for (std::uint64_t i = 0; i < table_.attribute_count; ++i) {
      const auto& a = table_.attributes[i];
      (void)read_text(a.value.text, "an attribute");
      if (a.value.kind == MLS_NUMBER && !std::isfinite(a.value.number))
        fail(MLS_INVALID_ARGUMENT,
             {.id = "mlsysim.plugin.045",
              .message = fmt::format("an attribute of '{}' is no number", d.name),
              .key = read_text(a.name, "name of an attribute"),
              .found = fmt::format("{}", a.value.number),
              .expected = "a finite number"},
             d.name);
      d.attributes.emplace_back(read_text(a.name, "name of an attribute"), OwnedValue::of(a.value));
    }
  }

  void initialize() {
    initialized_ = true;
    if (table_.initialize == nullptr) return;
    raise(*services_, enter("initialize", 0, [&] { return table_.initialize(services_->api()); }),
          description_.name, "initialize");
  }

  void register_all() {
    if (table_.register_all == nullptr) return;
    auto& registration = registration_;
    registration.into = &description_;
    auto* error =
        enter("register_all", 0, [&] { return table_.register_all(services_->api(), &registration); });
    registration.into = nullptr;
    if (error == nullptr && registration.refusal) throw *registration.refusal;
    raise(*services_, error, description_.name, "register_all");
    resolvers_ = std::move(registration.resolvers);
    callbacks_ = std::move(registration.callbacks);
    backends_ = std::move(registration.backends);
    converters_ = std::move(registration.converters);
  }

  /// Calls into the plugin under its thread rule; an exception that crosses poisons it.
  template <class F> MlsError* enter(std::string_view slot, std::size_t i, F&& f) {
    if (poisoned_.load(std::memory_order_relaxed)) [[unlikely]]
      refuse_poisoned(slot, i);
    if (forks.load(std::memory_order_relaxed) != forks_ && (table_.flags & MLS_PLUGIN_FORK_SAFE) == 0)
        [[unlikely]]
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.038",
            .message = fmt::format("'{}' was called in a child process", description_.name),
            .key = std::string(slot),
            .found = "a process made by fork",
            .expected = "the process that loaded it",
            .hint = "load it in the child, or declare MLS_PLUGIN_FORK_SAFE"},
           description_.name, what(slot, i));
    if (table_.threads == MLS_THREAD_MAIN_ONLY && !on_main_thread()) [[unlikely]]
      fail(MLS_FAILED_PRECONDITION,
           {.id = "mlsysim.plugin.039",
            .message = fmt::format("'{}' was called from another thread", description_.name),
            .key = std::string(slot),
            .found = "a thread that is not the main one",
            .expected = "the main thread (MLS_THREAD_MAIN_ONLY)"},
           description_.name, what(slot, i));
    const auto mine = turn();
    const Running now(path_.c_str(), page_.c_str(), slot.data());
    try {
      return f();
    } catch (...) {
      poisoned_ = true;
    }
    fail(MLS_INTERNAL,
         {.id = "mlsysim.plugin.033",
          .message = fmt::format("'{}' threw across the C interface", description_.name),
          .key = std::string(slot),
          .found = "an exception",
          .expected = "an MlsError",
          .hint = "it is not called again in this process"},
         description_.name, what(slot, i));
  }
  [[noreturn]] void refuse_poisoned(std::string_view slot, std::size_t i) const {
    fail(MLS_UNAVAILABLE,
         {.id = "mlsysim.plugin.040",
          .message = fmt::format("'{}' is not called any more", description_.name),
          .key = std::string(slot),
          .found = "it threw across the C interface before",
          .expected = "a plugin that keeps to the rules"},
         description_.name, what(slot, i));
  }

  void shut_down() noexcept {
    if (initialized_ && table_.shutdown != nullptr && !poisoned_) {
      try {
        const std::lock_guard lock(serial_);
        const Running now(path_.c_str(), page_.c_str(), "shutdown");
        table_.shutdown();
      } catch (...) {  // NOLINT(bugprone-empty-catch): it is gone anyway
      }
    }
    initialized_ = false;
    if (handle_ != nullptr && why_it_stays().empty()) ::dlclose(handle_);
    handle_ = nullptr;
  }

  std::shared_ptr<Services> services_;
  std::string path_, page_, unique_;
  unsigned forks_;
  void* handle_ = nullptr;
  MlsPluginApi table_{};
  const MlsPluginApi* original_ = nullptr;
  bool initialized_ = false;
  std::atomic<bool> poisoned_{false};
  std::recursive_mutex serial_;
  MlsRegistration registration_;  // lives on: a plugin that kept its address and calls late is refused
  std::vector<MlsResolver> resolvers_;
  std::vector<MlsCallback> callbacks_;
  std::vector<MlsBackend> backends_;
  std::vector<MlsConverter> converters_;
};

}  // namespace

std::shared_ptr<PluginCode> open_in_process(const std::string& library, const std::string& path,
                                            std::shared_ptr<Services> services) {
  return std::make_shared<InProcess>(library, path, std::move(services));
}

Generation::~Generation() {
  for (const auto& [key, made] : instances_) code_->destroy(index_, made.instance);
}

void Generation::can_create(std::span<const MlsValue> options) {
  if (const auto holder = Hold::holder(description())) refuse_held(description(), *holder);
  code_->can_create(index_, options);
}

void* Generation::instance(std::span<const MlsValue> options) {
  if (!description().has_instances) return nullptr;
  std::string key;
  for (const auto& v : options) key += fmt::format("{}:{}:{}:{};", v.kind, v.flag, v.number, from_c(v.text));
  const auto mine = code_->turn();
  const std::lock_guard lock(mutex_);
  const auto known = instances_.find(key);
  if (known != instances_.end()) return known->second.instance;
  Made made;
  if (description().ownership != Ownership::shared) made.hold = Hold::take(description());
  made.instance = code_->create(index_, options);
  return instances_.emplace(std::move(key), std::move(made)).first->second.instance;
}

}  // namespace mlsysim::plugin::detail
