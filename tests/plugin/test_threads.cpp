// The host and its plugins from many threads at once; run it under the thread sanitizer.

#include "plugin_support.hpp"

#include <mlsysim/plugin/fault.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace mlsysim;
using namespace mlsysim::plugin;

TEST_CASE("a reload in the middle of sweeps gives results of one version each", "[plugin]") {
  const Folder folder;
  folder.put(kProbe + ".so");
  PluginHost host(closed({folder.path}));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  std::atomic<bool> stop{false};
  std::atomic<int> mixed{0}, sweeps{0}, points{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        Run run(pipeline);
        const auto x = run.index_of("x");
        double factor = 0;
        for (int i = 1; i <= 10000 && !stop; ++i) {
          run.set_number(x, i).execute();
          const double y = number(run, "y") / i, again = number(run, "again") / i;
          if (factor == 0) factor = y;
          if (y != factor || again != factor || (factor != 2 && factor != 3)) ++mixed;
          ++points;
        }
        ++sweeps;
      }
    });
  for (int i = 0; i < 40; ++i) {
    folder.put(kProbe + (i % 2 == 0 ? "-3.so" : ".so"));
    const auto report = host.reload("probe");
    CHECK(report.same_interface);
    CHECK(report.new_version == (i % 2 == 0 ? "3.0.0" : "2.0.0"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop = true;
  for (auto& t : threads) t.join();
  CHECK(mixed == 0);
  CHECK(points > 1000);
  auto run = pipeline.run({{"x", 1.0}});
  CHECK(number(run, "y") == 2);
}

TEST_CASE("eight threads load and ask at once", "[plugin]") {
  PluginHost host(closed({kProbe + ".so", kHello}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      try {
        if (host.load("probe") != "probe") ++wrong;
        auto run = pipeline_of("probe/Model", "x").run({{"x", 4.0}});
        if (number(run, "y") != 8) ++wrong;
      } catch (const std::exception&) {
        ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("eight threads load, call and reload at once", "[plugin]") {
  const Folder folder;
  folder.put(kProbe + ".so");
  PluginHost host(closed({folder.path, kHello}));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  const auto library = (folder.path / "mlsysim-plugin-probe.so").string();
  std::atomic<int> wrong{0}, calls{0}, reloads{0}, loads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      try {
        for (int i = 0; i < 30; ++i) {
          switch ((t + i) % 4) {
            case 0:
              host.reload("probe");
              ++reloads;
              break;
            case 1:  // held by the first loading as well, so it is never gone
              if (host.load(library) != "probe") ++wrong;
              host.unload("probe");
              ++loads;
              break;
            case 2:
              if (host.records().empty() || host.options_of("probe").size() != 1 ||
                  host.can_create("probe/Model").held)
                ++wrong;
              break;
            default:
              break;
          }
          Run run(pipeline);
          const auto x = run.index_of("x");
          for (int k = 1; k <= 20; ++k) {
            run.set_number(x, k).execute();
            if (number(run, "y") != 2 * k) ++wrong;
            ++calls;
          }
        }
      } catch (const std::exception& error) {
        ++wrong;
        static_cast<void>(error);
      }
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(calls == 8 * 30 * 20);
  CHECK(reloads > 0);
  CHECK(loads > 0);
}

TEST_CASE("eight threads call a plugin in a process of its own", "[plugin]") {
  PluginHost host(closed({kProbe + ".so"}, Isolation::always));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Run run(pipeline);
      const auto x = run.index_of("x");
      for (int k = 1; k <= 50; ++k) {
        run.set_number(x, t * 100 + k).execute();
        if (number(run, "y") != 2 * (t * 100 + k)) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("calls of a plugin that says serial, or nothing, come one after the other", "[plugin]") {
  PluginHost host(closed({kProbe + "-serial.so"}));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      Run run(pipeline);
      const auto x = run.index_of("x");
      for (int k = 1; k <= 100; ++k) {
        run.set_number(x, k).execute();
        if (number(run, "y") != 2 * k) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a thread whose call asks the host and one that makes an instance do not wait for each other",
          "[plugin]") {
  // The instance of the second waits for the turn of the first, whose question needs the instances of the
  // same resolver.
  PluginHost host(closed({kProbe + "-asks.so"}));
  REQUIRE(host.load_all().failed.empty());
  const auto asker = pipeline_of("probe/Asker", "x"), model = pipeline_of("probe/Model", "x", "gain");
  std::atomic<int> wrong{0};
  std::thread asks([&] {
    for (int k = 1; k <= 200; ++k)
      if (number(asker.run({{"x", double(k)}}), "y") != 4 * k) ++wrong;
  });
  for (int k = 1; k <= 200; ++k)
    if (number(model.run({{"x", 1.0}, {"gain", double(k)}}), "y") != 2 * k) ++wrong;
  asks.join();
  CHECK(wrong == 0);
}

TEST_CASE("a plugin for the main thread alone is refused elsewhere", "[plugin]") {
  PluginHost host(closed({kProbe + "-main.so"}));
  REQUIRE(host.load_all().failed.empty());
  const auto pipeline = pipeline_of("probe/Model", "x");
  MlsStatus code = MLS_OK;
  std::thread([&] {
    try {
      (void)pipeline.run({{"x", 1.0}});
    } catch (const PluginFault& fault) {
      code = fault.code();
    }
  }).join();
  CHECK(code == MLS_FAILED_PRECONDITION);
  CHECK(number(pipeline.run({{"x", 1.0}}), "y") == 2);
}
