// Sessions: one at a time, again after the end, and what is left of handles afterwards.
#include "testing.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using programs::contains;
using programs::text_of;

int plain(int x) { return x; }
ray::generator<int> count_up(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}

struct counter {
  int count = 0;
  int add(int n) { return count += n; }
};

/// Counts how many live.
struct tracked {
  static inline std::atomic<int> alive = 0;
  tracked() { ++alive; }
  tracked(const tracked&) { ++alive; }
  ~tracked() { --alive; }
  tracked& operator=(const tracked&) = default;
  int unused = 0;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(unused);
  }
};

}  // namespace

TEST_CASE("without a session every call throws, but for remote and bind") {
  CHECK_FALSE(ray::is_initialized());
  auto run = ray::remote(plain);
  auto bound = ray::remote(ray::bind(plain, 4), {.name = "early"});
  CHECK(contains(text_of<ray::usage_error>([&] { (void)run(1); }), "session"));
  CHECK_THROWS_AS((void)bound(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::put(1), ray::usage_error);
  CHECK_THROWS_AS((void)ray::make_actor<counter>(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::find_actor<counter>("x"), ray::usage_error);
  CHECK_THROWS_AS((void)ray::nodes(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_node(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::cluster_resources(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::available_resources(), ray::usage_error);
  CHECK_THROWS_AS(ray::queue<int>(1), ray::usage_error);
  CHECK_THROWS_AS(ray::barrier(1), ray::usage_error);
  CHECK_THROWS_AS(ray::placement_group({{.num_cpus = 1}}), ray::usage_error);
  CHECK_THROWS_AS((void)ray::when_all(std::vector<ray::future<int>>()), ray::usage_error);
  CHECK_THROWS_AS(ray::parallel_for(std::vector{1}, [](int) {}), ray::usage_error);
  CHECK_THROWS_AS((void)ray::map(std::vector{1}, plain), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::id(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::name(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::attempt(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::node(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::stop_token(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::gpu_ids(), ray::usage_error);
  CHECK_THROWS_AS((void)ray::this_task::resources(), ray::usage_error);
  ray::shutdown();  // does nothing
  // What was made before a session works in it.
  auto session = ray::init({.num_cpus = 1});
  CHECK(run(1).get() == 1);
  CHECK(bound().get() == 4);
}

TEST_CASE("init twice is refused, init after shutdown works") {
  auto session = ray::init({.num_cpus = 1});
  CHECK(static_cast<bool>(session));
  CHECK(ray::is_initialized());
  CHECK(contains(text_of<ray::usage_error>([] { auto second = ray::init({.num_cpus = 1}); }),
                 "shutdown"));
  CHECK(ray::remote(plain)(2).get() == 2);
  ray::shutdown();
  CHECK_FALSE(ray::is_initialized());
  ray::shutdown();
  auto next = ray::init({.num_cpus = 1});
  session = {};  // it has ended already: the new one goes on
  CHECK(ray::is_initialized());
  CHECK(ray::remote(plain)(3).get() == 3);
}

TEST_CASE("a session is moved, and ends with its last place") {
  std::optional<ray::session> kept;
  {
    auto session = ray::init({.num_cpus = 1});
    kept.emplace(std::move(session));
    CHECK_FALSE(static_cast<bool>(session));
  }
  CHECK(ray::is_initialized());
  kept.reset();
  CHECK_FALSE(ray::is_initialized());
}

TEST_CASE("shutdown inside a task is refused") {
  auto session = ray::init({.num_cpus = 1});
  CHECK_THROWS_AS(ray::remote([] { ray::shutdown(); })().get(), ray::usage_error);
  CHECK_THROWS_AS(ray::remote([] { auto inner = ray::init(); })().get(), ray::usage_error);
  CHECK(ray::is_initialized());
}

TEST_CASE("options of the command line are taken out, and win") {
  std::vector<std::string> words{"program", "--ray-num-cpus=3", "input.txt", "--verbose"};
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int argc = 4;
  char** argv = pointers.data();
  auto session = ray::init(argc, argv, {.num_cpus = 1});
  CHECK(argc == 3);
  CHECK(std::string(argv[1]) == "input.txt");
  CHECK(std::string(argv[2]) == "--verbose");
  CHECK(ray::cluster_resources().at("CPU") == 3);
}

TEST_CASE("unknown options and absurd values are refused") {
  const auto refuses = [](std::string option) {
    std::string name = "program";
    char* pointers[] = {name.data(), option.data(), nullptr};
    int argc = 2;
    char** argv = pointers;
    return text_of<ray::usage_error>([&] { auto session = ray::init(argc, argv); });
  };
  CHECK(contains(refuses("--ray-nonsense=1"), "--ray-nonsense"));
  CHECK(contains(refuses("--ray-num-cpus=-1"), "num-cpus"));
  CHECK(contains(refuses("--ray-num-cpus=many"), "many"));
  CHECK_THROWS_AS(auto one = ray::init({.num_cpus = -1}), ray::usage_error);
  CHECK_THROWS_AS(auto one = ray::init({.resources = {{"CPU", 2}}}), ray::usage_error);
  CHECK_THROWS_AS(auto one = ray::init({.resources = {{"x", -2}}}), ray::usage_error);
  CHECK_FALSE(ray::is_initialized());
}

TEST_CASE("what there is: nodes and their resources") {
  auto session = ray::init(
      {.num_cpus = 2, .num_gpus = 0.5, .resources = {{"disk", 3}}, .labels = {{"zone", "a"}}});
  const auto nodes = ray::nodes();
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].id == ray::this_node().id);
  CHECK(nodes[0].alive);
  CHECK(nodes[0].labels.at("zone") == "a");
  CHECK(nodes[0].resources.at("disk") == 3);
  const auto all = ray::cluster_resources();
  CHECK(all.at("CPU") == 2);
  CHECK(all.at("GPU") == 0.5);
  CHECK(all.at("memory") > 0);
  CHECK(ray::available_resources().at("disk") == 3);
}

TEST_CASE("handles outlive the session: to destroy is safe, all else throws") {
  ray::future<int> ready;
  ray::future<std::string> stored;
  ray::future<int> later;
  ray::actor<counter> actor;
  ray::queue<int> queue;
  ray::barrier barrier;
  ray::placement_group group;
  std::optional<ray::stream<int>> stream;
  {
    auto session = ray::init({.num_cpus = 1});
    ready = ray::remote(plain)(1);
    ready.wait();
    stored = ray::put(std::string(1000, 'x'));
    actor = ray::make_actor<counter>();
    later = actor.call(&counter::add, 1);
    queue = ray::queue<int>(2);
    queue.put(1);
    barrier = ray::barrier(2);
    group = ray::placement_group({{.num_cpus = 1}});
    stream.emplace(ray::remote(count_up)(3));
  }
  CHECK_THROWS_AS(ready.get(), ray::usage_error);
  CHECK_THROWS_AS(ready.wait(), ray::usage_error);
  CHECK_THROWS_AS((void)stored.view(), ray::usage_error);
  CHECK_THROWS_AS(later.get(), ray::usage_error);
  CHECK_THROWS_AS((void)actor.call(&counter::add, 1), ray::usage_error);
  CHECK_THROWS_AS(actor.kill(), ray::usage_error);
  CHECK_THROWS_AS(queue.put(1), ray::usage_error);
  CHECK_THROWS_AS(barrier.arrive_and_wait(), ray::usage_error);
  CHECK_THROWS_AS(ray::cancel(ready), ray::usage_error);
  CHECK_THROWS_AS((void)ready.then(plain), ray::usage_error);
  CHECK_THROWS_AS((void)stream->next(), ray::usage_error);
  CHECK_THROWS_AS(group.remove(), ray::usage_error);
  {
    // In another session they are as dead.
    auto session = ray::init({.num_cpus = 1});
    CHECK_THROWS_AS((void)actor.call(&counter::add, 1).get(), ray::error);
    CHECK(ray::remote(plain)(2).get() == 2);
    ready = ray::remote(plain)(3);
    CHECK(ready.get() == 3);
  }
}

TEST_CASE("the end of a session frees every object, in whatever order handles go") {
  {
    ray::future<tracked> left;
    std::shared_ptr<const tracked> view;
    auto session = ray::init({.num_cpus = 2});
    std::vector<ray::future<tracked>> all;
    for (int i = 0; i < 100; ++i) all.push_back(ray::put(tracked()));
    for (int i = 0; i < 100; ++i) {
      all.push_back(
          ray::remote([](const tracked& one) { return one; })(all[static_cast<std::size_t>(i)]));
    }
    left = all[7];
    view = all[9].view();
    auto nested = ray::put(std::vector{all[1], all[2]});
    (void)ray::remote([](const std::vector<ray::future<tracked>>&) {})(nested);
    session = {};
    CHECK(tracked::alive >= 1);
    CHECK(view->unused == 0);
  }
  CHECK(tracked::alive == 0);
}
