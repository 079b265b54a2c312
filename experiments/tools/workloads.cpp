#include "experiments/tools/workloads.h"

#include <utility>

namespace experiments::tools {
namespace {

constexpr Index kBatch = 12;  // of the nanoGPT recipe
const std::vector<Index> kSizes = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

Workload renamed(std::string name, Workload workload) {
  workload.name = std::move(name);
  return workload;
}

void add_gemms(DType dtype, std::vector<Workload>& all) {
  // qkv, fc, proj of the MLP and head of the nanoGPT model; qkv of GPT-2 small.
  constexpr GemmShape kShapes[] = {
      {768, 128, 384}, {768, 128, 512}, {768, 512, 128}, {768, 128, 65}, {1024, 768, 2304}};
  for (const GemmShape& shape : kShapes) {
    for (const Product product : {Product::y, Product::dx, Product::dw}) {
      all.push_back(gemm(shape, product, dtype));
    }
  }
}

void add_row_ops(DType dtype, std::vector<Workload>& all) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    all.push_back(row_op(RowOp::softmax, 3072, 64, pass, dtype));  // B H T rows of T scores
    all.push_back(row_op(RowOp::softmax, 12288, 1024, pass, dtype));
    all.push_back(row_op(RowOp::layer_norm, 768, 128, pass, dtype));
    all.push_back(row_op(RowOp::layer_norm, 1024, 768, pass, dtype));
    all.push_back(row_op(RowOp::gelu, 768, 512, pass, dtype));
    all.push_back(row_op(RowOp::gelu, 1024, 3072, pass, dtype));
  }
}

void add_attention(DType dtype, std::vector<Workload>& all) {
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    all.push_back(attention_layer({2, 128, 768, 12}, pass, dtype));
    for (Index T = 128; T <= 8192; T *= 2) {
      all.push_back(attention_layer({1, T, 768, 12}, pass, dtype));
    }
  }
}

}  // namespace

std::vector<Workload> headline_workloads(DType dtype) {
  return {
      renamed("attention", attention_layer({2, 128, 768, 12}, Pass::backward, dtype)),
      renamed("attention_long", attention_layer({1, 1024, 768, 12}, Pass::backward, dtype)),
      renamed("gelu", row_op(RowOp::gelu, 1024, 3072, Pass::backward, dtype)),
      renamed("gemm", gemm({768, 128, 512}, Product::y, dtype)),
      renamed("gemm_gpt2", gemm({1024, 768, 2304}, Product::y, dtype)),
      gpt_step(nano_gpt(dtype), kBatch),
      renamed("layer_norm", row_op(RowOp::layer_norm, 1024, 768, Pass::backward, dtype)),
      mlp(16, 16, dtype),
      scaling_rows(kSizes, 1600, dtype),
      renamed("softmax", row_op(RowOp::softmax, 12288, 1024, Pass::backward, dtype)),
  };
}

std::vector<Workload> all_workloads(DType dtype) {
  std::vector<Workload> all;
  add_gemms(dtype, all);
  add_row_ops(dtype, all);
  add_attention(dtype, all);
  all.push_back(mlp(16, 16, dtype));
  all.push_back(chain(1'000'000, dtype));
  all.push_back(gpt_step(nano_gpt(dtype), kBatch));
  all.push_back(scaling_rows(kSizes, 1600, dtype));
  return all;
}

}  // namespace experiments::tools
