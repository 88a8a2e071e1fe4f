//! An upstream that answers at once: a whole answer, or a stream of sixteen tokens, each in a write of
//! its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, header};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::floor::collect;

const WHOLE: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1767225600,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"This is an answer of some length, as answers are: it says what there is to say, and a little more than that, so that its size is that of a short answer. It goes on for a while, in words that mean nothing in particular, and then it ends.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":60,"total_tokens":260}}"#;

/// Where it listens.
pub(crate) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let builder = hyper::server::conn::http1::Builder::new();
                let _ = builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    });
    address
}

async fn answer(request: Request<Incoming>) -> Result<Response<Said>, Infallible> {
    let body = collect(&mut request.into_body()).await.unwrap_or_default();
    let stream = body.windows(13).any(|window| window == b"\"stream\":true");
    let (kind, said) = if stream {
        ("text/event-stream", Said { next: 0, last: EVENTS })
    } else {
        ("application/json", Said { next: 0, last: 0 })
    };
    let response = Response::builder().header(header::CONTENT_TYPE, kind).body(said);
    Ok(response.expect("a good head"))
}

/// Role, sixteen tokens, the finish reason, the usage, the end.
const EVENTS: usize = 20;

struct Said {
    next: usize,
    /// Events of a stream; none of a whole answer.
    last: usize,
}

impl Said {
    fn piece(&self) -> String {
        let event = |rest: &str| {
            format!(
                "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"m\",{rest}}}\n\n"
            )
        };
        let delta = |delta: &str, finish: &str| {
            event(&format!(
                "\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"logprobs\":null,\"finish_reason\":{finish}}}]"
            ))
        };
        match self.next {
            _ if self.last == 0 => WHOLE.to_owned(),
            0 => delta("\"role\":\"assistant\",\"content\":\"\"", "null"),
            17 => delta("", "\"stop\""),
            18 => event(
                "\"choices\":[],\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":16,\"total_tokens\":216}",
            ),
            19 => "data: [DONE]\n\n".to_owned(),
            nth => delta(&format!("\"content\":\" token{nth}\""), "null"),
        }
    }
}

impl Body for Said {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.next > 0 && self.next >= self.last {
            return Poll::Ready(None);
        }
        let piece = self.piece();
        self.next += 1;
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}
