#include "hosted.hpp"

#include <mlsysim/resolver_api/record.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <thread>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // GCC ships no header with it
#endif

namespace mlsysim::plugin::check {
namespace {

/// Bytes that are in use.
std::size_t allocated() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // they have allocators of their own
  return __sanitizer_get_current_allocated_bytes();
#else
  return ::mallinfo2().uordblks;
#endif
}

Result instances_do_not_leak(const Subject& s) {
  RawPlugin p(s);
  (void)p.initialize();
  (void)p.register_all();
  bool any = false;
  for (std::size_t i = 0; i < p.registration().resolvers.size(); ++i) {
    const auto& r = p.registration().resolvers[i];
    if (r.create == nullptr) continue;
    any = true;
    const auto& d = p.description().resolvers[i];
    std::vector<MlsValue> settings;
    for (const auto& o : d.options) settings.push_back(o.default_value.view());
    const auto round = [&](int times) {
      for (int k = 0; k < times; ++k) {
        MlsCreateArgs args{sizeof args,     0,      nullptr, p.services().api(), r.user, settings.data(),
                           settings.size(), nullptr};
        if (auto e = p.take(r.create(&args)); !e.empty()) return e;
        if (r.destroy != nullptr) r.destroy(p.services().api(), args.instance);
      }
      return std::string();
    };
    if (const auto e = round(100); !e.empty())
      return fail(d.name + ": create with default options fails: " + e);
    const auto before = allocated();
    (void)round(1000);
    const auto after = allocated();
    if (after > before + 16384)
      return fail(fmt::format("{}: 1000 instances leave {} bytes", d.name, after - before));
  }
  return any ? pass() : skip("it has no instances");
}

/// Calls `create` with default options. @return its error; empty where it succeeds and gives the instance
std::string create_by_hand(RawPlugin& p, std::size_t i, void*& instance) {
  const auto& r = p.registration().resolvers[i];
  std::vector<MlsValue> settings;
  for (const auto& o : p.description().resolvers[i].options) settings.push_back(o.default_value.view());
  MlsCreateArgs args{sizeof args,     0,      nullptr, p.services().api(), r.user, settings.data(),
                     settings.size(), nullptr};
  auto error = p.take(r.create(&args));
  instance = args.instance;
  return error;
}

Result owns_as_it_says(const Subject& s) {
  RawPlugin p(s);
  (void)p.initialize();
  (void)p.register_all();
  bool any = false;
  for (std::size_t i = 0; i < p.registration().resolvers.size(); ++i) {
    const auto& r = p.registration().resolvers[i];
    const auto& d = p.description().resolvers[i];
    if (r.create == nullptr) continue;
    any = true;
    if (r.can_create != nullptr) {
      std::vector<MlsValue> settings;
      for (const auto& o : d.options) settings.push_back(o.default_value.view());
      for (int k = 0; k < 3; ++k) {
        MlsCreateArgs args{sizeof args,     0,      nullptr, p.services().api(), r.user, settings.data(),
                           settings.size(), nullptr};
        if (const auto e = p.take(r.can_create(&args)); !e.empty())
          return fail(fmt::format("{}: can_create refuses what nobody holds: {}", d.name, e));
        if (args.instance != nullptr) return fail(d.name + ": can_create makes an instance");
      }
    }
    const auto end = [&](void* instance) {
      if (r.destroy != nullptr) r.destroy(p.services().api(), instance);
    };
    void *one = nullptr, *two = nullptr;
    if (const auto e = create_by_hand(p, i, one); !e.empty())
      return fail(fmt::format("{}: asking can_create keeps create from working: {}", d.name, e));
    if (d.ownership == Ownership::shared) {
      if (const auto e = create_by_hand(p, i, two); !e.empty())
        return fail(fmt::format("{} says shared, and gives no second instance: {}", d.name, e));
      end(two);
    }
    end(one);
    if (const auto e = create_by_hand(p, i, one); !e.empty())
      return fail(fmt::format("{}: no instance after one that was destroyed: {}", d.name, e));
    end(one);
  }
  return any ? pass() : skip("it has no instances");
}

Result destroy_null(const Subject& s) {
  RawPlugin p(s);
  (void)p.initialize();
  (void)p.register_all();
  for (const auto& r : p.registration().resolvers)
    if (r.destroy != nullptr) r.destroy(p.services().api(), nullptr);
  return pass();
}

Result threads_keep(const Subject& s) {
  Hosted host(s);
  if (host.resolvers.empty()) return skip("it registers no resolver");
  if (host.code->description().threads != MLS_THREAD_SAFE) return skip("it does not say MLS_THREAD_SAFE");
  for (std::size_t i = 0; i < host.resolvers.size(); ++i) {
    const auto expected = bytes_of(host, i, 1);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k)
          if (bytes_of(host, i, 1) != expected) ++wrong;
      });
    for (auto& t : threads) t.join();
    if (wrong > 0)
      return fail(fmt::format("{}: {} of 400 answers from eight threads differ",
                              host.resolvers[i]->info().name, wrong.load()));
  }
  return pass();
}

Result fork_keeps(const Subject& s) {
  Hosted host(s);
  if ((host.code->description().flags & MLS_PLUGIN_FORK_SAFE) == 0)
    return skip("it does not say MLS_PLUGIN_FORK_SAFE");
  if (host.resolvers.empty()) return skip("it registers no resolver");
  const auto expected = bytes_of(host, 0, 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(bytes_of(host, 0, 1) == expected ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? pass()
                                                       : fail("another answer, or none, in a child process");
}

Result same_bytes(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    if ((h.code->description().resolvers[i].flags & MLS_RESOLVER_DETERMINISTIC) == 0) return "";
    for (const double scale : {0.5, 1.0, 2.0}) {
      const auto one = bytes_of(h, i, scale);
      (void)bytes_of(h, i, scale * 3);
      if (bytes_of(h, i, scale) != one || bytes_of(h, i, scale) != one)
        return "the same inputs give other bytes, although it says deterministic";
    }
    return "";
  });
}

Result results_fit(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    for (const double scale : {0.5, 1.0, 2.0}) {
      // A refusal of the plugin's own is an answer; a result that breaks its declaration is not.
      auto got = bytes_of(h, i, scale);
      if (got.find("cannot be used") != std::string::npos ||
          got.find("does not declare") != std::string::npos ||
          got.find("than it declares") != std::string::npos || got.find("wrote") != std::string::npos)
        return got;
    }
    return "";
  });
}

Result extremes(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    for (const double scale : {0.0, 1e-12, 1e12, 1e300}) {
      auto got = bytes_of(h, i, scale);
      if (got.find("cannot be used") != std::string::npos)
        return fmt::format("inputs times {}: {}", scale, got);
    }
    return "";
  });
}

/// Asks each resolver that takes objects about objects without figures.
/// @param complaint what is wrong with the answer, or empty; it is given the answer for whole objects too
template <class Complaint> Result ask_about_gaps(const Subject& s, Complaint&& complaint) {
  RawPlugin p(s);
  (void)p.initialize();
  (void)p.register_all();
  const auto takes_objects = [](const ResolverDescription& d) {
    return std::any_of(d.inputs.begin(), d.inputs.end(),
                       [](const FieldDescription& f) { return f.kind == MLS_FIELD_OBJECT; });
  };
  const auto& all = p.description().resolvers;
  if (std::none_of(all.begin(), all.end(), takes_objects)) return skip("no resolver takes objects");
  const auto answers = [](const Solved& x) { return x.error.empty() && x.outcome != MLS_OUTCOME_INFEASIBLE; };
  // Objects that know nothing but their names.
  static const HardwareNode hardware = [] {
    HardwareNode h;
    h.name = "Unknown";
    return h;
  }();
  static const Workload workload = [] {
    Workload w;
    w.name = "Unknown";
    return w;
  }();
  for (std::size_t i = 0; i < p.registration().resolvers.size(); ++i) {
    const auto& d = p.description().resolvers[i];
    if (!takes_objects(d)) continue;
    auto inputs = sample_inputs(p.services(), d, 1);
    const auto whole = solve_by_hand(p, i, inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (d.inputs[k].object_type == "hardware")
        inputs[k].object = p.services().objects().handle({&hardware, "hardware"});
      if (d.inputs[k].object_type == "workload")
        inputs[k].object = p.services().objects().handle({&workload, "workload"});
      if (d.inputs[k].has(MLS_FIELD_OPTIONAL) && d.inputs[k].default_value.kind == MLS_NONE) inputs[k] = {};
    }
    const auto got = solve_by_hand(p, i, inputs);
    if (!answers(got)) continue;
    for (std::size_t k = 0; k < d.outputs.size() && k < got.outputs.size(); ++k) {
      const bool known = answers(whole) && k < whole.outputs.size() && whole.outputs[k].kind == MLS_NUMBER;
      if (got.outputs[k].kind != MLS_NUMBER) continue;
      if (const std::string why = complaint(got.outputs[k].number, known ? whole.outputs[k].number : 0);
          !why.empty())
        return fail(fmt::format("{}: {} of a device without figures is {}", d.name, d.outputs[k].name, why));
    }
  }
  return pass();
}

Result survives_gaps(const Subject& s) {
  return ask_about_gaps(
      s, [](double got, double) { return std::isfinite(got) ? std::string() : fmt::format("{}", got); });
}

/// An optional figure that is read without asking gives 0 as a rule, which is a number like any other.
Result no_zero_from_gaps(const Subject& s) {
  return ask_about_gaps(s, [](double got, double whole) {
    return got == 0 && whole != 0
               ? fmt::format("0, and {} where it has them; is a figure read that is not there?", whole)
               : std::string();
  });
}

Result infeasible_has_a_reason(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    for (const double scale : {0.0, 1e-6, 1.0, 1e6, 1e12}) {
      auto got = bytes_of(h, i, scale);
      if (got.starts_with("infeasible: ") && got.find("gives no reason") != std::string::npos) return got;
    }
    return "";
  });
}

Result some_result(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    std::string last;
    for (const double scale : {1.0, 1e-3, 1e3, 1e6, 1e9}) {
      last = bytes_of(h, i, scale);
      if (!last.starts_with("error: ") && !last.starts_with("refused: ")) return "";
    }
    return "no sample gives an answer; the last says " + last;
  });
}

/// Runs every resolver once and compares something before and after.
template <class State> Result unchanged(const Subject& s, const char* what, State (*state)()) {
  const auto before = state();
  {
    Hosted host(s);
    for (std::size_t i = 0; i < host.resolvers.size(); ++i) (void)bytes_of(host, i, 1);
    if (state() != before) return fail(fmt::format("{} is another one after a call", what));
  }
  return pass();
}

Result locale_kept(const Subject& s) {
  return unchanged<std::string>(s, "the locale", [] { return std::string(std::setlocale(LC_ALL, nullptr)); });
}
Result rounding_kept(const Subject& s) {
  return unchanged<int>(s, "the rounding mode or the set of floating-point traps",
                        [] { return std::fegetround() * 1000 + ::fegetexcept(); });
}
Result signals_kept(const Subject& s) {
  return unchanged<std::vector<std::uintptr_t>>(s, "a signal handler", [] {
    std::vector<std::uintptr_t> out;
    for (int n = 1; n < 32; ++n) {
      struct sigaction a {};
      if (::sigaction(n, nullptr, &a) == 0) out.push_back(reinterpret_cast<std::uintptr_t>(a.sa_handler));
    }
    return out;
  });
}
Result folder_kept(const Subject& s) {
  return unchanged<std::string>(s, "the working folder or the umask", [] {
    const auto mask = ::umask(0);
    ::umask(mask);
    return fmt::format("{} {:o}", std::filesystem::current_path().string(), mask);
  });
}
Result prints_nothing(const Subject& s) {
  const int file = ::memfd_create("printed", MFD_CLOEXEC);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  {
    Hosted host(s);
    for (std::size_t i = 0; i < host.resolvers.size(); ++i) (void)bytes_of(host, i, 1);
    std::fflush(nullptr);
  }
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0 || ::fcntl(STDERR_FILENO, F_GETFD) < 0)
    return fail("it closes the standard output");
  const auto size = ::lseek(file, 0, SEEK_END);
  return size == 0 ? pass() : fail(fmt::format("it prints {} bytes; use host->log", size));
}
Result errno_does_not_matter(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    errno = 0;
    const auto calm = bytes_of(h, i, 1);
    errno = EDOM;
    return bytes_of(h, i, 1) == calm ? "" : "errno changes the answer";
  });
}

}  // namespace

std::span<const Check> run_checks() {
  static constexpr Check checks[] = {
      {"I01", Level::required, "instances", "a thousand instances leave no memory behind", "R05",
       instances_do_not_leak},
      {"I04", Level::required, "ownership",
       "as many instances at a time as it says, and asking can_create changes nothing", "I01 I05",
       owns_as_it_says},
      {"I05", Level::required, "instances", "destroying a null instance is harmless", "R05", destroy_null},
      {"V01", Level::required, "values", "the same inputs give the same bytes", "E01", same_bytes},
      {"V02", Level::required, "values", "results are those declared: kind, dimension, range, finite", "E01",
       results_fit},
      {"V06", Level::required, "values",
       "zero and huge inputs give results within the declaration, or errors", "V02", extremes},
      {"V07", Level::required, "values", "objects without figures give errors, not nonsense", "E01",
       survives_gaps},
      {"V08", Level::required, "values", "infeasible comes with a reason", "E01", infeasible_has_a_reason},
      {"V10", Level::recommended, "values", "objects without figures give no answer of 0", "V07",
       no_zero_from_gaps},
      {"V09", Level::recommended, "values", "some sample gives an answer", "E01", some_result},
      {"I07", Level::required, "threads", "answers are the same from eight threads, where it says so", "V01",
       threads_keep},
      {"I08", Level::required, "fork", "answers are the same in a child process, where it says so", "V01",
       fork_keeps},
      {"H01", Level::required, "hygiene", "the locale stays", "E01", locale_kept},
      {"H02", Level::required, "hygiene", "rounding mode and floating-point traps stay", "E01",
       rounding_kept},
      {"H03", Level::required, "hygiene", "signal handlers stay", "E01", signals_kept},
      {"H04", Level::required, "hygiene", "working folder and umask stay", "E01", folder_kept},
      {"H05", Level::required, "hygiene", "nothing is printed", "E01", prints_nothing},
      {"H06", Level::required, "hygiene", "errno does not matter", "V01", errno_does_not_matter}};
  return checks;
}

}  // namespace mlsysim::plugin::check
