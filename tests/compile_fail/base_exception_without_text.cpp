// expect: ray: RAY_EXCEPTION needs a class that can be made again in another process
#include <ray/exception.hpp>

struct failure : std::exception {
  failure(int value, int limit) : code(value < limit ? value : limit) {}
  int code;
};
RAY_EXCEPTION(failure)
