// What @hey-api/openapi-ts generates for generated_hey_api.ts: modules that Node finds, so imports name their files in full.
export default { input: "openapi.json", output: { path: "hey", module: { extension: ".js" } }, plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"] };
