// Exclusive instances: one in a process, one on the machine, and what a dead holder leaves behind.

#include "plugin_support.hpp"

#include <mlsysim/plugin/fault.hpp>

#include "support/catch.hpp"

#include <sys/wait.h>
#include <csignal>
#include <cstdlib>

using namespace mlsysim;
using namespace mlsysim::plugin;

namespace {

double y_of(double gain) {
  PipelineBuilder b;
  b.registry(ResolverRegistry::standard()).stage("probe/Model", "s").given("x").given("s.gain");
  return number(b.build().run({{"x", 1.0}, {"s.gain", gain}}), "y");
}

std::string refusal(double gain) {
  try {
    (void)y_of(gain);
  } catch (const PluginFault& fault) {
    CHECK(fault.code() == MLS_UNAVAILABLE);
    return fault.what();
  }
  return "";
}

const std::string kMe = "process " + std::to_string(::getpid());

/// Lock files of one test.
struct Locks : Folder {
  Locks() { ::setenv("MLSYSIM_LOCK_DIR", path.c_str(), 1); }
  ~Locks() { ::unsetenv("MLSYSIM_LOCK_DIR"); }
};

}  // namespace

TEST_CASE("shared is the default, and nobody holds what is shared", "[plugin]") {
  PluginHost host(closed({kProbe + ".so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK(y_of(1) == 2);
  CHECK(y_of(2) == 4);
  const auto now = host.can_create("probe/Model");
  CHECK(now.ownership == Ownership::shared);
  CHECK_FALSE(now.held);
  CHECK_THROWS_AS(host.can_create("probe/Modle"), LookupError);
}

TEST_CASE("a second exclusive instance in a process is refused with its holder", "[plugin]") {
  for (const auto isolation : {Isolation::never, Isolation::always}) {
    PluginHost host(closed({kProbe + "-process.so"}, isolation));
    REQUIRE(host.load_all().failed.empty());
    for (int i = 0; i < 3; ++i) CHECK_FALSE(host.can_create("Model").held);  // asking takes nothing
    CHECK(y_of(1) == 2);
    CHECK(y_of(1) == 2);  // the same options: the same instance
    const auto text = refusal(5);
    CHECK_THAT(text, ContainsSubstring("'probe-card-0' is held, and probe/Model is exclusive-process"));
    CHECK_THAT(text, ContainsSubstring(kMe + ", which is this one, by probe/Model, since 20"));
    const auto now = host.can_create("probe/Model");
    CHECK(now.ownership == Ownership::exclusive_process);
    CHECK(now.resource == "probe-card-0");
    REQUIRE(now.held);
    CHECK(now.held->code == MLS_UNAVAILABLE);
    CHECK(y_of(1) == 2);  // a refusal costs nobody the instance
  }
  // The end of the host ended the instance.
  PluginHost host(closed({kProbe + "-process.so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK(y_of(5) == 10);
}

TEST_CASE("a reload gives an exclusive instance to the new code", "[plugin]") {
  PluginHost host(closed({kProbe + "-process.so"}));
  REQUIRE(host.load_all().failed.empty());
  CHECK(y_of(1) == 2);
  (void)host.reload("probe");
  CHECK_FALSE(host.can_create("probe/Model").held);
  CHECK(y_of(5) == 10);
}

TEST_CASE("one instance on the machine: the holder is named, and a dead one holds nothing", "[plugin]") {
  const Locks locks;
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    PluginHost host(closed({kProbe + "-system.so"}));
    const char fine = host.load_all().failed.empty() && y_of(1) == 2 ? 'y' : 'n';
    (void)!::write(told[1], &fine, 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  REQUIRE(::read(told[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  {
    PluginHost host(closed({kProbe + "-system.so"}));
    REQUIRE(host.load_all().failed.empty());
    for (int i = 0; i < 3; ++i) {
      const auto now = host.can_create("probe/Model");
      REQUIRE(now.held);
      CHECK_THAT(now.held->message,
                 ContainsSubstring("process " + std::to_string(child) + ", by probe/Model, since 20"));
    }
    CHECK_THAT(refusal(1), ContainsSubstring("held by process " + std::to_string(child)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK_FALSE(host.can_create("probe/Model").held);
    CHECK(y_of(1) == 2);
    CHECK_THAT(refusal(2), ContainsSubstring(kMe));
  }
  ::close(told[0]);
  ::close(told[1]);
}

TEST_CASE("a lock file that cannot be made is an error with its path", "[plugin]") {
  ::setenv("MLSYSIM_LOCK_DIR", "/nowhere/at/all", 1);
  {
    PluginHost host(closed({kProbe + "-system.so"}));
    REQUIRE(host.load_all().failed.empty());
    CHECK_THROWS_WITH(y_of(1), ContainsSubstring("/nowhere/at/all/mlsysim-probe-card-0.lock") &&
                                   ContainsSubstring("MLSYSIM_LOCK_DIR"));
  }
  ::unsetenv("MLSYSIM_LOCK_DIR");
}

TEST_CASE("one named plugin runs in a process of its own, the others here", "[plugin]") {
  auto options = closed({kProbe + ".so", kHello});
  options.isolated = {"probe"};
  PluginHost host(options);
  REQUIRE(host.load_all().failed.empty());
  for (const auto& r : host.records()) CHECK(r.isolated == (r.name == "probe"));
  CHECK(y_of(3) == 6);
}
