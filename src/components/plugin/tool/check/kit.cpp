#include "kit.hpp"

#include <mlsysim/units/standard_units.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmath>
#include <csignal>
#include <cstring>

namespace mlsysim::plugin::check {

std::vector<Check> all_checks() {
  std::vector<Check> out;
  for (const auto list : {load_checks(), table_checks(), run_checks(), support_checks(), process_checks()})
    out.insert(out.end(), list.begin(), list.end());
  return out;
}

namespace {

/// The child's half: runs the check and writes the verdict and the message. Prints of the plugin go nowhere.
[[noreturn]] void run_here(const Check& check, const Subject& subject, int out) {
  const rlimit memory{4ULL << 30, 4ULL << 30}, no_core{0, 0};
  if (!sanitized()) ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  Result result;
  try {
    result = check.run(subject);
  } catch (const std::exception& error) {
    result = fail(error.what());
  } catch (...) {
    result = fail("an exception crossed the C interface");
  }
  std::string bytes(1, static_cast<char>(result.verdict));
  bytes += result.message.substr(0, 60000);
  bytes += '\x04';  // told to the end
  (void)!::write(out, bytes.data(), bytes.size());
  ::_exit(0);
}

}  // namespace

Result run_apart(const Check& check, const Subject& subject, int seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("the system gives no pipe");
  const pid_t child = ::fork();
  if (child == 0) run_here(check, subject, ends[1]);
  ::close(ends[1]);
  std::string bytes;
  bool late = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (bytes.empty() || bytes.back() != '\x04') {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    pollfd wait{ends[0], POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0) {
      late = true;
      break;
    }
    char buffer[4096];
    const auto n = ::read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  const bool told = !bytes.empty() && bytes.back() == '\x04';
  if (!told || late) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (late) return fail(fmt::format("no end after {} s", seconds));
  if (!told) {
    if (WIFSIGNALED(status)) {
      const char* name = ::sigabbrev_np(WTERMSIG(status));
      return fail(fmt::format("the process ended with SIG{}", name == nullptr ? "?" : name));
    }
    return fail(fmt::format("the process ended with exit status {}", WEXITSTATUS(status)));
  }
  return {static_cast<Outcome>(bytes[0]), bytes.substr(1, bytes.size() - 2)};
}

RawPlugin::RawPlugin(const Subject& subject) {
  void* handle = ::dlopen(std::filesystem::absolute(subject.library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(::dlerror());
  using Entry = const MlsPluginApi* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, MLS_ENTRY_SYMBOL));
  table_ = entry == nullptr ? nullptr : entry();
  if (table_ == nullptr) throw std::runtime_error("the plugin gives no table");
}

std::string RawPlugin::take(MlsError* error) {
  if (error == nullptr) return {};
  if (!services_->knows(error)) return "something that is no error of the host";
  auto text = fmt::format("{}: {}", status_name(error->code), error->message);
  services_->destroy_error(error);
  return text;
}

std::string RawPlugin::initialize() {
  return table_->initialize == nullptr ? "" : take(table_->initialize(services_->api()));
}

std::string RawPlugin::register_all() {
  description_ = {};
  registration_ = {};
  registration_.into = &description_;
  if (table_->register_all == nullptr) return {};
  auto text = take(table_->register_all(services_->api(), &registration_));
  if (text.empty() && registration_.refusal) text = registration_.refusal->what();
  return text;
}

void publish_units_of(const PluginDescription& description) {
  UnitRegistry units = shipped_units();
  for (const auto& u : description.units) {
    const auto base = units.parse_unit(u.base);
    units.add({u.symbol, base.exps, u.multiplier * base.mul, u.divisor * base.div, u.decimal_prefixes, "",
               u.meaning});
  }
  publish_units(std::move(units));
}

std::vector<MlsValue> sample_inputs(detail::LocalServices& services, const ResolverDescription& resolver,
                                    double scale) {
  std::vector<MlsValue> out;
  for (const auto& f : resolver.inputs) {
    MlsValue v{};
    switch (f.kind) {
      case MLS_FIELD_NUMBER:
      case MLS_FIELD_QUANTITY: {
        v.kind = MLS_NUMBER;
        v.text = to_c(f.unit);
        double x =
            f.default_value.kind == MLS_NUMBER && f.default_value.text.empty() ? f.default_value.number : 16;
        if (f.has(MLS_FIELD_BOUNDED)) {
          if (!(x > f.low && x < f.high))
            x = f.low > 0 && f.high < 1e300 ? std::sqrt(f.low * f.high)
                                            : f.low + (std::min(f.high, f.low + 2) - f.low) / 2;
        }
        x *= scale;
        if (f.has(MLS_FIELD_BOUNDED))
          x = std::min(std::max(x, f.has(MLS_FIELD_ABOVE_LOW) ? f.low + 1e-15 * std::max(1.0, std::abs(f.low))
                                                              : f.low),
                       f.high);
        v.number = f.has(MLS_FIELD_WHOLE) ? std::floor(x) : x;
        break;
      }
      case MLS_FIELD_FLAG:
        v.kind = MLS_FLAG;
        break;
      case MLS_FIELD_TEXT:
        v.kind = MLS_STRING;
        v.text = f.default_value.kind == MLS_STRING ? to_c(f.default_value.text) : to_c("sample");
        break;
      case MLS_FIELD_CHOICE:
        v.kind = MLS_STRING;
        v.text = to_c(f.choices.front());
        break;
      default: {
        const auto& zoo = standard_zoo();
        const auto type = detail::object_type(f.object_type);
        const char* liked = type == "hardware" ? "H100" : type == "workload" ? "Llama3_8B" : nullptr;
        v.kind = MLS_OBJECT;
        if (liked != nullptr)
          v.object = services.objects().handle(detail::find_object(zoo, type, liked));
        else if (detail::count_objects(zoo, f.object_type) > 0)
          v.object = services.objects().handle(detail::object_at(zoo, f.object_type, 0));
        else
          v.kind = MLS_NONE;
      }
    }
    out.push_back(v);
  }
  return out;
}

Solved solve_by_hand(RawPlugin& plugin, std::size_t i, std::span<const MlsValue> inputs,
                     const SolveOptions& options) {
  const auto& r = plugin.registration().resolvers[i];
  const auto& d = plugin.description().resolvers[i];
  auto& services = plugin.services();
  void* instance = nullptr;
  if (r.create != nullptr) {
    std::vector<MlsValue> settings;
    for (const auto& o : d.options) settings.push_back(o.default_value.view());
    MlsCreateArgs args{sizeof args,     0,      nullptr, services.api(), r.user, settings.data(),
                       settings.size(), nullptr};
    if (auto* error = r.create(&args))
      return {.error = plugin.take(error), .code = MLS_INTERNAL, .outputs = {}, .why = {}};
    instance = args.instance;
  }
  SolveContext context;
  NoteBook notes;
  context.notes = Notes(notes);
  MlsCall call;
  call.context = &context;
  call.tier = d.tier;
  std::vector<MlsValue> outputs(d.outputs.size() + 1);
  // A page of poison behind the struct: a plugin that reads what it does not know reads nonsense.
  struct {
    MlsSolveArgs args;
    unsigned char poison[256];
  } memory;
  std::memset(&memory, 0xA5, sizeof memory);
  memory.args = {options.struct_size,
                 0,
                 options.next,
                 services.api(),
                 r.user,
                 instance,
                 &call,
                 inputs.data(),
                 inputs.size(),
                 outputs.data(),
                 d.outputs.size(),
                 0,
                 0};
  Solved out;
  MlsError* error = r.solve == nullptr ? nullptr : r.solve(&memory.args);
  if (error != nullptr) {
    out.foreign_error = !services.knows(error);
    out.code = out.foreign_error ? MLS_INTERNAL : error->code;
    out.error = plugin.take(error);
  }
  out.outcome = memory.args.outcome;
  out.written = memory.args.output_count;
  for (const auto& v : outputs) out.outputs.push_back(OwnedValue::of(v));
  out.why = call.why;
  if (r.destroy != nullptr) r.destroy(services.api(), instance);
  return out;
}

}  // namespace mlsysim::plugin::check
