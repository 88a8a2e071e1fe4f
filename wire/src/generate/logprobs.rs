//! How likely tokens were: `logprobsResult`.

use crate::json::{Json, List, Object};
use crate::neutral::Logprob;

/// The probabilities of a candidate's tokens.
pub(super) fn read_logprobs<'a>(candidate: Json<'a>) -> Vec<Logprob<'a>> {
    let list = |key| candidate.at(&["logprobsResult", key]).and_then(Json::list);
    let others = list("topCandidates").unwrap_or_default();
    let read = |(at, json): (usize, Json<'a>)| {
        let (token, logprob) = pair(json)?;
        let others = others.get(at).and_then(|json| json.get("candidates")).and_then(Json::list);
        let others = others.unwrap_or_default().iter().filter_map(pair).collect();
        Some(Logprob { token, logprob, others })
    };
    list("chosenCandidates").unwrap_or_default().iter().enumerate().filter_map(read).collect()
}

fn pair<'a>(json: Json<'a>) -> Option<(&'a str, &'a str)> {
    Some((json.get("token")?.text()?, json.get("logProbability")?.number()?))
}

/// Writes the member, if there are any.
pub(super) fn write_logprobs(o: &mut Object<'_>, logprobs: &[Logprob<'_>]) {
    if logprobs.is_empty() {
        return;
    }
    o.object("logprobsResult", |o| {
        o.list("topCandidates", |list| {
            for one in logprobs {
                list.object(|o| {
                    o.list("candidates", |list| {
                        one.others.iter().for_each(|(token, p)| add(list, token, p));
                    });
                });
            }
        });
        o.list("chosenCandidates", |list| {
            logprobs.iter().for_each(|one| add(list, one.token, one.logprob));
        });
    });
}

fn add(list: &mut List<'_>, token: &str, logprob: &str) {
    list.object(|o| {
        o.text("token", token);
        o.raw("logProbability", logprob);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Tree, object};

    #[test]
    fn probabilities_there_and_back() {
        let all = vec![
            Logprob { token: "a", logprob: "-0.10", others: vec![("a", "-0.10"), ("b", "-3")] },
            Logprob { token: "\n", logprob: "0", others: vec![] },
        ];
        let mut out = Vec::new();
        object(&mut out, |o| write_logprobs(o, &all));
        assert_eq!(read_logprobs(Tree::default().parse(&out).unwrap()), all);
    }
}
