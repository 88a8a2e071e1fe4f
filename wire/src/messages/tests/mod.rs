mod reading;
mod round_trip;
mod streams;
mod transcripts;
mod writing;
