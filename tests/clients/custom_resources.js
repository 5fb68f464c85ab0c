// The custom resources that the chart renders and those of deploy/kubernetes/, against the types and schemas of their makers.
//
//     node custom_resources.js FILE    FILE: what `helm_chart.py custom` writes
//
// Runs in a folder with `node_modules`. Prometheus operator and Gateway API: the JSON schemas of their models say whether
// values are right, the TypeScript compiler whether there are keys that do not exist. CloudNativePG: a conversion to
// JSON drops what its definition does not have. Each kind is also tried with a key that does not exist. Those of the Redis
// operator and of cert-manager are not tried. The last line is JSON; what is wrong stands before it.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { toJson_ClusterProps } from "@cdk8s-kit/crds/pg";

const MONITORING = "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
const GATEWAY = "@kubernetes-models/gateway-api/gateway.networking.k8s.io";
const MODELS = {
  ServiceMonitor: `${MONITORING}/ServiceMonitor`,
  PrometheusRule: `${MONITORING}/PrometheusRule`,
  HTTPRoute: `${GATEWAY}/v1/HTTPRoute`,
  TCPRoute: `${GATEWAY}/v1alpha2/TCPRoute`,
};
const WITHOUT = ["Redis", "Certificate"];

const wrong = [];
const seen = new Set();
const lines = Object.entries(MODELS).map(([kind, path]) => `import type { I${kind} } from "${path}";`);
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const [name, objects] of Object.entries(cases)) {
  for (const object of objects) {
    const what = `${name}: ${object.kind} ${object.metadata.name}`;
    if (object.kind in MODELS) {
      const model = (await import(MODELS[object.kind]))[object.kind];
      // Otherwise the model would put its own.
      if (new model().apiVersion !== object.apiVersion) wrong.push(`${what}: ${object.apiVersion}`);
      try {
        new model(object).validate();
      } catch (error) {
        wrong.push(`${what}: ${error.message}`);
      }
      lines.push(`// ${what}`, `export const at${lines.length}: I${object.kind} = ${JSON.stringify(object)};`);
      if (!seen.has(object.kind)) {
        const typo = JSON.stringify({ ...object, spec: { ...object.spec, nonsense: 1 } });
        lines.push("// @ts-expect-error a key that does not exist");
        lines.push(`export const at${lines.length}: I${object.kind} = ${typo};`);
      }
    } else if (object.kind === "Cluster") {
      const same = (props) => isDeepStrictEqual(JSON.parse(JSON.stringify(toJson_ClusterProps(props))), props);
      const { metadata, spec } = object;
      if (object.apiVersion !== "postgresql.cnpg.io/v1") wrong.push(`${what}: ${object.apiVersion}`);
      if (!same({ metadata, spec })) wrong.push(`${what}: has keys that do not exist`);
      if (same({ metadata, spec: { ...spec, nonsense: 1 } })) wrong.push("a key that does not exist is not found");
    } else if (!WITHOUT.includes(object.kind)) {
      wrong.push(`${what}: its kind is not known here`);
    }
    seen.add(object.kind);
  }
}
for (const kind of [...Object.keys(MODELS), "Cluster", ...WITHOUT]) {
  if (!seen.has(kind)) wrong.push(`no combination of values makes a ${kind}`);
}
writeFileSync("resources.ts", lines.join("\n") + "\n");
const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"];
const compiled = spawnSync("node", ["node_modules/typescript/bin/tsc", ...options, "--target", "es2022", "resources.ts"]);
if (compiled.status !== 0) wrong.push(String(compiled.stdout).slice(0, 4000));
wrong.forEach((line) => console.log(line));
console.log(JSON.stringify({ kinds: [...seen].sort() }));
process.exit(wrong.length ? 1 : 0);
