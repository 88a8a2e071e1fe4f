//! What is peculiar to each provider's door: paths, credentials, versions.

pub(crate) mod openai;
