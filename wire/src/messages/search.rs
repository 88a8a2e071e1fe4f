//! Searching the web: the tool of Anthropic's own, and the steps that it leaves in an answer.

use core::mem;

use super::write_events::frame;
use crate::json::{Fields, Json, List, Object, Tree};
use crate::neutral::{
    Event, Location, Page, Refused, Search, Stamp, Untranslatable, WebSearch, is_ours,
};
use crate::sse::MAX_FRAME;

/// Its name, which it always has.
pub(super) const NAME: &str = "web_search";
/// The version that every model since Claude 3.5 takes.
const VERSION: &str = "web_search_20250305";
/// More calls than this do not wait for their results at once.
const MAX_WAITING: usize = 100;
/// What the ids of its calls begin with.
const PREFIX: &str = "srvtoolu_";

/// Whether a tool of this type is the search, of whichever version.
pub(super) fn is_search(kind: &str) -> bool {
    kind.starts_with("web_search_2")
}

/// Reads the tool, of which the type is known.
pub(super) fn read_tool<'a>(
    mut tool: Fields<'a>,
    path: String,
    lost: &mut Vec<String>,
) -> Result<WebSearch<'a>, Refused> {
    tool.take("name");
    let location = tool.fields("user_location")?;
    let location = location.map(|fields| Location::read(fields, lost)).transpose()?;
    let read = WebSearch {
        path,
        allowed: tool.texts("allowed_domains")?,
        blocked: tool.texts("blocked_domains")?,
        location,
        max_uses: tool.whole("max_uses")?,
        context: None,
    };
    tool.report_rest(lost);
    Ok(read)
}

/// Writes the tool.
pub(super) fn write_tool(
    list: &mut List<'_>,
    search: &WebSearch<'_>,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    if !search.allowed.is_empty() && !search.blocked.is_empty() {
        let why = "names domains to search and domains not to, of which Anthropic takes one kind";
        return Err(Untranslatable { path: search.path.clone(), why });
    }
    lost.extend(search.context.map(|_| format!("{}.search_context_size", search.path)));
    list.object(|o| {
        o.text("type", VERSION);
        o.text("name", NAME);
        if let Some(most) = search.max_uses {
            o.whole("max_uses", most);
        }
        for (key, domains) in
            [("allowed_domains", &search.allowed), ("blocked_domains", &search.blocked)]
        {
            if !domains.is_empty() {
                o.list(key, |list| domains.iter().for_each(|domain| list.text(domain)));
            }
        }
        if let Some(location) = search.location {
            o.object("user_location", |o| {
                o.text("type", "approximate");
                location.write(o);
            });
        }
    });
    Ok(())
}

/// A block of an answer that is a step of a search.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// What is searched for.
    Call { id: &'a str, query: Option<&'a str> },
    /// What the call of this id found.
    Result { id: &'a str, content: Option<Json<'a>> },
}

impl<'a> Step<'a> {
    /// The step that a block is, if it is one.
    pub(super) fn of(block: Json<'a>) -> Option<Self> {
        let text = |key| block.get(key).and_then(Json::text).unwrap_or_default();
        match text("type") {
            "server_tool_use" if text("name") == NAME => {
                let query = block.at(&["input", "query"]).and_then(Json::text);
                Some(Self::Call { id: text("id"), query })
            }
            "web_search_tool_result" => {
                Some(Self::Result { id: text("tool_use_id"), content: block.get("content") })
            }
            _ => None,
        }
    }
}

/// Whether a block of this id is a step of a search that another provider made, as we told it: to
/// Anthropic it is none.
pub(super) fn is_foreign(id: &str) -> bool {
    is_ours(id, PREFIX)
}

/// Adds what was found, or what the search failed of.
pub(super) fn read_found<'a>(search: &mut Search<'a>, content: Option<Json<'a>>) {
    let Some(content) = content else { return };
    search.failed = content.get("error_code").and_then(Json::text);
    let pages = content.list().unwrap_or_default();
    search.found.extend(pages.iter().filter_map(|page| {
        let url = page.get("url")?.text()?;
        Some(Page { url, title: page.get("title").and_then(Json::text) })
    }));
}

/// Hears of searches in a stream: a call comes in pieces, and is told of when what it found has come.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// Calls without a result, by id, with what has come of their input.
    waiting: Vec<(String, String)>,
    /// Whether the last of them is still coming.
    open: bool,
}

impl Hearing {
    /// A block has begun that is a step.
    pub(super) fn begin(&mut self, step: Step<'_>, each: &mut dyn FnMut(&Event<'_>)) {
        match step {
            Step::Call { id, query } => {
                let input = query.map(|query| {
                    let mut out = Vec::new();
                    crate::json::object(&mut out, |o| o.text("query", query));
                    String::from_utf8(out).unwrap_or_default()
                });
                if self.waiting.len() == MAX_WAITING {
                    self.end(each);
                }
                self.waiting.push((id.to_owned(), input.unwrap_or_default()));
                self.open = true;
            }
            Step::Result { id, content } => {
                let found = self.waiting.iter().position(|(waiting, _)| waiting == id);
                let call = found.map(|at| self.waiting.remove(at));
                tell(call.as_ref().map(|(_, input)| &**input), content, each);
            }
        }
    }

    /// Whether a call is coming.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// More of its input.
    pub(super) fn grow(&mut self, delta: Json<'_>) {
        let piece = delta.get("partial_json").and_then(Json::text);
        if let Some(((_, input), piece)) = self.waiting.last_mut().zip(piece)
            && input.len() + piece.len() <= MAX_FRAME
        {
            input.push_str(piece);
        }
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// No more results come: the provider pauses, or was cut.
    pub(super) fn end(&mut self, each: &mut dyn FnMut(&Event<'_>)) {
        for (_, input) in mem::take(&mut self.waiting) {
            tell(Some(&input), None, each);
        }
    }
}

fn tell(input: Option<&str>, content: Option<Json<'_>>, each: &mut dyn FnMut(&Event<'_>)) {
    let mut tree = Tree::default();
    let input = input.and_then(|input| tree.parse(input.as_bytes()).ok());
    let query = input.and_then(|input| input.get("query")).and_then(Json::text);
    let mut search = Search { queries: query.into_iter().collect(), ..Search::default() };
    read_found(&mut search, content);
    each(&Event::Search { choice: 0, search });
}

/// Gives ids to the steps of searches that are written.
#[derive(Debug)]
pub(super) struct Telling {
    pub(super) stamp: Stamp,
    pub(super) calls: u64,
}

impl Telling {
    pub(super) const fn new(stamp: Stamp) -> Self {
        Self { stamp, calls: 0 }
    }

    fn next_id(&mut self) -> String {
        let id = format!("{PREFIX}{:016x}_{}", self.stamp.nonce, self.calls);
        self.calls += 1;
        id
    }

    /// Writes a search as blocks: a call for each query, and what was found with the last.
    pub(super) fn write(&mut self, list: &mut List<'_>, search: &Search<'_>) {
        for (query, last) in queries(search) {
            let id = self.next_id();
            list.object(|o| {
                write_call(o, &id, |o| o.text("query", query));
            });
            list.object(|o| write_result(o, &id, last.then_some(search)));
        }
    }

    /// The same in a stream, from block `index` on; says how many blocks it were.
    pub(super) fn stream(&mut self, out: &mut Vec<u8>, search: &Search<'_>, index: u64) -> u64 {
        let mut at = index;
        for (query, last) in queries(search) {
            let id = self.next_id();
            frame(out, "content_block_start", |o| {
                o.whole("index", at);
                o.object("content_block", |o| write_call(o, &id, |_| ()));
            });
            let mut input = Vec::new();
            crate::json::object(&mut input, |o| o.text("query", query));
            frame(out, "content_block_delta", |o| {
                o.whole("index", at);
                o.object("delta", |o| {
                    o.text("type", "input_json_delta");
                    o.text("partial_json", &String::from_utf8_lossy(&input));
                });
            });
            frame(out, "content_block_stop", |o| o.whole("index", at));
            at += 1;
            frame(out, "content_block_start", |o| {
                o.whole("index", at);
                o.object("content_block", |o| write_result(o, &id, last.then_some(search)));
            });
            frame(out, "content_block_stop", |o| o.whole("index", at));
            at += 1;
        }
        at - index
    }
}

/// What was searched for, and whether it is the last.
fn queries<'s>(search: &'s Search<'_>) -> impl Iterator<Item = (&'s str, bool)> {
    let count = search.queries.len().max(1);
    let query = |at| search.queries.get(at).copied().unwrap_or_default();
    (0..count).map(move |at| (query(at), at + 1 == count))
}

fn write_call(o: &mut Object<'_>, id: &str, input: impl FnOnce(&mut Object<'_>)) {
    o.text("type", "server_tool_use");
    o.text("id", id);
    o.text("name", NAME);
    o.object("input", input);
}

fn write_result(o: &mut Object<'_>, id: &str, search: Option<&Search<'_>>) {
    o.text("type", "web_search_tool_result");
    o.text("tool_use_id", id);
    if search.is_some_and(|search| search.failed.is_some()) {
        return o.object("content", |o| {
            o.text("type", "web_search_tool_result_error");
            o.text("error_code", "unavailable");
        });
    }
    o.list("content", |list| {
        for Page { url, title } in search.into_iter().flat_map(|search| &search.found) {
            list.object(|o| {
                o.text("type", "web_search_result");
                o.text("url", url);
                o.text("title", title.unwrap_or(url));
                // What Anthropic alone can read of a page.
                o.text("encrypted_content", "");
                o.null("page_age");
            });
        }
    });
}
