// expect: ray: this aggregate has a reference member
#include <ray/serializable.hpp>

struct watcher {
  int id;
  const int& watched;
};

constexpr void check() { ray::require_serializable<watcher>(); }
