//! Clients that others' generators make from the server's OpenAPI document pass their type checkers, send messages,
//! follow them, and get what is refused as typed errors.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::delivering;
use crate::harness::{
    Admin, Client, Finished, node_modules, python_in, python_tool, run, script, with_python_tools,
};

/// The generator's own client forwards the arguments of `__exit__` as objects, whatever the document says.
const MYPY: &str =
    "[mypy]\nstrict = true\n[mypy-generated.client]\ndisable_error_code = arg-type\n";

const TSCONFIG: &str = r#"{
  "compilerOptions": {
    OPTIONS"strict": true, "noUncheckedIndexedAccess": true,
    "target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext",
    "lib": ["ES2022", "DOM", "DOM.Iterable"], "types": [], "outDir": "out"
  },
  "files": ["PROGRAM"]
}"#;

/// Which not every generator's own code keeps to.
const EXACT: &str = r#""exactOptionalPropertyTypes": true, "#;

fn done(command: &mut Command) -> Finished {
    let finished = run(command);
    assert!(
        finished.success,
        "{command:?}:\n{}{}",
        finished.stdout, finished.stderr
    );
    finished
}

/// The document as the server serves it, in this folder.
fn save_document(api: &Admin, folder: &Path) {
    let document = api.get("/v1/openapi.json").to_string();
    fs::write(folder.join("openapi.json"), document).unwrap();
}

fn sent(api: &Admin, said: &serde_json::Value) {
    let message = api.get(&format!("/v1/messages/{}", said["sent"].as_str().unwrap()));
    assert_eq!(message["state"], "DELIVERED");
    assert_eq!(message["metadata"], serde_json::json!({ "shop": 1 }));
}

#[test]
fn a_python_client_is_generated_and_works() {
    let smsc = delivering();
    let api = smsc.api_of("test", "consent");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save_document(&api, folder);
    let mut generator = python_tool("openapi-python-client");
    let generated = done(
        with_python_tools(&mut generator)
            .current_dir(folder)
            .args(["generate", "--path", "openapi.json", "--meta", "none"])
            .args(["--output-path", "generated"]),
    );
    let said = format!("{}{}", generated.stdout, generated.stderr).to_lowercase();
    assert!(
        !said.contains("warning") && !said.contains("error"),
        "{said}"
    );
    fs::write(folder.join("mypy.ini"), MYPY).unwrap();
    fs::copy(script("generated_client.py"), folder.join("client.py")).unwrap();
    done(python_tool("mypy").current_dir(folder).args([
        "--config-file",
        "mypy.ini",
        "client.py",
        "generated",
    ]));
    let mut client = python_in(folder, "client.py");
    client.args([api.base(), api.token()]);
    sent(&api, &Client::run(client));
}

/// Generates a client, checks it together with the program of this name that uses it, and runs that.
fn in_typescript(name: &str, options: &str, generator: &[&str]) {
    let smsc = delivering();
    let api = smsc.api_of("test", "consent");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save_document(&api, folder);
    std::os::unix::fs::symlink(node_modules(), folder.join("node_modules")).unwrap();
    fs::write(folder.join("package.json"), r#"{ "type": "module" }"#).unwrap();
    let program = format!("{name}.ts");
    let config = TSCONFIG.replace("OPTIONS", options);
    fs::write(
        folder.join("tsconfig.json"),
        config.replace("PROGRAM", &program),
    )
    .unwrap();
    for file in [&program, "hey_api.config.mjs"] {
        fs::copy(script(file), folder.join(file)).unwrap();
    }
    let node = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("node");
        command.current_dir(folder).arg(program).args(arguments);
        command
    };
    done(&mut node(generator[0], &generator[1..]));
    let compiler = "node_modules/typescript/bin/tsc";
    done(&mut node(compiler, &["--noEmit"]));
    done(&mut node(compiler, &[]));
    let client = node(&format!("out/{name}.js"), &[api.base(), api.token()]);
    sent(&api, &Client::run(client));
}

#[test]
fn a_typescript_client_is_generated_and_works() {
    let generator = [
        "node_modules/openapi-typescript/bin/cli.js",
        "openapi.json",
        "--output",
        "schema.d.ts",
    ];
    in_typescript("generated_client", EXACT, &generator);
}

#[test]
fn a_client_by_orval_is_generated_and_works() {
    let generator = [
        "node_modules/orval/dist/bin/orval.mjs",
        "--input",
        "openapi.json",
        "--output",
        "orval.ts",
        "--client",
        "fetch",
    ];
    in_typescript("generated_orval", "", &generator);
}

#[test]
fn a_client_by_hey_api_is_generated_and_works() {
    let generator = [
        "node_modules/@hey-api/openapi-ts/bin/run.js",
        "-f",
        "hey_api.config.mjs",
    ];
    in_typescript("generated_hey_api", "", &generator);
}
