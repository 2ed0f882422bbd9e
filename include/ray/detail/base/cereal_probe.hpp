/// Asks a class for its cereal functions, with archives that do nothing, so that a question costs
/// little to compile and finds only what the class or its author brings.
#pragma once

#include <cereal/cereal.hpp>

#include <type_traits>

namespace ray::detail {

/// The namespaces of the parameters are searched for free functions too, and `cereal` is where
/// many people put theirs.
namespace probe {

template <typename Associated>
class saving : public cereal::detail::OutputArchiveBase {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;

  template <typename... Value>
  saving& operator()(Value&&...) {
    return *this;
  }
  template <typename Value>
  saving& operator&(Value&&) {
    return *this;
  }
  template <typename Value>
  saving& operator<<(Value&&) {
    return *this;
  }
};

template <typename Associated>
class loading : public cereal::detail::InputArchiveBase {
 public:
  using is_saving = std::false_type;
  using is_loading = std::true_type;

  template <typename... Value>
  loading& operator()(Value&&...) {
    return *this;
  }
  template <typename Value>
  loading& operator&(Value&&) {
    return *this;
  }
  template <typename Value>
  loading& operator>>(Value&&) {
    return *this;
  }
};

using saving_archive = saving<cereal::Exception>;
using loading_archive = loading<cereal::Exception>;

}  // namespace probe

/// How many ways cereal sees to save a T. More than one is an error of the class.
template <typename T>
inline constexpr int count_savers =
    cereal::traits::detail::count_output_serializers<T, probe::saving_archive>::value;

template <typename T>
inline constexpr int count_loaders =
    cereal::traits::detail::count_input_serializers<T, probe::loading_archive>::value;

template <typename T>
inline constexpr bool has_load_and_construct =
    cereal::traits::has_load_and_construct<T, probe::loading_archive>::value;

}  // namespace ray::detail

namespace cereal::traits::detail {

template <>
struct get_output_from_input<ray::detail::probe::loading_archive> {
  using type = ray::detail::probe::saving_archive;
};
template <>
struct get_input_from_output<ray::detail::probe::saving_archive> {
  using type = ray::detail::probe::loading_archive;
};

}  // namespace cereal::traits::detail
