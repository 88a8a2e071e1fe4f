mod streams;
mod transcripts;
mod writing;
