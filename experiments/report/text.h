#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text as the program shows it: bytes that came from outside are made harmless first, and nothing
// here depends on the locale. What characters are comes from utf8proc.

namespace experiments::report {

/// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

/// `text` with control characters, invisible ones and bytes that are not UTF-8 as escapes ("\n",
/// "\x1b").
std::string printable(std::string_view text);

inline constexpr std::size_t kPathShown = 100;  // characters of a path in a message

/// printable(text) between single quotes, cut to `limit` characters.
std::string quote(std::string_view text, std::size_t limit = 40);

/// Columns on a terminal: two for a wide character (East Asian, emoji), none for a combining
/// mark. Escape sequences are not recognised.
std::size_t display_width(std::string_view text);

/// The grapheme clusters: a character with the marks that stand on it is one piece.
std::vector<std::string> clusters(std::string_view text);

/// `text` in exactly `width` columns: padded with blanks, or cut and ended with `cut`.
std::string fitted(std::string_view text, std::size_t width, std::string_view cut = "~");

/// `text` as one word of a POSIX shell.
std::string shell_word(std::string_view text);

/// The one of `known` that `text` is most likely a misspelling of; "" if none is close.
std::string nearest(std::string_view text, std::span<const std::string> known);

/// "; did you mean 'rows'?", or "" if none is close.
std::string did_you_mean(std::string_view text, std::span<const std::string> known);

std::string join(std::span<const std::string> words, std::string_view separator);

/// `text` broken at blanks into lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace experiments::report
