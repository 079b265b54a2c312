#pragma once

// Which sanitizer this is compiled with: g++ defines a macro for each, clang answers __has_feature.

#if defined(__has_feature)
#define GRADLAB_HAS_FEATURE(name) __has_feature(name)
#else
#define GRADLAB_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || GRADLAB_HAS_FEATURE(address_sanitizer)
#define GRADLAB_ASAN 1
#else
#define GRADLAB_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || GRADLAB_HAS_FEATURE(thread_sanitizer)
#define GRADLAB_TSAN 1
#else
#define GRADLAB_TSAN 0
#endif
