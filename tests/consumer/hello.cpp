#include <iostream>

#include "autograd/ops.h"

int main() {
  using namespace autograd;
  Tensor x = tensor({1, 2, 3}).requires_grad_();  // three logits
  Tensor p = softmax(x, 0);                       // 0.0900, 0.2447, 0.6652
  Tensor loss = -log(p.select(0, 2));             // the cross-entropy of class 2
  loss.backward();
  std::cout << loss << '\n' << x.grad() << '\n';  // the gradient is p - (0, 0, 1)
}
