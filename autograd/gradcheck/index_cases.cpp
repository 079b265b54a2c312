#include <algorithm>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

/// A dim of a shape, and as many positions along it as `length` says, in range and often equal:
/// none where the dim is empty.
struct Line {
  int dim, axis;
  Index size, length;
};

Line line_of(Draw& d, const Shape& shape) {
  const int dim = d.dim(shape);
  const int axis = shape.axis(dim, "gradcheck");
  const Index length = d.has_long_row() ? d.row() : d.positive_size(9);
  return {dim, axis, shape[axis], shape[axis] == 0 ? 0 : length};
}

/// An index for gather and scatter_add: in half of the trials shorter than x beside the dim.
Tensor line_index(Draw& d, const Shape& shape, const Line& line) {
  Shape at = shape.with(line.axis, line.length);
  const bool shorter = d.trial() % 2 == 0;
  for (int i = 0; shorter && i < shape.rank(); ++i) {
    if (i != line.axis) at = at.with(i, d.integer(std::min<Index>(1, shape[i]), shape[i]));
  }
  return d.indices(at, line.size);
}

Trial padded(Draw& d) {
  const Shape shape = d.shape();
  std::vector<Index> margins;
  for (Index i = d.integer(0, shape.rank()); i > 0; --i) {
    const Index size = shape[shape.rank() - 1 - static_cast<int>(margins.size() / 2)];
    const Index cut = d.has_long_row() && size <= 4 ? 0 : std::min<Index>(2, size / 2);
    margins.push_back(d.integer(-cut, 3));
    margins.push_back(d.integer(-cut, 3));
  }
  const double value = d.number(-2, 2);
  return {{d.normal(shape)},
          [margins, value](const Inputs& in) { return pad(in[0], margins, value); },
          !d.has_long_row()};
}

/// Windows that overlap, that touch, and that leave gaps.
Trial windows_of(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Index length = shape[shape.axis(dim, "unfold")];
  const Index least = d.has_long_row() ? 1 : 0;
  const Index size = d.integer(least, std::min<Index>(length, 5));
  const Index step = d.integer(1, 6);
  return {{d.normal(shape)},
          [dim, size, step](const Inputs& in) { return unfold(in[0], dim, size, step); },
          size == 0};
}

Trial selected_slices(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const Line line = line_of(d, shape);
  const Tensor index = d.indices({line.length}, line.size);
  return {{d.normal(shape), index},
          [dim = line.dim](const Inputs& in) { return index_select(in[0], dim, in[1]); }};
}

Trial gathered_elements(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const Line line = line_of(d, shape);
  const Tensor index = line_index(d, shape, line);
  return {{d.normal(shape), index},
          [dim = line.dim](const Inputs& in) { return gather(in[0], dim, in[1]); }};
}

Trial scattered_sums(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const Line line = line_of(d, shape);
  const Tensor index = line_index(d, shape, line);
  return {{d.normal(shape), d.normal(index.shape()), index},
          [dim = line.dim](const Inputs& in) { return scatter_add(in[0], dim, in[2], in[1]); }};
}

Trial sorted_values(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Descending descending = d.chance(0.5) ? Descending::yes : Descending::no;
  return {{d.distinct(shape)},
          [dim, descending](const Inputs& in) { return sort(in[0], dim, descending).values; }};
}

Trial largest_values(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = shape[shape.axis(dim, "topk")], least = d.has_long_row() ? 1 : 0;
  const Index k = d.integer(least, size);
  const Largest largest = d.chance(0.5) ? Largest::yes : Largest::no;
  return {{d.distinct(shape)},
          [=](const Inputs& in) { return topk(in[0], k, dim, largest).values; },
          k == 0};
}

/// Some trials have more columns than one block of them.
Trial running_sums(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.trial() % 4 == 3 ? 0 : d.dim(shape);
  return {{d.normal(shape)}, [dim](const Inputs& in) { return cumsum(in[0], dim); }};
}

}  // namespace

std::vector<GradcheckCase> index_cases() {
  return {{"pad", padded},
          {"unfold", windows_of},
          {"index_select", selected_slices},
          {"gather", gathered_elements},
          {"scatter_add", scattered_sums},
          {"sort", sorted_values},
          {"topk", largest_values},
          {"cumsum", running_sums}};
}

}  // namespace autograd::detail
