//! The router for JavaScript hosts that do their own sending.

use std::sync::Arc;

use pointsman_core::{Request, Seed, Snapshot, Trace};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::{error, faults, from_js, node, to_js};
use crate::dto::{ActionDto, EventDto, RequestDto, timestamp, whole};
use crate::engine::{load, notes};

/// See `Router` in `api.d.ts`.
#[wasm_bindgen]
pub struct Router {
    router: pointsman_core::Router,
    notes: Vec<String>,
}

/// One client request inside a router.
#[wasm_bindgen]
pub struct Call {
    call: pointsman_core::Call,
}

#[wasm_bindgen]
impl Router {
    /// A router that has seen nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new(config: JsValue, environment: JsValue, now: f64) -> Result<Self, JsValue> {
        let now = instant("now", now)?;
        let loaded = document(config, &environment)?;
        let notes = notes(&loaded);
        Ok(Self { router: pointsman_core::Router::new(Arc::new(loaded.catalog), now), notes })
    }

    /// A router with the state of a snapshot.
    pub fn restore(
        config: JsValue,
        environment: JsValue,
        snapshot: &str,
        now: f64,
    ) -> Result<Self, JsValue> {
        let now = instant("now", now)?;
        let loaded = document(config, &environment)?;
        let notes = notes(&loaded);
        let snapshot: Snapshot =
            serde_json::from_str(snapshot).map_err(|fault| error(&format!("snapshot: {fault}")))?;
        let router = pointsman_core::Router::restore(Arc::new(loaded.catalog), &snapshot, now)
            .map_err(|fault| error(&fault.to_string()))?;
        Ok(Self { router, notes })
    }

    /// One client request starts: `[call, action]`.
    pub fn begin(
        &mut self,
        request: JsValue,
        seed: f64,
        now: f64,
    ) -> Result<Box<[JsValue]>, JsValue> {
        let (request, seed, now) = (facts(request)?, chance(seed)?, instant("now", now)?);
        let (call, action) = self.router.begin(request, seed, now);
        let action = to_js(&ActionDto::new(action, self.router.catalog()))?;
        Ok(Box::new([JsValue::from(Call { call }), action]))
    }

    /// Something happened to a call.
    pub fn resume(
        &mut self,
        call: &mut Call,
        event: JsValue,
        now: f64,
    ) -> Result<JsValue, JsValue> {
        let now = instant("now", now)?;
        let event: EventDto = from_js("event", event)?;
        let event = event.into_event(self.router.catalog()).map_err(|fault| error(&fault))?;
        let action = self.router.resume(&mut call.call, event, now);
        let action = action.map_err(|misuse| error(&misuse.to_string()))?;
        to_js(&ActionDto::new(action, self.router.catalog()))
    }

    /// What would become of this request, and why.
    pub fn explain(&self, request: JsValue, seed: f64, now: f64) -> Result<JsValue, JsValue> {
        let (request, seed, now) = (facts(request)?, chance(seed)?, instant("now", now)?);
        trace(&self.router.explain(&request, seed, now))
    }

    /// The state, as text.
    pub fn snapshot(&self) -> Result<String, JsValue> {
        serde_json::to_string(&self.router.snapshot()).map_err(|fault| error(&fault.to_string()))
    }

    /// The numbers of waiting calls that may go on.
    pub fn wakes(&mut self) -> Vec<f64> {
        self.router.wakes().iter().map(|call| call.number() as f64).collect()
    }

    /// The gates that have changed since the last time.
    #[wasm_bindgen(js_name = drainChanges)]
    pub fn drain_changes(&mut self) -> Result<JsValue, JsValue> {
        plain(&self.router.drain_changes())
    }

    /// What is valid in the configuration and still has no effect, or hardly the one meant.
    #[wasm_bindgen(getter)]
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[wasm_bindgen]
impl Call {
    /// Its number, as `wakes` lists it.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> f64 {
        self.call.id().number() as f64
    }

    /// Attempts made so far.
    #[wasm_bindgen(getter)]
    pub fn attempts(&self) -> u32 {
        self.call.attempts()
    }

    /// The record so far, if the request asked for one.
    #[wasm_bindgen(getter)]
    pub fn trace(&self) -> Result<JsValue, JsValue> {
        self.call.trace().map_or(Ok(JsValue::UNDEFINED), trace)
    }
}

fn trace(trace: &Trace) -> Result<JsValue, JsValue> {
    plain(trace)
}

/// A value in the form it has in JSON. Numbers beyond 2^53 ("never") come as the nearest there is.
fn plain(value: &impl serde::Serialize) -> Result<JsValue, JsValue> {
    let text = serde_json::to_string(value).map_err(|fault| error(&fault.to_string()))?;
    js_sys::JSON::parse(&text)
}

fn document(config: JsValue, environment: &JsValue) -> Result<pointsman_core::Loaded, JsValue> {
    let document = node("config", config)?;
    load(&document, &|name| variable(environment, name)).map_err(|lines| faults("config", &lines))
}

/// One variable of an environment, given as an object.
pub(crate) fn variable(environment: &JsValue, name: &str) -> Option<String> {
    js_sys::Reflect::get(environment, &JsValue::from_str(name)).ok()?.as_string()
}

fn facts(request: JsValue) -> Result<Request, JsValue> {
    from_js::<RequestDto>("request", request).map(Request::from)
}

pub(crate) fn chance(seed: f64) -> Result<Seed, JsValue> {
    whole("seed", seed).map(Seed).map_err(|fault| error(&fault))
}

pub(crate) fn instant(name: &str, value: f64) -> Result<pointsman_core::Timestamp, JsValue> {
    timestamp(name, value).map_err(|fault| error(&fault))
}
