#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of this tree with Debian's own tools.
#
# usage: packaging/build.sh OUTPUT [VERSION]
#
# OUTPUT is the folder for the packages; VERSION replaces the version in meson.build.  Builds
# are reproducible: all times are that of the last commit.
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
output=$(cd "$1" && pwd)
own=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$tree/meson.build")
version=${2:-$own}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/cleave-$version

in_git() {
	[ -e "$tree/.git" ] && git -C "$tree" rev-parse HEAD >/dev/null 2>&1
}

# Lists tracked files and new ones that are not ignored; without git, all but build outputs.
list_files() {
	cd "$tree"
	if in_git; then
		git ls-files --cached --others --exclude-standard
	else
		find . -type f ! -path './build*' ! -path './.git/*' ! -name '*.pyc'
	fi
}

copy_tree() {
	mkdir -p "$source"
	list_files | while read -r name; do
		# git also lists files whose removal is not committed.
		[ ! -e "$tree/$name" ] || echo "$name"
	done | tar -C "$tree" -c -T - | tar -C "$source" -x
	sed -i "s/^  version: '$own',$/  version: '$version',/" "$source/meson.build"
	cp -R "$source/packaging/debian" "$source/debian"
}

# It is built beforehand, because Debian's packages are built without a network.
copy_console() {
	[ -e "$tree/web/dist/index.html" ] || {
		echo "packaging/build.sh: the console is not built: ./dev web builds it" >&2
		exit 1
	}
	mkdir -p "$source/web"
	cp -R "$tree/web/dist" "$source/web/dist"
}

source_time() {
	if in_git; then
		git -C "$tree" log -1 --format=%ct
	else
		stat -c %Y "$tree/meson.build"
	fi
}

write_changelog() {
	maintainer=$(sed -n 's/^Maintainer: //p' "$source/debian/control")
	cat >"$source/debian/changelog" <<-END
		cleave ($version) unstable; urgency=medium

		  * Built from the tree of this version.

		 -- $maintainer  $(date -uR -d "@$SOURCE_DATE_EPOCH")
	END
}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(source_time)}
export SOURCE_DATE_EPOCH
copy_tree
copy_console
write_changelog
(cd "$source" && dpkg-buildpackage -us -uc)
rm -f "$output"/cleave* "$output"/libcleave*
find "$work" -maxdepth 1 -type f -exec mv {} "$output" \;
