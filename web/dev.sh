# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The console's part of ./dev, which reads this: what it is built with, its build and its tests.

# What was installed by hand will do as well.
need_node() {
	command -v npm >/dev/null || need nodejs npm
	if ! cmp -s web/package-lock.json web/node_modules/.dev-lock; then
		say "fetch what the console is built with (npm ci)"
		quietly "$BUILDDIR/web-npm.log" npm --prefix web ci || return 1
		cp web/package-lock.json web/node_modules/.dev-lock
	fi
}

web_step() {
	say "web: $2"
	quietly "$BUILDDIR/web-$1.log" npm --prefix web run --silent "$1"
}

# launch_web LABEL SCRIPT: tests by node's own runner, into a log of their own.
launch_web() {
	date +%s >"$BUILDDIR/web-$1.began"
	npm --prefix web run --silent "$2" >"$BUILDDIR/web-$1.log" 2>&1 || true
	date +%s >"$BUILDDIR/web-$1.ended"
}

# report_web LABEL: it counts them itself.
report_web() {
	log=$BUILDDIR/web-$1.log
	ok=$(sed -n 's/^# pass //p' "$log") bad=$(sed -n 's/^# fail //p' "$log")
	skip=$(sed -n 's/^# skipped //p' "$log")
	[ "$ok" ] || {
		tail -n 15 "$log"
		broken "$1: the tests did not run"
		return 0
	}
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	[ "$bad" = 0 ] || {
		grep -A 25 -E '^ *not ok ' "$log" | head -n 60
		# Where the file failed and no test of it did, only these lines say why.
		grep -E '^# ' "$log" | grep -v -E '^# (Subtest|[a-z_]+ [0-9.]+$)' | tail -n 30
		echo "    ($1: all of it is in $log)"
	}
	took=$(($(cat "$BUILDDIR/web-$1.ended") - $(cat "$BUILDDIR/web-$1.began")))
	echo "    $1: $ok passed, $bad failed, $skip skipped, $took s"
}

run_web() {
	say "test $1"
	launch_web "$@"
	report_web "$1"
}

# In a subshell, which ends where something cannot be installed.
find_web_tools() {
	need_node || exit 1
	[ "${CHROMIUM-}" ] || command -v chromium >/dev/null || need chromium
	[ "${CHROMIUM-}" ] || command -v chromium >/dev/null || exit 1
}

# Before cleaved is compiled, so that it has what is tested.
has_web=
prepare_web() {
	mkdir -p "$BUILDDIR"
	if ! (find_web_tools); then
		say "the console is skipped: npm, its packages or chromium cannot be had here"
		skipped=$((skipped + 1))
	elif web_step check "check types" && web_step build "build into web/dist"; then
		# shellcheck disable=SC2034 # dev reads it
		has_web=1
	else
		broken "web: it cannot be built"
	fi
}

verb_web() {
	browser='' pictures=''
	for word; do
		case $word in
		--test) browser=1 ;;
		--screenshots) pictures=1 ;;
		*) usage "web takes --test and --screenshots, not '$word'" ;;
		esac
	done
	mkdir -p "$BUILDDIR"
	need_node
	web_step check "check types"
	web_step build "build into web/dist"
	if [ "$browser$pictures" ]; then
		[ "${CHROMIUM-}" ] || need chromium
		[ -z "$pictures" ] || need fonts-inter
		verb_build
	fi
	run_web unit test
	[ -z "$browser" ] || CLEAVE_SLOW_TESTS=1 run_web browser test:browser
	[ -z "$pictures" ] || web_step screenshots "take pictures into docs/screenshots"
	say "web/dist is built: ./dev build takes it into cleaved"
	finish
}
