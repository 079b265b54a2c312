# Debian's fmt for WebAssembly: its package refuses another word size than the machine's, and its library is the
# machine's; so compile the few functions of it from its headers.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
file(CREATE_LINK /usr/include/fmt ${CMAKE_BINARY_DIR}/headers/fmt SYMBOLIC)
if(NOT TARGET fmt::fmt)
  add_library(gradlab_page_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
  target_compile_features(gradlab_page_fmt PUBLIC cxx_std_20)
  target_include_directories(gradlab_page_fmt SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/headers)
  add_library(fmt::fmt ALIAS gradlab_page_fmt)
endif()
