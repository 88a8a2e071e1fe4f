//! One stream on its way from the provider's protocol into the client's.

use crate::dialect::Dialect;
use crate::json::Tree;
use crate::neutral::{Event, Malformed, Stamp};
use crate::sse::Event as Framed;
use crate::{chat, converse, generate, messages, responses};

/// Reads one protocol and writes another.
#[derive(Debug)]
pub(crate) struct Translator {
    reader: Reader,
    writer: Writer,
    tree: Tree,
}

#[derive(Debug)]
enum Reader {
    Chat(chat::EventReader),
    Messages(messages::EventReader),
    Generate(generate::EventReader),
    Converse(converse::EventReader),
    Nobody,
}

#[derive(Debug)]
enum Writer {
    Chat(chat::EventWriter),
    Responses(responses::EventWriter),
    Messages(messages::EventWriter),
    Generate(generate::EventWriter),
    Nobody,
}

impl Translator {
    pub(crate) fn new(provider: Dialect, client: Dialect, stamp: Stamp, usage_asked: bool) -> Self {
        let reader = match provider {
            Dialect::Chat => Reader::Chat(chat::EventReader::default()),
            Dialect::Messages => Reader::Messages(messages::EventReader::default()),
            Dialect::Generate => Reader::Generate(generate::EventReader::default()),
            Dialect::Converse => Reader::Converse(converse::EventReader::default()),
            _ => Reader::Nobody,
        };
        let writer = match client {
            Dialect::Chat => Writer::Chat(chat::EventWriter::new(stamp, usage_asked)),
            Dialect::Responses => {
                Writer::Responses(responses::EventWriter::new(stamp, usage_asked))
            }
            Dialect::Messages => Writer::Messages(messages::EventWriter::new(stamp, usage_asked)),
            Dialect::Generate => Writer::Generate(generate::EventWriter::new(stamp, usage_asked)),
            _ => Writer::Nobody,
        };
        Self { reader, writer, tree: Tree::default() }
    }

    /// Takes an event as it is framed; `false` if it is none of its protocol.
    pub(crate) fn hear(&mut self, event: &Framed<'_>, out: &mut Vec<u8>) -> bool {
        let data = event.data.filter(|data| !data.is_empty());
        data.is_none_or(|data| {
            if data.trim_ascii() == b"[DONE]" {
                self.end(out);
                return true;
            }
            self.read(event.name, data, out).is_ok()
        })
    }

    /// Takes one event of the provider and appends what the client is to see of it.
    fn read(&mut self, name: &[u8], data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let Self { reader, writer, tree } = self;
        let data = tree.parse(data).map_err(|_| Malformed)?;
        let mut each = |event: &Event<'_>| writer.write(event, out);
        match reader {
            Reader::Chat(reader) => reader.read(name, data, &mut each),
            Reader::Messages(reader) => reader.read(name, data, &mut each),
            Reader::Generate(reader) => reader.read(name, data, &mut each),
            Reader::Converse(reader) => reader.read(name, data, &mut each),
            Reader::Nobody => Err(Malformed),
        }
    }

    /// The provider's stream is over.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        let Self { reader, writer, .. } = self;
        let mut each = |event: &Event<'_>| writer.write(event, out);
        match reader {
            Reader::Chat(reader) => reader.end(&mut each),
            Reader::Messages(reader) => reader.end(&mut each),
            Reader::Generate(reader) => reader.end(&mut each),
            Reader::Converse(reader) => reader.end(&mut each),
            Reader::Nobody => {}
        }
    }
}

impl Writer {
    fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Chat(writer) => writer.write(event, out),
            Self::Responses(writer) => writer.write(event, out),
            Self::Messages(writer) => writer.write(event, out),
            Self::Generate(writer) => writer.write(event, out),
            Self::Nobody => {}
        }
    }
}
