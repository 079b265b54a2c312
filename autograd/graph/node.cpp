#include "autograd/graph/node.h"

#include <atomic>

namespace autograd {
namespace {

std::atomic<std::uint64_t> next_id{1};
std::atomic<std::int64_t> live_count{0};

// What dying nodes held. Destroying an edge may end the node behind it, which then only adds to
// this list instead of recursing; the outermost ~Node empties it. Set while one of them does.
thread_local std::vector<Edge>* pending_edges = nullptr;
thread_local std::vector<JointRule>* pending_rules = nullptr;

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
  if (pending_edges) {
    for (Edge& edge : edges) pending_edges->push_back(std::move(edge));
    if (joint) pending_rules->push_back(std::move(joint));
    return;
  }
  std::vector<Edge> held = std::move(edges);
  std::vector<JointRule> rules;
  if (joint) rules.push_back(std::move(joint));
  pending_edges = &held;
  pending_rules = &rules;
  while (!held.empty() || !rules.empty()) {
    if (!held.empty()) {
      const Edge edge = std::move(held.back());  // dies here, after it left the list
      held.pop_back();
    } else {
      const JointRule rule = std::move(rules.back());
      rules.pop_back();
    }
  }
  pending_edges = nullptr;
  pending_rules = nullptr;
}

std::int64_t Node::live() { return live_count.load(std::memory_order_relaxed); }

}  // namespace autograd
