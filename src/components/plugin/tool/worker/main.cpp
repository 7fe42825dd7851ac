// The process of an isolated plugin: opens one library and answers the host over descriptor 3.
//
// usage: mlsysim-plugin-worker <library> <bytes of address space, 0: no limit>
// started by the host, not by people

#include "../../detail/code.hpp"
#include "../../detail/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>

namespace mlsysim::plugin::detail {
namespace {

constexpr int kChannel = 3;

class Worker;

/// Services that ask the host.
class RemoteServices final : public Services {
 public:
  explicit RemoteServices(Worker& worker) : worker_(worker) {}
  void log(std::int32_t level, std::string_view text) override;
  std::uint64_t zoo_count(std::string_view type) override;
  const MlsObject* zoo_at(std::string_view type, std::uint64_t index) override;
  const MlsObject* zoo_find(std::string_view type, std::string_view name) override;
  void object_field(const MlsObject* object, std::string_view path, const Visit& visit) override;
  void object_read(const MlsObject* object, const Visit& visit) override;
  double convert(double number, std::string_view from, std::string_view to) override;
  void evaluate(MlsCall* call, std::string_view resolver, std::span<const MlsNamed> inputs,
                const Visit& visit) override;
  bool cancel_requested(MlsCall*) override { return false; }  // the host ends the process instead

 private:
  void visit_all(MessageReader& in, const Visit& visit);
  Worker& worker_;
};

class Worker {
 public:
  Worker() : channel_(kChannel), services_(std::make_shared<RemoteServices>(*this)) {}

  int run(const std::string& library) {
    Writer out;
    try {
      code_ = open_in_process(library, library, services_);
      write_description(out, code_->description());
    } catch (const std::exception& error) {
      out = {};
      write_fault(out, error);
      (void)channel_.send(Message::fault, 0, out.bytes());
      return 1;
    }
    if (!channel_.send(Message::hello, 0, out.bytes())) return 1;
    while (auto message = receive()) {
      if (message->type == Message::quit) break;
      serve(*message);
      kept_.clear();
    }
    code_.reset();
    return 0;
  }

  /// Asks the host. Meanwhile the host may call: a resolver of this plugin that asks for another one of it.
  MessageReader ask(Message type, const Writer& out) {
    const auto serial = ++serial_;
    if (!channel_.send(type, serial, out.bytes())) std::_Exit(1);
    while (auto message = receive()) {
      const bool answer = message->type == Message::result || message->type == Message::fault;
      if (answer && message->serial != serial) std::_Exit(1);  // another process reads this channel as well
      if (message->type == Message::result) return std::move(message->reader);
      if (message->type == Message::fault) throw_fault(message->reader);
      serve(*message);
    }
    std::_Exit(1);  // the host is gone
  }
  void tell(Message type, std::uint32_t serial, const Writer& out) const {
    if (!channel_.send(type, serial, out.bytes())) std::_Exit(1);
  }
  /// A text that lives until the call at work ends.
  MlsString keep(std::string text) { return plugin::to_c(kept_.emplace_back(std::move(text))); }

 private:
  std::optional<Channel::Received> receive() {
    try {
      return channel_.receive(Channel::Clock::time_point::max(), [](int descriptor) {
        pollfd wait{descriptor, POLLIN, 0};
        return ::poll(&wait, 1, -1) >= 0 || errno == EINTR;
      });
    } catch (const PluginFault&) {
      return std::nullopt;  // the plugin read from the channel: what is left makes no sense
    }
  }

  void serve(Channel::Received& message) {
    const auto type = message.type;
    auto& in = message.reader;
    Writer out;
    Message answer = Message::result;
    try {
      const auto i = type == Message::has_feature ? 0 : in.get<std::uint64_t>();
      switch (type) {
        case Message::create: {
          const auto values = read_values(in);
          std::vector<MlsValue> options;
          for (const auto& v : values) options.push_back(v.view());
          out.put(reinterpret_cast<std::uintptr_t>(code_->create(i, options)));
          break;
        }
        case Message::can_create: {
          const auto values = read_values(in);
          std::vector<MlsValue> options;
          for (const auto& v : values) options.push_back(v.view());
          code_->can_create(i, options);
          break;
        }
        case Message::destroy:
          code_->destroy(i, reinterpret_cast<void*>(in.get<std::uintptr_t>()));
          break;
        case Message::solve:
          solve(i, in, out);
          break;
        case Message::event:
          event(i, in);
          break;
        case Message::broke:
          broke(i, in);
          break;
        case Message::swept:
          swept(i, in);
          break;
        case Message::query_support:
          support(i, in, out);
          break;
        case Message::convert_text: {
          const auto file = in.text(), input = in.text();
          SolveContext context;
          MlsCall call;
          call.context = &context;
          out.text(code_->convert(i, file, input,
                                  reinterpret_cast<const MlsObject*>(in.get<std::uintptr_t>()), call));
          break;
        }
        case Message::has_feature:
          out.put(code_->has_feature(in.text()));
          break;
        default:
          fail(MLS_DATA_LOSS, {.id = "mlsysim.plugin.123", .message = "the host sent an unknown message"});
      }
    } catch (const std::exception& error) {
      out = {};
      write_fault(out, error);
      answer = Message::fault;
    }
    std::fflush(stdout);
    tell(answer, message.serial, out);
  }

  static std::vector<OwnedValue> read_values(MessageReader& in) {
    std::vector<OwnedValue> values;
    for (auto n = in.get<std::uint64_t>(); n > 0; --n) values.push_back(in.value());
    return values;
  }

  void solve(std::uint64_t i, MessageReader& in, Writer& out) {
    auto* instance = reinterpret_cast<void*>(in.get<std::uintptr_t>());
    const auto values = read_values(in);
    std::vector<MlsValue> inputs;
    for (const auto& v : values) inputs.push_back(v.view());
    std::vector<MlsValue> outputs(in.get<std::uint64_t>() + 1);
    SolveContext context;
    NoteBook book;
    context.notes = Notes(book);
    MlsCall call;
    call.context = &context;
    call.tier = code_->description().resolvers.at(i).tier;
    const auto outcome = code_->solve(i, instance, inputs, {outputs.data(), outputs.size() - 1}, call);
    if (outputs.back().kind != MLS_NONE)
      fail(MLS_INTERNAL,
           {.id = "mlsysim.plugin.052",
            .message = code_->description().resolvers[i].name + " wrote a field that it does not declare",
            .key = "outputs",
            .found = "a value behind its last result",
            .expected = std::to_string(outputs.size() - 1) + " values"},
           code_->description().name, slot_of(code_->description(), "solve", i));
    out.put(outcome);
    for (std::size_t k = 0; k + 1 < outputs.size(); ++k) {
      (void)read_text(outputs[k].text,
                      "the result '" + code_->description().resolvers[i].outputs.at(k).name + "'");
      out.value(outputs[k]);
    }
    out.put(static_cast<std::uint64_t>(book.assumptions.size()));
    for (const auto& a : book.assumptions) out.text(a.name).text(a.value.str()).text(a.source);
    out.put(static_cast<std::uint64_t>(book.warnings.size()));
    for (const auto& w : book.warnings) out.text(w);
    out.put(call.why.has_value());
    if (call.why) out.text(call.why->reason).text(call.why->smallest_change);
  }

  void support(std::uint64_t i, MessageReader& in, Writer& out) {
    Program program;
    program.name = in.text();
    program.format = in.text();
    program.precision = in.text();
    program.memory = in.get<double>();
    const auto device = in.text();
    const auto effort = in.get<std::int32_t>(), mode = in.get<std::int32_t>();
    for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
      ProgramOp op;
      for (auto* s : {&op.name, &op.kind, &op.precision, &op.location}) *s = in.text();
      for (auto* x : {&op.count, &op.work, &op.traffic}) *x = in.get<double>();
      program.ops.push_back(std::move(op));
    }
    SolveContext context;
    std::vector<SupportReason> reasons;
    MlsCall call;
    call.context = &context;
    call.reasons = &reasons;
    const auto [verdict, used] = code_->query_support(i, program, device, effort, mode, call);
    out.put(static_cast<Verdict>(verdict)).put(used).put(static_cast<std::uint64_t>(reasons.size()));
    for (const auto& r : reasons) out.put(r.code).text(r.op).put(r.count).text(r.location).text(r.hint);
  }

  void event(std::uint64_t i, MessageReader& in) {
    MlsEvent e{};
    e.struct_size = sizeof e;
    e.kind = in.get<std::int32_t>();
    std::array<std::string, 4> texts;
    for (auto& t : texts) t = in.text();
    e.pipeline = plugin::to_c(texts[0]);
    e.stage = plugin::to_c(texts[1]);
    e.resolver = plugin::to_c(texts[2]);
    e.reason = plugin::to_c(texts[3]);
    e.seconds = in.get<double>();
    std::vector<std::pair<std::string, OwnedValue>> given;
    for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
      auto key = in.text();
      given.emplace_back(std::move(key), in.value());
    }
    std::vector<MlsNamed> results;
    for (const auto& [key, value] : given) results.push_back({plugin::to_c(key), value.view()});
    e.results = results.data();
    e.result_count = results.size();
    code_->event(i, e);
  }

  void broke(std::uint64_t i, MessageReader& in) {
    MlsBreak e{};
    e.struct_size = sizeof e;
    std::array<std::string, 8> texts;
    for (auto& t : texts) t = in.text();
    const std::array into{&e.pipeline, &e.stage,    &e.resolver, &e.id,
                          &e.reason,   &e.severity, &e.text,     &e.hint};
    for (std::size_t k = 0; k < texts.size(); ++k) *into[k] = plugin::to_c(texts[k]);
    code_->broke(i, e);
  }

  void swept(std::uint64_t i, MessageReader& in) {
    MlsSweep e{};
    e.struct_size = sizeof e;
    const auto title = in.text();
    e.title = plugin::to_c(title);
    e.done = in.get<double>();
    e.total = in.get<double>();
    e.seconds_left = in.get<double>();
    code_->swept(i, e);
  }

  Channel channel_;
  std::shared_ptr<RemoteServices> services_;
  std::shared_ptr<PluginCode> code_;
  std::deque<std::string> kept_;
  std::uint32_t serial_ = 0;
};

void RemoteServices::log(std::int32_t level, std::string_view text) {
  worker_.tell(Message::log, 0, Writer().put(level).text(text));
}
std::uint64_t RemoteServices::zoo_count(std::string_view type) {
  return worker_.ask(Message::zoo_count, Writer().text(type)).get<std::uint64_t>();
}
const MlsObject* RemoteServices::zoo_at(std::string_view type, std::uint64_t index) {
  return reinterpret_cast<const MlsObject*>(
      worker_.ask(Message::zoo_at, Writer().text(type).put(index)).get<std::uintptr_t>());
}
const MlsObject* RemoteServices::zoo_find(std::string_view type, std::string_view name) {
  return reinterpret_cast<const MlsObject*>(
      worker_.ask(Message::zoo_find, Writer().text(type).text(name)).get<std::uintptr_t>());
}
void RemoteServices::visit_all(MessageReader& in, const Visit& visit) {
  for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
    const auto name = in.text();
    auto value = in.value();
    auto v = value.view();
    v.text = worker_.keep(std::move(value.text));
    visit(name, v);
  }
}
void RemoteServices::object_field(const MlsObject* object, std::string_view path, const Visit& visit) {
  auto answer =
      worker_.ask(Message::object_field, Writer().put(reinterpret_cast<std::uintptr_t>(object)).text(path));
  visit_all(answer, visit);
}
void RemoteServices::object_read(const MlsObject* object, const Visit& visit) {
  auto answer = worker_.ask(Message::object_read, Writer().put(reinterpret_cast<std::uintptr_t>(object)));
  visit_all(answer, visit);
}
double RemoteServices::convert(double number, std::string_view from, std::string_view to) {
  return worker_.ask(Message::convert, Writer().put(number).text(from).text(to)).get<double>();
}
void RemoteServices::evaluate(MlsCall*, std::string_view resolver, std::span<const MlsNamed> inputs,
                              const Visit& visit) {
  Writer out;
  out.text(resolver).put(static_cast<std::uint64_t>(inputs.size()));
  for (const auto& [name, value] : inputs) out.text(plugin::from_c(name)).value(value);
  auto answer = worker_.ask(Message::evaluate, out);
  visit_all(answer, visit);
}

}  // namespace
}  // namespace mlsysim::plugin::detail

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A plugin that crashes ends with its signal, as it does without a sanitizer.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options();
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}
extern "C" const char* __tsan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}
#endif

int main(int argc, char** argv) {
  if (argc != 3 || ::fcntl(3, F_GETFD) < 0) {
    std::fputs("mlsysim-plugin-worker is started by mlsysim, for plugins in a process of their own\n",
               stderr);
    return 2;
  }
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  // A plugin that hangs must not outlive the host. (PR_SET_PDEATHSIG would follow the thread that started
  // this.)
  std::thread([] {
    pollfd wait{3, POLLRDHUP, 0};
    while (::poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
    if (::getpgrp() == ::getpid()) ::kill(0, SIGKILL);  // with what the plugin started
    std::_Exit(1);
  }).detach();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is address space
  if (const auto bytes = std::strtoull(argv[2], nullptr, 10); bytes > 0) {
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  return mlsysim::plugin::detail::Worker().run(argv[1]);
}
