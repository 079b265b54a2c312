#include <algorithm>
#include <numeric>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

Trial reshape_to_other(Draw& d) {
  const Shape from = d.shape();
  std::vector<Index> sizes(from.sizes().begin(), from.sizes().end());
  if (d.chance(0.5)) std::reverse(sizes.begin(), sizes.end());
  if (d.chance(0.5)) sizes = {from.numel()};
  const Shape to(sizes);
  return of(d.normal(from), [to](const Tensor& x) { return reshape(x, to); });
}

Trial transpose_two(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int i = d.dim(shape), j = d.dim(shape);
  return of(d.normal(shape), [i, j](const Tensor& x) { return transpose(x, i, j); });
}

Trial permute_all(Draw& d) {
  const Shape shape = d.shape();
  std::vector<int> dims(static_cast<std::size_t>(shape.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  for (int i = shape.rank() - 1; i > 0; --i) std::swap(dims[i], dims[d.integer(0, i)]);
  return of(d.normal(shape), [dims](const Tensor& x) { return permute(x, dims); });
}

Trial squeeze_one(Draw& d) {
  Shape shape = d.shape(0, 3);
  const int behind = d.has_long_row() ? shape.rank() - 1 : shape.rank();
  const int axis = static_cast<int>(d.integer(0, behind));
  shape = shape.inserted(axis, 1);
  const int dim = d.chance(0.5) ? axis : axis - shape.rank();
  return of(d.normal(shape), [dim](const Tensor& x) { return squeeze(x, dim); });
}

Trial unsqueeze_one(Draw& d) {
  const Shape shape = d.shape(0, 3);
  const int dim = static_cast<int>(d.integer(-shape.rank() - 1, shape.rank()));
  return of(d.normal(shape), [dim](const Tensor& x) { return unsqueeze(x, dim); });
}

Trial expand_to(Draw& d) {
  const Shape full = d.shape();
  return of(d.normal(d.broadcastable_to(full)),
            [full](const Tensor& x) { return expand(x, full); });
}

Trial narrow_part(Draw& d) {
  const Shape shape = d.shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = shape[shape.axis(dim, "narrow")];
  const Index least = d.has_long_row() ? 1 : 0;  // so that something is left to check
  const Index start = d.integer(0, size - least), length = d.integer(least, size - start);
  return of(d.normal(shape), [dim, start = d.chance(0.5) ? start : start - size,
                              length](const Tensor& x) { return narrow(x, dim, start, length); });
}

Trial select_one(Draw& d) {
  const Shape shape = d.nonempty_shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = shape[shape.axis(dim, "select")];
  const Index index = d.integer(-size, size - 1);
  return of(d.normal(shape), [dim, index](const Tensor& x) { return select(x, dim, index); });
}

/// The parts come back in reverse order, each with its own factor; the first may stay unused.
Trial split_parts(Draw& d) {
  const Shape shape = d.nonempty_shape(1, 4);
  const int dim = d.dim(shape);
  const Index size = d.integer(1, shape[shape.axis(dim, "split")]);
  const bool skip_first = d.chance(0.3);
  return {{d.normal(shape)}, [dim, size, skip_first](const Inputs& in) {
            const std::vector<Tensor> parts = split(in[0], size, dim);
            Inputs used;
            for (std::size_t i = parts.size(); i-- > 0;) {
              if (i > 0 || !skip_first || parts.size() == 1) {
                used.push_back(parts[i] * (1.0 + static_cast<double>(i)));
              }
            }
            return concat(used, dim);
          }};
}

Trial concat_parts(Draw& d) {
  const Shape shape = d.shape(1, 3);
  const int dim = d.dim(shape);
  const int axis = shape.axis(dim, "concat");
  Inputs parts{d.normal(shape)};
  for (Index i = d.integer(0, 3); i > 0; --i) {
    parts.push_back(d.normal(shape.with(axis, d.integer(0, std::max<Index>(3, shape[axis])))));
  }
  return {parts, [dim](const Inputs& in) { return concat(in, dim); }};
}

Trial stack_parts(Draw& d) {
  const Shape shape = d.shape(0, 3);
  const int dim = static_cast<int>(d.integer(-shape.rank() - 1, shape.rank()));
  Inputs parts;
  for (Index i = d.integer(1, 4); i > 0; --i) parts.push_back(d.normal(shape));
  return {parts, [dim](const Inputs& in) { return stack(in, dim); }};
}

Trial lower_triangle(Draw& d) {
  const Shape shape = d.shape(2, 4);
  const Index diagonal = d.integer(d.has_long_row() ? 0 : -2, 3);
  return {{d.normal(shape)},
          [diagonal](const Inputs& in) { return tril(in[0], diagonal); },
          diagonal < 0};
}

Trial fill_under_mask(Draw& d) {
  const Shape shape = d.shape();
  const bool widens = d.trial() % 8 == 0;  // the mask has dims that x lacks
  const Tensor mask = d.mask(widens ? shape : d.broadcastable_to(shape), 0.4);
  return {{d.normal(widens ? d.broadcastable_to(shape) : shape)},
          [mask](const Inputs& in) { return masked_fill(in[0], mask, -2.5); },
          true};
}

/// More look-ups than rows in most trials, so that indices repeat.
Trial embedding_rows(Draw& d) {
  const bool many = d.is_large() || d.trial() % 8 == 2;
  const Index rows = d.trial() % 8 == 2 ? d.integer(65, 80) : d.positive_size(9);
  const Shape at = many               ? Shape{9, 65}
                   : d.has_long_row() ? Shape{d.positive_size(4), d.positive_size(9)}
                                      : Shape{d.size(4), d.size(9)};
  const Index columns = d.row();
  const Tensor index = d.indices(at, rows);
  return {{d.normal(Shape{rows, columns}), index},
          [](const Inputs& in) { return embedding(in[0], in[1]); }};
}

}  // namespace

std::vector<GradcheckCase> layout_cases() {
  return {
      {"reshape", reshape_to_other},    {"transpose", transpose_two},  {"permute", permute_all},
      {"squeeze", squeeze_one},         {"unsqueeze", unsqueeze_one},  {"expand", expand_to},
      {"narrow", narrow_part},          {"select", select_one},        {"split", split_parts},
      {"concat", concat_parts},         {"stack", stack_parts},        {"tril", lower_triangle},
      {"masked_fill", fill_under_mask}, {"embedding", embedding_rows},
  };
}

}  // namespace autograd::detail
