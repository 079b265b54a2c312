#pragma once

#include "autograd/array/shape.h"

namespace experiments::measure {

using autograd::Index;

// What is known in closed form of a softmax row over T independent N(0, sigma^2) logits. J is its
// Jacobian diag(p) - p p^T, |J| the Frobenius norm, H the entropy in nats. "-> " marks a limit.

/// m_T = E[max of T standard normals], by quadrature.
double expected_max(Index T);
/// gap_T = median of (largest - second largest) of T standard normals, by quadrature.
double median_top_gap(Index T);
/// E[1 / |q|] for q ~ N(0, I_d) = Gamma((d-1)/2) / (sqrt 2 Gamma(d/2)); infinite for d = 1.
double expected_inverse_norm(Index d);

/// Small sigma, both up to higher orders: E[H] = ln T - (sigma^2/2)(1 - 1/T) + (3/4) sigma^4
/// (T-1)/T^2 and |J| -> sqrt(T-1)/T.
double small_sigma_entropy(Index T, double sigma);
double small_sigma_jacobian(Index T);

/// Large sigma: only rows whose two largest logits are within O(1) of each other still count, and
/// the density of such gaps at 0 is m_T / sigma.
double large_sigma_entropy(Index T, double sigma);          // E[H] -> (pi^2/6) m_T / sigma
double large_sigma_lost_mass(Index T, double sigma);        // E[1 - p_max] -> ln 2 m_T / sigma
double large_sigma_jacobian(Index T, double sigma);         // E|J| -> m_T / sigma
double large_sigma_jacobian_square(Index T, double sigma);  // E|J|^2 -> m_T / (3 sigma)
double large_sigma_jacobian_median(Index T, double sigma);  // ~ 2 exp(-sigma gap_T)

}  // namespace experiments::measure
