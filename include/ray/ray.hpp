/// Ray for C++: tasks, actors and objects, in one process and on a cluster. This header gives the
/// whole of the core API but `<ray/gpu.hpp>`.
#pragma once

#include <ray/actor.hpp>
#include <ray/actor_pool.hpp>
#include <ray/amount.hpp>
#include <ray/barrier.hpp>
#include <ray/bind.hpp>
#include <ray/cluster.hpp>
#include <ray/config.hpp>
#include <ray/duration.hpp>
#include <ray/error.hpp>
#include <ray/exception.hpp>
#include <ray/future.hpp>
#include <ray/id.hpp>
#include <ray/log.hpp>
#include <ray/options.hpp>
#include <ray/parallel.hpp>
#include <ray/placement.hpp>
#include <ray/queue.hpp>
#include <ray/remote.hpp>
#include <ray/serializable.hpp>
#include <ray/session.hpp>
#include <ray/stream.hpp>
#include <ray/task.hpp>
#include <ray/this_task.hpp>
