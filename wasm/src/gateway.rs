//! The gateway for JavaScript hosts: bytes in, steps out.

use core::time::Duration;
use std::cell::RefCell;
use std::rc::Rc;

use pointsman_core::{Seed, Timestamp};
use pointsman_wire::{ClientHeaders, Endpoint, ErrorReply, model, models_list};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::{error, faults, from_js, node, to_js};
use crate::dto::whole;
use crate::engine::Engine;
use crate::router::{chance, instant, variable};
use crate::step::Step;

/// The engine behind `createGateway`.
#[wasm_bindgen]
pub struct Gateway {
    engine: Rc<RefCell<Engine>>,
}

/// One client request.
#[wasm_bindgen]
pub struct Exchange {
    engine: Rc<RefCell<Engine>>,
    exchange: Option<crate::exchange::Exchange>,
    first: Option<Step>,
}

#[wasm_bindgen]
impl Gateway {
    /// A gateway that has seen nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new(config: JsValue, environment: JsValue, now: f64) -> Result<Self, JsValue> {
        let now = instant("now", now)?;
        let document = node("config", config)?;
        let engine = Engine::new(&document, &|name| variable(&environment, name), now)
            .map_err(|lines| faults("config", &lines))?;
        Ok(Self { engine: Rc::new(RefCell::new(engine)) })
    }

    /// One client request comes in: `path` with its query, `headers` as pairs of name and value. The exchange's `start` says what to do first.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: JsValue,
        body: Vec<u8>,
        seed: f64,
        now: f64,
    ) -> Result<Exchange, JsValue> {
        let (seed, now) = (chance(seed)?, instant("now", now)?);
        let headers: Vec<(String, String)> = from_js("headers", headers)?;
        let mut engine = self.engine.borrow_mut();
        let (exchange, step) = open(&mut engine, method, path, &headers, body, (seed, now));
        Ok(Exchange { engine: Rc::clone(&self.engine), exchange, first: Some(step) })
    }

    /// The largest request body, in bytes.
    #[wasm_bindgen(getter, js_name = maxBody)]
    pub fn max_body(&self) -> f64 {
        self.engine.borrow().config.server.bounds.max_body as f64
    }

    /// The numbers of waiting calls that may go on.
    pub fn wakes(&self) -> Vec<f64> {
        let wakes = self.engine.borrow_mut().router.wakes();
        wakes.iter().map(|call| call.number() as f64).collect()
    }

    /// What is valid in the configuration and still has no effect, or hardly the one meant.
    #[wasm_bindgen(getter)]
    pub fn notes(&self) -> Vec<String> {
        self.engine.borrow().notes.clone()
    }
}

#[wasm_bindgen]
impl Exchange {
    /// The first step.
    pub fn start(&mut self) -> Result<JsValue, JsValue> {
        let first = self.first.take().ok_or_else(|| error("the exchange has already started"))?;
        to_js(&first)
    }

    /// The number of its call, as `wakes` lists it; 0 if it did not become one.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> f64 {
        self.exchange.as_ref().map_or(0.0, |exchange| exchange.call_number() as f64)
    }

    /// What the protocols could not hold of the request and, so far, of the answer.
    #[wasm_bindgen(getter)]
    pub fn lost(&self) -> Vec<String> {
        self.exchange.as_ref().map_or_else(Vec::new, |exchange| exchange.lost().to_vec())
    }

    /// The head of the upstream's answer has come; `headers` are pairs of name and value.
    pub fn head(&mut self, status: u16, headers: JsValue, now: f64) -> Result<JsValue, JsValue> {
        let headers: Vec<(String, String)> = from_js("headers", headers)?;
        self.step(now, |exchange, _, now| exchange.head(status, &headers, now))
    }

    /// A piece of the upstream's body has come.
    pub fn chunk(&mut self, bytes: &[u8], now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.chunk(engine, bytes, now))
    }

    /// The upstream's body has ended.
    pub fn ended(&mut self, now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.ended(engine, now))
    }

    /// The upstream cannot be reached, or its connection broke.
    pub fn broke(&mut self, now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.broke(engine, now))
    }

    /// The time of the last `within` is over.
    pub fn due(&mut self, now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.due(engine, now))
    }

    /// `wakes` listed the call.
    pub fn woken(&mut self, now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.woken(engine, now))
    }

    /// The client has the whole answer, which it held up for `stalled` microseconds.
    pub fn delivered(&mut self, stalled: f64, now: f64) -> Result<JsValue, JsValue> {
        let stalled = whole("stalled", stalled).map_err(|fault| error(&fault))?;
        let stalled = Duration::from_micros(stalled);
        self.step(now, |exchange, engine, now| exchange.delivered(engine, stalled, now))
    }

    /// The client left.
    pub fn cancelled(&mut self, now: f64) -> Result<JsValue, JsValue> {
        self.step(now, |exchange, engine, now| exchange.cancelled(engine, now))
    }

    fn step(
        &mut self,
        now: f64,
        listen: impl FnOnce(&mut crate::exchange::Exchange, &mut Engine, Timestamp) -> Step,
    ) -> Result<JsValue, JsValue> {
        let now = instant("now", now)?;
        let exchange = self.exchange.as_mut().ok_or_else(|| error("the exchange is over"))?;
        to_js(&listen(exchange, &mut self.engine.borrow_mut(), now))
    }
}

fn open(
    engine: &mut Engine,
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: Vec<u8>,
    (seed, now): (Seed, Timestamp),
) -> (Option<crate::exchange::Exchange>, Step) {
    let error = |dialect, status, code, message: &str| {
        (None, Step::error(ErrorReply::new(dialect, status, code, message), Vec::new()))
    };
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let headers = ClientHeaders::read(headers);
    let endpoint = match Endpoint::read(method, path, &headers) {
        Ok(endpoint) => endpoint,
        Err(nowhere) => {
            let path = path.split('?').next().unwrap_or_default();
            let message = format!("`{method} {path}` is not served here");
            let (status, code) = match nowhere.method {
                None => (404, "unsupported_endpoint"),
                Some(_) => (405, "method_not_allowed"),
            };
            return error(nowhere.dialect, status, code, &message);
        }
    };
    let limit = engine.config.server.bounds.max_body;
    if body.len() as u64 > limit {
        let message = format!("the body is larger than {limit} bytes");
        return error(endpoint.dialect(), 413, "request_too_large", &message);
    }
    match endpoint {
        Endpoint::Models(dialect) => {
            (None, Step::json(200, Vec::new(), models_list(dialect, engine.model_names())))
        }
        Endpoint::Model(dialect, name) if engine.model_names().contains(&&*name) => {
            (None, Step::json(200, Vec::new(), model(dialect, &name)))
        }
        Endpoint::Model(dialect, name) => {
            let message = format!("the model `{name}` does not exist here");
            error(dialect, 404, "model_not_found", &message)
        }
        endpoint => crate::exchange::Exchange::begin(engine, (endpoint, headers), body, seed, now),
    }
}
