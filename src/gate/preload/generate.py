# SPDX-License-Identifier: Apache-2.0
"""Generates a preloaded gate's tables and wrappers from lists of entry points.

usage: generate.py header|source|map|table OUTPUT LIST...

header and source take one list, map and table all lists of one shared object.  A list begins with
a description of the library, in lines of

    library NAME SONAMES PREFIX  the gate's name for it; the sonames of its versions, separated by
                                 commas, of which a process loads one; the prefix of its symbols
    include FILE                 needed by the prototypes and wrappers
    lacking CODE                 the result of entry points that the library lacks, or that are
                                 refused
    denied CODE                  the result of `deny` entry points while clv_NAME_is_restricted()
    guarded                      the library's functions may call each other by name
    telling WORDS                parts of names that say that a function allocates or submits: one
                                 that the list does not have is not found (unknown.h)
    inside FUNCTION              whether a return address is in the library: its own calls pass
    type WORD DECLARATION        a type of parameters, in addition to those below
    export SYMBOL                a symbol that the shared object exports in addition

and continues with lines of POLICY SYMBOL [SINCE VARIANT | spt] (PARAMETERS) WORD=EXPRESSION...,
which the lists explain.
"""
import re
import sys

TYPES = {
    "ptr": "void *", "u8": "uint8_t ", "u16": "uint16_t ", "u32": "uint32_t ", "i32": "int ",
    "u64": "uint64_t ", "i64": "int64_t ", "usize": "size_t ", "text": "const char *",
}
HOOKED = ("gate", "own", "refuse", "deny")
CALLER = "__builtin_return_address(0)"
LINE = re.compile(r"(\w+)\s+(\w+) (?:(\d+) (-|pt[ds][sz]\d+) |(spt) )?\((.*?)\)((?: .*)?)$")


def base_of(symbol):
    return re.sub(r"(_v\d+)?(_pt[ds][sz]|_spt)?$", "", symbol)


class Library:
    """The library that a list describes, and its entry points."""

    def __init__(self):
        self.name = self.lacking = self.denied = self.inside = None
        self.sonames, self.prefix = [], ""
        self.types = dict(TYPES)
        self.includes, self.hooks, self.exports, self.guarded = [], [], [], False
        self.telling, self.left_alone = [], set()

    def describe(self, words):
        """Reads a line of the description; False: it is an entry point."""
        if words[0] == "library":
            self.name, sonames, *prefix = words[1:]
            self.sonames, self.prefix = sonames.split(","), "".join(prefix)
        elif words[0] == "include":
            self.includes.append(words[1])
        elif words[0] == "export":
            self.exports.append(words[1])
        elif words[0] == "guarded":
            self.guarded = True
        elif words[0] == "telling":
            self.telling += words[1:]
        elif words[0] == "pass":
            self.left_alone.update(words[1:])
        elif words[0] in ("lacking", "denied", "inside"):
            setattr(self, words[0], words[1])
        elif words[0] == "type":
            declared = " ".join(words[2:])
            self.types[words[1]] = declared + " " * (not declared.endswith("*"))
        else:
            return False
        return True

    @property
    def known_telling(self):
        """The names, with and without their version, that look like unknown ones and are not."""
        names = self.left_alone | {hook.symbol for hook in self.hooks}
        return sorted(name for name in names | set(map(base_of, names))
                      if any(word in name for word in self.telling))

    @property
    def place_bits(self):
        """At most half of the places are used."""
        hooked = [hook for hook in self.hooks if hook.policy in HOOKED]
        return max(4, (2 * len(hooked)).bit_length())


class Hook:
    """One exported symbol."""

    def __init__(self, library, policy, symbol, since, parameters, words, plain=None):
        self.library = library
        self.policy, self.symbol, self.since = policy, symbol, since
        self.per_thread = plain is not None
        self.plain = plain or symbol
        self.has_variant = self.per_thread
        self.base = base_of(symbol)
        self.parameters = parameters
        stream = "stream" if "stream" in [name for _, name in parameters] else "NULL"
        self.stream = words.get("stream", stream)
        self.kind = words.get("kind", "0")
        self.blocking = "blocking" in words
        self.hint = (words.get("hint") or "").strip("()")
        self.across = words.get("across")
        self.is_launch = "launch" in words
        self.is_kernel = re.match(r"KERNEL\(|clv_\w+_launch_kind\(", self.kind)
        self.has_caller = "caller" in words

    def declared(self):
        return ", ".join(f"{self.library.types[kind]}{name}" for kind, name in self.parameters) or "void"

    def passed(self, *before):
        return ", ".join([*before, *(name for _, name in self.parameters)])


def read_words(text):
    words = {}
    for match in re.finditer(r"(\w+)(?:=((?:[^ (]|\((?:[^()]|\([^()]*\))*\))+))?", text):
        words[match[1]] = match[2]
    return words


def read(path):
    library = Library()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0][0] in "#[" or library.describe(words):
                continue
            match = LINE.match(line.strip())
            if not match:
                sys.exit(f"{path}:{number}: cannot be read: {line}")
            policy, symbol, since, variant, spt, parameters, rest = match.groups("0")
            variant = "spt0" if spt == "spt" else variant
            parameters = [tuple(p.split()) for p in parameters.split(", ") if p]
            words = read_words(rest)
            library.hooks.append(Hook(library, policy, symbol, int(since), parameters, words))
            if variant not in ("-", "0"):
                library.hooks[-1].has_variant = True
                suffix, version = re.match(r"([a-z]+)(\d+)", variant).groups()
                library.hooks.append(Hook(library, policy, f"{symbol}_{suffix}", int(version),
                                          parameters, words, symbol))
    library.hooks.sort(key=lambda hook: (hook.policy not in HOOKED, hook.base, hook.since,
                                         hook.symbol))
    return library


def header(library):
    name = library.name
    yield "#pragma once\n"
    for include in library.includes[:1]:
        yield f'#include "{include}"'
    yield '#include "gate/preload/library.h"\n'
    yield "#include <stddef.h>\n"
    for hook in library.hooks:
        yield f"typedef int clv_fn_{hook.symbol}({hook.declared()});"
    yield f"\n/* The vendor's own; set by clv_{name}_load(). */\nstruct clv_{name}_functions {{"
    for hook in library.hooks:
        yield f"\tclv_fn_{hook.symbol} *{hook.symbol};"
    yield "};\n"
    hidden = '__attribute__((visibility("hidden")))'
    yield f"extern struct clv_{name}_functions clv_{name} {hidden};"
    yield f"extern const struct clv_hooked_library clv_{name}_library {hidden};"
    yield f"void clv_{name}_load(void);"
    if library.denied:
        yield f"bool clv_{name}_is_restricted(void);"
    yield ""
    for hook in library.hooks:
        if hook.policy == "own" and not hook.per_thread:
            declared = [f"clv_fn_{hook.symbol} *real"]
            declared += ["bool is_per_thread"] * hook.has_variant
            declared += ["const void *caller"] * hook.has_caller
            declared += [hook.declared()] * bool(hook.parameters)
            yield f"int clv_own_{hook.symbol}({', '.join(declared)});"
    for hook in library.hooks:
        if hook.policy in HOOKED:
            yield f'int {hook.symbol}({hook.declared()}) __attribute__((visibility("default")));'


def hash_of(name, n_bits):
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value >> (32 - n_bits) ^ value & ((1 << n_bits) - 1)


def let_pass(hook):
    """Passes on the calls of a library that calls its own functions by name."""
    if hook.library.inside:
        yield f"\tif (CLV_UNLIKELY({hook.library.inside}({CALLER})))"
        yield f"\t\treturn clv_{hook.library.name}.{hook.symbol}({hook.passed()});"


def do_nothing(hook):
    if hook.hint:
        yield f"\tif (CLV_UNLIKELY(clv_cuda_is_spilled({hook.hint})))\n\t\treturn 0;"


def gate_wrapper(hook):
    name, per_thread = hook.library.name, str(hook.per_thread).lower()
    call = f"clv_{name}.{hook.symbol}({hook.passed()})"
    if hook.hint:
        call = f"CLV_UNLESS_SPILLED({hook.hint}, {call})"
    begin, last = "clv_stream_submission_begin", str(hook.blocking).lower()
    if hook.is_kernel:
        begin = "clv_stream_launch_begin"
    elif hook.across:
        begin, last = "clv_stream_copy_begin", hook.across
    passing = "\n".join(["", *let_pass(hook), *do_nothing(hook)])
    yield f"""
__attribute__((visibility("hidden"), noinline, used)) int clv_slow_{hook.symbol}({hook.declared()});
int clv_slow_{hook.symbol}({hook.declared()})
{{
	struct clv_stream_submission submission;
	int r;

	/* Other libraries may have attached the process. */
	clv_{name}_load();
	r = {begin}(&submission, {hook.stream}, {per_thread}, {hook.kind},
		{last});
	if (r == 0)
		r = clv_stream_submission_end(&submission, {call});
	return r;
}}"""
    if hook.blocking:
        yield f"\nint {hook.symbol}({hook.declared()})\n{{{passing}"
        yield f"\treturn clv_slow_{hook.symbol}({hook.passed()});\n}}"
        return
    handle = f"clv_stream_handle({hook.stream}, {per_thread})"
    plain = f"""
int {hook.symbol}({hook.declared()})
{{{passing}
	if (CLV_LIKELY(clv_quick_pass({handle}, {hook.kind})))
		return {call};
	return clv_slow_{hook.symbol}({hook.passed()});
}}"""
    if not hook.is_launch:
        yield plain
        return
    place = 8 * hook.library.hooks.index(hook)
    yield f"""
#ifdef CLV_HAS_QUICK_LAUNCH
LAUNCH({hook.symbol}, "clv_{name}+{place}(%rip)", {8 * hook.per_thread});
#else{plain}
#endif"""


def own_wrapper(hook):
    name = hook.library.name
    before = [f"clv_{name}.{hook.symbol}"] + [str(hook.per_thread).lower()] * hook.has_variant
    before += [CALLER] * hook.has_caller
    own = f"clv_own_{hook.plain}({hook.passed(*before)})"
    if hook.library.guarded:
        own = f"OUTERMOST({own}, clv_{name}.{hook.symbol}({hook.passed()}))"
    passing = "\n".join(["", *let_pass(hook)])
    yield f"""
int {hook.symbol}({hook.declared()})
{{
	clv_{name}_load();{passing}
	return {own};
}}"""


def refusal(hook):
    yield f"\nint {hook.symbol}({hook.declared()})\n{{"
    for _, name in hook.parameters:
        yield f"\t(void){name};"
    yield f'\tclv_refused_report("{hook.symbol}");'
    yield f"\treturn {hook.library.lacking};\n}}"


def denial(hook):
    library = hook.library
    yield f"""
int {hook.symbol}({hook.declared()})
{{
	clv_{library.name}_load();
	if (clv_{library.name}_is_restricted())
		return {library.denied};
	return clv_{library.name}.{hook.symbol}({hook.passed()});
}}"""


WRAPPERS = {"gate": gate_wrapper, "own": own_wrapper, "refuse": refusal, "deny": denial}


def places(library):
    slots = [0] * (1 << library.place_bits)
    for i, hook in enumerate(library.hooks):
        if hook.policy in HOOKED:
            slot = hash_of(hook.symbol, library.place_bits)
            while slots[slot]:
                slot = (slot + 1) % len(slots)
            slots[slot] = i + 1
    return slots


def strings(name, texts):
    """A list that ends with NULL."""
    yield f"\nstatic const char *const {name}[] = {{"
    yield from (f'\t"{text}",' for text in texts)
    yield "\tNULL,\n};"


def description(library):
    name, slots = library.name, places(library)
    sonames = ", ".join(f'"{soname}"' for soname in library.sonames)
    yield "\nstatic const struct clv_hook hooks[] = {"
    for hook in library.hooks:
        wrapper = f"(clv_function){hook.symbol}" if hook.policy in HOOKED else "NULL"
        yield (f'\t{{"{hook.symbol}", "{hook.base}", {hook.since}, {str(hook.per_thread).lower()}, '
               f"{wrapper}, (clv_function *)(void *)&clv_{name}.{hook.symbol}}},")
    yield "};\n\nstatic const uint16_t places[] = {"
    for i in range(0, len(slots), 16):
        yield "\t" + ", ".join(str(slot) for slot in slots[i:i + 16]) + ","
    yield "};"
    yield from strings("telling", library.telling)
    yield from strings("known", library.known_telling)
    yield f"""
static int lacking(void)
{{
	return {library.lacking};
}}

static const char *const sonames[] = {{{sonames}, NULL}};

const struct clv_hooked_library clv_{name}_library = {{
	sonames, "{library.prefix}", hooks, {len(library.hooks)},
	{library.place_bits}, places, (clv_function)lacking, telling, known,
	clv_preload_is_leased,
}};

static void load(void)
{{
	clv_library_fill(&clv_{name}_library);
	clv_preload_begin();
}}

void clv_{name}_load(void)
{{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
}}"""


GUARD = """
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* own, unless the library itself makes the call. */
#define OUTERMOST(own, real)               \\
	({                                 \\
		int result_;               \\
		if (is_inside)             \\
			return real;       \\
		is_inside = true;          \\
		result_ = own;             \\
		is_inside = false;         \\
		result_;                   \\
	})
"""


def source(library):
    yield f'#include "gate/{library.name}-hooks.h"\n'
    yield from (f'#include "{include}"' for include in library.includes)
    yield '#include "gate/preload/unknown.h"'
    yield "#include <pthread.h>\n"
    yield "#define KERNEL(function, x, y, z) clv_cost_key_kernel(function, x, y, z)"
    yield "#define BYTES(operation, n) clv_cost_key_bytes(CLV_COST_##operation, n)"
    yield ("#define COPY(to, from, n) "
           "&(struct clv_stream_copy){(uint64_t)(to), (uint64_t)(from), n}\n")
    if any(hook.is_launch for hook in library.hooks):
        yield "/* In memory, because the fast path in assembly has no free register. */"
        for declared in ("const uint64_t clv_quick_multiplier = CLV_COST_MULTIPLIER",
                         "const struct clv_cost *const clv_quick_costs = clv_costs"):
            yield f'__attribute__((visibility("hidden"), used)) {declared};'
    if library.guarded:
        yield GUARD
    yield f"struct clv_{library.name}_functions clv_{library.name};"
    for hook in library.hooks:
        if hook.policy in WRAPPERS:
            yield from WRAPPERS[hook.policy](hook)
    yield from description(library)


def version_map(*libraries):
    yield "{\n\tglobal:\n\t\tdlsym;\n\t\tdlvsym;"
    for library in libraries:
        yield from (f"\t\t{symbol};" for symbol in library.exports)
        for hook in library.hooks:
            if hook.policy in HOOKED:
                yield f"\t\t{hook.symbol};"
    yield "\tlocal:\n\t\t*;\n};"


def table(*libraries):
    yield '#include "gate/preload/library.h"\n\n#include <stddef.h>\n'
    names = [f"clv_{library.name}_library" for library in libraries]
    for name in names:
        yield f'extern const struct clv_hooked_library {name} __attribute__((visibility("hidden")));'
    yield "\nconst struct clv_hooked_library *const clv_hooked_libraries[] = {"
    yield from (f"\t&{name}," for name in names)
    yield "\tNULL,\n};"


def main():
    make = {"header": header, "source": source, "map": version_map, "table": table}[sys.argv[1]]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        if make is not version_map:
            file.write("/* Generated by generate.py. */\n")
        file.write("\n".join(make(*map(read, sys.argv[3:]))) + "\n")


if __name__ == "__main__":
    main()
