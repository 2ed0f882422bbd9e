/// What the programs share: the text of an expected error, a wait for a condition that nobody
/// announces, and a gate that tasks wait at.
#pragma once

#include <ray/ray.hpp>

#include <doctest/doctest.h>
#include <string>
#include <thread>
#include <utility>

namespace programs {

/// Makes the call, which must throw an `Error` of exactly that type; its text.
template <typename Error, typename Call>
std::string text_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    CHECK(typeid(error) == typeid(Error));
    return error.what();
  } catch (const std::exception& error) {
    const std::string other = error.what();
    FAIL_CHECK("another error was thrown: " << other);
    return error.what();
  }
  FAIL_CHECK("nothing was thrown");
  return {};
}

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Waits until the condition holds; that it never does is for the test's time limit to find. For
/// what becomes true by itself a little later: a thread that looks for work may hold a CPU that no
/// task has any more, so `available_resources` rises some microseconds after the last task's end.
template <typename Condition>
void eventually(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

/// `eventually` so much of a resource is free. A test says it where a CHECK would be too early.
inline void await_available(const std::string& resource, double amount) {
  eventually([&] { return ray::available_resources().at(resource) == amount; });
}

/// A place where tasks wait until the test lets them go on. It travels as any handle does, and a
/// task that waits here lends its slot.
class gate {
 public:
  gate() : arrivals_(0), passes_(0) {}

  /// For the task: says that it is here, and waits for `open`.
  void pass() const {
    arrivals_.put(1);
    passes_.get();
  }
  /// For the test: waits until `count` more tasks are here.
  void await(int count = 1) const {
    for (int i = 0; i < count; ++i) arrivals_.get();
  }
  /// Lets `count` tasks go on.
  void open(int count = 1) const {
    for (int i = 0; i < count; ++i) passes_.put(1);
  }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(arrivals_, passes_);
  }

 private:
  ray::queue<int> arrivals_;
  ray::queue<int> passes_;
};

}  // namespace programs
