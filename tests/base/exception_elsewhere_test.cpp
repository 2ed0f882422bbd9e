// The second of the files that include exception_types.hpp.
#include "exception_types.hpp"

namespace exception_testing {

std::exception_ptr thrown_elsewhere() {
  return std::make_exception_ptr(by_string("from elsewhere"));
}

}  // namespace exception_testing
