// SPDX-License-Identifier: Apache-2.0
// Evaluates ValidatingAdmissionPolicies on requests.  Standard input: {policies: [a policy], requests:
// [{request, object, oldObject}]}; standard output, for each request: {policy: the first message of a
// failed validation, or null, or "error: ..." }, without the policies that do not match.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const {resolve} = createRequire(process.argv[2] + "/");
const {celEnv, parse, plan} = await import(pathToFileURL(resolve("@bufbuild/cel")));

const env = celEnv();
const evaluate = (expression, bound) => plan(env, parse(expression))(bound);

// Each may use those before it.
const evaluateAll = (variables, bound) => {
	const values = new Map();
	for (const {name, expression} of variables)
		values.set(name, evaluate(expression, {...bound, variables: values}));
	return values;
};

const judge = ({spec}, bound) => {
	for (const {expression} of spec.matchConditions ?? []) {
		const value = evaluate(expression, bound);
		if (value !== true) return value === false ? undefined : `error: ${value}`;
	}
	const variables = evaluateAll(spec.variables ?? [], bound);
	for (const {expression, message} of spec.validations) {
		const value = evaluate(expression, {...bound, variables});
		if (value !== true) return value === false ? message : `error: ${value}`;
	}
	return null;
};

// Objects are maps in CEL, also for has().
const toCel = (value) => {
	if (Array.isArray(value)) return value.map(toCel);
	if (value === null || typeof value !== "object") return value;
	return new Map(Object.entries(value).map(([key, each]) => [key, toCel(each)]));
};

const {policies, requests} = JSON.parse(readFileSync(0));
console.log(JSON.stringify(requests.map((asked) => {
	const bound = Object.fromEntries(Object.entries(asked).map(([key, each]) => [key, toCel(each)]));
	return Object.fromEntries(
		policies.map((policy) => [policy.metadata.name, judge(policy, bound)]));
})));
