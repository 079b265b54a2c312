#include "autograd/graph/node.h"

#include <atomic>

namespace autograd {
namespace {

std::atomic<std::uint64_t> next_id{1};
std::atomic<std::int64_t> live_count{0};

/// What a dying node held.
struct Remains {
  std::vector<Edge> edges;
  JointRule joint;
  decltype(Node::hooks) hooks;
};

// Destroying what one node held may end another, which then only adds to this list instead of
// recursing; the outermost ~Node empties it. Null while none of them runs.
thread_local std::vector<Remains>* pending = nullptr;

}  // namespace

Node::Node(const char* op_name, const Shape& result, DType type)
    : id(next_id.fetch_add(1, std::memory_order_relaxed)),
      op(op_name),
      scope(Scope::shared_path()),
      shape(result),
      dtype(type) {
  live_count.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() {
  live_count.fetch_sub(1, std::memory_order_relaxed);
  Remains own{std::move(edges), std::move(joint), std::move(hooks)};
  if (pending) {
    pending->push_back(std::move(own));
    return;
  }
  std::vector<Remains> list;
  pending = &list;
  list.push_back(std::move(own));
  while (!list.empty()) {
    const Remains dying = std::move(list.back());  // ends here, after it left the list
    list.pop_back();
  }
  pending = nullptr;
}

std::int64_t Node::live() { return live_count.load(std::memory_order_relaxed); }

}  // namespace autograd
