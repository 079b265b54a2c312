#include "autograd/gradcheck/op_cases.h"

namespace autograd {

std::span<const GradcheckCase> op_cases() {
  static const std::vector<GradcheckCase> cases = [] {
    std::vector<GradcheckCase> all;
    for (const auto part :
         {detail::elementwise_cases, detail::reduction_cases, detail::product_cases,
          detail::row_cases, detail::layout_cases, detail::index_cases}) {
      for (GradcheckCase& c : part()) all.push_back(std::move(c));
    }
    return all;
  }();
  return cases;
}

}  // namespace autograd
