//! The engine in WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

use wasmtime::{Config, Engine, Instance, Memory, Module, OptLevel, Store, TypedFunc};

/// One instance of the module; what a host has to do, it does.
pub(crate) struct Guest {
    store: Store<()>,
    memory: Memory,
    input: TypedFunc<u32, u32>,
    run: TypedFunc<(), ()>,
    replay: TypedFunc<(), ()>,
    output: TypedFunc<(), u32>,
    output_len: TypedFunc<(), u32>,
}

/// Builds the module and compiles it. Without optimisation, since the compiler itself is a debug
/// build here, and slower than what it makes.
pub(crate) fn module() -> Module {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::None);
    let engine = Engine::new(&config).expect("an engine for this machine");
    Module::from_file(&engine, build()).expect("a valid module")
}

impl Guest {
    pub(crate) fn new(module: &Module) -> Self {
        let mut store = Store::new(module.engine(), ());
        let instance = Instance::new(&mut store, module, &[]).expect("nothing to import");
        Self {
            memory: instance.get_memory(&mut store, "memory").expect("a memory"),
            input: instance.get_typed_func(&mut store, "input").expect("`input`"),
            run: instance.get_typed_func(&mut store, "run").expect("`run`"),
            replay: instance.get_typed_func(&mut store, "replay").expect("`replay`"),
            output: instance.get_typed_func(&mut store, "output").expect("`output`"),
            output_len: instance.get_typed_func(&mut store, "output_len").expect("`output_len`"),
            store,
        }
    }

    /// The report on this scenario. A trap is an error that shows where.
    pub(crate) fn report(&mut self, scenario: &str) -> wasmtime::Result<String> {
        let run = self.run.clone();
        self.give(scenario.as_bytes(), &run)
    }

    /// What the journal comes to when it is executed again.
    pub(crate) fn replay(&mut self, journal: &[u8]) -> wasmtime::Result<String> {
        let replay = self.replay.clone();
        self.give(journal, &replay)
    }

    fn give(&mut self, input: &[u8], to: &TypedFunc<(), ()>) -> wasmtime::Result<String> {
        let length = u32::try_from(input.len())?;
        let at = self.input.call(&mut self.store, length)?;
        self.memory.write(&mut self.store, at as usize, input)?;
        to.call(&mut self.store, ())?;
        let at = self.output.call(&mut self.store, ())? as usize;
        let length = self.output_len.call(&mut self.store, ())? as usize;
        let mut bytes = vec![0; length];
        self.memory.read(&self.store, at, &mut bytes)?;
        Ok(String::from_utf8(bytes)?)
    }
}

/// Builds the module as the npm package's is built, and says where it is.
fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "pointsman-parity-guest", "--profile", "wasm"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(target)
        .status()
        .expect("cargo starts");
    assert!(status.success(), "the guest does not build");
    target.join("wasm32-unknown-unknown/wasm/pointsman_parity_guest.wasm")
}
