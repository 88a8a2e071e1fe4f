//! What an answer rests on: `groundingMetadata`, with what was searched for and found, and
//! `citationMetadata` for what was recited.
//!
//! Google counts places in bytes: of the part where the answer is whole, of all its text in a stream.

use crate::json::{Items, Json, List, Object, Tree, object};
use crate::neutral::{Choice, Citation, Loss, Losses, Page, Part, Ruler, Search};
use crate::sse::MAX_FRAME;

pub(super) const METADATA: &str = "groundingMetadata";
/// The members of the metadata that are read, and that come one after another in a stream.
const MEMBERS: [&str; 3] = ["webSearchQueries", "groundingChunks", "groundingSupports"];

/// What Google searched for and found, if it did.
pub(super) fn read_search<'a>(candidate: Json<'a>) -> Option<Search<'a>> {
    let list = |key| list(candidate, key);
    let queries: Vec<_> = list("webSearchQueries").iter().filter_map(Json::text).collect();
    if queries.is_empty() {
        return None;
    }
    let found = list("groundingChunks").iter().filter_map(|chunk| {
        let page = chunk.get("web")?;
        let title = page.get("title").and_then(Json::text);
        Some(Page { url: page.get("uri")?.text()?, title })
    });
    Some(Search { queries, found: found.collect(), failed: None })
}

/// How often it was searched.
pub(super) fn queries(candidate: Json<'_>) -> u64 {
    let queries = list(candidate, "webSearchQueries");
    queries.iter().filter(|one| one.text().is_some_and(|one| !one.is_empty())).count() as u64
}

fn list<'a>(candidate: Json<'a>, key: &str) -> Items<'a> {
    candidate.at(&[METADATA, key]).and_then(Json::list).unwrap_or_default()
}

/// What of the metadata no other protocol has.
pub(super) fn lost(candidate: Json<'_>, losses: &mut Losses) {
    let entry = candidate.at(&[METADATA, "searchEntryPoint"]);
    losses.add_if(entry.is_some(), Loss::SearchEntryPoint);
}

/// A citation, and where its place is counted from: the part's number, and the place in bytes.
struct Placed<'a> {
    citation: Citation<'a>,
    part: u64,
    bytes: Option<(u64, u64)>,
    /// The text at that place.
    text: Option<&'a str>,
}

fn each_citation<'a>(candidate: Json<'a>, each: &mut dyn FnMut(Placed<'a>)) {
    let chunks = list(candidate, "groundingChunks");
    for support in list(candidate, "groundingSupports") {
        let segment = support.get("segment");
        let indices = support.get("groundingChunkIndices").and_then(Json::list);
        for index in indices.unwrap_or_default() {
            let at = index.whole().and_then(|index| usize::try_from(index).ok());
            let Some(chunk) = at.and_then(|at| chunks.get(at)) else { continue };
            each(placed(chunk.get("web").or_else(|| chunk.get("retrievedContext")), segment));
        }
    }
    let recited = candidate.at(&["citationMetadata", "citations"]).and_then(Json::list);
    for one in recited.unwrap_or_default() {
        each(placed(Some(one), Some(one)));
    }
}

fn placed<'a>(source: Option<Json<'a>>, segment: Option<Json<'a>>) -> Placed<'a> {
    let of_source = |key| source.and_then(|source| source.get(key)).and_then(Json::text);
    let place = |key| segment.and_then(|segment| segment.get(key)).and_then(Json::whole);
    // A place at the very beginning is not written.
    let bytes = place("endIndex").map(|end| (place("startIndex").unwrap_or(0), end));
    Placed {
        citation: Citation {
            url: of_source("uri"),
            title: of_source("title"),
            cited: of_source("text"),
            ..Citation::default()
        },
        part: place("partIndex").unwrap_or(0),
        bytes,
        text: segment.and_then(|segment| segment.get("text")).and_then(Json::text),
    }
}

/// Adds the citations of a whole candidate to its texts. `places` says which part of the candidate
/// each of `parts` is.
pub(super) fn cite<'a>(candidate: Json<'a>, parts: &mut [Part<'a>], places: &[u64]) {
    each_citation(candidate, &mut |mut placed| {
        let found = find(parts, places, &placed);
        placed.citation.span = found.and_then(|(at, (from, to))| {
            let (mut ruler, mut start) = (Ruler::default(), 0);
            for (place, part) in parts.iter().enumerate().take(at + 1) {
                let Part::Text { text, .. } = part else { continue };
                start = ruler.characters();
                if place == at {
                    ruler = Ruler::default();
                }
                ruler.add(text);
            }
            let characters = |byte| Some(start + ruler.character_at(byte)?);
            characters(from).zip(characters(to))
        });
        let last = parts.iter().rposition(|part| matches!(part, Part::Text { .. }));
        let at = found.map(|(at, _)| at).or(last);
        if let Some(Part::Text { citations, .. }) = at.and_then(|at| parts.get_mut(at)) {
            citations.push(placed.citation);
        }
    });
}

/// The text that a place lies in: the part that is said, else the first that has the words there.
fn find(parts: &[Part<'_>], places: &[u64], placed: &Placed<'_>) -> Option<(usize, (u64, u64))> {
    let (from, to) = placed.bytes?;
    let [begin, end] = [from, to].map(|byte| usize::try_from(byte).unwrap_or(usize::MAX));
    let holds = |at: &usize| match parts.get(*at) {
        Some(Part::Text { text, .. }) => {
            let there = text.get(begin..end);
            there.is_some_and(|there| placed.text.is_none_or(|text| text == there))
        }
        _ => false,
    };
    let said = places.iter().position(|place| *place == placed.part);
    let at = said.filter(holds).or_else(|| (0..parts.len()).find(holds))?;
    Some((at, (from, to)))
}

/// Something that a streamed answer rests on.
pub(super) enum Grounds<'a> {
    Citation(Citation<'a>),
    Search(Search<'a>),
}

/// The metadata of a streamed candidate, which may come in pieces and more than once: of each member
/// the last that says anything counts.
#[derive(Debug, Default)]
pub(super) struct Heard {
    members: [String; 3],
    recited: String,
    /// The text so far.
    pub(super) ruler: Ruler,
}

impl Heard {
    /// Keeps what a piece says.
    pub(super) fn keep(&mut self, candidate: Json<'_>) {
        for (kept, key) in self.members.iter_mut().zip(MEMBERS) {
            keep(kept, candidate.at(&[METADATA, key]));
        }
        keep(&mut self.recited, candidate.at(&["citationMetadata", "citations"]));
    }

    /// Shows what the whole rests on: citations first.
    pub(super) fn tell(&self, each: &mut dyn FnMut(Grounds<'_>)) {
        if self.recited.is_empty() && self.members.iter().all(String::is_empty) {
            return;
        }
        let mut whole = Vec::new();
        object(&mut whole, |o| {
            o.object(METADATA, |o| {
                for (kept, key) in self.members.iter().zip(MEMBERS) {
                    o.some_raw(key, (!kept.is_empty()).then_some(kept));
                }
            });
            if !self.recited.is_empty() {
                o.object("citationMetadata", |o| o.raw("citations", &self.recited));
            }
        });
        let mut tree = Tree::default();
        let Ok(whole) = tree.parse(&whole) else { return };
        each_citation(whole, &mut |mut placed| {
            let place = |byte| self.ruler.character_at(byte);
            placed.citation.span = placed.bytes.and_then(|(from, to)| place(from).zip(place(to)));
            each(Grounds::Citation(placed.citation));
        });
        if let Some(found) = read_search(whole) {
            each(Grounds::Search(found));
        }
    }
}

fn keep(kept: &mut String, found: Option<Json<'_>>) {
    let said = found.filter(|json| json.list().is_some_and(|list| !list.is_empty()));
    if let Some(json) = said.filter(|json| json.raw().len() <= MAX_FRAME) {
        json.raw().clone_into(kept);
    }
}

/// Gathers what an answer rests on, to be written at its end.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    queries: Vec<String>,
    chunks: Vec<Chunk>,
    supports: Vec<Support>,
    /// How much all of it is, in bytes.
    size: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    url: Option<String>,
    title: Option<String>,
    /// What the source says, of what is not in the web.
    text: Option<String>,
}

#[derive(Debug)]
struct Support {
    part: u64,
    bytes: (u64, u64),
    text: Option<String>,
    chunk: usize,
}

impl Grounding {
    /// Of a whole answer. Places are counted in the parts as they are written, which `written` are.
    pub(super) fn of(choice: &Choice<'_>, written: impl Fn(&Part<'_>) -> bool) -> Self {
        let (mut grounding, mut part, mut start) = (Self::default(), 0, 0);
        for one in &choice.parts {
            match one {
                Part::Search(search) => grounding.search(search),
                Part::Text { text, citations, .. } => {
                    let mut ruler = Ruler::default();
                    ruler.add(text);
                    for citation in citations {
                        let inside = |place: u64| ruler.byte_at(place.checked_sub(start)?);
                        let span = citation.span.and_then(|(a, b)| inside(a).zip(inside(b)));
                        let bytes = span.unwrap_or((0, text.len() as u64));
                        let [a, b] = [bytes.0, bytes.1].map(|byte| byte as usize);
                        grounding.cite(citation, part, bytes, text.get(a..b));
                    }
                    start += ruler.characters();
                }
                _ => {}
            }
            part += u64::from(written(one));
        }
        grounding
    }

    pub(super) fn search(&mut self, search: &Search<'_>) {
        for query in &search.queries {
            if self.has_room(query.len()) {
                self.queries.push((*query).to_owned());
            }
        }
        for Page { url, title } in &search.found {
            self.chunk(Some(url), *title, None);
        }
    }

    /// A text, or part of one, rests on a source.
    pub(super) fn cite(
        &mut self,
        citation: &Citation<'_>,
        part: u64,
        bytes: (u64, u64),
        text: Option<&str>,
    ) {
        let Citation { url, title, cited, place, .. } = citation;
        let own = url.is_none() || place.is_some();
        let chunk = self.chunk(*url, *title, cited.filter(|_| own));
        if let Some(chunk) = chunk.filter(|_| self.has_room(text.map_or(0, str::len))) {
            self.supports.push(Support { part, bytes, text: text.map(str::to_owned), chunk });
        }
    }

    fn chunk(
        &mut self,
        url: Option<&str>,
        title: Option<&str>,
        text: Option<&str>,
    ) -> Option<usize> {
        let same = |chunk: &Chunk| {
            [&chunk.url, &chunk.title, &chunk.text].map(Option::as_deref) == [url, title, text]
        };
        if let Some(at) = self.chunks.iter().position(same) {
            return Some(at);
        }
        let size = [url, title, text].into_iter().flatten().map(str::len).sum();
        self.has_room(size).then(|| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            self.chunks.push(Chunk { url: own(url), title: own(title), text: own(text) });
            self.chunks.len() - 1
        })
    }

    /// It is to be one frame.
    fn has_room(&mut self, bytes: usize) -> bool {
        const EACH: usize = 64;
        let fits = self.size + bytes + EACH <= MAX_FRAME / 2;
        self.size += if fits { bytes + EACH } else { 0 };
        fits
    }

    /// Writes the member, if there is anything in it.
    pub(super) fn write(&self, o: &mut Object<'_>) {
        if self.queries.is_empty() && self.chunks.is_empty() {
            return;
        }
        o.object(METADATA, |o| {
            if !self.queries.is_empty() {
                o.list("webSearchQueries", |list| {
                    self.queries.iter().for_each(|query| list.text(query));
                });
            }
            o.list("groundingChunks", |list| {
                self.chunks.iter().for_each(|chunk| write_chunk(list, chunk));
            });
            o.list("groundingSupports", |list| {
                self.supports.iter().for_each(|support| write_support(list, support));
            });
        });
    }
}

fn write_chunk(list: &mut List<'_>, chunk: &Chunk) {
    let Chunk { url, title, text } = chunk;
    let own = url.is_none() || text.is_some();
    list.object(|o| {
        o.object(if own { "retrievedContext" } else { "web" }, |o| {
            o.some_text("uri", url.as_deref());
            o.some_text("title", title.as_deref());
            o.some_text("text", text.as_deref());
        });
    });
}

fn write_support(list: &mut List<'_>, support: &Support) {
    list.object(|o| {
        o.object("segment", |o| {
            if support.part > 0 {
                o.whole("partIndex", support.part);
            }
            o.whole("startIndex", support.bytes.0);
            o.whole("endIndex", support.bytes.1);
            o.some_text("text", support.text.as_deref());
        });
        o.list("groundingChunkIndices", |list| list.raw(&support.chunk.to_string()));
    });
}
