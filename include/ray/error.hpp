/// The errors of ray. All derive from `ray::error`, and each `what()` says what happened, to which
/// task, actor, object or node (by name and id), why, and what the user can do.
#pragma once

#include <stdexcept>
#include <string>

namespace ray {

/// The base of every error that ray throws.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that makes no sense: no session, an absurd option, an empty handle.
class usage_error : public error {
 public:
  using error::error;
};

/// A task ended with an exception whose type cannot be rethrown here; see `RAY_EXCEPTION`.
class task_error : public error {
 public:
  using error::error;
};

/// The task was cancelled, or a child of a task that was.
class cancelled_error : public error {
 public:
  using error::error;
};

/// A wait or a task took longer than its limit.
class timeout_error : public error {
 public:
  using error::error;
};

/// The actor's constructor threw, its name was taken, or it ended, was killed or exited.
class actor_died_error : public error {
 public:
  using error::error;
};

/// The worker process that ran the task ended.
class worker_died_error : public error {
 public:
  using error::error;
};

/// The node that ran the task or held the object is gone.
class node_died_error : public error {
 public:
  using error::error;
};

/// The object's value is gone and cannot be made again.
class object_lost_error : public error {
 public:
  using error::error;
};

/// The object or the task does not fit into memory, after spilling too.
class out_of_memory_error : public error {
 public:
  using error::error;
};

/// No node could ever satisfy the request.
class infeasible_error : public error {
 public:
  using error::error;
};

/// An actor has `max_pending_calls` calls waiting.
class backpressure_error : public error {
 public:
  using error::error;
};

/// A value could not be turned into bytes or made from them.
class serialization_error : public error {
 public:
  using error::error;
};

/// Another process cannot be reached.
class connection_error : public error {
 public:
  using error::error;
};

/// The cluster token is missing or wrong.
class authentication_error : public error {
 public:
  using error::error;
};

/// Two processes speak different versions, or run different builds.
class version_error : public error {
 public:
  using error::error;
};

}  // namespace ray
