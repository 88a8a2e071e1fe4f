//! What the configuration changes in the parameters of a request to one target.
//!
//! A [`Parameter`] means the same whatever the target's protocol. Where the request is translated, it
//! is changed in what all protocols can say, before the target's words are chosen; where the client's own
//! body goes on, it is written at the place that the protocol has for it. Any other name is a member
//! of the body that is sent.

mod members;
mod neutral;
mod node;
mod places;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use pointsman_core::{Node, Parameter, Params, Protocol};

use self::members::{Body, Members, members_of, put};
use self::neutral::{Parameters, copy, says};
use self::places::{is_own, places};
use crate::dialect::Dialect;
use crate::json::{Broken, Tree};
use crate::neutral::Request;
use crate::pass::Form;
use crate::splice::Edit;
use crate::{generate, messages};

/// Parameters to fill in, force and remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    default: Parameters,
    set: Parameters,
    drop: Vec<Parameter>,
    /// Members of the body that is sent.
    literal: Members,
}

/// How the body that is sent is to be understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoken<'t> {
    pub(crate) dialect: Dialect,
    /// The provider's name for the model.
    pub(crate) model: &'t str,
    /// Whether it is OpenAI's or Azure's own service.
    pub(crate) openai: bool,
    /// What it is, where it is no conversation.
    pub(crate) form: Option<Form>,
    /// The most tokens of output that the client asked for.
    pub(crate) max_output: Option<u64>,
    /// Whether the model waits for the results of calls whose thought is gone.
    pub(crate) lacks_thought: bool,
    /// Whether it was written by us.
    pub(crate) translated: bool,
}

/// What is to be done to a body, and what of the parameters this model does not take.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) edits: Vec<Edit>,
    pub(crate) lost: Vec<String>,
}

impl Overlay {
    /// What the configuration says, in JSON.
    pub fn new(params: &Params) -> Self {
        let mut literal = Members::default();
        let default = split(&params.default, &mut literal.default);
        let set = split(&params.set, &mut literal.set);
        let mut drop = Vec::new();
        for name in &params.drop {
            match Parameter::named(name) {
                Some(parameter) => drop.push(parameter),
                None => literal.drop.push(name.clone()),
            }
        }
        // No protocol lets these stand alone.
        if drop.contains(&Parameter::Tools) {
            drop.extend([Parameter::ToolChoice, Parameter::ParallelToolCalls]);
        }
        Self { default: Parameters::new(default), set: Parameters::new(set), drop, literal }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.default.list.is_empty()
            && self.set.list.is_empty()
            && self.drop.is_empty()
            && self.literal.is_empty()
    }

    /// A client's body without what is to be removed, for a translation. What the client's protocol
    /// must have stays for now: [`Self::fill`] takes it out.
    pub(crate) fn without_dropped<'b>(
        &self,
        body: Cow<'b, [u8]>,
        client: Dialect,
        provider: Dialect,
    ) -> Result<Cow<'b, [u8]>, Broken> {
        if self.drop.is_empty() && self.literal.drop.is_empty() {
            return Ok(body);
        }
        let removed = self.removed(client, |one| needs(client, one) || needs(provider, one));
        Ok(Cow::Owned(removed.apply(&body, client == Dialect::Generate)?))
    }

    fn removed(&self, dialect: Dialect, stays: impl Fn(Parameter) -> bool) -> Members {
        let mut drop = self.literal.drop.clone();
        for parameter in self.drop.iter().filter(|one| !stays(**one)) {
            match places(*parameter, dialect) {
                // The client may have said what its protocol has no place for.
                [] => drop.push(parameter.name().to_owned()),
                all => drop.extend(all.iter().map(|&path| path.to_owned())),
            }
        }
        Members { drop, ..Members::default() }
    }

    /// Changes a request that is being translated. What its protocol has no word for stays as it is.
    pub(crate) fn fill<'t>(
        &'t self,
        request: &mut Request<'t>,
        protocol: Protocol,
        dialect: Dialect,
        room: &'t mut [Tree; 2],
    ) {
        let [set, default] = room;
        let (set, default) = (self.set.read(set), self.default.read(default));
        if self.drop.contains(&Parameter::MaxTokens) && !needs(dialect, Parameter::MaxTokens) {
            request.max_output = None;
        }
        let like_openai = dialect == Dialect::Chat;
        // Known to many of those who are like OpenAI, and so never written by a translation.
        let fits =
            |one: &Parameter| one.has_place(protocol) && !(like_openai && *one == Parameter::TopK);
        for parameter in self.default.common().filter(fits) {
            if !says(request, parameter) {
                copy(parameter, &default, request);
            }
        }
        for parameter in self.set.common().filter(fits) {
            copy(parameter, &set, request);
        }
    }

    /// What is to be changed in the body that is sent.
    pub(crate) fn changes(&self, body: &[u8], spoken: &Spoken<'_>) -> Result<Changes, Broken> {
        let body = Body::read(body, spoken.dialect == Dialect::Generate)?;
        let by_client = !spoken.translated || spoken.dialect == Dialect::Chat;
        let mut members = if by_client {
            self.removed(spoken.dialect, |one| needs(spoken.dialect, one))
        } else {
            Members { drop: self.literal.drop.clone(), ..Members::default() }
        };
        let mut lost = Vec::new();
        // A count speaks of no answer, and takes no word about one.
        if spoken.form != Some(Form::Count) {
            match spoken.dialect {
                Dialect::Chat | Dialect::Responses => self.put_as_is(&body, spoken, &mut members),
                Dialect::Messages | Dialect::Generate if !spoken.translated => {
                    lost = self.put_written(&body, spoken, &mut members);
                }
                _ => {}
            }
            self.put_own(&body, spoken, &mut members);
            let literal = &self.literal;
            literal.set.iter().for_each(|(name, value)| put(&mut members.set, name, value.clone()));
            members.default.extend_from_slice(&literal.default);
        }
        Ok(Changes { edits: members.edits(&body)?, lost })
    }

    /// Whether it names this member of a body.
    pub(crate) fn names(&self, member: &str) -> bool {
        let Members { default, set, drop } = &self.literal;
        let names = default.iter().chain(set).map(|(name, _)| name).chain(drop);
        names.into_iter().any(|name| name.split('.').next() == Some(member))
    }

    /// Writes the common parameters for OpenAI's protocols, whose words they are in.
    fn put_as_is(&self, body: &Body<'_>, spoken: &Spoken<'_>, members: &mut Members) {
        let common = |list: &'_ [(Parameter, Vec<u8>)]| {
            let common = list.iter().filter(|(one, _)| !is_own(*one) && is_of(*one, spoken.form));
            common.map(|(one, value)| (*one, value.clone())).collect::<Vec<_>>()
        };
        let path = |parameter, all: &[&'static str]| match all {
            // OpenAI's newer models want the new name; those who are like it often know only the
            // old, and so do completions.
            [_, new]
                if parameter == Parameter::MaxTokens && spoken.openai && spoken.form.is_none() =>
            {
                Some(*new)
            }
            _ => all.first().copied(),
        };
        for (parameter, value) in common(&self.set.list) {
            let all = places(parameter, spoken.dialect);
            let Some(path) = path(parameter, all) else { continue };
            let others = all.iter().filter(|other| **other != path);
            members.drop.extend(others.map(|&other| other.to_owned()));
            put(&mut members.set, path, value);
        }
        for (parameter, value) in common(&self.default.list) {
            let all = places(parameter, spoken.dialect);
            let said = all.iter().any(|path| body.value(path).is_some());
            if let Some(path) = path(parameter, all).filter(|_| !said) {
                put(&mut members.default, path, value);
            }
        }
    }

    /// Writes the common parameters in the words of the protocol, as this model takes them; gives back
    /// what it does not take.
    fn put_written(
        &self,
        body: &Body<'_>,
        spoken: &Spoken<'_>,
        members: &mut Members,
    ) -> Vec<String> {
        let mut room = [Tree::default(), Tree::default()];
        let [set, default] = &mut room;
        let (set, default) = (self.set.read(set), self.default.read(default));
        let mut chosen = Request::default();
        let at = |parameter| places(parameter, spoken.dialect);
        for parameter in self.default.common() {
            let said = at(parameter).iter().any(|path| body.value(path).is_some());
            if !said && !at(parameter).is_empty() && fits(parameter, body, spoken.dialect) {
                copy(parameter, &default, &mut chosen);
            }
        }
        for parameter in self.set.common().filter(|parameter| !at(*parameter).is_empty()) {
            members.drop.extend(at(parameter).iter().map(|&path| path.to_owned()));
            copy(parameter, &set, &mut chosen);
        }
        if chosen == Request::default() {
            return Vec::new();
        }
        let written = if spoken.dialect == Dialect::Generate {
            generate::write_parameters(&chosen, spoken.model)
        } else {
            let left = leave_thinking(body, spoken, &mut chosen);
            chosen.lost.extend(left);
            let left = leave_room(body, &chosen, members);
            chosen.lost.extend(left);
            let most = chosen.max_output.or(spoken.max_output);
            let (mut written, thinks) = messages::write_parameters(&chosen, spoken.model, most);
            // Whoever thinks draws as it likes, and refuses to be told.
            for name in ["temperature", "top_p", "top_k"].into_iter().filter(|_| thinks) {
                written.lost.extend(body.value(name).map(|_| name.to_owned()));
                members.drop.push(name.to_owned());
            }
            written
        };
        for (name, value) in members_of(&written.body) {
            put(&mut members.set, &name, value);
        }
        written.lost
    }

    /// Writes the parameters that each protocol has a form of its own for.
    fn put_own(&self, body: &Body<'_>, spoken: &Spoken<'_>, members: &mut Members) {
        let has = |parameter: Parameter| {
            is_own(parameter)
                && is_of(parameter, spoken.form)
                && places(parameter, spoken.dialect).first() == Some(&parameter.name())
        };
        for (parameter, value) in self.set.list.iter().filter(|(one, _)| has(*one)) {
            put(&mut members.set, parameter.name(), value.clone());
        }
        for (parameter, value) in self.default.list.iter().filter(|(one, _)| has(*one)) {
            if body.value(parameter.name()).is_none() {
                put(&mut members.default, parameter.name(), value.clone());
            }
        }
    }
}

/// A body without these members.
pub(crate) fn without(body: &[u8], members: &[&str]) -> Vec<u8> {
    let drop = members.iter().map(|&name| name.to_owned()).collect();
    let members = Members { drop, ..Members::default() };
    members.apply(body, false).unwrap_or_else(|_| body.to_vec())
}

/// Whether a body of this form may have it: texts to embed, pictures to paint and words to speak know of
/// no sampling and no tools, and are refused with them.
const fn is_of(parameter: Parameter, form: Option<Form>) -> bool {
    let other = matches!(form, Some(Form::Json | Form::Multipart));
    !other || matches!(parameter, Parameter::User | Parameter::N | Parameter::ResponseFormat)
}

/// Whether a parameter may be filled in beside what the client says.
fn fits(parameter: Parameter, body: &Body<'_>, dialect: Dialect) -> bool {
    let draws = matches!(parameter, Parameter::Temperature | Parameter::TopP | Parameter::TopK);
    if dialect != Dialect::Messages || !draws {
        return true;
    }
    let thinks = body.value("thinking.type").is_some_and(|mode| mode != b"\"disabled\"");
    // Newer models take one of these.
    let other = match parameter {
        Parameter::Temperature => body.value("top_p"),
        Parameter::TopP => body.value("temperature"),
        _ => None,
    };
    !thinks && other.is_none()
}

/// Leaves out how hard to think where the client demands a call, which Anthropic's models must make
/// without a thought, and where the thought before the last calls is gone.
fn leave_thinking(
    body: &Body<'_>,
    spoken: &Spoken<'_>,
    chosen: &mut Request<'_>,
) -> Option<String> {
    let choice = body.value("tool_choice.type");
    let forced = matches!(choice, Some(b"\"any\"" | b"\"tool\""));
    let gone = spoken.lacks_thought && messages::Claude::named(spoken.model).wants_thoughts();
    (forced || gone)
        .then(|| chosen.thinking.take())?
        .map(|_| Parameter::ReasoningEffort.name().to_owned())
}

/// Fits the client's own budget for thoughts into the most output that is set, as it has to leave some of
/// that for the answer; without room for any the model does not think, which is given back.
fn leave_room(body: &Body<'_>, chosen: &Request<'_>, members: &mut Members) -> Option<String> {
    let most = chosen.max_output.filter(|_| chosen.thinking.is_none())?;
    let budget = body.value("thinking.budget_tokens")?;
    let budget: u64 = core::str::from_utf8(budget).ok()?.parse().ok()?;
    if budget < most {
        return None;
    }
    let fitting = messages::fitting_budget(budget, most);
    match fitting {
        Some(budget) => put(&mut members.set, "thinking.budget_tokens", budget.to_string().into()),
        None => members.drop.push("thinking".to_owned()),
    }
    fitting.is_none().then(|| Parameter::ReasoningEffort.name().to_owned())
}

/// Whether no body of this protocol may be without it.
fn needs(dialect: Dialect, parameter: Parameter) -> bool {
    dialect == Dialect::Messages && parameter == Parameter::MaxTokens
}

/// The parameters among these, and into `literal` all else.
fn split(
    all: &[(String, Node)],
    literal: &mut Vec<(String, Vec<u8>)>,
) -> Vec<(Parameter, Vec<u8>)> {
    let mut parameters = Vec::new();
    for (name, node) in all {
        let mut text = Vec::new();
        node::write_node(&mut text, node);
        match Parameter::named(name) {
            Some(parameter) => parameters.push((parameter, text)),
            None => put(literal, name, text),
        }
    }
    parameters
}
