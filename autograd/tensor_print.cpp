#include <algorithm>
#include <ostream>

#include "autograd/tensor.h"

namespace autograd {
namespace {

constexpr Index kElideAbove = 1000;  // elements; longer tensors show the ends of each dim
constexpr Index kEnds = 3;

/// Writes nested brackets, numbers right-aligned in one width.
class Printer {
 public:
  explicit Printer(const Tensor& t)
      : t_(t), elides_(t.numel() > kElideAbove), strides_(t.shape().strides()) {
    each(0, 0, [this](Index at) { width_ = std::max(width_, number(at).size()); });
  }

  std::string text() {
    print(0, 0);
    return std::move(out_);
  }

 private:
  std::string number(Index at) const {
    if (t_.dtype() == DType::dual) {
      const Dual d = t_.data().read<Dual>()[static_cast<std::size_t>(at)];
      return fmt::format("{:.5g} + {:.5g} e", d.value, d.tangent);
    }
    const double v = t_.data().at(at);
    if (t_.dtype() == DType::b8) return v != 0 ? "true" : "false";
    if (t_.dtype() == DType::i64) {
      return fmt::format("{}", t_.data().read<std::int64_t>()[static_cast<std::size_t>(at)]);
    }
    return v != v ? "nan" : fmt::format("{:.5g}", v);
  }

  // The indices of an axis that are shown; -1 stands for the gap.
  std::vector<Index> shown(int axis) const {
    const Index n = t_.shape()[axis];
    std::vector<Index> list;
    for (Index i = 0; i < n; ++i) {
      if (elides_ && n > 2 * kEnds && i == kEnds) {
        list.push_back(-1);
        i = n - kEnds;
      }
      list.push_back(i);
    }
    return list;
  }

  template <class F>
  void each(int axis, Index at, F f) const {
    if (axis == t_.rank()) return f(at);
    for (const Index i : shown(axis)) {
      if (i >= 0) each(axis + 1, at + i * strides_[axis], f);
    }
  }

  void print(int axis, Index at) {
    if (axis == t_.rank()) {
      out_ += fmt::format("{:>{}}", number(at), width_);
      return;
    }
    const bool innermost = axis + 1 == t_.rank();
    const std::string gap =
        innermost ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 8, ' ');
    out_ += "[";
    bool first = true;
    for (const Index i : shown(axis)) {
      if (!first) out_ += gap;
      first = false;
      if (i < 0) out_ += "...";
      else print(axis + 1, at + i * strides_[axis]);
    }
    out_ += "]";
  }

  const Tensor& t_;
  bool elides_;
  Strides strides_;
  std::size_t width_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "tensor(undefined)";
  std::string text = fmt::format("tensor({}, shape={}, dtype={}", Printer(t).text(),
                                 t.shape().str(), name(t.dtype()));
  if (!t.op().empty()) text += ", op=" + t.op();
  if (t.requires_grad() && t.is_leaf()) text += ", requires_grad";
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }

}  // namespace autograd
