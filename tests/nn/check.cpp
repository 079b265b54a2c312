#include "tests/nn/check.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace nn {

testing::AssertionResult is_close(const Tensor& got, const Tensor& want, double tolerance) {
  if (!got.defined() || !want.defined()) return testing::AssertionFailure() << "undefined";
  if (got.shape() != want.shape()) {
    return testing::AssertionFailure()
           << "shape " << got.shape().str() << ", expected " << want.shape().str();
  }
  double worst = -1;
  Index at = 0;
  for (Index i = 0; i < got.numel(); ++i) {
    const double a = got.data().at(i), b = want.data().at(i);
    const double error = std::abs(a - b) / std::max(1.0, std::abs(b));
    if (error > worst || std::isnan(error)) worst = error, at = i;
    if (std::isnan(error)) break;
  }
  if (worst <= tolerance) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << fmt::format("element {} is {}, expected {}: off by {:.3g} of {:.3g}", at,
                        got.data().at(at), want.data().at(at), worst, tolerance);
}

testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (autograd::bit_equal(a.data(), b.data())) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "different bits in\n" << a << "\nand\n" << b;
}

namespace {

Shape parse_shape(const std::string& text) {
  std::vector<Index> sizes;
  std::istringstream in(text);
  for (std::string size; std::getline(in, size, 'x');) sizes.push_back(std::stol(size));
  return Shape(sizes);
}

}  // namespace

Reference::Reference(const std::string& file) {
  const std::string path = std::string(GRADLAB_SOURCE_DIR) + "/tests/nn/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string case_name, name, shape, value;
    std::getline(fields, case_name, ',');
    std::getline(fields, name, ',');
    std::getline(fields, shape, ',');
    std::vector<double> values;
    while (std::getline(fields, value, ',')) values.push_back(std::stod(value));
    tensors_[{case_name, name}] =
        autograd::from_values<double>(std::span<const double>(values), parse_shape(shape));
  }
}

Tensor Reference::get(const std::string& case_name, const std::string& name) const {
  const auto found = tensors_.find({case_name, name});
  if (found == tensors_.end()) throw std::runtime_error("no reference " + case_name + " " + name);
  return found->second;
}

}  // namespace nn
