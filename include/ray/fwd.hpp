/// The names of ray's types, declared.
#pragma once

namespace ray {

template <typename Value>
class future;
template <typename Class>
class actor;
template <typename Result>
class task;
template <typename Value>
class generator;
template <typename Value>
class stream;
template <typename Function, typename... Values>
class bound_function;
class session;
class placement_group;

}  // namespace ray
