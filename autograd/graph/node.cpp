#include "autograd/graph/node.h"

#include <atomic>

namespace autograd {
namespace {

std::atomic<std::uint64_t> next_id{1};
std::atomic<std::int64_t> live_count{0};

/// What a dying node held: its inputs, and closures that may hold Tensors.
struct Remains {
  std::vector<Edge> edges;
  decltype(Node::hooks) hooks;
};

// Why not let members destroy themselves: the last handle on a long graph ends its newest node,
// which ends its inputs, which end theirs. That recursion is as deep as the graph and overflows the
// stack. So a ~Node that runs inside another one only adds to this list, and the outermost empties
// it. Null while none runs.
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
  Remains own{std::move(edges), std::move(hooks)};
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

std::string Node::where() const { return scope ? fmt::format("{} (made in {})", op, *scope) : op; }

std::int64_t Node::live() { return live_count.load(std::memory_order_relaxed); }

}  // namespace autograd
