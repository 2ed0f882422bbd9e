// expect: ray: a view \(std::string_view, std::span, std::initializer_list\) cannot travel
#include <ray/ray.hpp>

#include <string_view>

std::size_t length(std::string_view text) { return text.size(); }

std::size_t call() { return ray::remote(length)("text").get(); }
