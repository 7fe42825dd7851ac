#include <mlsysim/resolver_api/detail/standard_registry.hpp>
#include <mlsysim/resolvers/detail/catalogue.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace mlsysim {

namespace {

std::atomic<const ResolverRegistry*> published{nullptr};

/// The resolvers last published: by plugins (or those shipped), and by the host language.
struct Sources {
  std::mutex lock;
  ResolverRegistry base;
  std::vector<std::shared_ptr<const Resolver>> own;
  // Readers may hold references to any registry there ever was, so none is freed.
  std::deque<ResolverRegistry> kept;

  void publish() {
    ResolverRegistry all;
    for (const auto& r : base.all()) all.add(r);
    for (const auto& r : own)
      if (const auto& taken = all.all(); std::none_of(
              taken.begin(), taken.end(), [&](const auto& t) { return t->info().name == r->info().name; }))
        all.add(r);
    published.store(&kept.emplace_back(std::move(all)), std::memory_order_release);
  }
};

Sources& sources() {
  static auto& all = *[] {
    auto* s = new Sources;
    for (const auto& r : shipped_resolvers().all()) s->base.add(r);
    return s;
  }();
  return all;
}

}  // namespace

const ResolverRegistry& ResolverRegistry::standard() {
  const auto* registry = published.load(std::memory_order_acquire);
  return registry != nullptr ? *registry : shipped_resolvers();
}

void publish_resolvers(ResolverRegistry resolvers) {
  auto& all = sources();
  const std::lock_guard held(all.lock);
  all.base = std::move(resolvers);
  all.publish();
}

void publish_host_resolvers(std::vector<std::shared_ptr<const Resolver>> own) {
  auto& all = sources();
  const std::lock_guard held(all.lock);
  all.own = std::move(own);
  all.publish();
}

}  // namespace mlsysim
