#include "detail/code.hpp"
#include "detail/event_wire.hpp"
#include "detail/worker_process.hpp"

#include <fmt/format.h>

namespace mlsysim::plugin::detail {
namespace {

using Clock = Channel::Clock;

class Isolated final : public PluginCode {
 public:
  Isolated(std::string path, std::shared_ptr<Services> services, const IsolationLimits& limits)
      : path_(std::move(path)), services_(std::move(services)), limits_(limits) {
    description_ = start();
  }
  ~Isolated() override {
    if (child_ == nullptr) return;
    (void)child_->channel().send(Message::quit, 0, {});
    child_->stop();
  }

  [[nodiscard]] Services& services() const override { return *services_; }
  std::unique_lock<std::recursive_mutex> turn() override { return std::unique_lock(mutex_); }

  void* create(std::size_t i, std::span<const MlsValue> options) override {
    const std::lock_guard lock(mutex_);
    auto& made = *instances_.emplace_back(std::make_unique<Instance>());
    made.resolver = i;
    for (const auto& v : options) made.options.push_back(OwnedValue::of(v));
    try {
      (void)remote(made);
    } catch (...) {
      forget(&made);
      throw;
    }
    return &made;
  }

  void destroy(std::size_t i, void* instance) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      auto& made = *static_cast<Instance*>(instance);
      if (child_ != nullptr && made.epoch == epoch_) {
        Writer out;
        out.put(static_cast<std::uint64_t>(i)).put(made.id);
        (void)ask("destroy", i, Message::destroy, out, nullptr);
      }
      forget(&made);
    } catch (const std::exception& error) {
      services_->log(MLS_LOG_ERROR, error.what());
    }
  }

  void can_create(std::size_t i, std::span<const MlsValue> options) override {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    out.put(static_cast<std::uint64_t>(i)).put(static_cast<std::uint64_t>(options.size()));
    for (const auto& v : options) out.value(v);
    (void)ask("can_create", i, Message::can_create, out, nullptr);
  }

  std::int32_t solve(std::size_t i, void* instance, std::span<const MlsValue> in, std::span<MlsValue> values,
                     MlsCall& call) override {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    out.put(static_cast<std::uint64_t>(i))
        .put(instance == nullptr ? std::uint64_t{0} : remote(*static_cast<Instance*>(instance)));
    out.put(static_cast<std::uint64_t>(in.size()));
    for (const auto& v : in) out.value(v);
    out.put(static_cast<std::uint64_t>(values.size()));
    auto answer = ask("solve", i, Message::solve, out, &call);
    return reading([&] { return read_results(answer, values, call); });
  }

  void event(std::size_t i, MlsEvent e) override { tell("on_event", i, Message::event, e); }
  void broke(std::size_t i, MlsBreak e) override { tell("on_break", i, Message::broke, e); }
  void swept(std::size_t i, MlsSweep e) override { tell("on_sweep", i, Message::swept, e); }

  std::pair<std::int32_t, std::int32_t> query_support(std::size_t i, const Program& program,
                                                      std::string_view device, std::int32_t effort,
                                                      std::int32_t mode, MlsCall& call) override {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    out.put(static_cast<std::uint64_t>(i))
        .text(program.name)
        .text(program.format)
        .text(program.precision)
        .put(program.memory)
        .text(device)
        .put(effort)
        .put(mode);
    out.put(static_cast<std::uint64_t>(program.ops.size()));
    for (const auto& op : program.ops)
      out.text(op.name)
          .text(op.kind)
          .text(op.precision)
          .text(op.location)
          .put(op.count)
          .put(op.work)
          .put(op.traffic);
    auto answer = ask("query_support", i, Message::query_support, out, &call);
    return reading([&]() -> std::pair<std::int32_t, std::int32_t> {
      const auto verdict = static_cast<std::int32_t>(answer.get<Verdict>()),
                 used = answer.get<std::int32_t>();
      for (auto n = answer.get<std::uint64_t>(); n > 0; --n) {
        SupportReason r;
        r.code = answer.get<ReasonCode>();
        r.op = answer.text();
        r.count = answer.get<double>();
        r.location = answer.text();
        r.hint = answer.text();
        call.reasons->push_back(std::move(r));
      }
      return {verdict, used};
    });
  }

  std::string convert(std::size_t i, std::string_view file, std::string_view input, const MlsObject* object,
                      MlsCall& call) override {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    out.put(static_cast<std::uint64_t>(i))
        .text(file)
        .text(input)
        .put(reinterpret_cast<std::uintptr_t>(object));
    auto answer = ask("convert", i, Message::convert_text, out, &call);
    return reading([&] { return answer.text(); });
  }

  [[nodiscard]] bool has_feature(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    out.text(name);
    auto answer = ask("has_feature", 0, Message::has_feature, out, nullptr);
    return reading([&] { return answer.get<bool>(); });
  }

  [[nodiscard]] std::string why_it_stays() const override { return {}; }

 private:
  template <class E> void tell(const char* slot, std::size_t i, Message message, const E& event) {
    const std::lock_guard lock(mutex_);
    revive();
    Writer out;
    write(out.put(static_cast<std::uint64_t>(i)), event);
    (void)ask(slot, i, message, out, nullptr);
  }

  struct Instance {
    std::size_t resolver = 0;
    std::vector<OwnedValue> options;
    std::uint64_t epoch = 0, id = 0;
  };

  PluginDescription start() {
    child_ = std::make_unique<Child>(path_, limits_);
    ++epoch_;
    auto hello = wait("initialize", 0, nullptr, 0);
    return reading([&] { return read_description(hello); });
  }

  static std::int32_t read_results(MessageReader& answer, std::span<MlsValue> values, MlsCall& call) {
    const auto outcome = answer.get<std::int32_t>();
    for (auto& v : values) {
      auto given = answer.value();
      v = given.view();
      if (!given.text.empty()) {
        call.kept.push_back(std::make_unique<std::string>(std::move(given.text)));
        v.text = plugin::to_c(*call.kept.back());
      }
    }
    auto& notes = call.context->notes;
    for (auto n = answer.get<std::uint64_t>(); n > 0; --n) {
      const auto name = answer.text(), value = answer.text(), source = answer.text();
      notes.assume(name, std::string_view(value), source);
    }
    for (auto n = answer.get<std::uint64_t>(); n > 0; --n) notes.warn(std::string_view(answer.text()));
    if (answer.get<bool>()) {
      auto reason = answer.text();
      call.why = Infeasible{std::move(reason), answer.text(), {}};
    }
    return outcome;
  }
  void forget(const Instance* instance) {
    std::erase_if(instances_, [&](const auto& p) { return p.get() == instance; });
  }

  /// A process that ended is started again by the next call: one call fails, not all that follow.
  void revive() {
    if (child_ == nullptr) (void)start();
  }

  std::uint64_t remote(Instance& instance) {
    revive();
    if (instance.epoch == epoch_) return instance.id;
    Writer out;
    out.put(static_cast<std::uint64_t>(instance.resolver))
        .put(static_cast<std::uint64_t>(instance.options.size()));
    for (const auto& v : instance.options) out.value(v.view());
    auto answer = ask("create", instance.resolver, Message::create, out, nullptr);
    instance.id = reading([&] { return answer.get<std::uint64_t>(); });
    instance.epoch = epoch_;
    return instance.id;
  }

  MessageReader ask(const char* slot, std::size_t i, Message type, const Writer& out, MlsCall* call) {
    const auto serial = ++serial_;
    if (!child_->channel().send(type, serial, out.bytes())) died(slot, i, child_->stop());
    return wait(slot, i, call, serial);
  }

  /// Reads an answer. After one that makes no sense nothing that follows can be believed: the process is
  /// ended.
  template <class F> std::invoke_result_t<F> reading(F&& f) {
    try {
      return f();
    } catch (const PluginFault& fault) {
      if (fault.code() == MLS_DATA_LOSS && child_ != nullptr) {
        child_->kill();
        child_.reset();
      }
      throw;
    }
  }

  [[nodiscard]] std::string what(std::string_view slot, std::size_t i) const {
    return slot_of(description_, slot, i);
  }
  [[nodiscard]] std::string name() const { return description_.name.empty() ? path_ : description_.name; }

  [[noreturn]] void died(const char* slot, std::size_t i, const std::string& how) {
    tell_output();
    child_.reset();
    fail(MLS_ABORTED,
         {.id = "mlsysim.plugin.115",
          .message = fmt::format("the process of the plugin '{}' ended during {}", name(), what(slot, i)),
          .key = name(),
          .found = how,
          .expected = "an answer",
          .hint = "the plugin is started again by the next call; its author should look at it"},
         name(), what(slot, i));
  }
  [[noreturn]] void late(const char* slot, std::size_t i) {
    child_->kill();
    tell_output();
    child_.reset();
    fail(MLS_DEADLINE_EXCEEDED,
         {.id = "mlsysim.plugin.116",
          .message = fmt::format("the plugin '{}' took too long in {}", name(), what(slot, i)),
          .key = name(),
          .found = fmt::format("no answer after {} ms", limits_.timeout.count()),
          .expected = fmt::format("an answer within {} ms", limits_.timeout.count()),
          .hint = "its process was ended; the next call starts it again",
          .reason = BreakReason::timeout},
         name(), what(slot, i));
  }

  [[noreturn]] void garbled(const char* slot, std::size_t i) {
    child_->kill();
    tell_output();
    child_.reset();
    fail(MLS_DATA_LOSS,
         {.id = "mlsysim.plugin.122",
          .message = fmt::format("the process of the plugin '{}' answered what nobody asked, in {}", name(),
                                 what(slot, i)),
          .key = name(),
          .found = "an answer to another question",
          .expected = "one answer to each question",
          .hint = "does it fork, or write to descriptors that it did not open? its process was ended; the "
                  "next call starts it again"},
         name(), what(slot, i));
  }

  void tell_output() {
    auto text = child_->printed();
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      if (end > 0) services_->log(MLS_LOG_INFO, fmt::format("[{}] {}", name(), text.substr(0, end)));
      text.erase(0, end + 1);
    }
    if (child_->output_ended()) child_->output_is_closed();
  }

  MessageReader wait(const char* slot, std::size_t i, MlsCall* call, std::uint32_t serial) {
    const auto deadline = Clock::now() + limits_.timeout;
    while (true) {
      // One that sends without end is never waited for, so the clock is looked at here too.
      if (Clock::now() >= deadline) late(slot, i);
      auto message = next_message(slot, i, deadline);
      if (!message) {
        if (Clock::now() >= deadline) late(slot, i);
        died(slot, i, child_->stop());
      }
      // The process flushed its output before it answered.
      tell_output();
      const bool answer = message->type == Message::result || message->type == Message::hello ||
                          message->type == Message::fault;
      if (answer && message->serial != serial) garbled(slot, i);
      switch (message->type) {
        case Message::result:
        case Message::hello:
          return std::move(message->reader);
        case Message::fault:
          throw_named(message->reader, slot, i);
        default:
          serve(message->type, message->serial, message->reader, call);
      }
    }
  }

  /// The next message of the process. A process that sends an invalid one is ended.
  std::optional<Channel::Received> next_message(const char* slot, std::size_t i, Clock::time_point deadline) {
    try {
      return reading([&] {
        return child_->channel().receive(deadline, [&](int descriptor) {
          const bool fine = child_->wait(descriptor, deadline);
          tell_output();
          return fine;
        });
      });
    } catch (const PluginFault& fault) {
      throw with_names(fault, name(), what(slot, i));
    }
  }

  [[noreturn]] void throw_named(MessageReader& in, const char* slot, std::size_t i) {
    if (std::string_view(slot) == "initialize") {
      tell_output();
      child_.reset();
    }
    try {
      throw_fault(in);
    } catch (const PluginFault& fault) {
      throw with_names(fault, name(), what(slot, i));
    }
  }

  /// Answers a request of the plugin; what fails is an error there.
  void serve(Message type, std::uint32_t serial, MessageReader& in, MlsCall* call) {
    Writer out;
    Message answer = Message::result;
    std::uint64_t visited = 0;
    Writer list;
    const Visit visit = [&](std::string_view name, const MlsValue& v) {
      list.text(name).value(v);
      ++visited;
    };
    try {
      switch (type) {
        case Message::log: {
          const auto level = in.get<std::int32_t>();
          services_->log(level, in.text());
          return;
        }
        case Message::zoo_count:
          out.put(services_->zoo_count(in.text()));
          break;
        case Message::zoo_at: {
          const auto kind = in.text();
          out.put(reinterpret_cast<std::uintptr_t>(services_->zoo_at(kind, in.get<std::uint64_t>())));
          break;
        }
        case Message::zoo_find: {
          const auto kind = in.text();
          out.put(reinterpret_cast<std::uintptr_t>(services_->zoo_find(kind, in.text())));
          break;
        }
        case Message::object_field: {
          const auto* object = reinterpret_cast<const MlsObject*>(in.get<std::uintptr_t>());
          services_->object_field(object, in.text(), visit);
          break;
        }
        case Message::object_read:
          services_->object_read(reinterpret_cast<const MlsObject*>(in.get<std::uintptr_t>()), visit);
          break;
        case Message::convert: {
          const auto number = in.get<double>();
          const auto from = in.text();
          out.put(services_->convert(number, from, in.text()));
          break;
        }
        case Message::evaluate: {
          const auto resolver = in.text();
          std::vector<std::pair<std::string, OwnedValue>> given;
          for (auto n = in.get<std::uint64_t>(); n > 0; --n) {
            auto key = in.text();
            given.emplace_back(std::move(key), in.value());
          }
          std::vector<MlsNamed> inputs;
          for (const auto& [key, value] : given) inputs.push_back({plugin::to_c(key), value.view()});
          if (call == nullptr)
            fail(MLS_FAILED_PRECONDITION,
                 {.id = "mlsysim.plugin.117", .message = "a resolver is asked outside of a call"});
          services_->evaluate(call, resolver, inputs, visit);
          break;
        }
        default:
          fail(MLS_DATA_LOSS,
               {.id = "mlsysim.plugin.118", .message = "an isolated plugin sent an unknown message"});
      }
      if (type == Message::object_field || type == Message::object_read || type == Message::evaluate) {
        out.put(visited);
        const auto head = out.bytes();
        if (!child_->channel().send(Message::result, serial, head + list.bytes()))
          died("service", 0, child_->stop());
        return;
      }
    } catch (const std::exception& error) {
      if (child_ == nullptr) throw;  // it ended in a call within this one
      out = {};
      write_fault(out, error);
      answer = Message::fault;
    }
    if (!child_->channel().send(answer, serial, out.bytes())) died("service", 0, child_->stop());
  }

  std::string path_;
  std::shared_ptr<Services> services_;
  IsolationLimits limits_;
  std::recursive_mutex mutex_;
  std::unique_ptr<Child> child_;
  std::uint64_t epoch_ = 0;
  std::uint32_t serial_ = 0;
  std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace

std::shared_ptr<PluginCode> open_isolated(const std::string& path, std::shared_ptr<Services> services,
                                          const IsolationLimits& limits) {
  return std::make_shared<Isolated>(path, std::move(services), limits);
}

}  // namespace mlsysim::plugin::detail
