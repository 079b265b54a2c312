#pragma once

#include "autograd/array/array.h"

namespace autograd {

// Elements that are taken from, or added to, the positions along one axis that an index (i64)
// names. Equal positions add up in the order of the index, on one thread: same bits for any number
// of threads. The index has passed check_indices() before.

/// DTypeError, in the name of `op`, unless the index is i64; ValueError, with its position, for one
/// outside [0, limit).
void check_indices(const Array& index, Index limit, const char* op);

/// y[.., j, ..] = a[.., index[.., j, ..], ..]: the index is as long as the result along every axis,
/// and beside `axis` no longer than a.
Array gather(const Array& a, int axis, const Array& index);
/// into[.., index[.., j, ..], ..] += g[.., j, ..]; g has the shape of the index. Not for b8.
void scatter_add(Array& into, int axis, const Array& index, const Array& g);

/// y[.., j, ..] = a[.., index[j], ..] for whole slices; the index counts row-major.
Array index_select(const Array& a, int axis, const Array& index);
/// into[.., index[j], ..] += g[.., j, ..]; floats.
void index_add(Array& into, int axis, const Array& index, const Array& g);

}  // namespace autograd
