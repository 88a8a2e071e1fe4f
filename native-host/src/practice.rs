//! The practice line: a provider that is built in and answers without a network, in the words of
//! the mock upstream.

use pointsman_core::{FailureKind, MockConfig, ProviderConfig, Timestamp};
use pointsman_wire::{AnswerHeaders, Prepared};

use crate::mock::{self, Length, Played, Player, Turn, Voice};
use crate::source::Source;
use crate::upstream::{Failed, Question, Reply};

/// How the practice line answers.
#[derive(Debug)]
pub(crate) struct Practice {
    config: MockConfig,
    voice: Voice,
}

impl Practice {
    pub(crate) fn new(provider: &ProviderConfig) -> Self {
        let config = provider.mock.clone();
        let mut voice = Voice::named(&provider.name);
        voice.output_tokens = config.output_tokens.into();
        if let Some(text) = &config.text {
            voice.text.clone_from(text);
        }
        Self { config, voice }
    }

    /// Answers, in the time that the configuration says.
    pub(crate) async fn answer(
        &self,
        prepared: Prepared,
        question: &Question,
        model: &str,
    ) -> Result<Reply, Failed> {
        let body = prepared.body.to_vec(&question.bytes);
        let input_tokens = question.asked.input_tokens();
        // The gateway always asks for usage, and keeps it from clients who did not.
        let asked = mock::Question::chat(&body, model, question.stream(), input_tokens);
        let answer = mock::Answer {
            first_token: Some(Length(self.config.first_token)),
            per_token: Some(Length(self.config.per_token)),
            ..mock::Answer::default()
        };
        let mut player = Player::new(mock::plan(&Turn::Ok(answer), &asked, &self.voice));
        let Played::Head { status, headers } = player.next().await else {
            return Err(Failed::new(FailureKind::Server, "the practice line did not answer"));
        };
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let headers = AnswerHeaders::read(headers, Timestamp::ZERO);
        Ok(Reply {
            status,
            headers,
            source: Source::Practice(player),
            expected: prepared.expected,
            content_type: None,
        })
    }
}
