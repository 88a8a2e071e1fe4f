//! Packs the WASM build into the npm package: bindings, entry points for each kind of host, types.
//!
//! One build for the web serves all hosts; only how they come by the bytes differs. Workers that
//! forbid compiling at run time import the module, everybody else decodes it from text, so that no
//! bundler has to find a file.

mod glue;
mod imports;
mod size;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use wasm_bindgen_cli_support::Bindgen;

type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, package] = arguments.as_slice() else {
        eprintln!("usage: xtask-pack MODULE.wasm PACKAGE_FOLDER (run by `cargo xtask wasm`)");
        return ExitCode::FAILURE;
    };
    match pack(module, package) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn pack(module: &Path, package: &Path) -> Result {
    let dist = package.join("dist");
    if dist.exists() {
        std::fs::remove_dir_all(&dist).map_err(|error| about(&dist, &error))?;
    }
    std::fs::create_dir_all(&dist).map_err(|error| about(&dist, &error))?;
    bindings(module, &dist)?;
    let wasm = dist.join("core_bg.wasm");
    let bytes = std::fs::read(&wasm).map_err(|error| about(&wasm, &error))?;
    let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
    write(&dist.join("core_b64.js"), &format!("export default \"{text}\";\n"))?;
    sources(&package.join("src"), &dist)?;
    println!("core_bg.wasm: {}", size::check(&bytes)?);
    Ok(())
}

/// Writes `core.js`, `core.d.ts` and `core_bg.wasm`.
fn bindings(module: &Path, dist: &Path) -> Result {
    let explain = |error| format!("bindings for `{}`: {error:#}", module.display());
    let mut bindgen = Bindgen::new();
    // Bundlers follow a path in the glue; the entry points bring the bytes instead.
    bindgen.input_path(module).out_name("core").omit_default_module_path(true).typescript(true);
    // Names serve debuggers and would be a third of the module.
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.web(true).map_err(explain)?;
    let mut output = bindgen.generate_output().map_err(explain)?;
    imports::check(output.wasm().imports.iter().map(|import| (&*import.module, &*import.name)))?;
    output.emit(dist).map_err(explain)?;
    let glue = dist.join("core.js");
    let text = std::fs::read_to_string(&glue).map_err(|error| about(&glue, &error))?;
    write(&glue, &glue::patch(&text)?)
}

/// Copies the hand-written part of the package.
fn sources(from: &Path, dist: &Path) -> Result {
    let entries = std::fs::read_dir(from).map_err(|error| about(from, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| about(from, &error))?.path();
        if let Some(name) = path.file_name() {
            std::fs::copy(&path, dist.join(name)).map_err(|error| about(&path, &error))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result {
    std::fs::write(path, text).map_err(|error| about(path, &error))
}

fn about(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}
