#!/usr/bin/env bash
# Preset release compiles a folder as one unit, where functions that its files hide in unnamed namespaces become
# overloads of each other. Of one name and number of parameters they may take each other's calls without a word.
# Prints every such pair, and then fails.
#   unity.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

# "folder/name/parameters file" of each function between `namespace {` and its end.
hidden() {
  find autograd nn experiments -name '*.cpp' -print0 | xargs -0 awk '
    function flush(   i, c, depth, count, rest) {
      gsub(/<[a-z]*\([^()]*\)>/, "", head)  # std::function<void()>
      name = head; sub(/\(.*/, "", name); sub(/.*[ &*]/, "", name)
      rest = substr(head, index(head, "(") + 1)
      count = rest ~ /^ *\)/ ? 0 : 1
      for (i = 1; i <= length(rest); ++i) {
        c = substr(rest, i, 1)
        if (c ~ /[(<{]/) ++depth
        if (c ~ /[)>}]/ && --depth < 0) break
        if (c == "," && depth == 0) ++count
      }
      folder = FILENAME; sub(/[^\/]*$/, "", folder)
      print folder name "/" count, FILENAME
      head = ""
    }
    FNR == 1 || /^\}  \/\/ namespace/ { inside = 0; head = "" }
    /^namespace \{/ { inside = 1; next }
    inside && head == "" && /^[A-Za-z][^=]* [&*]*[a-z][A-Za-z0-9_]*\(/ && !/^(struct|class|enum|using|template|static_assert)/ { head = $0 " " }
    inside && head != "" { if (index(head, $0) != 1) head = head $0; if (head ~ /\).*[{;]/) flush() }'
}

clashes=$(hidden | sort -u | awk '
  { files[$1] = files[$1] " " $2; ++count[$1] }
  END { for (key in count) if (count[key] > 1) print key ":" files[key] }' | sort)
[ -z "$clashes" ] && exit
echo "hidden in several files of a folder (folder/name/parameters):"
echo "$clashes"
exit 1
