#!/usr/bin/env bash
# tests/lint/docs.sh: checks that every relative link in *.md leads to a file or folder of
# the tree, and that a link into a page (page.md#heading) names one of its headings. Reads
# files only, and never uses the network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

pages() { find . -name '*.md' -not -path './build*' -not -path './.git/*' -print | sort; }

# Removes code, in which brackets have another meaning.
prose() { sed -e '/^ *```/,/^ *```/d' -e 's/`[^`]*`//g' "$1"; }

# "[text](target)" and "[text]: target", one target a line.
links() {
	prose "$1" | grep -oE '\]\([^() ]+\)' | sed 's/^](//; s/)$//' || true
	prose "$1" | grep -E '^ *\[[^]]+\]: ' | sed -E 's/^ *\[[^]]+\]: *([^ ]+).*/\1/' || true
}

# Makes anchors from headings as GitHub does.
anchors() {
	sed -e '/^ *```/,/^ *```/d' "$1" | sed -n -E 's/^#{1,6} +//p' | tr '[:upper:]' '[:lower:]' |
		sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

count=0
broken=0
complain() {
	echo "$1: $2: $3"
	broken=$((broken + 1))
}

while read -r page; do
	while read -r link; do
		case $link in
		'' | [a-z]*://* | mailto:*) continue ;;
		esac
		count=$((count + 1))
		path=${link%%#*}
		target=$page
		[ -n "$path" ] && target=$(dirname "$page")/$path
		case $path in
		/*) complain "$page" "$link" "want a relative link" && continue ;;
		esac
		if [ ! -e "$target" ]; then
			complain "$page" "$link" "leads nowhere"
		elif [[ $link == *#* && $target == *.md ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
			complain "$page" "$link" "no such heading"
		fi
	done < <(links "$page")
done < <(pages)

if [ "$count" -eq 0 ]; then
	echo "no link was found at all: is the search broken?"
	exit 1
fi
echo "$count links, $broken broken"
[ "$broken" -eq 0 ]
