// What may travel, and what may not: all of it is decided when this file compiles.
#include <ray/serializable.hpp>

#include <doctest/doctest.h>

#include <any>
#include <memory_resource>
#include <mutex>
#include <thread>

#include <ray/amount.hpp>
#include <ray/id.hpp>

namespace {

template <typename... T>
constexpr bool travel = (ray::serializable<T> && ...);
template <typename... T>
constexpr bool stay = (!ray::serializable<T> && ...);

struct point {
  double x, y, z;
};
struct with_function {
  int value;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
struct owning {
  std::string text;
};
struct owning_with_function {
  std::string text;
};
template <typename Archive>
void serialize(Archive& archive, owning_with_function& value) {
  archive(value.text);
}
struct with_minimal_functions {
  std::string text;
  template <typename Archive>
  std::string save_minimal(const Archive&) const {
    return text;
  }
  template <typename Archive>
  void load_minimal(const Archive&, const std::string& value) {
    text = value;
  }
};
class with_private_function {
  friend class cereal::access;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(text_);
  }
  std::string text_;
};
struct versioned {
  std::string text;
  template <typename Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(text);
  }
};
struct deduced {
  point where;
  std::string text;
  // The body is compiled to find out what it returns; it must be with any archive.
  auto serialize(auto& archive) { return archive(where, text), 0; }
};

TEST_CASE("arithmetic types, enumerations and arrays of them travel") {
  enum plain_enumeration { first };
  enum class scoped : char { second };
  static_assert(travel<bool, char, signed char, unsigned long long, char8_t, char32_t, wchar_t>);
  static_assert(travel<float, double, long double, std::byte, plain_enumeration, scoped>);
  static_assert(travel<const int, int[3], double[2][2], scoped[1]>);
  static_assert(stay<volatile int, int[], int* [3]>);
}

TEST_CASE("standard types travel when their parts do") {
  static_assert(travel<std::string, std::wstring, std::u8string, std::pmr::string>);
  static_assert(travel<std::vector<int>, std::vector<bool>, std::vector<std::vector<point>>>);
  static_assert(travel<std::deque<int>, std::list<std::string>, std::forward_list<point>>);
  static_assert(travel<std::array<std::string, 3>, std::valarray<double>, std::bitset<70>>);
  static_assert(travel<std::set<int>, std::multiset<std::string>, std::unordered_set<int>>);
  static_assert(travel<std::map<std::string, std::vector<point>>, std::multimap<int, int>>);
  static_assert(travel<std::unordered_map<int, std::set<int>>, std::unordered_multimap<int, int>>);
  static_assert(travel<std::stack<int>, std::queue<std::string>, std::priority_queue<int>>);
  static_assert(travel<std::pair<int, std::string>, std::tuple<>, std::tuple<int, point>>);
  static_assert(travel<std::optional<std::string>, std::variant<std::monostate, int, point>>);
  static_assert(travel<std::complex<float>, std::chrono::nanoseconds, std::atomic<int>>);
  static_assert(travel<std::chrono::system_clock::time_point, std::chrono::duration<double>>);
  static_assert(travel<std::unique_ptr<int>, std::unique_ptr<const point>>);
  static_assert(travel<std::shared_ptr<const std::string>>);
  static_assert(travel<std::set<int, std::greater<>>, std::less<int>, std::monostate>);
}

TEST_CASE("pointers, references, functions and views stay") {
  static_assert(stay<int*, const char*, void*, int&, int&&, void, std::nullptr_t>);
  static_assert(stay<int(), int (*)(), int point::*, int (point::*)()>);
  static_assert(stay<std::string_view, std::span<int>, std::span<const int, 3>>);
  static_assert(stay<std::initializer_list<int>, std::reference_wrapper<int>>);
  static_assert(stay<std::function<int()>, std::any, std::thread, std::mutex, std::exception_ptr>);
  static_assert(stay<std::shared_ptr<int>, std::weak_ptr<const int>, std::shared_ptr<const int*>>);
  static_assert(stay<std::unique_ptr<int[]>, std::shared_ptr<const int[]>>);
  static_assert(stay<std::unique_ptr<int, void (*)(int*)>, std::set<int, bool (*)(int, int)>>);
}

TEST_CASE("standard types are looked at all the way down") {
  static_assert(stay<std::vector<int*>, std::map<int, std::thread>, std::optional<std::span<int>>>);
  static_assert(stay<std::vector<std::vector<std::string_view>>, std::tuple<int, int*>>);
  static_assert(stay<std::variant<int, std::function<void()>>, std::pair<int, const char*>>);
  static_assert(stay<std::map<std::string_view, int>, std::unique_ptr<std::shared_ptr<int>>>);
  static_assert(stay<std::stack<int*>, std::atomic<int*>, std::array<int*, 2>, std::complex<int*>>);
  static_assert(stay<std::vector<owning>, std::shared_ptr<const owning>>);
}

TEST_CASE("trivially copyable aggregates travel when their members do") {
  struct of_arrays {
    point corners[2];
    int matrix[3][3];
    char name[500];
  };
  struct base {
    int first;
  };
  struct derived : base {
    float second;
  };
  struct bits {
    unsigned flag : 1;
    int number : 7;
  };
  struct with_standard_members {
    std::optional<int> maybe;
    std::variant<int, double> either;
    std::chrono::seconds time;
    std::complex<double> value;
    std::array<short, 3> three;
    long array[5];
  };
  struct with_defaults {
    int first = 1;
    double second = 2;
  };
  struct with_constant {
    const int fixed;
    double other;
  };
  struct nested {
    with_standard_members part;
    point where;
  };
  struct nothing {};
  static_assert(travel<point, of_arrays, derived, bits, with_standard_members, with_defaults>);
  static_assert(travel<with_constant, nested, nothing>);
}

TEST_CASE("aggregates with a member that stays stay") {
  struct pointer {
    int* where;
  };
  struct deep {
    point first;
    pointer second[2];
  };
  struct inherits : pointer {
    int other;
  };
  struct view {
    int id;
    std::string_view text;
  };
  struct span_behind_default {
    int id = 0;
    std::span<int> values = {};
  };
  struct reference {
    int& where;
  };
  struct constant_reference {
    int id;
    const int& where;
  };
  static const point origin{};
  struct defaulted_reference {
    const point& where = origin;
  };
  struct anonymous_union {
    bool is_pointer;
    union {
      int number;
      int* pointer;
    };
  };
  union choice {
    int number;
    float real;
  };
  struct of_unions {
    choice choices[2];
  };
  struct function {
    int (*call)(int);
  };
  struct optional_view {
    std::optional<std::string_view> text;
  };
  struct too_large_to_look_at {
    char text[5000];
  };
  static_assert(stay<pointer, deep, inherits, view, span_behind_default>);
  static_assert(stay<reference, constant_reference, defaulted_reference>);
  static_assert(stay<anonymous_union, choice, of_unions, function, optional_view>);
  static_assert(stay<owning, too_large_to_look_at>);
}

TEST_CASE("a member that brings its own functions is saved by them") {
  struct particle {
    point where;
    with_function tag;
    double history[3];
  };
  static_assert(travel<particle>);
  static_assert(!ray::detail::bitwise<particle> && ray::detail::memberwise<particle>);
  static_assert(ray::detail::member_count<particle> == 3);
  static_assert(ray::detail::bitwise<point> && !ray::detail::bitwise<with_function>);
}

TEST_CASE("classes travel by cereal functions of every form") {
  static_assert(travel<with_function, owning_with_function, with_minimal_functions>);
  static_assert(travel<with_private_function, versioned, deduced>);
}

// Outside of the test: a class may hold itself in a container, but a local one no templates.
struct tree {
  std::vector<tree> children;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(children);
  }
};
struct saved_only {
  std::string text;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(text);
  }
};
struct not_default {
  explicit not_default(int start) : value(start) {}
  int value;
  template <typename Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
struct constructed {
  explicit constructed(int start) : value(start) {}
  int value;
  template <typename Archive>
  void save(Archive& archive) const {
    archive(value);
  }
  template <typename Archive>
  static void load_and_construct(Archive& archive, cereal::construct<constructed>& construct) {
    int value = 0;
    archive(value);
    construct(value);
  }
};

TEST_CASE("a class must be made again, not saved alone") {
  static_assert(travel<tree>);
  static_assert(
      stay<saved_only, not_default, std::vector<not_default>, std::optional<not_default>>);
  static_assert(travel<constructed, std::unique_ptr<constructed>, std::vector<constructed>>);
  static_assert(travel<std::tuple<constructed, int>, std::shared_ptr<const constructed>>);
}

class money {
 public:
  explicit money(long cents) : cents_(cents) {}
  [[nodiscard]] long cents() const { return cents_; }

 private:
  long cents_;
};
class promised : public money {
  using money::money;
};

}  // namespace

template <>
inline constexpr bool ray::is_trivially_serializable<promised> = true;

namespace {

TEST_CASE("a class that nobody can look into says itself that its bytes are its value") {
  struct price {
    promised amount;
    int count;
  };
  struct hidden_price {
    money amount;
  };
  static_assert(stay<money, hidden_price, std::vector<money>>);
  static_assert(travel<promised, price, std::vector<promised>>);
  static_assert(ray::detail::bitwise<price>);
}

TEST_CASE("function objects travel when there is nothing in them") {
  const auto nothing = [](int x) { return x; };
  const auto something = [nothing, n = 1](int x) { return nothing(x) + n; };
  CHECK(something(1) == 2);
  static_assert(travel<std::remove_const_t<decltype(nothing)>, std::plus<>>);
  static_assert(stay<std::remove_const_t<decltype(something)>>);
}

TEST_CASE("ray's vocabulary travels") {
  static_assert(travel<ray::object_id, ray::node_id, ray::amount, std::vector<ray::task_id>>);
}

TEST_CASE("members are found by number and by reference") {
  struct three {
    int first;
    double second[2];
    point third;
  };
  three value{1, {2, 3}, {4, 5, 6}};
  ray::detail::with_members(value, [](int& first, double(&second)[2], point& third) {
    first += 10;
    second[1] += 10;
    third.z += 10;
  });
  CHECK(value.first == 11);
  CHECK(value.second[1] == 13);
  CHECK(value.third.z == 16);
  static_assert(ray::detail::aggregate::element_count<three> == 4);
  static_assert(ray::detail::aggregate::element_count<point> == 3);

  struct of_32 {
    int members[2];
    char a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc,
        dd, ee;
  };
  static_assert(ray::detail::member_count<of_32> == 32);
}

}  // namespace
