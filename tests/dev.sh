# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The part of ./dev, which reads this file, that runs tests and short samples of benches.

passed=0
failed=0
skipped=0

since() {
	echo "$(($(date +%s) - $1)) s"
}

count() {
	grep -cE "$1" "$2" 2>/dev/null || true
}

broken() {
	echo "FAILED $*"
	failed=$((failed + 1))
}

# The time limit of a test is for a hang; on a busy machine it is multiplied by this.
PATIENCE=4

# launch_tests LABEL DIR [OPTION...]: one run of meson test, with logs of its own.
launch_tests() {
	label=$1 dir=$2
	shift 2
	rm -f "$dir/meson-logs/dev-$label.json"
	date +%s >"$dir/dev-$label.began"
	# "python3" in a test is then not a version manager's script, which starts slowly.
	PATH=/usr/bin:$PATH meson test -C "$dir" --logbase "dev-$label" --num-processes "$JOBS" \
		--timeout-multiplier "$PATIENCE" --print-errorlogs "$@" \
		>"$dir/dev-$label.log" 2>&1 || true
	date +%s >"$dir/dev-$label.ended"
}

# report_tests LABEL DIR: counts the results of the run.
report_tests() {
	label=$1 dir=$2
	json=$dir/meson-logs/dev-$label.json
	[ -s "$json" ] || {
		tail -n 15 "$dir/dev-$label.log" || true
		broken "$label: the tests did not run"
		return 0
	}
	ok=$(count '"result": "(OK|EXPECTEDFAIL)"' "$json")
	skip=$(count '"result": "SKIP"' "$json")
	bad=$(($(count '"result": "' "$json") - ok - skip))
	passed=$((passed + ok)) skipped=$((skipped + skip)) failed=$((failed + bad))
	took=$(($(cat "$dir/dev-$label.ended") - $(cat "$dir/dev-$label.began")))
	show_trouble "$dir" "$label" "$skip" "$bad"
	echo "    $label: $ok passed, $bad failed, $skip skipped, $took s"
}

run_tests() {
	say "test $1"
	launch_tests "$@"
	report_tests "$1" "$2"
}

# run_measured_tests [NAME...]: the suite "measured", one test at a time.  A failed test runs once
# more, because other load on this machine can change a figure for some time.
run_measured_tests() {
	label=measured
	say "test $label"
	launch_tests "$label" "$BUILDDIR" --no-rebuild --suite measured --num-processes 1 "$@"
	json=$BUILDDIR/meson-logs/dev-$label.json
	began=$(cat "$BUILDDIR/dev-$label.began") first=$BUILDDIR/dev-$label.first.json
	failing=$(failing_tests "$json")
	again=$(echo "$failing" | tr '|' ' ')
	[ -z "$again" ] || {
		show_trouble "$BUILDDIR" "$label" 0 1
		say "once more: $again"
		mv "$json" "$first"
		# shellcheck disable=SC2086 # one word each
		launch_tests "$label" "$BUILDDIR" --no-rebuild --num-processes 1 $again
		echo "$began" >"$BUILDDIR/dev-$label.began"
		grep -vE " / ($failing)\"" "$first" >>"$json" || true
		n_again=$((${n_again:-0} + $(echo "$again" | wc -w)))
	}
	report_tests "$label" "$BUILDDIR"
}

failing_tests() {
	[ -s "$1" ] || return 0
	grep -vE '"result": "(OK|EXPECTEDFAIL|SKIP)"' "$1" |
		sed -n 's|^{"name": "[^"]* / \([^"]*\)".*|\1|p' | paste -sd '|'
}

# The names of skipped tests; failed tests, with the end of their output.
show_trouble() {
	awk '
		/^Summary of Failures|^Ok: / { exit }
		/^ *[0-9]+\/[0-9]+ / {
			failing = / (FAIL|TIMEOUT|ERROR|UNEXPECTEDPASS|INTERRUPT) /
			lines = 0
			if (/ SKIP /)
				print
		}
		failing && lines++ < 40
		/^(―)+$/ { failing = 0 }
	' "$1/dev-$2.log" | cut -c 1-300
	[ "$4" = 0 ] && return
	grep -E -A1 '^not ok ' "$1/meson-logs/dev-$2.txt" | head -n 20 || true
	echo "    ($2: the whole output is in $1/meson-logs/dev-$2.txt)"
}

# The names of a build's unit and fuzz tests that match a pattern, but the long one of two, and the
# benches' own, which is in Python.
tests_named() {
	meson test -C "$1" --list --suite unit --suite fuzz --no-suite slow 2>/dev/null |
		sed -n 's|^.* / ||p' | grep -E "$2" |
		grep -vE -e '-races$|^agent-explore-5$|^bench-selftest$' | tr '\n' ' '
}

# run_bench [OPTION...] NAME...: a figure that misses its target is a failed test, unless it was
# still noisy after all repeats.
run_bench() {
	began=$(date +%s)
	bench_once "$@" || return 0
	passed=$((passed + ok)) failed=$((failed + bad - noisy))
	report_bench "$@"
}

# run_bench_sample [OPTION...] NAME...: the bench must run, and counted figures must meet their
# targets.  A figure of time or of a rate that misses its target twice is reported only.
run_bench_sample() {
	began=$(date +%s)
	bench_once --quick "$@" || return 0
	[ "$bad" = "$counted" ] || {
		grep '"ok": false' "$json"
		say "once more: bench $*"
		n_again=$((${n_again:-0} + bad))
		bench_once --quick "$@" || return 0
	}
	passed=$((passed + ok)) failed=$((failed + counted))
	report_bench "$@"
	[ "$bad" = "$counted" ] ||
		echo "    noisy: $((bad - counted)) figures of time; ./dev bench measures them"
}

report_bench() {
	[ "$bad" = 0 ] || grep '"ok": false' "$json"
	grep -E '^(bench [a-z]+:|others)' "$BUILDDIR/dev-bench.log" || true
	echo "    $*: $ok figures met, $bad missed ($noisy of these noisy), $(since "$began")"
}

bench_once() {
	json=$BUILDDIR/dev-bench.json
	rm -f "$json"
	"$PYTHON" bench/run.py --build "$BUILDDIR" --json "$json" "$@" \
		>"$BUILDDIR/dev-bench.log" 2>&1 || true
	[ -s "$json" ] || {
		tail -n 15 "$BUILDDIR/dev-bench.log"
		broken "bench $*: it did not run"
		return 1
	}
	ok=$(count '"ok": true' "$json") bad=$(count '"ok": false' "$json")
	counted=$(count '"ok": false.*"counted": true' "$json")
	noisy=$(count '"ok": false.*"noisy"' "$json")
}

run_bench_samples() {
	say "bench, a short sample"
	run_bench_sample --case three shares
	run_bench_sample --case sync-deep shares
	run_bench_sample --case auto-changing-lengths attacks
	run_bench_sample --case instructions-shared overhead
	run_bench_sample donate scale plan
}

# A sanitizer works only in programs that are linked with it.  Programs that load a gate are
# not, and a program with a thread sanitizer of its own cannot have another.
launch_sanitizer() {
	label=$1 dir=$BUILDDIR-$2 kinds=$3 pattern=$4
	rm -f "$dir/meson-logs/dev-$label.json"
	configure "$dir" clang "-Db_sanitize=$kinds" || return 0
	names=$(tests_named "$dir" "$pattern")
	# shellcheck disable=SC2086 # one word per test
	launch_tests "$label" "$dir" --suite unit --suite fuzz --no-suite slow $names
}

# The same with the other compiler, and unit tests under valgrind.
run_thorough() {
	if configure "$BUILDDIR-clang" clang && compile "$BUILDDIR-clang"; then
		run_tests clang "$BUILDDIR-clang" --no-rebuild --no-suite slow \
			--no-suite lint --no-suite measured
	else
		broken "clang: cannot be built"
	fi
	# gcc's runtime is a shared library, so agent and command line can run with it too.
	if configure "$BUILDDIR-gasan" gcc -Db_sanitize=address,undefined &&
		compile "$BUILDDIR-gasan"; then
		run_tests address,undefined-agent "$BUILDDIR-gasan" --no-rebuild \
			--suite integration --no-suite slow --no-suite measured
	else
		broken "address,undefined-agent: cannot be built"
	fi
	# Beacons are locked permanently, so their lock order has no meaning.
	export TSAN_OPTIONS=detect_deadlocks=0
	say "test thread"
	launch_sanitizer thread tsan thread '^gate'
	report_tests thread "$BUILDDIR-tsan"
	run_tests valgrind "$BUILDDIR" --no-rebuild --suite memory \
		--timeout-multiplier 20 \
		--wrapper 'valgrind -q --error-exitcode=99 --trace-children=no'
}

# An exhaustive search of a model has the same result until the model changes.
models_now() {
	{
		spin -V
		cat tests/model/*
	} 2>/dev/null | sha256sum
}

models_are_known() {
	[ "$(head -n 1 "$BUILDDIR/dev-models" 2>/dev/null)" = "$(models_now)" ]
}

report_models() {
	if models_are_known; then
		ok=$(sed -n 2p "$BUILDDIR/dev-models")
		passed=$((passed + ok))
		echo "    models: $ok passed here before, and are unchanged"
		return
	fi
	bad=1
	report_tests models "$BUILDDIR"
	[ "$bad" != 0 ] || [ "$skip" != 0 ] || {
		models_now
		echo "$ok"
	} >"$BUILDDIR/dev-models"
}

# launch_background OPTION: in a shell of its own, whose variables others do not see.
launch_background() {
	# In the check those that valgrind can run are run with the sanitizers only.
	without=memory
	[ -z "$all" ] || {
		export CLEAVE_SLOW_TESTS=1
		without=exclusive
	}
	launch_tests parts "$BUILDDIR" --no-rebuild "$1" --no-suite "$without" \
		--suite unit --suite fuzz --suite lint --no-suite exclusive
	[ -z "$has_web" ] || {
		launch_web unit test
		launch_web browser test:browser
	}
	launch_sanitizer address,undefined asan address,undefined .
	models_are_known || launch_tests models "$BUILDDIR" --no-rebuild "$1" --suite model
}

verb_check() {
	all=
	case ${1-} in
	--all) all=1 ;;
	'') ;;
	*) usage "check takes --all, not '$1'" ;;
	esac
	# Undefined behaviour ends a test; without this it is only printed.
	export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	need "$BUILD_PACKAGES" "$CHECK_PACKAGES"
	fetch_mesa
	prepare_web
	configure "$BUILDDIR" "$COMPILER"
	compile "$BUILDDIR" || {
		broken "$BUILDDIR does not compile"
		finish
		return
	}
	slow=${all:+--no-rebuild}
	slow=${slow:---no-suite=slow}
	if [ "$all" ]; then
		rm -f "$BUILDDIR/dev-models"
		CLEAVE_SAMPLE=${CLEAVE_SAMPLE:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
		export CLEAVE_SAMPLE
		say "CLEAVE_SAMPLE=$CLEAVE_SAMPLE repeats what this draws"
	fi
	# Tests that compute run beside tests of programs, most of which wait most of their time.
	say "test parts, address,undefined and the console, in the background"
	launch_background "$slow" &
	background=$!
	run_tests programs "$BUILDDIR" --no-rebuild "$slow" --num-processes $((4 * JOBS)) \
		--no-suite unit --no-suite model --no-suite fuzz --no-suite lint --no-suite measured \
		--no-suite exclusive
	wait "$background" || true
	# Tests that compare parts of processor time, or in which a driver must answer soon.
	run_tests exclusive "$BUILDDIR" --no-rebuild "$slow" --suite exclusive
	report_tests parts "$BUILDDIR"
	report_models
	report_tests address,undefined "$BUILDDIR-asan"
	[ -z "$has_web" ] || {
		report_web unit
		report_web browser
	}
	if [ "$all" ]; then
		run_measured_tests
		run_thorough
		say "bench, all of it"
		run_bench shares throughput overhead donate latency attacks scale
	else
		run_bench_samples
	fi
	finish
}

# The last line has the counts.
finish() {
	line="$passed passed, $failed failed"
	[ "$skipped" = 0 ] || line="$line, $skipped skipped"
	[ "${n_again:-0}" = 0 ] || echo "$n_again of these ran twice, because they measure time"
	echo "$line"
	[ "$failed" = 0 ]
}

verb_test() {
	[ "${1-}" != --changed ] || exec "$PYTHON" tests/lint/changed.py "$BUILDDIR" "$@"
	need "$CHECK_PACKAGES"
	verb_build
	[ $# != 0 ] || exec meson test -C "$BUILDDIR" --list
	run_tests named "$BUILDDIR" --no-rebuild "$@"
	finish
}

verb_measure() {
	need "$CHECK_PACKAGES"
	verb_build
	run_measured_tests "$@"
	finish
}

# Upgrades the built packages to a build with a higher version.
test_packages() {
	need "$ROOT_PACKAGES"
	build_packages "$BUILDDIR/packages-next" "$(next_version)"
	verb_build
	run_tests packages "$BUILDDIR" --no-rebuild --suite packages
	grep -hE '^(pause|steps|ok )' "$BUILDDIR/meson-logs/dev-packages.txt" || true
	finish
}

next_version() {
	sed -n "s/^  version: '\(.*\)',$/\1+next/p" meson.build
}
