//! One stream on its way from the provider's protocol into the client's.

use crate::dialect::Dialect;
use crate::json::Json;
use crate::losses;
use crate::neutral::{Block, Delta, Event, Loss, Losses, Malformed, Stamp};
use crate::{chat, converse, generate, messages, responses};

/// Reads one protocol and writes another.
#[derive(Debug)]
pub(crate) struct Translator {
    reader: Reader,
    client: Dialect,
    writer: Writer,
    /// Whether the proofs of thoughts go on.
    proven: bool,
    lost: Losses,
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

impl super::Relay {
    /// Kinds of things in the stream that the client's protocol could not hold so far, such as
    /// `answer.citations`.
    pub fn lost(&self) -> impl Iterator<Item = &'static str> {
        self.reading.translator.as_ref().map(|one| one.lost()).unwrap_or_default().names()
    }
}

impl Translator {
    pub(crate) fn new(
        provider: Dialect,
        client: Dialect,
        stamp: Stamp,
        usage_asked: bool,
        proven: bool,
    ) -> Self {
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
        let lost = Losses::default();
        Self { reader, client, writer, proven, lost }
    }

    /// What of the stream the client's protocol could not hold so far.
    pub(crate) const fn lost(&self) -> Losses {
        self.lost
    }

    /// Takes one event of the provider and appends what the client is to see of it.
    ///
    /// # Errors
    /// It is none of its protocol.
    pub(super) fn read(
        &mut self,
        name: &[u8],
        data: Json<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let Self { reader, client, writer, proven, lost } = self;
        let mut hearer = Hearer { client: *client, proven: *proven, writer, lost, out };
        let mut each = |event: &Event<'_>| hearer.hear(event);
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
        let Self { reader, client, writer, proven, lost, .. } = self;
        let mut hearer = Hearer { client: *client, proven: *proven, writer, lost, out };
        let mut each = |event: &Event<'_>| hearer.hear(event);
        match reader {
            Reader::Chat(reader) => reader.end(&mut each),
            Reader::Messages(reader) => reader.end(&mut each),
            Reader::Generate(reader) => reader.end(&mut each),
            Reader::Converse(reader) => reader.end(&mut each),
            Reader::Nobody => {}
        }
    }
}

/// Takes the events of a stream.
struct Hearer<'h> {
    client: Dialect,
    proven: bool,
    writer: &'h mut Writer,
    lost: &'h mut Losses,
    out: &'h mut Vec<u8>,
}

impl Hearer<'_> {
    fn hear(&mut self, event: &Event<'_>) {
        if !self.proven {
            match *event {
                Event::Delta { delta: Delta::Signature(_), .. } => {
                    return self.lost.add(Loss::Signature);
                }
                Event::Open { choice, block, kind: Block::Reasoning { redacted: Some(_) } } => {
                    self.lost.add(Loss::RedactedThinking);
                    let kind = Block::Reasoning { redacted: None };
                    return self.writer.write(&Event::Open { choice, block, kind }, self.out);
                }
                _ => {}
            }
        }
        losses::of_event(self.client, event, self.lost);
        self.writer.write(event, self.out);
        if let Writer::Responses(writer) = self.writer {
            self.lost.add_if(writer.lost_a_place(), Loss::CitedPlace);
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
