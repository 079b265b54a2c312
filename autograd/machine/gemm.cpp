#include "autograd/machine/gemm.h"

#include <Eigen/Core>
#include <vector>

#include "autograd/machine/parallel.h"

#ifdef GRADLAB_ONEDNN
#include <dnnl.h>
#endif

namespace autograd {
namespace {

template <class T, Eigen::StorageOptions order>
using Operand = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>,
                           Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using Result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                          Eigen::Unaligned, Eigen::OuterStride<>>;

// A transposed row-major operand is a column-major one.
template <class T, Eigen::StorageOptions order_a, Eigen::StorageOptions order_b>
void eigen_gemm(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b, Index ldb,
                T beta, T* c, Index ldc) {
  const Operand<T, order_a> x(a, m, k, Eigen::OuterStride<>(lda));
  const Operand<T, order_b> y(b, k, n, Eigen::OuterStride<>(ldb));
  Result<T> z(c, m, n, Eigen::OuterStride<>(ldc));
  if (beta == T(0)) z.noalias() = alpha * x * y;
  else z.noalias() += alpha * x * y;
}

template <class T>
void eigen_gemm(Index m, Index n, Index k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c,
                Index ldc) {
  constexpr auto row = Eigen::RowMajor, column = Eigen::ColMajor;
  const bool ta = a.trans == Trans::yes, tb = b.trans == Trans::yes;
  const auto run = ta ? (tb ? &eigen_gemm<T, column, column> : &eigen_gemm<T, column, row>)
                      : (tb ? &eigen_gemm<T, row, column> : &eigen_gemm<T, row, row>);
  run(m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c, ldc);
}

}  // namespace

template <>
void gemm(Index m, Index n, Index k, double alpha, Matrix<double> a, Matrix<double> b, double beta,
          double* c, Index c_stride) {
  eigen_gemm(m, n, k, alpha, a, b, beta, c, c_stride);
}

namespace {

/// The values and the tangents of a matrix of dual numbers as two of doubles, side by side.
class Parts {
 public:
  Parts(Matrix<Dual> m, Index rows, Index columns)
      : trans_(m.trans),
        columns_(m.trans == Trans::yes ? rows : columns),
        size_(rows * columns),
        parts_(static_cast<std::size_t>(2 * size_)) {
    for (Index row = 0, at = 0; at < size_; ++row) {  // no division, which would take longest
      for (Index column = 0; column < columns_; ++column, ++at) {
        const Dual x = m.data[row * m.stride + column];
        parts_[at] = x.value;
        parts_[size_ + at] = x.tangent;
      }
    }
  }
  Matrix<double> values() const { return {parts_.data(), columns_, trans_}; }
  Matrix<double> tangents() const { return {parts_.data() + size_, columns_, trans_}; }

 private:
  Trans trans_;
  Index columns_, size_;  // as they lie in memory
  std::vector<double> parts_;
};

}  // namespace

// (A + A' e) (B + B' e) = A B + (A B' + A' B) e.
template <>
void gemm(Index m, Index n, Index k, Dual alpha, Matrix<Dual> a, Matrix<Dual> b, Dual beta, Dual* c,
          Index c_stride) {
  const Parts x(a, m, k), y(b, k, n);
  std::vector<double> value(static_cast<std::size_t>(m * n)), tangent(value.size());
  gemm<double>(m, n, k, 1, x.values(), y.values(), 0, value.data(), n);
  gemm<double>(m, n, k, 1, x.values(), y.tangents(), 0, tangent.data(), n);
  gemm<double>(m, n, k, 1, x.tangents(), y.values(), 1, tangent.data(), n);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      const Dual product = alpha * Dual(value[i * n + j], tangent[i * n + j]);
      Dual& to = c[i * c_stride + j];
      to = beta == 0 ? product : to + product;
    }
  }
}

#ifdef GRADLAB_ONEDNN

constexpr Index kSmall = 40'000;  // multiplications up to which Eigen is the faster one

template <>
void gemm(Index m, Index n, Index k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
          float* c, Index c_stride) {
  if (m * n * k <= kSmall) return eigen_gemm(m, n, k, alpha, a, b, beta, c, c_stride);
  const auto letter = [](Trans trans) { return trans == Trans::yes ? 'T' : 'N'; };
  const LibraryCall call;
  const dnnl_status_t status = dnnl_sgemm(letter(a.trans), letter(b.trans), m, n, k, alpha, a.data,
                                          a.stride, b.data, b.stride, beta, c, c_stride);
  if (status != dnnl_success) {
    fail<NumericError>("matmul: oneDNN failed with status {} on {} x {} x {}",
                       static_cast<int>(status), m, k, n);
  }
}

const char* gemm_library() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
  }();
  return text.c_str();
}

#else

template <>
void gemm(Index m, Index n, Index k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
          float* c, Index c_stride) {
  eigen_gemm(m, n, k, alpha, a, b, beta, c, c_stride);
}

const char* gemm_library() {
  static const std::string text =
      fmt::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  return text.c_str();
}

#endif

}  // namespace autograd
