#include "autograd/machine/gemm.h"

#include <Eigen/Core>

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
