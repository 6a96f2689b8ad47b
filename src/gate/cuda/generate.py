# SPDX-License-Identifier: Apache-2.0
"""Makes the gate's tables and wrappers from hooks.list.

usage: generate.py LIST header|source|map OUTPUT
"""
import re
import sys

TYPES = {
    "ptr": "void *", "u8": "uint8_t ", "u16": "uint16_t ", "u32": "uint32_t ", "i32": "int ",
    "u64": "uint64_t ", "usize": "size_t ", "loc": "struct clv_cuda_location ",
    "text": "const char *", "launch": "const struct clv_cuda_launch *",
    "copy2d": "const struct clv_cuda_copy_2d *", "copy3d": "const struct clv_cuda_copy_3d *",
}
HOOKED = ("gate", "own", "refuse")
HASH_BITS = 10
LINE = re.compile(r"(\w+)\s+(\w+) (\d+) (-|pt[ds][sz]\d+) \((.*?)\)((?: .*)?)$")


class Hook:
    """One exported symbol."""

    def __init__(self, policy, symbol, since, parameters, words, plain=None):
        self.policy, self.symbol, self.since = policy, symbol, since
        self.per_thread = plain is not None
        self.plain = plain or symbol
        self.has_variant = self.per_thread
        self.base = re.sub(r"(_v\d+)?(_pt[ds][sz])?$", "", symbol)
        self.parameters = parameters
        stream = "stream" if "stream" in [name for _, name in parameters] else "NULL"
        self.stream = words.get("stream", stream)
        self.kind = words.get("kind", "0")
        self.blocking = "blocking" in words

    def declared(self):
        return ", ".join(f"{TYPES[kind]}{name}" for kind, name in self.parameters) or "void"

    def passed(self, *before):
        return ", ".join([*before, *(name for _, name in self.parameters)])


def read_words(text):
    words = {}
    for match in re.finditer(r"(\w+)(?:=((?:[^ (]|\((?:[^()]|\([^()]*\))*\))+))?", text):
        words[match[1]] = match[2]
    return words


def read(path):
    hooks, passed = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line[0] in "#[":
                continue
            if line.startswith("pass "):
                passed += line.split()[1:]
                continue
            match = LINE.match(line)
            if not match:
                sys.exit(f"{path}:{number}: cannot be read: {line}")
            policy, symbol, since, variant, parameters, rest = match.groups()
            parameters = [tuple(p.split()) for p in parameters.split(", ") if p]
            words = read_words(rest)
            hooks.append(Hook(policy, symbol, int(since), parameters, words))
            if variant != "-":
                hooks[-1].has_variant = True
                hooks.append(Hook(policy, symbol + "_" + variant[:4], int(variant[4:]),
                                  parameters, words, symbol))
    return hooks, passed


def header(hooks):
    yield "#pragma once\n"
    yield '#include "gate/cuda/abi.h"\n'
    yield "#include <stdbool.h>\n"
    for hook in hooks:
        yield f"typedef int clv_fn_{hook.symbol}({hook.declared()});"
    yield "\n/* The driver's own; filled by clv_cuda_load(). */\nstruct clv_cuda_functions {"
    for hook in hooks:
        yield f"\tclv_fn_{hook.symbol} *{hook.symbol};"
    yield "};\n"
    for hook in hooks:
        if hook.policy == "own" and not hook.per_thread:
            declared = [f"clv_fn_{hook.symbol} *real"]
            declared += ["bool is_per_thread"] * hook.has_variant
            declared += [hook.declared()] * bool(hook.parameters)
            yield f"int clv_own_{hook.symbol}({', '.join(declared)});"
    for hook in hooks:
        if hook.policy in HOOKED:
            yield f'int {hook.symbol}({hook.declared()}) __attribute__((visibility("default")));'


def hash_of(name):
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value >> (32 - HASH_BITS) ^ value & ((1 << HASH_BITS) - 1)


def gate_wrapper(hook):
    per_thread = str(hook.per_thread).lower()
    call = f"clv_cuda.{hook.symbol}({hook.passed()})"
    again = "" if hook.blocking else f"""
	if (clv_quick_pass(clv_cuda_default_handle({hook.stream}, {per_thread}), {hook.kind}))
		return {call};"""
    yield f"""
static __attribute__((noinline)) int slow_{hook.symbol}({hook.declared()})
{{
	struct clv_cuda_submission submission;
	int r;
{again}
	r = clv_cuda_submission_begin(&submission, {hook.stream}, {per_thread}, {hook.kind},
		{str(hook.blocking).lower()});
	if (r == CLV_CUDA_SUCCESS)
		r = clv_cuda_submission_end(&submission, {call});
	return r;
}}

int {hook.symbol}({hook.declared()})
{{"""
    if not hook.blocking:
        yield f"""	if (CLV_LIKELY(clv_quick_pass(clv_cuda_stream_handle({hook.stream}), {hook.kind})))
		return {call};"""
    yield f"\treturn slow_{hook.symbol}({hook.passed()});\n}}"


def own_wrapper(hook):
    before = [f"clv_cuda.{hook.symbol}"] + [str(hook.per_thread).lower()] * hook.has_variant
    yield f"""
int {hook.symbol}({hook.declared()})
{{
	clv_cuda_load();
	return clv_own_{hook.plain}({hook.passed(*before)});
}}"""


def refusal(hook):
    yield f"\nint {hook.symbol}({hook.declared()})\n{{"
    for _, name in hook.parameters:
        yield f"\t(void){name};"
    yield "\treturn CLV_CUDA_NOT_SUPPORTED;\n}"


WRAPPERS = {"gate": gate_wrapper, "own": own_wrapper, "refuse": refusal}


def table(hooks):
    """Hooked symbols by base name and version; what is only used comes last."""
    places = {}
    slots = [0] * (1 << HASH_BITS)
    for i, hook in enumerate(hooks):
        if hook.policy in HOOKED:
            slot = hash_of(hook.symbol)
            while slots[slot]:
                slot = (slot + 1) % len(slots)
            slots[slot] = i + 1
        places.setdefault(hook.base, i)
    yield "\nconst struct clv_cuda_hook clv_cuda_hooks[] = {"
    for hook in hooks:
        wrapper = f"(clv_cuda_function){hook.symbol}" if hook.policy in HOOKED else "NULL"
        yield (f'\t{{"{hook.symbol}", "{hook.base}", {hook.since}, {str(hook.per_thread).lower()}, '
               f"{wrapper}, (clv_cuda_function *)(void *)&clv_cuda.{hook.symbol}}},")
    yield "};\n"
    yield f"const uint16_t clv_cuda_n_hooks = {len(hooks)};\n"
    yield f"const uint16_t clv_cuda_hook_places[1 << {HASH_BITS}] = {{"
    for i in range(0, len(slots), 16):
        yield "\t" + ", ".join(str(slot) for slot in slots[i:i + 16]) + ","
    yield "};"


def source(hooks):
    yield '#include "gate/hooks.h"\n'
    yield '#include "gate/cuda/library.h"\n#include "gate/cuda/submit.h"\n'
    yield "#define KERNEL(function, x, y, z) clv_cost_key_kernel(function, x, y, z)"
    yield "#define BYTES(operation, n) clv_cost_key_bytes(CLV_COST_##operation, n)\n"
    yield "struct clv_cuda_functions clv_cuda;"
    for hook in hooks:
        if hook.policy in WRAPPERS:
            yield from WRAPPERS[hook.policy](hook)
    yield from table(hooks)


def version_map(hooks):
    yield "{\n\tglobal:\n\t\tdlsym;\n\t\tdlvsym;"
    for hook in hooks:
        if hook.policy in HOOKED:
            yield f"\t\t{hook.symbol};"
    yield "\tlocal:\n\t\t*;\n};"


def main():
    hooks, _ = read(sys.argv[1])
    hooks.sort(key=lambda hook: (hook.policy not in HOOKED, hook.base, hook.since, hook.symbol))
    make = {"header": header, "source": source, "map": version_map}[sys.argv[2]]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        if sys.argv[2] != "map":
            file.write("/* Made by generate.py from hooks.list. */\n")
        file.write("\n".join(make(hooks)) + "\n")


if __name__ == "__main__":
    main()
